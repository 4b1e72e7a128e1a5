"""The batch in the window: connects the batch panel and the viewport to the workbench."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from PyQt6.QtCore import QPoint, QPointF, Qt, QTimer
from PyQt6.QtWidgets import QMenu

from app.desktop.actions import MESSAGE, make_action, offer
from app.desktop.context_menus import COPY, LINK, Clicked
from app.desktop.docks import RIGHT, Dock
from app.features.batch_colors import BatchColors
from app.features.window_type import Window
from app.gl.batch import Batch
from app.gl.world import World
from app.panels.batch import BatchPanel
from app.picture.crowd import COLORINGS, ENERGY, Crowd
from app.plotting.catalogue import Catalogue
from app.plotting.quantities import Quantity
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Loaded, Snapshot

REFRESH = 0.15  # s between two updates of the panel while something moves
POLL_INTERVAL = 30  # ms between two checks for evaluated numbers
STEADY = 0.9  # weight of the previous mean frame time, so that its text does not flicker


class BatchView:
    """Updates panel and viewport from a workbench, and passes the user's settings to it."""

    def __init__(self, window: Window):
        self._window, self._viewport, self._bench = window, window.viewport, window.workbench
        self.panel, self._crowd = BatchPanel(), Crowd()
        self._colors, self._timer = BatchColors(window.workbench), QTimer(window)
        self._timer.timeout.connect(self._poll)
        window.closing.connect(self._end)
        self._frame: Snapshot | None = None
        self._world: World | None = None
        self._due, self._seconds, self._robots = 0.0, 0.0, 1
        dock = Dock("Batch", self.panel, RIGHT, "Timing", "batch", Qt.Key.Key_B, "Many robots at once (B)")
        window.toolbar.addAction(window.docks.add(dock))
        window.docks["Batch"].visibilityChanged.connect(self._seen)
        tip = "Fit the robot of the batch that is selected in the view"
        self.near = make_action(window, "Fit selected &robot", self._fit_selected, "Shift+F", tip=tip)
        window.menus.view.put(self.near)
        window.menus.context.watch(self.panel.map, self._robot_at)
        window.menus.context.offer("view", self._put_near, COPY, LINK)
        self.panel.requested.connect(self._ask)
        self.panel.arranged.connect(self._arrange)
        self.panel.colored.connect(self._color)
        self.panel.chosen.connect(self._bench.select_robot)
        self._viewport.picked.connect(self._bench.select_robot)
        self._viewport.drawn.connect(self._drawn)
        self._viewport.overlays.changed.connect(self._follow_world)
        window.loaded.connect(self._on_loaded)
        window.framed.connect(self._show)
        window.refreshed.connect(self._refresh)
        window.refreshed.connect(lambda: self.panel.show_spread(self._bench.robot.settings.spread))

    def _on_loaded(self, event: Loaded) -> None:
        self._frame = None
        self._viewport.overlays.name_robot("")
        self._crowd.set_size(*self._viewport.robot_bounds)
        self._crowd.set_world(self._world)
        self.panel.set_model(event.model)
        self.panel.show_drawing(1, 0.0)

    def _refresh(self) -> None:
        several = self._bench.robot.settings.spread.robots > 1 or self._bench.replay.active
        offer(self.near, (several, "there is no batch of robots"))

    def _robot_at(self, place: QPoint) -> Clicked | None:
        robot = self.panel.map.robot_at(QPointF(place))
        return None if robot is None else Clicked(COPY, f"robot {robot}", robot)

    def _put_near(self, menu: QMenu, clicked: Clicked) -> None:
        """Add the entry that shows a robot near, of the heat map that which was clicked."""
        if clicked.kind == COPY:
            menu.addAction("&Select and fit", partial(self._select_and_fit, clicked.number))
        elif self._frame is not None and self._frame.batch is not None:
            menu.addAction(self.near)

    def _select_and_fit(self, robot: int) -> None:
        self._bench.select_robot(robot)
        self._fit(robot)

    def _fit_selected(self) -> None:
        if self._frame is not None:
            self._fit(self._frame.robot)

    def _fit(self, robot: int) -> None:
        """Fit a robot of the batch in the view."""
        if (batch := self.batch_of(self._frame)) is not None and robot < len(batch):
            camera = replace(self._viewport.camera)
            camera.fit(*(x + batch.offsets[robot] for x in self._viewport.bounds_of(batch.links[robot])))
            self._viewport.see(camera)

    def offer(self, catalogue: Catalogue, plotted: Sequence[Quantity]) -> None:
        """Offer the plotted quantities as colours."""
        self.panel.offer_colors(self._colors.offer(catalogue, plotted))

    def _show(self, frame: Snapshot) -> None:
        self._frame = frame
        self._want_numbers()
        self._draw()
        now = time.perf_counter()
        if self.panel.isVisible() and (now > self._due or not self._bench.robot.playing):
            self._due = now + REFRESH
            self._show_state()

    def _want_numbers(self) -> None:
        """Have the numbers evaluated that colours show, if the frame that is shown does not have them."""
        frame, crowd = self._frame, self._crowd
        if frame is None or frame.batch is None:
            self._timer.stop()
            return
        if crowd.coloring == ENERGY and not frame.recorded:
            crowd.numbers = None
        if self._colors.want(crowd.coloring, frame):
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start(POLL_INTERVAL)

    def _poll(self) -> None:
        """Show the numbers that were evaluated, and request those of a later frame."""
        if (numbers := self._colors.poll()) is not None:
            self._crowd.numbers = numbers
            self._draw()
            if self.panel.isVisible():
                self._show_state()
        self._want_numbers()

    def _end(self) -> None:
        self._timer.stop()
        self._colors.close()

    def _seen(self, seen: bool) -> None:
        """Show in the panel, which is not updated out of sight, the robots of the frame that stands still."""
        if seen:
            self._due = time.perf_counter() + REFRESH
            self._show_state()

    def _drawn(self, seconds: float) -> None:
        """Update the mean frame time with the last frame's."""
        robots = 1 if self._frame is None or self._frame.batch is None else len(self._frame.batch.energy)
        if robots != self._robots:
            self._robots, self._seconds = robots, seconds
        self._seconds += (1 - STEADY) * (seconds - self._seconds)
        if self.panel.isVisible() and time.perf_counter() < self._due + REFRESH:
            simulated = self._bench.robot.playing and self._frame is not None and not self._frame.recorded
            reached = self._frame.factor / self._bench.speed if simulated else math.nan
            self.panel.show_drawing(robots, self._seconds, reached)

    def _draw(self) -> None:
        frame = self._frame
        if frame is None:
            return
        rearranged = self._take_world() and frame.batch is not None
        self._viewport.overlays.name_robot("" if frame.batch is None else f"robot {frame.robot}")
        if frame.batch is None:
            self._viewport.set_poses(frame.link_poses, contacts=frame.contacts)
            return
        self._viewport.set_poses(frame.link_poses, self.batch_of(frame), frame.robot, frame.contacts)
        if rearranged:
            self._viewport.fit()

    def _take_world(self) -> bool:
        """Arrange the robots on the ground that is shown; return whether their places have changed."""
        crowd, before = self._crowd, (self._crowd.in_grid, self._crowd.width)
        if self._world is (world := self._viewport.overlays.world):
            return False
        former, self._world = self._world, world
        if former is not None and world is not None and former.obstacles is world.obstacles is not None:
            return False  # an obstacle is being moved: the places change once that is over
        crowd.set_world(world)
        self.panel.show_arrangement(crowd.arrangement, crowd.has_terrain)
        return before != (crowd.in_grid, crowd.width)

    def _follow_world(self) -> None:
        """Draw the robots again on another ground."""
        if self._world is not self._viewport.overlays.world:
            self._draw()

    def batch_of(self, frame: Snapshot | None, selected: bool = True) -> Batch | None:
        """Return the drawing data of a state's robots, with the selected one highlighted; None for a single one."""
        return _batch_of(self._crowd, frame, selected)

    @property
    def still(self) -> Callable[[Snapshot], Batch | None]:
        """What returns the drawing data of recorded states' robots as `batch_of`, none highlighted, in their present
        look."""
        crowd = replace(self._crowd)

        def batch_in(frame: Snapshot) -> Batch | None:
            if frame.batch is not None and frame.batch.recorded is not None:
                crowd.numbers = self._colors.values(crowd.coloring, frame.batch.recorded)
            return _batch_of(crowd, frame, selected=False)

        return batch_in

    @property
    def pictured(self) -> Batch | None:
        """The drawing data of the robots that are shown, for a picture; None for a single one."""
        return self.batch_of(self._frame, selected=False)

    def _show_state(self) -> None:
        frame = self._frame
        if frame is None:
            return
        if frame.batch is None:
            self.panel.show_state(np.zeros(1), np.zeros(1), np.zeros(1, bool), 0)
        else:
            batch, coloring = frame.batch, self._crowd.coloring
            values = self._crowd.values(batch.energy, batch.deviation)
            unit = None if coloring in COLORINGS else self._colors.unit(coloring)
            self.panel.show_state(values, batch.deviation, batch.diverged, frame.robot, unit)

    def _ask(self, spread: BatchSpread) -> None:
        """Change the batch, unless a recorded frame is shown, whose robots it would not change."""
        replay = self._bench.replay
        if not replay.active:
            self._bench.configuring.set_spread(spread)
        elif spread != self._bench.robot.settings.spread:
            reported = f"{replay.reason}; to change the batch {replay.ways_on}"
            self._window.statusBar().showMessage(reported, MESSAGE)
        self._window.refresh()

    def _arrange(self, arrangement: str) -> None:
        self._crowd.arrangement = arrangement
        self._draw()
        self._viewport.fit()

    def _color(self, coloring: str) -> None:
        self._crowd.coloring, self._crowd.numbers = coloring, None
        self._colors.forget()
        self._want_numbers()
        self._draw()
        self._show_state()


def _batch_of(crowd: Crowd, frame: Snapshot | None, selected: bool) -> Batch | None:
    if frame is None or (state := frame.batch) is None:
        return None
    crowd.selected_robot = frame.robot
    return crowd.batch(state.link_poses, state.energy, state.deviation, state.diverged, selected)
