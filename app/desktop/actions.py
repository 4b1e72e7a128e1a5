"""Helpers that make the window's actions and set their state, and display names of devices and algorithms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QObject, Qt, QUrl
from PyQt6.QtGui import QAction, QDesktopServices, QKeySequence
from PyQt6.QtWidgets import QDockWidget, QMenu, QWidget

import engine
from app.desktop import theme

DEVICE_NAMES = {"auto": "auto", "cpu": "CPU", "cuda": "GPU"}
ALGORITHM_TIPS = {
    "auto": "The fastest for this robot and device, by what was measured",
    "abia": "Articulated-body algorithm; ABIA in Yang, Wu, Pan 2016; abia on the command line",
    "jsiia": "Composite-body mass matrix and Cholesky factors; JSIIA in Yang, Wu, Pan 2016; jsiia on the command line",
    "cfa": "Constraint force algorithm; Yang, Wu, Pan 2016; cfa on the command line",
    "dca": "Divide and conquer by articulated bodies; Bhalerao, Critchley, Anderson 2012; dca on the command line",
}
REASON = "reason"  # a property of what is disabled
ACTS = "acts"  # a property of what acts on the robot
NO_ROBOT, NO_RUN = "no robot is open", "nothing is recorded yet"  # reasons
UNDRIVEN = "{} drove the joints and does not now: load it by Simulation › Controller, or hold the joints by Hold (H)"
"""What is said of a run that continues without its controller."""
MESSAGE = 6000  # ms that a temporary message is shown


def make_action(
    window: QWidget,
    text: str,
    slot: Callable[..., object],
    *keys: str | QKeySequence.StandardKey | Qt.Key,
    icon: str = "",
    tip: str = "",
    checkable: bool = False,
) -> QAction:
    """Make an action of the window with its shortcuts; the tooltip names the first one."""
    action = QAction(text, window, checkable=checkable)
    action.setShortcuts([QKeySequence(key) for key in keys])
    if icon:
        action.setIcon(theme.icon(icon))
    action.setIconVisibleInMenu(not checkable)  # whose check box it would replace
    if tip:
        shown = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{tip} ({shown})" if shown else tip)
    (action.toggled if checkable else action.triggered).connect(slot)
    window.addAction(action)
    return action


def give_reason(each: QAction | QWidget, reason: str) -> None:
    """Set why an action or a menu is disabled, which the palette says; "" where there is nothing to say."""
    each.setProperty(REASON, reason)


def acts_on_robot(*controls: QAction | QWidget, has_use: bool = True) -> None:
    """Mark controls that act on the robot, which are disabled while a script drives it; unmark those without a use."""
    for each in controls:
        each.setProperty(ACTS, has_use)


def acting_in(window: QWidget) -> list[QAction | QWidget]:
    """Return the window's controls that act on the robot."""
    children = window.findChildren(QObject)
    return [each for each in children if isinstance(each, QAction | QWidget) and each.property(ACTS)]


def offer(each: QAction | QWidget, *needs: tuple[object, str]) -> None:
    """Enable an action or a menu if all its needs are met; the first that is not, with its words, is the reason."""
    reason = next((words for met, words in needs if not met), "")
    each.setEnabled(not reason)
    give_reason(each, reason)


def say_empty(menu: QMenu, words: str) -> None:
    """Add a disabled line which says that a menu has no entries of its own yet."""
    offer(menu.addAction(words), (False, words))


def is_offered(action: QAction) -> bool:
    """Whether an action can be triggered: it is enabled, and so is its menu."""
    return action.isEnabled() and all(menu.isEnabled() for menu in _menus_of(action))


def reason_of(action: QAction) -> str:
    """Return why an action is not offered; "" where it is, or where no reason was given."""
    owners: tuple[QAction | QMenu, ...] = (action, *_menus_of(action))
    return next((reason for each in owners if not each.isEnabled() and (reason := each.property(REASON))), "")


def _menus_of(action: QAction) -> list[QMenu]:
    return [each for each in action.associatedObjects() if isinstance(each, QMenu)]


def dock_action(dock: QDockWidget, icon: str, key: Qt.Key | str, tip: str) -> QAction:
    """Hide a dock, and return the action that shows or hides it."""
    dock.hide()
    action = dock.toggleViewAction()
    action.setIcon(theme.icon(icon))
    action.setIconVisibleInMenu(False)
    action.setShortcut(QKeySequence(key))
    action.setToolTip(tip)
    return action


def make_link(menu: QMenu, title: str, path: Path, report: Callable[[str], object]) -> QAction:
    """Add an entry that opens a file in the system's default program for it; `report` takes why it does not open."""
    action = menu.addAction(title)
    action.setToolTip(str(path))
    action.triggered.connect(lambda: None if (problem := open_outside(str(path))) == "" else report(problem))
    return action


def open_outside(path: str) -> str:
    """Open a file in the system's default program for it; return why it does not open, empty if it does."""
    if QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
        return ""
    return f"this system has no program that opens {Path(path).suffix or 'such'} files; open {path} yourself"


def device_name(device: str) -> str:
    """Return the window's name for an engine device."""
    return DEVICE_NAMES.get(device, device)


def algorithm_name(algorithm: str) -> str:
    """Return the field's name for an engine algorithm; a user's own algorithm keeps its name."""
    return engine.ALGORITHM_NAMES.get(algorithm, algorithm)


def algorithm_words(text: str) -> str:
    """Replace the engine's names of algorithms and devices in a sentence by the window's."""
    text = re.sub(
        rf"\b({'|'.join(engine.ALGORITHM_NAMES)})\b(?!-)", lambda match: engine.ALGORITHM_NAMES[match[1]], text
    )
    return re.sub(r"\bon (cpu|cuda)\b", lambda match: f"on {DEVICE_NAMES[match[1]]}", text)


def check(action: QAction, on: bool) -> None:
    """Set an action's checked state without triggering it."""
    blocked = action.blockSignals(True)
    action.setChecked(on)
    action.blockSignals(blocked)
