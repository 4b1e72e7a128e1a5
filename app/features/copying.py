"""Edit › Copy q, Copy q and v, Paste q: the configuration as numbers that Python reads."""

from __future__ import annotations

import numpy as np
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QMenu

from app.acting import q_text, saved_poses
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer
from app.desktop.context_menus import JOINT, LINK, SECOND, Clicked
from app.features.window_type import Window

PAUSE = "pause the simulation to paste q"


class Copying:
    """Adds the entries to the Edit menu and to the menus of joints' rows; the names of joints and links in theirs."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        tip = "Copy the configuration that is shown as a list of numbers, in rad, m and quaternions x, y, z, w"
        self.copy = make_action(window, "Copy &q", lambda: self._copy(with_v=False), tip=tip)
        self.copy_both = make_action(window, "Copy q and &v", lambda: self._copy(with_v=True), tip=f"{tip}; and v")
        tip = "Put the robot at a list of numbers, as Copy q and NumPy write it"
        self.paste = make_action(window, "&Paste q", self._paste, tip=tip)
        self.actions = self.copy, self.copy_both, self.paste
        window.menus.edit.put(*self.actions, apart=True)
        window.menus.context.offer("first", lambda menu, _: menu.addActions(self.actions), JOINT)
        window.menus.context.offer("copy", self._put_name, JOINT, LINK, SECOND)
        window.refreshed.connect(self._refresh)
        self._refresh()

    def _put_name(self, menu: QMenu, named: Clicked) -> None:
        menu.addAction("&Copy name", lambda: QGuiApplication.clipboard().setText(named.title))

    def _refresh(self) -> None:
        for action in self.actions:
            offer(action, (self._bench.robot.model is not None, NO_ROBOT))

    def _copy(self, with_v: bool) -> None:
        bench, robot = self._bench, self._bench.robot
        live = np.zeros(robot.model.nv) if robot.newest is None else robot.newest.v
        q, v = saved_poses.shown(bench.replay, bench.actions.state.q, live)
        QGuiApplication.clipboard().setText(q_text.text_of(q, v if with_v else None))
        self._say(f"copied q{' and v' if with_v else ''}: {len(q)}{f' and {len(v)}' if with_v else ''} numbers")

    def _paste(self) -> None:
        bench = self._bench
        if bench.replay.active:
            self._say(f"{bench.replay.reason}; to paste q {bench.replay.ways_on}")
            return
        if bench.robot.playing:
            self._say(PAUSE)
            return
        try:
            q = q_text.read_q(QGuiApplication.clipboard().text(), bench.robot.model)
        except ValueError as error:
            self._say(str(error))
            return
        before = bench.actions.state
        with bench.actions.unnoted():
            bench.posing.pose(q)
        bench.actions.report_pose("Paste q", before)
        self._say(f"pasted q: {len(q)} numbers")
        self._window.refresh()

    def _say(self, text: str) -> None:
        self._window.statusBar().showMessage(text, MESSAGE)
