"""The Scene dock: add, change and remove terrain, obstacles, free bodies and other robots."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PyQt6.QtCore import QObject, QPoint, Qt, QTimer
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QMenu

import engine
from app.acting import scene_objects
from app.acting.loaded_robot import alone
from app.acting.scene_objects import SceneObject, body_of
from app.acting.undoing import State
from app.desktop.actions import MESSAGE, NO_ROBOT, give_reason, make_action, offer
from app.desktop.context_menus import LINK, OBJECT, SPACE, Clicked
from app.desktop.dialogs import ask_file
from app.desktop.docks import LEFT, Dock
from app.desktop.numbers import round_length
from app.features import object_places
from app.features.edits_in_turn import EditsInTurn
from app.features.file_reader import FileReader
from app.features.state_transfer import Before, restore_state
from app.features.window_type import Window
from app.panels.scene import ScenePanel
from app.simulation import grounds
from app.simulation.messages import Loaded, Snapshot
from app.simulation.running import can_stand

TIP = "Terrain, obstacles, free bodies and other robots around the robot (O)"
LINE = 160  # characters of a message in the status bar, at most
SETTLING = 50  # ms between two looks whether parts are still being added
REFRESH = 0.1  # s between two updates of the numbers while the simulation plays
NEW_RUN = "; a new run begins, and File › Open last run (Ctrl+Shift+T) opens the one before"
BELOW = "the ground stays off: {robot} reaches below it in its starting pose"
CHANGING = "Change the objects"
LEFT_ONE = "the object around {robot} was removed; Undo (Ctrl+Z) adds it here"
LEFT_MANY = "{count} objects around {robot} were removed; Undo (Ctrl+Z) adds them here"
STAYS = "{} stay{} as set for the robot before; the menu Simulation has others"
HUGE = "{name} is {size:.4g} m large; if its file is in millimetres, set its scale to 0.001 in the Scene dock"
OBSTACLE, BODY = 0.2, 0.06  # of the robot's size: edge lengths of new objects
MESH_SUFFIXES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
MESHES = f"Meshes ({' '.join(f'*{each}' for each in MESH_SUFFIXES)});;All files (*)"
ROBOTS = "Robots (*.urdf *.xacro *.xml);;All files (*)"


class SceneView(QObject):
    """Adds the dock, and passes its edits to the workbench."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._overlays = window, window.workbench, window.viewport.overlays
        self.turns = EditsInTurn(window, lambda: self.composing)
        self.adding = QMenu("&Add to the scene", window, toolTipsVisible=True)
        self._fill()
        tips = "Add a copy of each selected object beside it", "Remove the selected objects"
        self.duplicating = self._of_selected("&Duplicate object", self.duplicate, "Ctrl+D", tips[0])
        self.removing = self._of_selected("&Remove object", self.remove, Qt.Key.Key_Delete, tips[1])
        window.menus.edit.put(self.duplicating, self.removing, apart=True)
        self.panel = ScenePanel(self.adding, self.duplicating, self.removing)
        self.action = window.docks.add(Dock("Scene", self.panel, LEFT, "Robot", "scene", "O", TIP, sideways=False))
        window.toolbar.addAction(self.action)
        window.menus.simulation.put(self.adding)
        self._reader = FileReader(window)
        self._before: Before | None = None
        self._plays = False  # whether play was pressed while parts are being added
        self._due, self._path, self._follows = 0.0, "", False
        self._corners: dict[str, np.ndarray] = {}  # (2, 3) of the meshes that were added, by file
        window.files.dropped |= dict.fromkeys(MESH_SUFFIXES, self.add_mesh)
        self.panel.chosen.connect(self._follow)
        self.panel.list.itemSelectionChanged.connect(self._highlight)
        self.panel.changed.connect(lambda *edit: self.turns.add(partial(self.change, *edit)))
        window.selection.changed.connect(self._follow_link)
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self.show)
        window.docks["Scene"].visibilityChanged.connect(lambda shown: self.show() if shown else None)
        window.framed.connect(self._show_frame)
        menus = window.menus.context
        menus.watch(self.panel.list, self._thing_at)
        menus.offer("first", lambda menu, _: menu.addMenu(self.adding), SPACE)
        menus.offer("change", self._put_changes, LINK, OBJECT)

    def _thing_at(self, at: QPoint) -> Clicked | None:
        """Return the object at a place of the list; beside the objects, show what can be added."""
        if (row := self.panel.list.row(self.panel.list.itemAt(at))) >= 0:
            return Clicked(OBJECT, self.objects[row].name, row)
        self.adding.popup(self.panel.list.mapToGlobal(at))
        return None

    def _put_changes(self, menu: QMenu, clicked: Clicked) -> None:
        row = clicked.number
        if clicked.kind == LINK:
            if (part := self._bench.surroundings.part_of_link(row)) < 0:
                return
            row = len(self.obstacles) + part
        menu.addSeparator()
        edit = menu.addAction("&Edit…", lambda: self._window.docks.show_in_front("Scene"))
        edit.triggered.connect(lambda: self.choose(row))
        rows = chosen if row in (chosen := self.panel.rows) else [row]
        menu.addAction("&Duplicate", lambda: self.turns.add(partial(self.duplicate, *rows)))
        menu.addAction("&Remove", lambda: self.turns.add(partial(self.remove, *rows)))

    def _fill(self) -> None:
        for title, free in (("Obstacle", False), ("Free body", True)):
            for shape in ("box", "sphere", "cylinder", "capsule"):
                name = "cube" if free and shape == "box" else scene_objects.LABELS[shape].lower()
                tip = "A body that moves freely and can be grasped" if free else "Fixed to the world"
                self._entry(f"{title}: {name}", tip, partial(self.turns.add, partial(self.add, shape, free)))
            if not free:
                self._entry("Obstacle: mesh…", "A mesh, by its convex parts or its convex hull", self._ask_mesh)
            self.adding.addSeparator()
        self._entry("Robot on a fixed base…", "Another robot's file", partial(self._ask_robot, False))
        self._entry("Robot or body on a free base…", "A robot's file, or a body's", partial(self._ask_robot, True))

    def _entry(self, text: str, tip: str, slot: Callable[[], None]) -> None:
        self.adding.addAction(make_action(self._window, text, lambda: slot(), tip=tip))

    # Contents.

    @property
    def obstacles(self) -> tuple[engine.Obstacle, ...]:
        """The obstacles of the scene, first in the list."""
        return self._bench.robot.settings.scene.obstacles

    @property
    def objects(self) -> tuple[SceneObject, ...]:
        """All objects of the list, in their current state."""
        return self._bench.surroundings.objects()

    def show(self) -> None:
        """Update the panel."""
        there = self._bench.robot.model is not None
        if self.panel.composing != self.composing:
            self.panel.composing = self.composing
            self.panel.show_units()
        if self.composing:
            self._plays = self._bench.robot.playing
        offer(self.adding, (there, NO_ROBOT))
        self.panel.setEnabled(there)
        self.panel.usual = self._bench.robot.settings.scene.friction
        if there and (self.panel.isVisible() or self.panel.row >= 0):
            self._show_objects()
        self._highlight()

    def _highlight(self) -> None:
        """Highlight all selected objects in the picture."""
        count, root = len(self.obstacles), self._bench.surroundings.root_of_part
        rows = [row for row in self.panel.rows if row < len(self.objects)]
        bodies = [root(row - count) for row in rows if row >= count]
        self._overlays.choose_objects([row for row in rows if row < count], bodies)

    def _show_objects(self) -> None:
        bench, replay = self._bench, self._bench.replay
        why_not = f"{replay.reason}; to move objects {replay.ways_on}" if replay.active else ""
        objects = bench.surroundings.objects(bench.shown if replay.active else None)
        self.panel.show_objects(objects, bench.robot.playing, why_not)

    def _show_frame(self, _: Snapshot) -> None:
        now = time.perf_counter()
        moves = self._bench.robot.playing or self._bench.replay.playing
        if self._bench.robot.parts and (not moves or now > self._due):
            self._due = now + REFRESH
            self.show()

    def _follow(self, row: int) -> None:
        """Select in the viewport the object selected in the list."""
        part = row - len(self.obstacles)
        self._follows = True
        self._window.selection.choose(self._bench.surroundings.root_of_part(part) if part >= 0 else -1)
        self._follows = False
        self._highlight()

    def _follow_link(self, link: int) -> None:
        if link >= 0 and not self._follows:  # the list has its own selection, also of several
            part = self._bench.surroundings.part_of_link(link)
            self.choose(len(self.obstacles) + part if part >= 0 else -1)

    def choose(self, row: int) -> None:
        """Select a row of the list, −1 for none."""
        self._show_objects()
        self.panel.choose(row)
        self._highlight()

    @property
    def _robot(self) -> engine.Model | None:
        """The robot without the parts around it."""
        return None if self._bench.robot.model is None else alone(self._bench.robot.model)

    @property
    def composing(self) -> bool:
        """Whether parts are being added, changed or removed, and no other robot is being opened."""
        return self._before is not None and self._bench.opening.loading == self._bench.path

    def _waits(self, put: Callable[[], None], robot: engine.Model) -> bool:
        """Whether what was read for `robot` cannot be put yet, since parts are being added, or no more."""
        if self._bench.opening.loading:
            QTimer.singleShot(SETTLING, put)
        return bool(self._bench.opening.loading) or robot is not self._robot

    # Edits.

    def add(self, shape: str, free: bool) -> None:
        """Add an obstacle or a free body in front of the robot."""
        edge = round_length((BODY if free else OBSTACLE) * self._window.viewport.robot_size)
        place = self._place(np.full(3, -edge), np.full(3, edge))
        self._put(scene_objects.new_object(shape, edge, free, place, [each.name for each in self.objects]))

    def _place(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the shift (3,) of what is in a box, with room around it, to in front of the robot."""
        viewport = self._window.viewport
        eye = viewport.camera.eye - viewport.center
        return object_places.in_front((low, high), viewport.robot_bounds, self._boxes(), eye)

    def _put(self, item: SceneObject) -> None:
        if item.mass is None:
            count = len(self.obstacles)
            self._set_obstacles([*self.obstacles, item], count, f"Add {scene_objects.LABELS[item.shape]} {count + 1}")
            if len(self.obstacles) > count:
                self._bring_into_view(item)
        else:
            self._add_part(lambda: body_of(item, item.pose), item.name)

    def change(self, row: int, item: SceneObject) -> None:
        """Replace the object in a row."""
        if row < len(self.obstacles):
            reported = scene_objects.change_text(self.objects[row], item)
            self._set_obstacles([*self.obstacles[:row], item, *self.obstacles[row + 1 :]], row, reported)
            return
        number = row - len(self.obstacles)
        part, before = self._bench.robot.parts[number], self.objects[row]
        if not scene_objects.redefines(before, item) and self._bench.surroundings.is_free(number):
            self._bench.surroundings.place_part(number, item.pose)
            return
        parts = self._bench.robot.parts

        def made() -> list[engine.Part]:
            one = body_of(item, part.pose) if item.shape else engine.Part(part.model, item.pose, part.prefix)
            return [*parts[:number], one, *parts[number + 1 :]]

        self._set_parts(made, row, scene_objects.change_text(before, item))

    def remove(self, *rows: int) -> None:
        """Remove the objects in rows, in one step."""
        every, first, count = self._bench.robot.parts, min(rows), len(self.obstacles)
        reported = f"Remove {self.objects[first].name if len(rows) == 1 else f'{len(rows)} objects'}"
        obstacles = [each for row, each in enumerate(self.obstacles) if row not in rows]
        parts = [each for row, each in enumerate(every, count) if row not in rows]
        if len(parts) == len(every):
            self._set_obstacles(obstacles, first - 1, reported)
        else:
            self._set_parts(lambda: parts, first - 1, reported, obstacles)

    def _of_selected(self, text: str, change: Callable[..., None], key: str | Qt.Key, tip: str) -> QAction:
        """Return an action on the objects that are selected when its turn comes, such as the copy made before."""

        def act() -> None:
            if rows := self.panel.rows:
                change(*rows)

        action = make_action(self._window, text, lambda: self.turns.add(act), key, tip=tip)
        action.setAutoRepeat(False)
        give_reason(action, "select an object in the Scene dock or in the picture first")
        return action

    def duplicate(self, *rows: int) -> None:
        """Add a copy of each of these rows' objects beside it, in one step."""
        every, boxes, robots = self.objects, self._boxes(), [each.model for each in self._bench.robot.parts]
        names, copies, count = [each.name for each in every], [], len(self.obstacles)
        for row in rows:
            (low, high), pose, item = boxes[row], every[row].pose.copy(), every[row]
            least = 0.0 if np.any(high > low) else OBSTACLE * self._window.viewport.robot_size
            shift = object_places.beside((low, high), [*boxes[:row], *boxes[row + 1 :]], least) * np.array([0, 1, 0])
            pose[:3, 3] += shift
            boxes.append((low + shift, high + shift))
            names.append(scene_objects.free_name(re.sub(r" \d+$", "", item.name), names))
            copies.append(replace(item, pose=pose, name=names[-1]))
        parts = [
            partial(body_of, item, item.pose)
            if item.shape
            else partial(engine.Part, robots[row - count], item.pose, f"{item.name}/")
            for row, item in zip(rows, copies, strict=True)
            if row >= count
        ]
        if len(copies) == 1 and not parts:
            self._put(copies[0])
            return
        reported = f"Add {copies[0].name}" if len(copies) == 1 else f"Duplicate {len(copies)} objects"
        obstacles = [*self.obstacles, *map(scene_objects.obstacle_of, copies[: len(copies) - len(parts)])]
        if parts:
            own = self._bench.robot.parts
            last = len(obstacles) + len(own) + len(parts) - 1
            self._set_parts(lambda: [*own, *(make() for make in parts)], last, reported, obstacles)
        else:
            self._set_obstacles(obstacles, len(obstacles) - 1, reported)

    def _set_obstacles(self, wanted: Sequence[engine.Obstacle | SceneObject], row: int, reported: str) -> None:
        try:
            made = [scene_objects.obstacle_of(each) if isinstance(each, SceneObject) else each for each in wanted]
            self._bench.surroundings.set_obstacles(made, reported)
        except ValueError as refusal:
            self._window.statusBar().showMessage(str(refusal), MESSAGE)
        self._window.refresh()
        self.choose(row)

    def _add_part(self, part: Callable[[], engine.Part], name: str) -> None:
        self._set_parts(lambda: [*self._bench.robot.parts, part()], len(self.objects), f"Add {name}")

    def _set_parts(self, parts: Callable[[], Sequence[engine.Part]], row: int, reported: str, *obstacles: Any) -> None:
        """Set the parts beside the robot, which keeps its pose, settings and drives; `obstacles` as in `set_parts`."""
        put = self._bench.surroundings.set_parts
        exchange = partial(self._exchange, lambda: put(parts(), reported, *obstacles), row, reported)
        self._window.files.start(exchange, CHANGING)
        self._window.refresh()

    def _exchange(self, put: Callable[[], State], row: int, reported: str, state: State | None = None) -> None:
        """Have `put` exchange the model, and keep the robot's state, or restore `state`."""
        bench = self._bench
        if bench.opening.loading:
            self._window.statusBar().showMessage("the scene is still being changed; try again in a moment", MESSAGE)
            return
        wording = reported + NEW_RUN if bench.robot.time > 0 else reported if state is not None else ""
        wording = "; ".join(filter(None, (self.panel.reported, wording)))
        stays = state is None or state.floating == bench.robot.floating
        camera = replace(self._window.viewport.camera) if stays else None
        playing = bench.robot.playing
        try:
            self._before = Before(put(), camera, playing, row, wording)
        except ValueError as refusal:
            self._window.statusBar().showMessage(str(refusal), MESSAGE)
        self._window.refresh()

    def _on_loaded(self, event: Loaded) -> None:
        before, self._before = self._before, None
        if before is None or alone(before.state.model) is not self._robot:  # another robot was opened meanwhile
            self.panel.choose(-1)
            notes = self._what_stays(event)
            if (left := self._bench.opening.left) is not None:
                count = self._bench.surroundings.report_left(left)
                notes.insert(0, (LEFT_ONE if count == 1 else LEFT_MANY).format(robot=left.robot, count=count))
            if notes:
                self._window.statusBar().showMessage("; ".join(notes), MESSAGE)
            self.show()
            return
        bench = self._bench
        restore_state(bench, before.state, event.start, posed=True)
        if before.camera is not None:
            self._window.viewport.see(before.camera)
        if before.playing or self._plays:
            bench.play()
        self._window.refresh()
        if reported := "; ".join(filter(None, (self._why_no_ground(before.state), before.reported))):
            self._window.statusBar().showMessage(reported, MESSAGE)
        self.choose(before.row)
        if len(bench.robot.parts) > max(len(before.state.model.parts) - 1, 0):
            self._bring_into_view(self.objects[before.row])

    def _what_stays(self, event: Loaded) -> list[str]:
        """Return a sentence on what was set for the robot before, of another file, and also acts on this one."""
        before, self._path = self._path, event.path
        if before in ("", event.path) or self._bench.replay.opened:
            return []
        settings, scene = event.settings, event.settings.scene
        uneven = settings.ground and scene.ground is not None and grounds.terrain_of(scene.ground).kind != grounds.FLAT
        step = [] if settings.automatic else [f"the time step of {settings.dt * 1e3:g} ms"]
        stay = [*["the terrain"] * uneven, *step]
        return [STAYS.format(" and ".join(stay), "s" if len(stay) == 1 else "")] if stay else []

    def _why_no_ground(self, before: State) -> str:
        """Return why the first free body has no ground, where the robot is the reason."""
        bench = self._bench
        bare = len(before.parts) < 2 and bench.robot.floats and not (bench.robot.base_floats or before.settings.ground)
        below = bare and bench.stands and not can_stand(bench.robot.model)
        return BELOW.format(robot=alone(bench.robot.model).name) if below else ""

    def restore(self, state: State, reported: str) -> None:
        """Restore a state: its robot and the parts beside it, settings, pose and drives; then say `reported`."""
        self._exchange(partial(self._bench.surroundings.restore, state), self.panel.row, reported, state)

    def _bring_into_view(self, item: SceneObject) -> None:
        """Move the camera back if the object is out of view."""
        at, edge = item.pose[:3, 3], max(item.size, default=0.0)
        self._window.viewport.bring_into_view(at - edge, at + edge)

    def _ask_mesh(self) -> None:
        if path := ask_file(self._window, "Open a mesh", kinds=MESHES):
            self.add_mesh(path)

    def add_mesh(self, path: str) -> None:
        """Read a mesh's file in a thread and add it as an obstacle where the camera looks."""
        put = partial(self._put_mesh, path, self._robot)
        self._reader.read(path, partial(object_places.box_of_mesh, path), put, self._show_refusal)

    def _put_mesh(self, path: str, beside: engine.Model, found: np.ndarray) -> None:
        """Put a mesh with these corners on the ground, clear of the robot and the other objects, and into view."""
        if self._waits(partial(self._put_mesh, path, beside, found), beside):
            return
        viewport, settings = self._window.viewport, self._bench.robot.settings
        self._corners[path] = found
        others = [viewport.robot_bounds, *self._boxes()]
        pose = np.eye(4)
        ground = settings.scene.ground if settings.ground else None
        pose[:3, 3] = object_places.on_the_ground((found[0], found[1]), viewport.camera, ground, others)
        mesh = SceneObject("Mesh", "mesh", (1.0, 1.0, 1.0), pose, file=path)
        self._set_obstacles([*self.obstacles, mesh], len(self.obstacles), f"Add {Path(path).name}")
        viewport.bring_into_view(*(found + pose[:3, 3]))
        if viewport.is_huge(*found):
            text = HUGE.format(name=Path(path).name, size=np.ptp(found, axis=0).max())
            self._window.statusBar().showMessage(text, MESSAGE)

    def _boxes(self) -> list[object_places.Box]:
        """Return the corners (3,) of a box around each object; of a mesh that was not added here, its origin."""
        drawn, count = self._window.viewport.part_bounds, len(self.obstacles)
        return [
            object_places.box_of(each, self._corners.get(each.file)) if each.shape else drawn(k - count)
            for k, each in enumerate(self.objects)
        ]

    def _ask_robot(self, free: bool) -> None:
        if path := ask_file(self._window, "Open a robot or a body", kinds=ROBOTS):
            self.add_robot(path, free)

    def add_robot(self, path: str, free: bool) -> None:
        """Load a robot's file in a thread and add it to the scene, on a fixed or a free base."""
        load = self._bench.opening.reader_of(path, free)

        def read() -> tuple[engine.Model, object_places.Box]:
            return (model := load()), object_places.box_of_robot(model)

        self._reader.read(path, read, partial(self._put_robot, self._robot), self._show_refusal)

    def _show_refusal(self, problem: str) -> None:
        """Show why a file was refused, in one line."""
        line = " ".join(problem.split())
        self._window.statusBar().showMessage(line if len(line) <= LINE else f"{line[: LINE - 1]}…", MESSAGE)

    def _put_robot(self, beside: engine.Model, found: tuple[engine.Model, object_places.Box]) -> None:
        """Add a loaded robot unless another one was opened meanwhile."""
        if not self._waits(partial(self._put_robot, beside, found), beside):
            (model, (low, high)), pose, room = found, np.eye(4), OBSTACLE / 2 * self._window.viewport.robot_size
            name = scene_objects.free_name(model.name, [each.name for each in self.objects])
            pose[:3, 3] = self._place(low - room, high + room)
            self._add_part(lambda: engine.Part(model, pose, f"{name}/"), name)
