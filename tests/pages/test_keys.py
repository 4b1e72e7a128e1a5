"""Keys named on pages and in tips are those of the window's actions."""

import re

import page_text
import pytest
from PyQt6.QtGui import QAction, QKeySequence

from app.features import autosaved_runs
from app.features.shortcuts_sheet import MOUSE, shortcuts

ARROWS = {
    "Alt+Left": "Alt+←",
    "Alt+Right": "Alt+→",
    "Alt+Down": "Alt+↓",
    "Left": "←",
    "Right": "→",
    "Up": "↑",
    "Down": "↓",
}
KEY = r"(?:(?:Ctrl|Shift|Alt)\+)*(?:F\d+|[A-Z0-9,]|Space|End|Home|Left|Right|[←→↓])"
NAMED = rf"(?:\*(?:[\w ]+ › )?([\w ]+)\*|(\w+) (?:panel|dock)) \(`({KEY})`\)"
"""The key of an entry, a panel or a dock: «*File › Open study* (`Ctrl+Alt+S`)», «the Plots dock (`P`)»."""
ROW = re.compile(r"^\| (.+?) \|(.*?)\| .+? \|$", re.MULTILINE)
"""A row of a table: its action and its key."""
WINDOW = (
    "opens held by its gains (*Hold*, `{Hold}`)",
    "A ghost (`{Ghost}`) takes the same steps",
    "it waits for `{Reload}`.",
)
"""Sentences of docs/window.md below its table, each by its action's name."""
LESSONS = ("`{Lessons › Next step}` and `{Lessons › Previous step}` go from step to step, "
           "`{Lessons › Play or pause}` plays;",)  # fmt: skip
STUDIES = ("The run can be continued from any frame (`{Branch here}`).",)
BY_PAGE = {"docs/lessons.md": LESSONS, "docs/studies.md": STUDIES, "docs/window.md": WINDOW}


def filled(sentence: str, keys: dict[str, list[str]]) -> str:
    """The sentence with the keys of the window in it."""
    return re.sub(r"\{(.+?)\}", lambda found: ARROWS.get(keys[found[1]][0], keys[found[1]][0]), sentence)


def rows(page: str) -> list[tuple[list[str], list[str]]]:
    """The names of each row's action and the keys beside it."""
    found = ROW.findall(page_text.source(page))
    return [(re.findall(r"\*(.+?)\*", action), re.findall(rf"`({KEY})`", key)) for action, key in found]


@pytest.fixture
def keys(window, tmp_path) -> dict[str, list[str]]:
    """The keys of all actions that have any, by their names as the sheet has them, panels without their menu."""
    autosaved_runs.AutosavedRuns(window, tmp_path)
    return {each.name.removeprefix("Panels › "): each.keys.split(" or ") for each in shortcuts(window)}


def test_keys_that_pages_name_do_what_they_say_and_no_other_is_named(keys):
    every = {ARROWS.get(key, key) for own in keys.values() for key in own}
    for page in page_text.PAGES:
        sentences = [filled(sentence, keys) for sentence in BY_PAGE.get(page, ())]
        assert page_text.missing(page, sentences) == []
        named = re.findall(rf"`({KEY})`", page_text.page_text(page))
        own = [(entry or panel, key) for entry, panel, key in re.findall(NAMED, page_text.page_text(page))]
        assert [each for each in own if each[1] not in keys.get(each[0], keys.get(f"{each[0]} › File", []))] == [], page
        beside = []
        for names, shown in rows(page) if page == "docs/window.md" else ():
            for name, key in zip(names, shown, strict=True):
                assert key in {ARROWS.get(each, each) for each in keys[name]}, name
            beside += shown
        if page in BY_PAGE:
            reported = [key for each in sentences for key in re.findall(rf"`({KEY})`", each)]
            assert sorted(named) == sorted([*reported, *beside, *(key for _, key in own)]), page
        assert {key for key in named if re.search(r"\+|F\d|..", key)} <= every, page


def test_the_key_in_an_actions_tip_is_its_own(window):
    reported = 0
    for action in window.findChildren(QAction):
        for key in re.findall(rf"\(({KEY})\)", action.toolTip()):
            own = [each.toString(QKeySequence.SequenceFormat.NativeText) for each in action.shortcuts()]
            step = {"→"} if action.text() == "&Forward" else set()  # which goes by the key that steps
            assert key in {ARROWS.get(each, each) for each in own} | set(own) | step, action.text()
            reported += 1
    assert reported > 15


def test_the_sheet_tells_of_the_mouse_what_the_readme_tells():
    for words in ("middle", "Shift-drag", "right button", "Ctrl"):
        assert words in MOUSE
