"""Drives of joints that follow a table in a file: the menu's entry, the entry of a drive's wave, and dropped tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import engine
from app.acting.drives import Drive, Samples
from app.acting.trajectories import HEADER, read
from app.desktop import dialogs
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer
from app.features.drive_view import DriveView
from app.features.file_reader import FileReader
from app.features.window_type import Window
from app.reasons import unreadable

TITLE = "Drive joints by a trajectory"
TABLES = "Tables (*.csv);;All files (*)"
TIP = f"Joints follow positions over time from a table (.csv), as {HEADER}; exported tables of runs are such"


class TrajectoryDrives:
    """Reads a table, and has all joints that it names follow it."""

    def __init__(self, window: Window):
        self._window, self._bench, self._reader = window, window.workbench, FileReader(window, unreadable)
        self.action = make_action(window, "Drive by tra&jectory (.csv)…", self._ask, tip=TIP)
        window.menus.simulation.put(self.action)
        window.feature(DriveView).form.trajectory_asked.connect(self._ask)
        window.files.dropped[".csv"] = self.take
        window.files.with_robot.add(".csv")
        window.loaded.connect(lambda _: self._reader.drop())
        window.refreshed.connect(self._refresh)

    def _refresh(self) -> None:
        robot = self._bench.robot
        holdable = any(row.holdable for row in robot.coordinates)
        offer(self.action, (robot.model is not None, NO_ROBOT), (holdable, "no joint has a position drive"))

    def _ask(self) -> None:
        if path := dialogs.ask_file(self._window, TITLE, "", TABLES):
            self.take(path)
        self._window.refresh()  # else the form has the wave that was asked for

    def take(self, path: str) -> None:
        """Read a table, and drive the joints that it names."""
        model, rows = self._bench.robot.model, self._bench.robot.coordinates
        if model is not None:
            self._reader.read(path, lambda: read(path, rows, model), partial(self._drive, path, model), self._say)

    def _drive(self, path: str, model: engine.Model, drives: dict[int, Drive]) -> None:
        bench, rows = self._bench, self._bench.robot.coordinates
        if bench.robot.model is not model:
            return
        name, names = Path(path).name, [rows[k].name for k in drives]
        which = names[0] if len(names) == 1 else f"{len(names)} joints"
        try:
            with bench.actions.as_one(f"Trajectory of {which}: {name}"):
                for k, drive in drives.items():
                    bench.joints.set_joint_drive(k, drive)
        except ValueError as refusal:
            self._say(str(refusal))
            return
        times = Samples(next(iter(drives.values())).samples).times
        text = f"{name} drives {which} from {times[0]:g} to {times[-1]:g} s of simulated time"
        beyond = [rows[k].name for k, drive in drives.items() if not _within(drive, rows[k].reach("target"))]
        if beyond:
            others = f" and {len(beyond) - 1} more" if beyond[1:] else ""
            text += f"; it goes beyond the limits of {beyond[0]}{others}, where they stop"
        self._say(text)
        self._window.refresh()

    def _say(self, text: str) -> None:
        self._window.statusBar().showMessage(text, MESSAGE)


def _within(drive: Drive, reach: tuple[float, float]) -> bool:
    (low, high), (least, most) = reach, drive.extremes
    return low <= least and most <= high
