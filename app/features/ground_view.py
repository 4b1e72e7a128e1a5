"""Simulation › Terrain: the ground under robots and its display."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from PyQt6.QtCore import QTimer
from PyQt6.QtGui import QAction, QActionGroup
from PyQt6.QtWidgets import QMenu, QWidget

import engine
from app.desktop.actions import MESSAGE, NO_ROBOT, REASON, acts_on_robot, make_action, offer
from app.desktop.dialogs import ask_file, ask_number
from app.features.window_type import Window
from app.gl.world import World, world_of
from app.jobs.code_ahead import CodeAhead
from app.panels.number_box import NumberBox
from app.panels.scene import ScenePanel
from app.picture.note import PictureNote
from app.reasons import reason
from app.simulation import grounds
from app.simulation.grounds import Terrain
from app.simulation.messages import Loaded
from app.simulation.running import simulation_of

SHAPES = (
    ("&Flat", grounds.FLAT, "Infinite plane"),
    ("&Slope", grounds.SLOPE, "An inclined plane"),
    ("&Rough", grounds.ROUGH, "Bumps: a height field"),
    ("S&tairs", grounds.STAIRS, "Flat ground with steps in front of the robot"),
)
TIP = "What the robot stands on; it is put down there, at rest"
NO_SHAPES_TIP = "The robot has no collision shapes to stand on"
NO_GROUND_TIP = "The ground is off: Simulation › Ground turns it on"
FIXED_TIP = (
    "The ground is off, since the robot's file fixes its root link to the world:\n"
    "Simulation › Floating base frees it, Simulation › Ground has the ground as it is"
)
SETTINGS_TIP = "Numbers of the terrain, such as angle, height and seed: in the Scene panel"
SURFACES_TIP = "Friction and restitution of the scene: in the Scene panel"
SOON = 0.5  # s until the reason for a delay is shown
BEAT = 50  # ms between two checks whether the code is ready
KNOWN = 256  # scenes with remembered parameters, more than can be undone
BURIED = 0.01  # robot sizes
BURYING = "the height field is {:.3g} m high where {} is fixed to the world: Simulation › Terrain has other ground"
CELL, MIN_CELL, MAX_CELL = 0.1, 1e-4, 1e3  # m


class GroundView:
    """Lets the user select the ground, and draws the scene around the robot."""

    def __init__(self, window: Window):
        self._window, self._bench, self._overlays = window, window.workbench, window.viewport.overlays
        self.menu = QMenu("&Terrain", window, toolTipsVisible=True)
        acts_on_robot(self.menu)
        group = QActionGroup(window)
        self.shapes = [self._add(group, text, tip, partial(self.choose, kind)) for text, kind, tip in SHAPES]
        self.from_file = self._add(group, "Height &field…", "Heights in m from a file of numpy.save", self._ask)
        self.menu.addSeparator()
        panel = window.docks["Scene"].findChild(ScenePanel)
        self.form, self.surface = panel.terrain, panel.surface
        of_terrain, of_surfaces = partial(self._go_to, self.form.kind), partial(self._go_to, self.surface.friction)
        self.menu.addAction(make_action(window, "S&ettings…", of_terrain, tip=SETTINGS_TIP))
        surfaces = make_action(window, "Friction and restitution…", of_surfaces, tip=SURFACES_TIP)
        self.surface.changed.connect(self._bench.configuring.set_surface)
        self.form.chosen.connect(self.choose)
        self.form.changed.connect(self.set_terrain)
        self._present = engine.Scene(), Terrain(grounds.FLAT)
        self._made = deque([self._present], KNOWN)  # the newest first
        self._kind = ""  # of the last ground; empty for a newly selected one
        self.note, self._ahead, self._timer = PictureNote(window.viewport), CodeAhead(), QTimer(window, interval=BEAT)
        self._awaited, self._since = self._present, 0.0
        self._timer.timeout.connect(self._poll)
        window.loaded.connect(self._on_loaded)
        window.closing.connect(self._forget)
        window.menus.simulation.put(self.menu, surfaces)
        window.files.dropped[".npy"] = self._drop
        window.files.with_robot.add(".npy")
        self._shown: tuple[engine.Scene, World] | None = None
        window.refreshed.connect(self._refresh)

    def _add(self, group: QActionGroup, text: str, tip: str, slot: Callable[[], None]) -> QAction:
        action = make_action(self._window, text, lambda: slot(), tip=tip)
        action.setCheckable(True)
        group.addAction(action)
        self.menu.addAction(action)
        return action

    def _go_to(self, field: QWidget) -> None:
        self._window.docks.show_in_front("Scene")
        field.setFocus()

    def choose(self, kind: str) -> None:
        """Select a kind of ground, one of `grounds.KINDS`, scaled to the robot."""
        if kind == grounds.FIELD:
            self._ask()
        else:
            viewport = self._window.viewport
            front = viewport.bounds_of(engine.link_poses(self._bench.robot.model, self._bench.robot.initial))[1][0]
            self._kind = ""
            self.set_terrain(grounds.usual(kind, viewport.robot_size, float(front)))

    def set_terrain(self, terrain: Terrain) -> None:
        """Set the ground, and show it."""
        self._put(grounds.scene_of(terrain, self._window.viewport.robot_size), terrain)

    def _put(self, scene: engine.Scene, terrain: Terrain) -> None:
        """Set the ground; while playing, only once its code is compiled, so that the robot keeps moving until then."""
        self._forget()
        bench = self._bench
        if not bench.robot.playing or bench.computation.device != "cpu":
            self._arrive(scene, terrain)
            return
        model, settings = bench.robot.model, replace(bench.robot.settings, scene=self._among(scene), device="cpu")
        self._ahead.begin(lambda: simulation_of(model, settings))
        self._awaited, self._since = (scene, terrain), time.monotonic()
        self._timer.start()
        self._refresh()

    def _poll(self) -> None:
        """Set the selected ground once its code is ready."""
        scene, terrain = self._awaited
        if self._ahead.poll():
            self._forget()
            self._arrive(scene, terrain)
        elif time.monotonic() > self._since + SOON:
            self.note.say(waits_for(terrain.kind, self._ahead.left))

    def _forget(self) -> None:
        """Stop waiting for code."""
        self._timer.stop()
        self._ahead.cancel()
        self.note.say("")

    def _on_loaded(self, event: Loaded) -> None:
        self._forget()
        settings, bar = event.settings, self._window.statusBar()
        high = grounds.height_at_base(settings.scene) if settings.ground and not self._bench.robot.base_floats else 0.0
        if high > BURIED * self._window.viewport.robot_size:
            text = BURYING.format(high, event.model.name)
            bar.showMessage("; ".join(filter(None, (text, bar.currentMessage()))), MESSAGE)

    def _arrive(self, scene: engine.Scene, terrain: Terrain) -> None:
        self._made.appendleft((scene, terrain))
        try:
            self._bench.set_scene(self._among(scene))
        except ValueError as refusal:
            self._window.statusBar().showMessage(str(refusal), MESSAGE)
        self._window.refresh()
        if scene.obstacles:
            self._show_stairs(scene, turned=terrain.kind != self._kind)
        self._kind = terrain.kind

    def _show_stairs(self, scene: engine.Scene, turned: bool) -> None:
        """Bring the stairs into view, from the front if they are new."""
        viewport, ends = self._window.viewport, np.array([end for each in scene.obstacles for end in _corners(each)])
        viewport.bring_into_view(ends.min(0), ends.max(0))
        if turned and np.cos(viewport.camera.azimuth) > 0:
            viewport.see(replace(viewport.camera, azimuth=np.pi - viewport.camera.azimuth))

    def _among(self, scene: engine.Scene) -> engine.Scene:
        """Return the scene with the present surfaces and obstacles, except steps of the previous stairs."""
        present = self._bench.robot.settings.scene
        steps = self._of(present)[0].obstacles
        others = tuple(each for each in present.obstacles if each not in steps)
        return replace(
            scene, obstacles=others + scene.obstacles, self_collision=present.self_collision,
            friction=present.friction, restitution=present.restitution,
        )  # fmt: skip

    def _of(self, scene: engine.Scene) -> tuple[engine.Scene, Terrain]:
        """Return the ground of a scene alone and its parameters; it may come from a session or a frame."""
        there = set(scene.obstacles)
        known = [each for each in self._made if each[0].ground == scene.ground and set(each[0].obstacles) <= there]
        other = engine.Scene(ground=scene.ground), grounds.terrain_of(scene.ground)
        made, terrain = max(known, key=lambda each: len(each[0].obstacles), default=other)
        if terrain.kind == grounds.FLAT and (found := engine.stairs_among(scene.obstacles)):
            return engine.Scene(ground=scene.ground, obstacles=found[0]), Terrain(grounds.STAIRS, found[1])
        return made, terrain

    def _ask(self) -> None:
        self._refresh()  # the present kind remains checked unless a file is selected
        files = "Heights (*.npy);;All files (*)"
        if path := ask_file(self._window, "Open a height field", kinds=files):
            self._open(path)

    def _drop(self, path: str) -> None:
        """Open a dropped height field, once the drop is over, or say why there can be none."""
        self._refresh()  # the ground may have been switched just now
        if self.menu.isEnabled():
            QTimer.singleShot(0, partial(self._open, path))
        else:
            why_not = " ".join(str(self.menu.property(REASON)).split())
            self._window.statusBar().showMessage(f"{Path(path).name}: {why_not}", MESSAGE)

    def _open(self, path: str) -> None:
        try:
            grounds.of_file(path, CELL)  # reject a file without heights before the dialog opens
            box = NumberBox(MIN_CELL, MAX_CELL, 4)
            box.setSuffix(" m")
            box.setValue(CELL)
            text = f"From one height of {Path(path).name} to the next:"
            if (cell := ask_number(self._window, "Height field", text, box)) is not None:
                scene = grounds.of_file(path, cell)
                self._put(scene, Terrain(grounds.FIELD, note=grounds.describe(scene.ground, Path(path).name)))
        except (OSError, ValueError, EOFError) as error:
            self._window.statusBar().showMessage(f"{Path(path).name}: {reason(error)}", MESSAGE)

    @property
    def _no_ground(self) -> str:
        return NO_GROUND_TIP if self._bench.robot.base_floats or self._bench.source is None else FIXED_TIP

    def _refresh(self) -> None:
        settings = self._bench.robot.settings
        there, stands = self._bench.robot.model is not None, self._bench.stands
        for each, where in ((self.menu, self.menu.menuAction()), (self.form, self.form.kind)):
            offer(each, (there, NO_ROBOT), (stands, NO_SHAPES_TIP), (settings.ground, self._no_ground))
            where.setToolTip(each.property(REASON) if there and not each.isEnabled() else TIP)
        if self._present[0] is not settings.scene:
            self._present = settings.scene, self._of(settings.scene)[1]
        terrain = self._present[1]
        (*self.shapes, self.from_file)[grounds.KINDS.index(terrain.kind)].setChecked(True)
        why = "" if self.form.isEnabled() or not there else str(self.form.property(REASON))
        self.form.show_terrain(replace(terrain, note=why or terrain.note))
        self.surface.setEnabled(self._bench.robot.model is not None)
        self.surface.show_scene(settings.scene)
        frame = self._bench.replay.frame
        scene = settings.touched if frame is None else frame.setup.settings.scene
        if scene is None or (scene.ground is None and not scene.obstacles):
            self._overlays.set_world(None)
            return
        if self._shown is None or self._shown[0] is not scene:
            self._shown = scene, world_of(scene)
        self._overlays.set_world(self._shown[1])


def waits_for(kind: str, left: float) -> str:
    """Return the message shown while code is compiled for a kind of ground; `left` in s."""
    until = f"about {left:.0f} s left" if left >= 1 else "almost ready"
    return f"{kind}: compiling once on this computer, {until}. The robot stays on the present terrain until then."


def _corners(obstacle: engine.Obstacle) -> Iterator[np.ndarray]:
    """Yield the lowest and the highest corner of an axis-aligned box."""
    center, half = np.asarray(obstacle.pose)[:3, 3], np.array(obstacle.size) / 2
    yield from (center - half, center + half)
