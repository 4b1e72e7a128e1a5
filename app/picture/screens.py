"""The widgets that show the viewport's frames: one for graphics cards, one for software OpenGL."""

from __future__ import annotations

from contextlib import suppress

from OpenGL.error import Error as GLError
from PyQt6.QtCore import QRect, Qt, pyqtSignal
from PyQt6.QtGui import QImage, QPainter, QPaintEvent
from PyQt6.QtOpenGLWidgets import QOpenGLWidget
from PyQt6.QtWidgets import QWidget

from app.desktop import theme
from app.gl.renderer import COSTS, DETAILS, Renderer
from app.gl.view import View
from app.picture.drawing_problem import problem_and_fix
from app.picture.pictures import Picture, PictureThread

SMOOTH = 0.016  # s for a draft, above which moving objects are drawn with less detail
ROOM = 0.9  # share of that within which finer drafts are expected to stay
EASE = 30  # drafts in a row with that expectation before the detail is raised


class CardScreen(QOpenGLWidget):
    """Draws every frame in full on a graphics card, in the window's thread."""

    shown = pyqtSignal(float)
    """The drawing time of each frame, s."""
    painted = pyqtSignal()
    """The system has requested a repaint, so the widget is visible."""
    failed = pyqtSignal(str, str)
    """The reason why nothing can be drawn, and how to fix it."""
    drafts = False
    """Whether frames are coarser while something moves."""

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.busy = False
        self.detail = self.draft = 0
        self._renderer: Renderer | None = None
        self._failed = False
        self._view: View | None = None

    @property
    def upload_seconds(self) -> float:
        return self._renderer.upload_seconds if self._renderer else 0.0

    @property
    def view(self) -> View | None:
        """The view shown."""
        return self._view

    def ask(self, view: View, detail: int) -> None:  # noqa: ARG002, all detail is drawn
        if self._failed and self._view.content is not view.content:
            self.end()  # the failure was for another robot
        self._view = view
        self.update()

    def grab_full(self, view: View) -> QImage:
        """Draw a view in full and return it."""
        self._view = view
        return self.grabFramebuffer()

    def end(self) -> None:
        """Free the renderer; it is created again when needed."""
        renderer, self._renderer, self._failed = self._renderer, None, False
        if renderer is not None and self.isValid():
            self.makeCurrent()
            with suppress(GLError):  # a lost context has freed them already
                renderer.release()
            self.doneCurrent()

    def initializeGL(self) -> None:
        """Start with a new context; a previous top-level window's context is gone or about to go."""
        self._renderer, self._failed = None, False
        self.context().aboutToBeDestroyed.connect(self.end)

    def paintGL(self) -> None:
        self.painted.emit()
        view = self._view
        if self._failed or view is None:
            return
        try:
            if self._renderer is None:
                self._renderer = Renderer()
            renderer = self._renderer
            renderer.draw(view)
        except Exception as error:  # whatever the driver raised, the window stays alive
            self._failed = True
            self.failed.emit(*problem_and_fix(error))
        else:
            self.shown.emit(renderer.draw_seconds)


class ProcessorScreen(QWidget):
    """Shows the images drawn by a thread: drafts while something moves, as fine as the thread keeps up with."""

    shown = pyqtSignal(float)
    painted = pyqtSignal()
    failed = pyqtSignal(str, str)
    drafts = True
    _arrived = pyqtSignal(object)

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.busy = False
        """Whether a frame is being drawn."""
        self.draft = len(DETAILS) - 1
        """The current detail of drafts, an index of `DETAILS`."""
        self._thread: PictureThread | None = None
        self._picture: Picture | None = None
        self._wanted: View | None = None
        self._easy = 0
        self._arrived.connect(self._set_picture)

    @property
    def detail(self) -> int:
        """The detail of the frame shown, an index of `DETAILS`."""
        return self._picture.detail if self._picture else 0

    @property
    def upload_seconds(self) -> float:
        return self._picture.upload_seconds if self._picture else 0.0

    @property
    def view(self) -> View | None:
        """The view shown."""
        return self._picture.view if self._picture else None

    def ask(self, view: View, detail: int) -> None:
        """Request a frame; an earlier request may be dropped."""
        if self._thread is not None and self._thread.failed and self._wanted.content is not view.content:
            self.end()  # the failure was for another robot
        self.busy, self._wanted = True, view
        self._running().ask(view, detail)

    def grab_full(self, view: View) -> QImage:
        """Draw a view in full and wait for it. Returns a null image if this computer cannot draw."""
        try:
            picture = self._running().draw(view)
        except RuntimeError:
            return QImage()
        self._wanted = view
        self._set_picture(picture)
        return picture.image.copy()

    def _running(self) -> PictureThread:
        if self._thread is None:
            self._thread = PictureThread(self._arrived.emit, self.failed.emit)
        return self._thread

    def end(self) -> None:
        """Stop the thread; the next request starts another."""
        if self._thread is not None:
            self._thread.close()
            self._thread = None
        self.busy = False

    def _set_picture(self, picture: Picture) -> None:
        if picture.detail:
            self._adapt(picture.detail, picture.seconds)
        self.busy = picture.view is not self._wanted
        self._picture = picture
        self.update()
        self.shown.emit(picture.seconds)

    def _adapt(self, detail: int, seconds: float) -> None:
        """Adapt the detail of drafts to the time that one of some detail took."""
        finer = max(detail - 1, 1)
        self._easy = self._easy + 1 if seconds * COSTS[finer] / COSTS[detail] < ROOM * SMOOTH else 0
        if seconds > SMOOTH:
            self.draft = min(detail + 1, len(DETAILS) - 1)
        elif self._easy == EASE:
            self.draft, self._easy = finer, 0

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted.emit()
        painter = QPainter(self)
        if self._picture is None:
            painter.fillRect(event.rect(), theme.color("ground"))
            return
        image = self._picture.image
        whole = QRect(0, 0, self.width(), self.height())
        if image.size() != self.size() * self.devicePixelRatioF():
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(whole, image)


Screen = CardScreen | ProcessorScreen
