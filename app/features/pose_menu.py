"""Simulation › Pose: the neutral pose, those of a robot's SRDF, and saved ones; also above the sliders."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QRect, QTimer
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QMenu, QToolButton

import engine
from app.acting import saved_poses
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer
from app.desktop.context_menus import JOINT
from app.desktop.dialogs import MAX_NAME, NAMELESS, ask_name
from app.desktop.settings import setting, write
from app.features.undo_view import UndoView
from app.features.window_type import Window
from app.panels.joint_table import VALUE
from app.simulation.messages import Loaded
from app.simulation.starting import first_pose, start_of

KEY = "poses"  # the settings' key
MARGIN = 2  # px around the button in the joints' header
POSE = "pose"
_AGAIN = "save it again, or delete it"
Named = dict[str, saved_poses.Pose]


class PoseMenu(QObject):
    """Makes the menu and the button, keeps saved poses, and reports a start pose other than the neutral one."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._settings = window, window.workbench, window.settings
        self._robot: engine.Model | None = None
        self._entries: list[QAction] = []
        tip = "Save the pose that is shown under a name, for this robot"
        self.save = make_action(window, "&Save pose…", self._ask_to_save, tip=tip)
        self.menu = QMenu("P&ose", window, toolTipsVisible=True, aboutToShow=self._fill)
        self._rename, self._delete = QMenu("&Rename", self.menu), QMenu("&Delete", self.menu)
        window.menus.simulation.put(self.menu)
        self._header = window.joints.horizontalHeader()
        self.button = QToolButton(self._header)
        self.button.setText("Pose")
        self.button.setToolTip("The neutral pose, those that the robot's SRDF names, and those that you saved")
        self.button.setMenu(self.menu)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._header.installEventFilter(self)
        self._header.sectionResized.connect(lambda *_: QTimer.singleShot(0, self._place))
        window.menus.context.offer("first", lambda menu, _: menu.addAction(self.save), JOINT)
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._refresh)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the button over the value column."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        header, wide = self._header, self.button.sizeHint().width()
        right = header.sectionViewportPosition(VALUE) + header.sectionSize(VALUE)
        place = QRect(right - wide - MARGIN, MARGIN, wide, header.height() - 2 * MARGIN)
        self.button.setGeometry(place)

    def _on_loaded(self, event: Loaded) -> None:
        """List a new robot's poses; in a scene with other bodies, the robot's own."""
        robot = self._robot = event.model.parts[0].model if event.model.parts else event.model
        self._fill()
        start, scalar = start_of(robot), robot.q_of_v[robot.q_of_v >= 0]  # the base is put on the ground
        if start.outside and robot is event.model and np.allclose(event.start[scalar], first_pose(robot)[scalar]):
            first, more = start.outside[0], len(start.outside) - 1
            whose = f"{first} and {more} more" if more else first
            self._say(f"it starts in the pose {start.pose!r} of its SRDF, since zero is outside the limits of {whose}")

    def _fill(self) -> None:
        self.menu.clear()
        if self._robot is None:
            return
        self._entries.clear()
        for name in self._given:
            state = self._robot.group_states.get(name)
            tip = "Every joint at zero, or at its nearer limit" if state is None else _joints_of(state)
            tip += "".join(f"; {each}" for each in saved_poses.outside(self._robot, name))
            self._add(self.menu, name, self._set, tip)
        saved = self._poses.get(self._robot.name, {})
        if saved:
            self.menu.addSeparator()
        for name, pose in saved.items():
            why = saved_poses.misfit(self._bench.robot.model, pose)
            self._add(self.menu, name, self._set_saved, _unfit(why) if why else "A pose that you saved")
        self._entries += [action for action in self.menu.actions() if not action.isSeparator()]
        self.menu.addSeparator()
        self.menu.addAction(self.save)
        for menu, slot in ((self._rename, self._ask_to_rename), (self._delete, self.delete)):
            menu.clear()
            for name in saved:
                self._add(menu, name, slot)
            if saved:
                self.menu.addMenu(menu)
        self._refresh()

    def _add(self, menu: QMenu, name: str, slot: Callable[[str], None], tip: str = "") -> None:
        action = menu.addAction(name.replace("&", "&&"))
        action.setToolTip(tip)
        action.triggered.connect(partial(_call, slot, name))

    @property
    def _given(self) -> tuple[str, ...]:
        """The names of the poses that come with the robot."""
        return tuple(dict.fromkeys(("neutral", *(self._robot.group_states if self._robot else ()))))

    def _set(self, name: str, posed: np.ndarray | None = None) -> None:
        """Put the robot into a pose, its own or `posed` (nq,); during play its drives move the held joints there."""
        bench, limited = self._bench, saved_poses.outside(self._robot, name) if posed is None else []
        if not bench.robot.playing:
            bench.posing.set_pose(name, posed)
            if limited:
                self._say(f"pose {name!r}: {'; '.join(limited)}")
        else:
            try:
                bench.joints.aim(name, bench.robot.model.pose(name, bench.robot.q) if posed is None else posed)
                self._say("; ".join([f"the drives move the joints to the pose {name!r}", *limited]))
            except ValueError as refusal:
                self._say(str(refusal))
        self._window.refresh()

    def _refresh(self) -> None:
        bench = self._bench
        for entry in self._entries:
            offer(entry, (not bench.replay.active, "a recorded frame is shown"))
        for part in (self.menu, self.button, self.save):
            offer(part, (bench.robot.model is not None, NO_ROBOT))
        self.button.setVisible(bench.robot.model is not None and bool(bench.robot.coordinates))

    def _say(self, text: str) -> None:
        self._window.statusBar().showMessage(text, MESSAGE)

    # Saved poses.

    @property
    def _poses(self) -> saved_poses.Poses:
        return saved_poses.read(setting(self._settings, KEY, "{}"))

    def _set_saved(self, name: str) -> None:
        model, pose = self._bench.robot.model, self._poses.get(self._robot.name, {}).get(name)
        if pose is None:  # deleted in another window
            self._say(f"the pose {name!r} was deleted")
            return
        if why := saved_poses.misfit(model, pose):
            self._say(f"the pose {name!r} does not fit {self._robot.name}: {why}; {_AGAIN}")
            return
        self._set(name, saved_poses.q_with_pose(model, pose, self._bench.actions.state.q))

    def _ask_to_save(self) -> None:
        if (name := ask_name(self._window, "Save this pose", POSE, refuse=self._why_given)) is not None:
            self.keep(name)

    def keep(self, name: str) -> None:
        """Save the pose that is shown under a name, replacing a saved pose of that name."""
        bench = self._bench
        pose = saved_poses.pose_of(bench.robot.model, *saved_poses.shown(bench.replay, bench.actions.state.q))
        there = name.strip()[:MAX_NAME] in self._poses.get(self._robot.name, {})
        done = "pose replaced, and Undo (Ctrl+Z) brings the one before back" if there else "pose saved"
        self._name(name, lambda poses, name: poses | {name: pose}, done, "Save pose {}")

    def _ask_to_rename(self, name: str) -> None:
        def refuse(new: str) -> str:
            return "" if new == name else self._why_given(new) or self._why_taken(new)

        new = ask_name(self._window, "Rename a pose", POSE, name, refuse)
        if new not in (None, name):
            self.rename(name, new)

    def rename(self, name: str, new: str) -> None:
        """Rename a saved pose; the name must be free."""
        if why := self._why_taken(new):
            self._say(why)
            return
        self._name(
            new,
            lambda poses, new: {new if each == name else each: pose for each, pose in poses.items()},
            "pose renamed",
            f"Rename pose {name} to {{}}",
        )

    def _name(self, name: str, change: Callable[[Named, str], Named], done: str, undo: str) -> None:
        """Change the robot's saved poses, one of which is then called `name`; `undo` is the undo text for that name."""
        name = name.strip()[:MAX_NAME]
        if why := self._why_given(name) if name else NAMELESS.format(POSE):
            self._say(why)
        elif self._change(lambda poses: change(poses, name), undo.replace("{}", name)):
            self._say(f"{done}: Simulation › Pose › {name}")

    def _why_given(self, name: str) -> str:
        """Return why no saved pose can have this name, if the robot's file gives it; else ""."""
        return f"{name!r} is a pose of the robot itself; type another name" if name in self._given else ""

    def _why_taken(self, name: str) -> str:
        taken = name.strip() in self._poses.get(self._robot.name, {})
        return f"there is a pose {name.strip()!r} already; type another name, or delete it first" if taken else ""

    def delete(self, name: str) -> None:
        """Delete a saved pose."""
        if self._change(lambda poses: {each: poses[each] for each in poses if each != name}, f"Delete pose {name}"):
            self._say(f"pose deleted: {name}; Undo brings it back")

    def _change(self, change: Callable[[Named], Named], undo: str) -> bool:
        """Store the robot's saved poses changed; `undo` is the undo text."""
        before = self._poses.get(self._robot.name, {})
        after = change(before)
        if not self._store(after):
            return False
        self._window.feature(UndoView).add(undo, partial(self._swap, after, before), partial(self._swap, before, after))
        return True

    def _swap(self, old: Named, new: Named) -> bool:
        """Store the poses `new` in place of `old`; those saved meanwhile in another window stay. Report an error."""
        self._settings.sync()
        others = {name: pose for name, pose in self._poses.get(self._robot.name, {}).items() if name not in old}
        return self._store(new | others)

    def _store(self, poses: Named) -> bool:
        """Write the robot's saved poses, at once, so that a crash loses none; report an error."""
        self._settings.sync()  # with what another window saved
        robots = {robot: each for robot, each in self._poses.items() if robot != self._robot.name}
        if write(self._settings, KEY, json.dumps(robots | ({self._robot.name: poses} if poses else {}))):
            return True
        self._say(f"the poses cannot be written to {self._settings.fileName()}; make that file writable")
        return False


def _call(slot: Callable[[str], None], name: str, *_: object) -> None:
    slot(name)


def _unfit(why: str) -> str:
    return f"This pose does not fit the robot: {why}"


def _joints_of(state: Mapping[str, tuple[float, ...]]) -> str:
    many = "1 joint" if len(state) == 1 else f"{len(state)} joints"
    return f"A pose of {many}, by the robot's SRDF"
