"""The viewport: a 3D view of a robot from any side."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PyQt6.QtCore import QPointF, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QHideEvent, QImage, QPainter, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import QApplication, QWidget

import engine
from app.gl.batch import Batch, Box
from app.gl.camera import Camera
from app.gl.picking import Hit, corners_at, fit_until_seen, pick, ray, way_to, way_to_tiny
from app.gl.renderer import DETAILS
from app.gl.scene import REACH, Scene
from app.gl.view import View
from app.picture.drawing_problem import DrawingProblem
from app.picture.frame_limit import FrameLimit
from app.picture.labels import LabelLayer, paint
from app.picture.overlays import Overlays
from app.picture.pictures import processor_draws
from app.picture.screens import CardScreen, ProcessorScreen, Screen
from app.picture.shot import Shot
from app.picture.steering import SteeredView
from app.simulation.contacts import Contacts

STILL = 200  # ms without a motion of a pixel, after which a frame is drawn in full
UNSEEN = 0.05  # px; smaller motions are not redrawn
MODEST = 4.0  # frame interval relative to the drawing time, when the simulation lacks time
SLOWEST = 0.044  # s, the largest interval nevertheless
EARTH = 9.81  # m/s², the gravity for a robot without one, to scale by its weight
LYING = 0.4  # least size for contact marks relative to the robot's length; else its height


class Viewport(SteeredView):
    """Draws a robot or a batch; a click selects a robot of the batch.

    Right drag, or Ctrl and left drag, pulls at a link, see `app.features.dragging`.
    """

    diagnostics = pyqtSignal(list)
    """An `engine.Diagnostic` for each missing mesh, once all have been read; or the reason why nothing can be drawn."""
    read_on = pyqtSignal()
    """More of the meshes have been read."""
    drawn = pyqtSignal(float)
    """The drawing time of each frame, s."""
    picked = pyqtSignal(int)
    """The robot of a batch that was clicked."""
    clicked = pyqtSignal(int)
    """The link that was clicked, −1 for none."""
    _mesh_read = pyqtSignal()

    def __init__(self, parent: QWidget | None = None):
        super().__init__(parent)
        self.follow = False
        """Whether the camera keeps its target on the robot's root body as it moves."""
        self.modest = False
        """Whether the simulation lacks time, so that frames must leave it some."""
        self.limit = FrameLimit(self, lambda detail: self._ask(self.view(), detail))
        self.overlays = Overlays()
        self.overlays.changed.connect(self._change)
        self._model: engine.Model | None = None
        self._scene: Scene | None = None
        self._collisions = False
        self._contacts: Contacts | None = None
        self._marking = False
        self._weight, self._size = 1.0, 1.0  # of the robot, N and m
        self._bounded: tuple[tuple[object, object], Box] | None = None  # `robot_bounds`, with what they are of
        self._replaced: list[Scene] = []
        self._poses: NDArray[np.float64] | None = None
        self._first: NDArray[np.float64] | None = None  # the robot's poses as it begins
        self._batch: Batch | None = None
        self._root = self._own = 0  # the root link, and the number of the robot's, which bodies beside it follow
        self._framed = self._reported = self._moves = True  # `_moves`: further poses are motions
        self.floor = 0.0  # m, the height of the ground that is drawn where the overlays have no world
        self._requested: View | None = None  # the view last drawn, or being drawn
        self._anchor: View | None = None  # the view at the last visible motion
        self._missed = False  # whether a frame was skipped while the window was hidden
        self._next = 0.0  # when the next draft may begin
        self._still, self._later = (QTimer(self, singleShot=True, timeout=slot) for slot in (self._rest, self._move))
        self.steered.connect(self._steered)
        self.pressed.connect(self._click)
        self.fit_asked.connect(self.fit)
        self._screen: Screen = (ProcessorScreen if processor_draws() else CardScreen)(self)
        self._screen.shown.connect(self._shown)
        self._screen.painted.connect(self._painted)
        self.labels = LabelLayer(self)
        self._problem = DrawingProblem(self)
        self._problem.again.connect(self._draw_again)
        self._problem.lasting.connect(self._report_problem)
        self._screen.failed.connect(self._problem.show_problem)
        self._mesh_read.connect(self._take_meshes)
        self.setMinimumSize(240, 140)

    @property
    def upload_seconds(self) -> float:
        """The time of the last frame's transfer of poses to the GPU, s."""
        return self._screen.upload_seconds

    @property
    def detail(self) -> tuple[float, int]:
        """The displayed frame's divisor of the resolution, and its samples per pixel."""
        return DETAILS[self._screen.detail]

    def set_model(self, model: engine.Model | None, start: ArrayLike | None = None) -> None:
        """Show a robot as it begins, or an empty ground for None. Its meshes are read in the background.

        Without `start`, q (nq,), it is neutral, and begins as `set_poses` has it first.
        """
        before = self._scene
        self._scene, self._poses, self._first, self._batch, self.floor = None, None, None, None, 0.0
        self._contacts, self._model, self._center = None, model, np.zeros(3)
        self.overlays.set_robot(None, 1.0)
        self._problem.reset()
        if model is not None:
            moving = np.flatnonzero(model.link_body >= 0)
            self._root = int(moving[0]) if len(moving) else 0
            self._own = int(np.count_nonzero(model.part_of_link == 0))
            self._scene = Scene(model, self._collisions, before)
            self._poses = np.asarray(engine.link_poses(model, model.neutral() if start is None else start))
            self._first = None if start is None else self._poses
            self._framed = self._reported = self._moves = False
            self._weight = float(model.mass.sum() * (np.linalg.norm(model.gravity) or EARTH)) or 1.0
            self._settle()
            self._scene.load(self._mesh_read.emit, apart=True, simplify=self._screen.drafts)
        if before is not None:
            before.close(wait=False)
            self._replaced.append(before)
        self._change()

    @property
    def reading(self) -> tuple[int, int] | None:
        """The numbers of mesh files read and in total; None if all have been read."""
        return None if self._scene is None or self._scene.ready else self._scene.progress

    @property
    def failed(self) -> bool:
        """Whether this computer cannot draw; a message then replaces the frame."""
        return bool(self._problem.text())

    def show_collisions(self, on: bool) -> None:
        """Show or hide collision shapes over the frame, of this robot and of later ones."""
        self._collisions = on
        if self._scene is not None:
            self._scene.show_collisions(on)
            self._reported = self._reported and self._scene.ready
            self._change()

    def show_contacts(self, on: bool) -> None:
        """Show or hide points, normals and forces of contacts over the frame, of this robot and of later ones."""
        self._marking = on
        self._change()

    def hide_links(self, links: frozenset[int]) -> None:
        """Draw no shapes, overlays and contacts of these links, until another robot is shown; they cannot be picked."""
        if self._scene is not None:
            self._scene.hide(links)
        self.overlays.hide(links)
        self._change()

    @property
    def robot_bounds(self) -> Box:
        """The corners, (3,) each, of a robot and the free bodies near it; a unit cube at the origin without a robot."""
        if self._scene is None or self._poses is None:
            return np.full(3, -0.5), np.full(3, 0.5)
        content, poses = self._scene.content, self._poses
        if self._bounded is None or self._bounded[0][0] is not content or self._bounded[0][1] is not poses:
            self._bounded = (content, poses), content.bounds(poses, self._own)
        return self._bounded[1]

    @property
    def way_to_robot(self) -> NDArray[np.float64] | None:
        """The direction (2,) to a robot out of the picture or too small in it to be seen; else, or in a batch, None."""
        if self._scene is None or self._poses is None or self._batch is not None:
            return None
        seen = self.camera, (self.width(), self.height()), self._scene.content.of_links(self._poses, range(self._own))
        return way_to_tiny(*seen) if (way := way_to(*seen)) is None else way

    def bounds_of(self, link_poses: ArrayLike) -> Box:
        """Return the corners, (3,) each, as `robot_bounds`, with its links at (links, 4, 4)."""
        return self.robot_bounds if self._scene is None else self._scene.content.bounds(link_poses, self._own)

    def part_bounds(self, number: int) -> Box:
        """Return the corners, (3,) each, of a part beside the robot, by its index among them."""
        points = self._scene.content.of_links(self._poses, np.flatnonzero(self._model.part_of_link == number + 1))
        return points.min((0, 1)), points.max((0, 1))

    @property
    def robot_size(self) -> float:
        """The diagonal of the robot's bounding box in its pose, m."""
        return float(np.linalg.norm(np.subtract(*self.robot_bounds)))

    def set_poses(
        self, link_poses: ArrayLike, batch: Batch | None = None, robot: int = 0, contacts: Contacts | None = None
    ) -> None:
        """Set link poses (links, 4, 4) and contacts, drawn with the next frame.

        If there is a `batch`, its robots are drawn; poses and contacts are those of the selected one.
        """
        if self._scene is None or self._poses is None:
            return
        poses = np.array(link_poses, float)
        if poses.shape != self._poses.shape:
            raise ValueError(f"link_poses has shape {poses.shape}; this robot's is {self._poses.shape}")
        alike = batch is self._batch and contacts is self._contacts
        if self._framed and alike and np.array_equal(poses, self._poses):
            return
        center = np.zeros(3) if batch is None else batch.offsets[robot].astype(float)
        step = poses[self._root, :3, 3] + center - self._poses[self._root, :3, 3] - self._center
        others = (0 if batch is None else len(batch)) != (0 if self._batch is None else len(self._batch))
        self._poses, self._batch, self._center, self._contacts = poses, batch, center, contacts
        follows, self._moves = self.follow and self._moves, True
        self._first = poses if self._first is None else self._first
        if not self._framed:
            self._settle()
            self._framed = self._scene.ready
        if others:
            self.fit()
            return
        if follows:
            self.camera.target = self.camera.target + step
        self._review()

    def fit(self) -> None:
        """Fit the robot, and what was placed around it, in the view."""
        if self._scene is not None and self._batch is not None:
            around = self.overlays.around(self._batch.bounds(self._scene.content.reach), self._batch)
            self.camera.fit(*around, max(self.width() / self.height(), 1.0))
        elif self._scene is not None and self._poses is not None:
            self.camera.fit(*self.overlays.around(self.robot_bounds))
            links = self._scene.content.of_links(self._poses, range(self._own))
            fit_until_seen(self.camera, (self.width(), self.height()), links)
        else:
            self.camera = Camera(parallel=self.camera.parallel)
        self._change()

    def see(self, camera: Camera) -> None:
        """Set another camera."""
        self.camera, self._framed = camera, True
        self._change()

    def bring_into_view(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """Refit the camera to a box, (3,) corners, and the robots, if a corner is out of view.

        Not if the box is far away, or so large that the robot beside it could not be seen.
        """
        (low, high), size = self.robot_bounds, (self.width(), self.height())
        if self.is_huge(lower, upper):
            return
        x = corners_at(self.camera, size, lower + self._center, upper + self._center)  # nan behind the eye
        if not np.all((x >= 0) & (x < size)) and np.maximum(lower - high, low - upper).max() <= REACH * self.robot_size:
            camera = replace(self.camera)
            camera.fit(*self.overlays.with_second_robot((np.minimum(low, lower), np.maximum(high, upper))))
            self.see(camera)

    def is_huge(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> bool:
        """Whether the robot can hardly be seen beside a box, (3,) corners."""
        return float(np.max(upper - lower)) > REACH * self.robot_size

    def picture(self) -> QImage:
        """Return the current view, drawn in full."""
        self._still.stop()
        view = self._requested = self.view()
        image = self._screen.grab_full(view)
        if not image.isNull():
            painter = QPainter(image)
            ratio = self.devicePixelRatioF()
            painter.scale(ratio / image.devicePixelRatio(), ratio / image.devicePixelRatio())
            paint(painter, view, 1 / ratio, self.font())
            painter.end()
        return image

    def under(self, x: float, y: float) -> Hit | None:
        """Return the hit on the robot at a widget position, in the robot's own world; None if there is none."""
        if self._scene is None or self._poses is None:
            return None
        eye, direction = ray(self.camera, (self.width(), self.height()), (x, y))
        return pick(self._scene.content, self._poses, eye - self._center, direction)

    def obstacle_under(self, x: float, y: float) -> Hit | None:
        """Return the hit on an obstacle at a widget position, its number as `link`; None if there is none.

        Of a batch, on those beside the selected robot, in its own world.
        """
        world = self.overlays.world
        if world is None or world.obstacles is None or world.poses is None:
            return None
        eye, direction = ray(self.camera, (self.width(), self.height()), (x, y))
        return pick(world.obstacles, world.poses, eye - self._center, direction)

    def _settle(self) -> None:
        """Put the ground below a new robot and, until the user moves the camera, the camera in front of it."""
        if self._scene is not None and self._poses is not None:
            lower, upper = self.robot_bounds if self._first is None else self.bounds_of(self._first)
            self.floor = min(0.0, float(lower[2]))  # or at the lowest point of what hangs below its root
            self._size = max(float(upper[2] - lower[2]), LYING * float((upper - lower).max()), 1e-9)
            self.overlays.set_robot(self._model, self._size)
            if not self._framed:
                batch, reach = self._batch, self._scene.content.reach
                self.camera.fit(*self.robot_bounds if batch is None else batch.bounds(reach))

    # Views and their timing.

    def view(self) -> View:
        """Return the current view."""
        ratio = self.devicePixelRatioF()
        width, height = (max(1, round(side * ratio)) for side in (self.width(), self.height()))
        return self.shot.view(self._poses, (width, height), self._batch, self._center, self._contacts, selected=True)

    @property
    def shot(self) -> Shot:
        """What the current view shows besides the state of the robot."""
        content, poses = self._scene.content if self._scene is not None else None, self._poses
        marked = (self._weight, self._size) if self._marking else None
        follows = self.follow and poses is not None
        followed = (self._root, poses[self._root, :3, 3] + self._center) if follows else None
        return Shot(content, self.camera, self.overlays, self.floor, marked, followed)

    def view_of(self, size: tuple[int, int], batch: Batch | None = None) -> View:
        """Return the current view at a size, without a highlight of what is selected; of a batch, `batch` is drawn."""
        return self.shot.view(self._poses, size, batch or self._batch, self._center, self._contacts)

    def _change(self) -> None:
        """Redraw soon after a visible change, and in full once nothing has changed for `STILL`."""
        self._anchor = None
        self._move()

    def _review(self) -> None:
        """Redraw a motion that is large enough to see; one below a pixel without a coarser frame."""
        if self._requested is None:
            self._move()
            return
        view = self.view()
        if (moved := view.pixels_from(self._requested)) < UNSEEN:
            return
        if self._still.isActive() or self._screen.detail or moved >= 1.0:
            self._move(view)
        elif not self._screen.busy:
            self._ask(view, 0)

    def _move(self, view: View | None = None) -> None:
        """Draw the current view, with less detail if full detail would take too long."""
        view = view or self.view()
        if self._anchor is None or view.pixels_from(self._anchor) >= 1.0:
            self._anchor = view
            self._still.start(STILL)
        if not self.modest or QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            self._ask(view, self._screen.draft)
        elif not self._screen.busy and (early := self._next - time.perf_counter()) > 0:
            self._later.start(int(1e3 * early) + 1)
        elif not self._screen.busy:
            self._ask(view, self._screen.draft)

    def _rest(self) -> None:
        """Draw in full, but not while a mouse button is pressed, since that may take long."""
        if QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            self._still.start(STILL)
        elif self._screen.drafts:
            self._ask(self.view(), 0)

    def _ask(self, view: View, detail: int) -> None:
        window = self.window()
        shown = self.isVisible() and not window.isMinimized() and window.windowHandle().isExposed()
        self._missed = not shown
        if shown and not self.limit.delays(detail):
            self._requested = view
            self._screen.ask(view, detail)

    def _shown(self, seconds: float) -> None:
        """Report the time of a frame that has arrived, and draw later changes."""
        self._problem.forget()
        self.labels.show_view(self._screen.view)
        self._next = time.perf_counter() + min(MODEST * seconds, SLOWEST - seconds)
        self.drawn.emit(seconds)
        self._review()

    def _painted(self) -> None:
        """Draw a frame that was skipped while the window was hidden."""
        if self._missed:
            QTimer.singleShot(0, self._change)

    def _draw_again(self) -> None:
        self._screen.end()
        self._change()

    def _report_problem(self, problem: str, fix: str) -> None:
        self.diagnostics.emit([engine.Diagnostic("error", None, "viewport", problem, fix)])

    def _take_meshes(self) -> None:
        scene = self._scene
        if scene is None or not scene.update():
            return
        self._settle()
        if scene.ready and not self._reported:
            self._reported = True
            reported, scene.diagnostics = scene.diagnostics, []
            self.diagnostics.emit(reported)
        self.read_on.emit()
        self._change()

    # Event handlers of Qt.

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._screen.update()  # a card's screen is not repainted by itself, and its repaint reports that it is visible
        self._change()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._still.stop()
        self._later.stop()

    def closeEvent(self, event: QCloseEvent) -> None:
        for scene in (*self._replaced, *([self._scene] if self._scene else [])):
            scene.close()
        self._replaced.clear()
        self._screen.end()
        super().closeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._screen.setGeometry(self.rect())
        self.labels.setGeometry(self.rect())
        self._problem.setGeometry(self.rect().adjusted(24, 24, -24, -24))
        self._change()

    # The user's input.

    def _steered(self) -> None:
        self._framed = True
        self._change()

    def _click(self, at: QPointF) -> None:
        """Select the link at a position, or the robot of a batch."""
        if self._scene is None:
            return
        size, place = (self.width(), self.height()), (at.x(), at.y())
        if self._batch is None:
            hit = self.under(*place)
            self.clicked.emit(-1 if hit is None else hit.link)
        elif (robot := self._batch.nearest(self.camera, size, place, self._scene.content.reach)) is not None:
            self.picked.emit(robot)
