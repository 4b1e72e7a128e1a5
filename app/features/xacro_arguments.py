"""File › Xacro arguments: the values that a xacro file is expanded with."""

from __future__ import annotations

import re
from pathlib import Path

from PyQt6.QtWidgets import QDialog

from app.desktop.actions import NO_ROBOT, make_action, offer
from app.features.reloading import Reloading
from app.features.window_type import Window
from app.panels.xacro_dialog import XacroDialog

TIP = "Values for the arguments of the robot's xacro file, with which it is reloaded"
NO_ARGUMENTS_TIP = "The robot's file is not a xacro file that declares arguments, <xacro:arg>"
SUFFIX = ".xacro"
MAX_BYTES = 1_000_000  # bytes of a file in which arguments are looked for
_TAG, _NAME, _DEFAULT = (
    re.compile(text) for text in (r"<xacro:arg\b[^>]*>", r'\bname="([^"]*)"', r'\bdefault="([^"]*)"')
)


class XacroArguments:
    """Asks for the arguments of the file that F5 reloads."""

    def __init__(self, window: Window):
        self._window, self._bench, self._reloading = window, window.workbench, window.feature(Reloading)
        self.action = make_action(window, "&Xacro arguments…", self._ask, tip=TIP)
        window.menus.file.put(self.action)
        window.refreshed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        file = self._reloading.file
        there = file.endswith(SUFFIX) and self.arguments
        offer(self.action, (file, NO_ROBOT), (there, NO_ARGUMENTS_TIP))
        self.action.setToolTip(TIP if there else NO_ARGUMENTS_TIP)

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of the file, with their values; of one that could not be read those that its text declares."""
        file, robot = self._reloading.file, self._bench.robot
        if file != self._bench.path or robot.model is None:
            return _declared_in(file) | self._bench.opening.xacro_args(file)
        model = robot.model.parts[0].model if robot.model.parts else robot.model
        return {**model.declared_args} | self._bench.opening.xacro_args(file)

    def _ask(self) -> None:
        file = self._reloading.file
        dialog = XacroDialog(self._window, Path(file).name, self.arguments)
        if dialog.exec() == QDialog.DialogCode.Accepted and dialog.changed:
            self._bench.opening.set_xacro_args(file, self._bench.opening.xacro_args(file) | dialog.changed)
            self._reloading.press()
        dialog.deleteLater()


def _declared_in(file: str) -> dict[str, str]:
    """Return the arguments that a file's text declares, with their defaults."""
    path = Path(file)
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return {}
    defaults = {}
    for tag in _TAG.findall(path.read_text("utf-8", "replace")):
        if name := _NAME.search(tag):
            default = _DEFAULT.search(tag)
            defaults[name[1]] = default[1] if default else ""
    return defaults
