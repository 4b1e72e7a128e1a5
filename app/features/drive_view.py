"""The drives of joints in the window: a form at the selected row of the joints table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from PyQt6.QtCore import QModelIndex
from PyQt6.QtWidgets import QMenu, QWidget

from app.acting.drives import Drive
from app.acting.loaded_robot import JointDrives
from app.desktop.actions import MESSAGE, NO_ROBOT, acts_on_robot, make_action, offer
from app.desktop.context_menus import JOINT, Clicked
from app.features.window_type import Window
from app.panels.joint_form import JointForm
from app.simulation.batch_spread import OwnJoint
from app.simulation.messages import Loaded, Settings, Snapshot

REFRESH = 0.1  # s between two updates of changing values
EVERY_TIP = "Edit the drives and gains of all joints of one kind at once, in the form of one of them (or Ctrl+A there)"
WEIGHT_TIP = "Every drive adds the effort that balances gravity at its joint"


class DriveView:
    """Opens the form at a row of the Joints dock, and passes its values to the workbench."""

    def __init__(self, window: Window):
        self._window, self._bench, self._table = window, window.workbench, window.joints
        self.form = JointForm(window)  # owned by the window even if never shown
        self.form.hide()
        self.index = -1
        self._gains_of: tuple[object, ...] = ()  # the joint and the settings of `_gains`
        self._gains = 0.0, 0.0
        self._drive_shown = self._form_shown = Drive()  # as it is, and as the form has rounded it
        self._others_shown: list[Drive] = []
        self._settings_shown = Settings()
        self._special_shown: Mapping[int, Drive] = {}
        self.weight_action = make_action(window, "Gravity &compensation", self._carry, tip=WEIGHT_TIP)
        self.every_action = make_action(window, "Gains of all &joints…", self._edit_all, tip=EVERY_TIP)
        acts_on_robot(window.joints, self.form, self.weight_action)
        for action in (self.weight_action, self.every_action):
            window.menus.simulation.put(action)
        self._due = 0.0
        self._table.clicked.connect(self._choose)
        self._table.stepped.connect(self._step)
        self._table.extended.connect(self._extend)
        self._table.all_asked.connect(self._edit_all)
        self.form.driven.connect(self._drive)
        self.form.entered.connect(self._enter)
        self.form.away.clicked.connect(self._table.close_row)
        joints = self._bench.joints
        self.form.gains_asked.connect(lambda gains: self._act(joints.set_gains, self.index, gains, *self._others))
        self.form.own_asked.connect(self._set_own)
        self._table.driven.connect(partial(self._act, joints.set_drive))
        self._table.mode_asked.connect(partial(self._act, joints.drive))
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._show)
        window.framed.connect(self._follow)
        self._table.menu_made.connect(window.menus.context.fill)
        window.menus.context.offer("act", self._put_zero, JOINT)
        window.menus.context.offer("drive", self._put_drive, JOINT)

    def kept(self) -> dict[str, Any]:
        """Return effort limit, null for none, friction and damping of joints that have their own, for a session."""
        robot = self._bench.robot
        names = robot.model.coordinate_names if robot.model is not None else ()
        own = {names[v]: [limit if math.isfinite(limit) else None, *more] for v, limit, *more in robot.settings.joints}
        return {"joints": own}

    def restore(self, session: dict[str, Any]) -> None:
        """Set a session's own numbers of joints; a recorded frame that is shown has its own."""
        bench = self._bench
        rows = {row.effort_v: k for k, row in enumerate(bench.robot.coordinates) if row.driveable}
        names = {name: v for v, name in enumerate(bench.robot.model.coordinate_names) if v in rows}
        read = _own_joints(session.get("joints", {}))
        own = {rows[names[name]]: OwnJoint(names[name], *numbers) for name, numbers in read.items() if name in names}
        if not bench.replay.active and tuple(sorted(own.values())) != bench.robot.settings.joints:
            bench.joints.set_own({k: own.get(k) for k in rows.values()})

    def _put_zero(self, menu: QMenu, joint: Clicked) -> None:
        menu.addSeparator()
        zero = menu.addAction("Move to &zero", lambda: self._table.moved.emit(joint.number, 0.0))
        zero.setEnabled(self._bench.robot.coordinates[joint.number].leader is None)

    def _put_drive(self, menu: QMenu, joint: Clicked) -> None:
        row, with_gains = self._bench.robot.coordinates[joint.number], {v for v, *_ in self._bench.robot.settings.gains}
        together = self._table.table.together
        others = together - {joint.number} if joint.number in together else ()
        automatic = partial(self._act, self._bench.joints.set_gains, joint.number, None, *others)
        gains = menu.addAction("Auto&matic gains", lambda: automatic())
        gains.setEnabled(row.holdable and row.effort_v in with_gains)
        own = {each.v for each in self._bench.robot.settings.joints}
        of_file = partial(self._act, self._bench.joints.set_own, dict.fromkeys([joint.number, *others]))
        menu.addAction("Effort limit and &friction of the file", lambda: of_file()).setEnabled(row.effort_v in own)
        if row.driveable:
            menu.addAction("&Drive…", lambda: self.choose(joint.number))

    def _on_loaded(self, _: Loaded) -> None:
        self.index = -1

    def _choose(self, current: QModelIndex) -> None:
        if current.isValid():
            self.choose(current.row())

    def choose(self, index: int) -> None:
        """Show the form at a row of the table; undriven coordinates, as of a free base, have none."""
        self._table.close_row()
        if not self._bench.robot.coordinates[index].driveable:
            self.index = -1
            return
        self.index = index
        self.form.motion.clear()
        self._show()
        self._table.open_row(index, self.form)
        for one, next_one in pairwise((self._table, *self.form.controls)):
            QWidget.setTabOrder(one, next_one)

    @property
    def _others(self) -> list[int]:
        """The rows that the form edits as well."""
        return sorted(self._table.table.together - {self.index})

    def _extend(self, row: int, reaches: bool) -> None:
        """Have the form edit one joint more, or one fewer; with `reaches` all from its own to that one."""
        together = self._table.table.together or {self.index}
        if not self.form.isVisible():
            self.choose(row)
        elif reaches:
            self._edit_together(range(min(self.index, row), max(self.index, row) + 1))
        else:
            self._edit_together(together ^ {row})

    def _edit_all(self) -> None:
        """Have the form edit all joints, those of the opened row's kind, or of the first."""
        rows = self._bench.robot.coordinates
        self._window.docks.show_in_front("Joints")
        if not self.form.isVisible():
            self.choose(next(k for k, row in enumerate(rows) if row.driveable))
        self._edit_together(range(len(rows)))

    def _edit_together(self, rows: Iterable[int]) -> None:
        """Have the form edit these rows too, as far as their drives have the units of its own."""
        every = self._bench.robot.coordinates
        own = every[self.index]
        alike = {k for k in rows if every[k].driveable}
        alike = {k for k in alike if (every[k].angular, every[k].holdable) == (own.angular, own.holdable)}
        self._table.edit_together(frozenset(alike | {self.index}) if alike - {self.index} else frozenset())
        self.form.motion.clear()
        self._show()

    def _show(self) -> None:
        """Update table and form from the joints' drives."""
        bench = self._bench
        self._table.live = not bench.replay.active
        driveable = any(row.driveable for row in bench.robot.coordinates)
        for action in (self.weight_action, self.every_action):
            offer(action, (bench.robot.model is not None, NO_ROBOT), (driveable, "no joint can be driven"))
        drives = bench.inputs.drives(bench.shown)
        self._show_in_table(drives)
        if not 0 <= self.index < len(bench.robot.coordinates):
            self.form.show_joint(None, Drive(), (0.0, 0.0), OwnJoint(-1, 0.0, 0.0, 0.0))
            return
        self._show_drive(drives)
        self._due = 0.0
        if bench.shown is not None:
            self._follow(bench.shown)

    def _show_in_table(self, drives: JointDrives) -> None:
        self._settings_shown, self._special_shown = drives.settings, drives.special
        self._table.table.rows = self._bench.robot.coordinates  # their effort limits may be others
        self._table.show_held(drives.held_rows)
        self._table.show_drives(drives.special_rows)

    def _show_drive(self, drives: JointDrives) -> None:
        bench, settings = self._bench, drives.settings
        row = bench.robot.coordinates[self.index]
        key = (bench.robot.model, self.index, settings.dt, settings.integrator, settings.gains)
        if key != self._gains_of:
            gains = bench.joints.gains(self.index, settings) if row.holdable else (0.0, 0.0)
            self._gains_of, self._gains = key, gains
        self._drive_shown = drives[self.index]
        self.form.show_joint(row, self._drive_shown, self._gains, bench.joints.own(self.index, settings))
        self._form_shown = self.form.drive()
        if self._others:
            self._others_shown = [drives[k] for k in self._others]
            own, others = asdict(self._drive_shown), list(map(asdict, self._others_shown))
            differing = [name for name in own if any(other[name] != own[name] for other in others)]
            self.form.show_together(1 + len(self._others), differing)

    def _follow(self, frame: Snapshot) -> None:
        now = time.perf_counter()
        self._table.show_motion(frame.v, frame.effort)
        drives = self._bench.inputs.drives(frame) if frame.recorded else None
        if drives is not None and (drives.settings, drives.special) != (self._settings_shown, self._special_shown):
            self._show_in_table(drives)
        if (self._bench.robot.playing and now < self._due) or not 0 <= self.index < len(self._bench.robot.coordinates):
            return
        self._due = now + REFRESH
        drives = drives or self._bench.robot.drives_now
        others = [drives[k] for k in self._others]
        if drives[self.index] != self._drive_shown or (others and others != self._others_shown):
            self._show_drive(drives)  # changed by the table, its slider, a reset or the frame
        if self._others:
            return
        v = self._bench.robot.coordinates[self.index].effort_v
        self.form.show_motion(*((frame.v[v], frame.effort[v]) if v >= 0 else (math.nan, math.nan)))

    def _step(self, index: int, change: float) -> None:
        """Move a coordinate from where it was last set, which the newest frame may not show yet."""
        bench, row, state = self._bench, self._bench.robot.coordinates[index], self._bench.actions.state
        held = bench.robot.playing and bench.robot.is_held(index)
        value = (state.drives[row.name].value if held else row.value(state.q)) + change
        self._table.move_to(index, min(max(value, row.lower), row.upper) if row.limited else value)

    def _enter(self, name: str) -> None:
        """Set a number of the form in the drives of those edited with its joint, where they have another one."""
        drive = self.form.drive()
        value = getattr(drive, name)
        if any(getattr(self._bench.robot.set_drive(k), name) != value for k in self._others):
            self._drive(drive, {name: value})

    def _drive(self, drive: Drive, entered: Mapping[str, object] = MappingProxyType({})) -> None:
        """Set the drive of the form's joint, and what it changes, or is `entered`, in those edited with it."""
        robot, others, shown = self._bench.robot, self._others, asdict(self._form_shown)
        changed = {name: value for name, value in asdict(drive).items() if value != shown[name]} | dict(entered)
        drives = {self.index: drive} | {k: replace(robot.set_drive(k), **changed) for k in others}

        def drive_all() -> None:
            with self._bench.actions.as_one(f"Drive {len(drives)} joints") if others else nullcontext():
                for k, each in drives.items():
                    if math.isnan(each.value):  # a new mode starts at rest at the current position
                        held = each.mode == "target" and robot.newest is not None
                        each = replace(each, value=robot.coordinates[k].value(robot.newest.q) if held else 0.0)
                    self._bench.joints.set_joint_drive(k, each)

        self._act(drive_all)
        self._warn_of_limits(self.index)

    def _set_own(self, name: str, value: float) -> None:
        """Set one of the own numbers of the form's joint, and of those edited with it."""
        joints = self._bench.joints
        changed: dict[str, Any] = {name: value}
        own = {k: joints.own(k)._replace(**changed) for k in (self.index, *self._others)}
        self._act(joints.set_own, own)

    def _warn_of_limits(self, index: int) -> None:
        """Say that a wave goes beyond the limits of its joint, which stops it there."""
        row, drive = self._bench.robot.coordinates[index], self._bench.robot.set_drive(index)
        (low, high), (least, most) = row.reach(drive.mode), drive.extremes
        if drive.wave != "constant" and (least < low or most > high):
            wave, reach = (
                " to ".join(row.format(end, drive.mode) for end in ends) for ends in ((least, most), (low, high))
            )
            text = f"the {drive.wave} of {row.name} goes from {wave}, beyond its limits from {reach}"
            self._window.statusBar().showMessage(text, MESSAGE)

    def _act(self, act: Callable[..., object], *arguments: object) -> None:
        """Call a method that sets a drive or gains; the status bar says why it refuses."""
        try:
            act(*arguments)
        except ValueError as refusal:
            self._window.statusBar().showMessage(str(refusal), MESSAGE)
        self._window.refresh()

    def _carry(self) -> None:
        """Turn gravity compensation on for all joints, or off if all have it."""
        bench = self._bench
        rows = [k for k, row in enumerate(bench.robot.coordinates) if row.driveable]
        drives = bench.robot.drives_now
        on = not all(drives[k].weight for k in rows)

        def carry() -> None:
            with bench.actions.as_one("Gravity compensation"):
                for k in rows:
                    bench.joints.set_joint_drive(k, replace(drives[k], weight=on))

        self._act(carry)


def _own_joints(kept: object) -> dict[str, tuple[float, float, float]]:
    """Return effort limit, friction and damping by joint of a session's entry. Raises ValueError for another entry."""
    own = {}
    for name, numbers in kept.items() if isinstance(kept, dict) else {"joints": kept}.items():
        every = numbers if isinstance(numbers, list) else []
        every = [math.inf, *every[1:]] if every[:1] == [None] else every
        plain = all(isinstance(x, int | float) and not isinstance(x, bool) for x in every)
        if not plain or len(every) != 3 or not min(every) >= 0:
            wanted = "expected its effort limit, friction and damping, of 0 or more"
            raise ValueError(f"the numbers of {name:.60} came as {numbers!r:.60}; {wanted}")
        own[name] = (float(every[0]), float(every[1]), float(every[2]))
    return own
