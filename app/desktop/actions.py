"""Actions of the window: making one, and showing its state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import Qt, QUrl
from PyQt6.QtGui import QAction, QDesktopServices, QKeySequence
from PyQt6.QtWidgets import QDockWidget, QMenu, QWidget

from app.desktop import theme

DEVICE_NAMES = {"auto": "auto", "cpu": "CPU", "cuda": "GPU"}
MESSAGE = 6000  # ms that a passing message stays


def make_action(
    window: QWidget,
    text: str,
    slot: Callable[..., object],
    *keys: str | QKeySequence.StandardKey | Qt.Key,
    icon: str = "",
    tip: str = "",
    checkable: bool = False,
) -> QAction:
    """An action of the window, with its shortcuts, the first of which its tip names."""
    action = QAction(text, window, checkable=checkable)
    action.setShortcuts([QKeySequence(key) for key in keys])
    if icon:
        action.setIcon(theme.icon(icon))
    if tip:
        shown = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{tip} ({shown})" if shown else tip)
    (action.toggled if checkable else action.triggered).connect(slot)
    window.addAction(action)
    return action


def dock_action(dock: QDockWidget, icon: str, key: Qt.Key | str, tip: str) -> QAction:
    """What shows a dock, which is hidden at first, or hides it."""
    dock.hide()
    action = dock.toggleViewAction()
    action.setIcon(theme.icon(icon))
    action.setShortcut(QKeySequence(key))
    action.setToolTip(tip)
    return action


def make_link(menu: QMenu, title: str, path: Path) -> QAction:
    """An entry that opens a file in the program that shows such files."""
    action = menu.addAction(title)
    action.setToolTip(str(path))
    action.triggered.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))))
    return action


def device_name(device: str) -> str:
    """What the window calls the engine's device of that name."""
    return DEVICE_NAMES.get(device, device)


def check(action: QAction, on: bool) -> None:
    """Show a state without acting on it."""
    blocked = action.blockSignals(True)
    action.setChecked(on)
    action.blockSignals(blocked)
