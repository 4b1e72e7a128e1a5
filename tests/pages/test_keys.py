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
WINDOW = (
    "*View › Measure distance* (`{Measure distance}`),",
    "*View › Show all links* (`{Show all links}`)",
    "A robot opens held by its gains (*Hold*, `{Hold}`)",
    "`{Fit}` to fit the robot and the objects around it in the view; `{Standard views › Front}`, "
    "`{Standard views › Right}`, `{Standard views › Top}`, "
    "`{Standard views › Isometric}` standard views, `{Orthographic}` without perspective, `{Full screen}` "
    "full screen |",
    "`{Play}` plays and pauses, `{Step}` steps, `{Reset}` resets |",
    "the Forces panel (`{Forces}`) applies a force and a moment",
    "`{Reset}` returns to the pose |",
    "or beside the tree of the Robot dock (`{Robot}`)",
    "the Plots dock (`{Plots}`): search a quantity",
    "scrub, `{Back}` `{Step:1}` frame by frame, `{Play}` plays it back, `{Go to end}` returns to the live simulation, "
    "or "
    "to the last "
    "frame of a run from a file; `{Add keyframe}` marks a keyframe;",
    "*Branch here* (`{Branch here}`) continues from any frame, bit for bit, with its drives and forces, "
    "which the panels show; it waits for `{Play}` |",
    "*File › Open last run* (`{Open last run}`) |",
    "| save a session | *Save session* (`{Save session}`) keeps",
    "| find a key | `{Keyboard shortcuts}` lists them all;",
    "the Scene dock (`{Scene}`) sets terrain, gravity",
    "`{Duplicate object}` duplicates the selected one, `Delete` removes it;",
    "`{Undo}` undoes poses, drives, forces of the panel, settings, obstacles, bodies, a floating base, saved poses and "
    "views, "
    "`{Redo}` redoes them |",
    "*Edit › Preferences* (`{Preferences}`) has the window's preferences",
    "| look at a family of runs | *File › Open study* (`{Open study}`) draws",
    "| find a command | `{Command palette}` finds any by its name",
    "The Compare panel (`{Compare}`) sets the algorithms",
    "The Batch panel (`{Batch}`) makes copies of the robot",
    "A ghost (`{Ghost}`) takes the same steps",
    "*File › Open second robot* (`{Open second robot › File}`) has a second robot",
    "it waits for `{Reload}`.",
)
"""Sentences of docs/window.md about keys, each by its action's name; a number behind selects the second of two keys."""
LESSONS = ("`{Lessons › Next step}` and `{Lessons › Previous step}` go from step to step, "
           "`{Lessons › Play or pause}` plays;",)  # fmt: skip
STUDIES = (
    "*File › Open study* (`{Open study}`) opens the study's file,",
    "The run can be continued from any frame (`{Branch here}`).",
)
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
        told = page in BY_PAGE
        sentences = [filled(sentence, keys) for sentence in BY_PAGE.get(page, ())]
        assert page_text.missing(page, sentences) == []
        named = re.findall(rf"`({KEY})`", page_text.page_text(page))
        if told:
            assert sorted(named) == sorted(key for each in sentences for key in re.findall(rf"`({KEY})`", each)), page
        assert {key for key in named if re.search(r"\+|F\d|..", key)} <= every, page


def test_the_key_in_an_actions_tip_is_its_own(window):
    told = 0
    for action in window.findChildren(QAction):
        for key in re.findall(rf"\(({KEY})\)", action.toolTip()):
            own = [each.toString(QKeySequence.SequenceFormat.NativeText) for each in action.shortcuts()]
            step = {"→"} if action.text() == "&Forward" else set()  # which goes by the key that steps
            assert key in {ARROWS.get(each, each) for each in own} | set(own) | step, action.text()
            told += 1
    assert told > 15


def test_the_sheet_tells_of_the_mouse_what_the_readme_tells():
    for words in ("middle", "Shift-drag", "right button", "Ctrl"):
        assert words in MOUSE
