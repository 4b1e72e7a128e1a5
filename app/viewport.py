"""The viewport: a robot that can be looked at from every side."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PyQt6.QtCore import QPointF, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QImage, QKeyEvent, QMouseEvent, QResizeEvent, QWheelEvent
from PyQt6.QtOpenGLWidgets import QOpenGLWidget
from PyQt6.QtWidgets import QApplication, QLabel, QWidget

import engine
from app.gl.camera import Camera
from app.gl.renderer import DETAILS, Renderer
from app.gl.scene import Scene

HINT = "Open a URDF or drop one here\n\nSome that ship are in File › Robots"
TURN = np.radians(0.35)  # of the camera for each pixel of a drag
WHEEL = 1.0012  # nearer by this for each of the wheel's units, 120 of which are one notch

SMOOTH = 0.025  # s for a frame, above which the processor draws what moves with less detail
EASY = 0.012  # s for a frame, below which it could draw more
EASE = 30  # easy frames in a row, after which it does
STILL = 250  # ms without a change, after which what moved stands still


class Viewport(QOpenGLWidget):
    """Draws one robot.

    Left drag orbits, middle drag or Shift and left drag pans, the wheel zooms, a double click or F fits.
    """

    diagnostics = pyqtSignal(list)
    """`engine.Diagnostic` for each mesh that is missing, once all have been read; or why nothing can be drawn."""
    drawn = pyqtSignal(float)
    """Seconds that drawing took, once for each frame."""
    _mesh_read = pyqtSignal()

    def __init__(self, parent: QWidget | None = None):
        super().__init__(parent)
        self.follow = False
        """Whether the camera keeps its target on the robot's root body as it moves."""
        self.camera = Camera()
        self._renderer: Renderer | None = None
        self._scene: Scene | None = None
        self._replaced: list[Scene] = []
        self._poses: NDArray[np.float64] | None = None
        self._root = 0
        self._framed = self._told = True
        self._ground = 0.0
        self._detail = 0  # of what moves, as `Renderer.draw` counts it
        self._easy = 0
        self._next = 0.0  # when the next draft is due, so that the window comes to its other work
        self._still = QTimer(self)
        self._still.setSingleShot(True)
        self._still.timeout.connect(self._rest)
        self._mouse = QPointF()
        self._hint = QLabel(HINT, self)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setWordWrap(True)
        self._hint.setStyleSheet("color: rgba(214, 222, 235, 150); font-size: 18px; background: transparent;")
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._mesh_read.connect(self._take_meshes)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(240, 180)

    @property
    def upload_seconds(self) -> float:
        """The part of the last frame's time that sent poses to the GPU."""
        return self._renderer.upload_seconds if self._renderer else 0.0

    def set_model(self, model: engine.Model | None) -> None:
        """Show that robot at its neutral pose, or an empty ground. Its meshes are read in the background."""
        if self._scene is not None:
            self._scene.close(wait=False)
            self._replaced.append(self._scene)
        self._scene, self._poses, self._ground = None, None, 0.0
        self._hint.setVisible(model is None)
        if model is not None:
            moving = np.flatnonzero(model.link_body >= 0)
            self._root = int(moving[0]) if len(moving) else 0
            self._scene = Scene(model)
            self._poses = np.asarray(engine.link_poses(model, model.neutral()))
            self._framed = self._told = False
            self._settle()
            self._scene.load(self._mesh_read.emit)
        if self._renderer is not None:
            self._renderer.set_scene(self._scene)
        self.update()

    def set_poses(self, link_poses: ArrayLike) -> None:
        """Where the links are now, (links, 4, 4); drawn with the next frame."""
        if self._scene is None or self._poses is None:
            return
        poses = np.array(link_poses, float)
        if poses.shape != self._poses.shape:
            raise ValueError(f"link_poses has shape {poses.shape}; this robot's is {self._poses.shape}")
        moved = poses - self._poses
        self._poses = poses
        if not self._framed:
            self._settle()
            self._framed = self._scene.ready
        if np.any(moved):
            if self.follow:
                self.camera.target = self.camera.target + moved[self._root, :3, 3]
            self._change()
        elif self._still.isActive():
            self._still.start(STILL)

    def fit(self) -> None:
        """Bring the whole robot into view."""
        if self._scene is not None and self._poses is not None:
            self.camera.fit(*self._scene.bounds(self._poses))
        else:
            self.camera = Camera()
        self.update()

    def picture(self) -> QImage:
        """What is shown now, drawn in full."""
        self._still.stop()
        return self.grabFramebuffer()

    def _settle(self) -> None:
        """Put the ground under a robot that is new and, until the user takes the camera, the camera in front of it."""
        if self._scene is not None and self._poses is not None:
            self._ground = self._scene.ground(self._poses)
            if not self._framed:
                self.camera.fit(*self._scene.bounds(self._poses))

    def _change(self) -> None:
        """Draw soon; in full once nothing has changed for a moment."""
        self._still.start(STILL)
        if time.perf_counter() >= self._next:
            self.update()

    def _rest(self) -> None:
        """Draw in full, but not under the user's hand: that may take a while."""
        if QApplication.mouseButtons() == Qt.MouseButton.NoButton:
            self.update()
        else:
            self._still.start(STILL)

    def _adapt(self, detail: int, seconds: float) -> None:
        """Choose the detail of what moves, after a frame of some detail took so long."""
        if not detail:
            self._detail = max(self._detail, 1) if self._renderer.software and seconds > SMOOTH else 0
            return
        self._easy = self._easy + 1 if seconds < EASY else 0
        if seconds > SMOOTH:
            self._detail = min(detail + 1, len(DETAILS) - 1)
        elif self._easy == EASE:
            self._detail, self._easy = max(detail - 1, 1), 0

    def _take_meshes(self) -> None:
        scene = self._scene
        if scene is None:
            return
        scene.update()
        self._settle()
        if scene.ready and not self._told:
            self._told = True
            self.diagnostics.emit(list(scene.diagnostics))
        self.update()

    # What Qt calls.

    def initializeGL(self) -> None:
        renderer = Renderer()
        try:
            renderer.initialize()
        except RuntimeError as fault:
            self._hint.setText(f"This computer cannot draw the robot: {fault}")
            self._hint.show()
            cure = "update the graphics driver to one with OpenGL 3.3"
            self.diagnostics.emit([engine.Diagnostic("error", None, "viewport", str(fault), cure)])
            return
        self._renderer = renderer
        renderer.set_scene(self._scene)

    def paintGL(self) -> None:
        if self._renderer is None:
            return
        ratio = self.devicePixelRatioF()
        width, height = (max(1, round(side * ratio)) for side in (self.width(), self.height()))
        detail = self._detail if self._still.isActive() else 0
        self._renderer.ground = self._ground
        self._renderer.draw(self.camera, self._poses, width, height, detail)
        self._adapt(detail, self._renderer.draw_seconds)
        self._next = time.perf_counter() + self._renderer.draw_seconds if detail else 0.0
        self.drawn.emit(self._renderer.draw_seconds)

    def closeEvent(self, event: QCloseEvent) -> None:
        for scene in (*self._replaced, *([self._scene] if self._scene else [])):
            scene.close()
        self._replaced.clear()
        if self._renderer is not None and self.isValid():
            self.makeCurrent()
            self._renderer.release()
            self.doneCurrent()
        super().closeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._still.start(STILL)
        self._hint.setGeometry(self.rect().adjusted(24, 24, -24, -24))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._mouse = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        step = event.position() - self._mouse
        self._mouse = event.position()
        shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        left, middle = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
        if event.buttons() & middle or (event.buttons() & left and shifted):
            side = min(self.width(), self.height())
            self.camera.pan(-step.x() / side, step.y() / side)
        elif event.buttons() & left:
            self.camera.orbit(-step.x() * TURN, step.y() * TURN)
        else:
            return
        self._framed = True
        self._change()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.camera.zoom(WHEEL ** event.angleDelta().y())
        self._framed = True
        self._change()

    def mouseDoubleClickEvent(self, _: QMouseEvent) -> None:
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F:
            self.fit()
        else:
            super().keyPressEvent(event)
