"""Simulation › Terrain: what robots stand on, and how the picture shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PyQt6.QtGui import QAction, QActionGroup
from PyQt6.QtWidgets import QInputDialog, QMenu

import engine
from app.desktop.actions import MESSAGE, make_action
from app.desktop.dialogs import ask_file
from app.desktop.reasons import reason
from app.gl.world import World, world_of
from app.simulation import grounds

if TYPE_CHECKING:
    from app.window import Window

SHAPES: tuple[tuple[str, str, Callable[[float], engine.Scene]], ...] = (
    ("&Flat", "Infinite plane", grounds.level),
    ("&Slope of 10°", "A plane that rises towards −x", grounds.sloping),
    ("&Rough", "Bumps up to a tenth of the robot's size: a height field", grounds.rough),
    ("S&tairs", "Flat ground with steps in front of the robot", grounds.stairs),
)
CELL, FEWEST, MOST = 0.1, 1e-4, 1e3  # m


class GroundView:
    """Lets the user choose the ground, and draws it where a robot stands."""

    def __init__(self, window: Window):
        self._window, self._bench, self._overlays = window, window.workbench, window.viewport.overlays
        self.menu = QMenu("&Terrain", window)
        self.menu.setToolTipsVisible(True)
        group = QActionGroup(window)
        self.shapes = [self._add(group, text, tip, partial(self._choose, make)) for text, tip, make in SHAPES]
        self.from_file = self._add(group, "Height &field…", "Heights in m from a file of numpy.save", self._ask)
        self._chosen: QAction = self.shapes[0]
        self._chosen.setChecked(True)
        window.menus.simulation.put(self.menu)
        self._steps: tuple[engine.Obstacle, ...] = ()  # of stairs, which go with them; all others stay
        self._shown: tuple[engine.Scene, World] | None = None
        window.refreshed.connect(self._refresh)

    def _add(self, group: QActionGroup, text: str, tip: str, slot: Callable[[], None]) -> QAction:
        action = make_action(self._window, text, lambda: slot(), tip=tip)
        action.setCheckable(True)
        group.addAction(action)
        self.menu.addAction(action)
        return action

    def _choose(self, make: Callable[[float], engine.Scene]) -> None:
        self._chosen = next(action for action in self.shapes if action.isChecked())
        self._take(make(self._window.viewport.robot_size))

    def _take(self, scene: engine.Scene) -> None:
        present = self._bench.settings.scene
        others = tuple(each for each in present.obstacles if each not in self._steps)
        self._steps = scene.obstacles
        scene = replace(scene, obstacles=others + self._steps, self_collision=present.self_collision)
        try:
            self._bench.set_scene(scene)
        except ValueError as refusal:
            self._window.statusBar().showMessage(str(refusal), MESSAGE)
        self._window.refresh()

    def _mark(self, scene: engine.Scene) -> None:
        """Mark the entry that the ground in force is of, which may have come with a session or a moment."""
        level, slope, rough, stairs = self.shapes
        if self._steps and set(self._steps) <= set(scene.obstacles):
            self._chosen = stairs
        elif isinstance(scene.ground, engine.Plane):
            self._chosen = level if scene.ground.normal[2] == 1.0 else slope
        elif self._chosen not in (rough, self.from_file):
            self._chosen = self.from_file
        self._chosen.setChecked(True)

    def _ask(self) -> None:
        self._chosen.setChecked(True)  # unless a file is chosen
        files = "Heights (*.npy);;All files (*)"
        if not (path := ask_file(self._window, "Open a height field", kinds=files)):
            return
        cell, given = QInputDialog.getDouble(
            self._window, "Height field", f"Metres from one height of {Path(path).name} to the next:",
            CELL, FEWEST, MOST, 4,
        )  # fmt: skip
        if not given:
            return
        try:
            scene = grounds.of_file(path, cell)
        except (OSError, ValueError, EOFError) as fault:
            self._window.statusBar().showMessage(f"{Path(path).name}: {reason(fault)}", MESSAGE)
            return
        self._chosen = self.from_file
        self._take(scene)

    def _refresh(self) -> None:
        settings = self._bench.settings
        self.menu.setEnabled(self._bench.stands and settings.ground)
        self._mark(settings.scene)
        frame = self._bench.replay.frame
        scene = settings.touched if frame is None else frame.setup.settings.scene
        if scene is None or (scene.ground is None and not scene.obstacles):
            self._overlays.set_world(None)
            return
        if self._shown is None or self._shown[0] is not scene:
            self._shown = scene, world_of(scene)
        self._overlays.set_world(self._shown[1])
