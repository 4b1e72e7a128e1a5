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
KEY = r"(?:(?:Ctrl|Shift|Alt)\+)*(?:F\d+|[A-Z0-9]|Space|End|Home|Left|Right|[←→↓])"
NAMED = rf"(?:\*(?:[\w ]+ › )?([\w ]+)\*|(\w+) (?:panel|dock)) \(`({KEY})`\)"
"""The key of an entry, a panel or a dock: «*File › Open study* (`Ctrl+Alt+S`)», «the Plots dock (`P`)»."""
WINDOW = (
    "opens held by its gains (*Hold*, `{Hold}`)",
    "`{Fit}` to fit the robot and the objects around it in the view; `{Standard views › Front}`, "
    "`{Standard views › Right}`, `{Standard views › Top}`, "
    "`{Standard views › Isometric}` standard views, `{Orthographic}` without perspective, `{Full screen}` "
    "full screen.",
    "`{Play}` plays and pauses, `{Step}` steps, `{Reset}` resets.",
    "`{Reset}` returns to the pose.",
    "scrub, `{Back}` `{Step:1}` frame by frame, `{Play}` plays it back, `{Go to end}` returns to the live simulation, "
    "or "
    "to the last "
    "frame of a run from a file; `{Add keyframe}` marks a keyframe;",
    "which the panels show; it waits for `{Play}`.",
    "- **Find a key**: `{Keyboard shortcuts}` lists them all;",
    "`{Duplicate object}` duplicates the selected one on a free place beside it, `Delete` removes all selected ones;",
    "`{Undo}` undoes poses, drives, forces of the panel, settings, obstacles, bodies, a floating base, saved poses and "
    "views, "
    "`{Redo}` redoes them.",
    "- **Find a command**: `{Command palette}` finds any by its name",
    "A ghost (`{Ghost}`) takes the same steps",
    "it waits for `{Reload}`.",
)
"""Other sentences of docs/window.md, each by its action's name; a number behind selects the second of two keys."""
LESSONS = ("`{Lessons › Next step}` and `{Lessons › Previous step}` go from step to step, "
           "`{Lessons › Play or pause}` plays;",)  # fmt: skip
STUDIES = ("The run can be continued from any frame (`{Branch here}`).",)
BY_PAGE = {"docs/lessons.md": LESSONS, "docs/studies.md": STUDIES, "docs/window.md": WINDOW}


def filled(sentence: str, keys: dict[str, list[str]]) -> str:
    """The sentence with the keys of the window in it."""

    def key(found: re.Match[str]) -> str:
        name, _, number = found[1].partition(":")
        own = keys[name][int(number or 0)]
        return ARROWS.get(own, own)

    return re.sub(r"\{(.+?)\}", key, sentence)


@pytest.fixture
def keys(window, tmp_path) -> dict[str, list[str]]:
    """The keys of all actions that have any, by their names as the sheet has them."""
    autosaved_runs.AutosavedRuns(window, tmp_path)
    return {each.name: each.keys.split(" or ") for each in shortcuts(window)}


def test_keys_that_pages_name_do_what_they_say_and_no_other_is_named(keys):
    every = {ARROWS.get(key, key) for own in keys.values() for key in own}
    for page in page_text.PAGES:
        sentences = [filled(sentence, keys) for sentence in BY_PAGE.get(page, ())]
        assert page_text.missing(page, sentences) == []
        named = re.findall(rf"`({KEY})`", page_text.page_text(page))
        own = [(entry or panel, key) for entry, panel, key in re.findall(NAMED, page_text.page_text(page))]
        assert [each for each in own if each[1] not in keys.get(each[0], keys.get(f"{each[0]} › File", []))] == [], page
        if page in BY_PAGE:
            reported = [key for each in sentences for key in re.findall(rf"`({KEY})`", each)]
            assert sorted(named) == sorted([*reported, *(key for _, key in own)]), page
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
