"""Frames drawn in a thread, for the window of a computer with software OpenGL.

There a full frame takes up to a second, and a QOpenGLWidget would have OpenGL compose the whole window whenever any
part of it changes. The thread therefore has its own context, and its frames come back as plain images. When a
newer request arrives, a full frame is abandoned, and a draft is finished first.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL
from PyQt6.QtGui import QImage, QOffscreenSurface, QOpenGLContext

from app.gl import context
from app.gl.renderer import SOFTWARE, Renderer
from app.gl.view import View
from app.picture.drawing_problem import problem_and_fix

RENDERER = 0x1F01  # GL_RENDERER


@dataclass(frozen=True, eq=False)
class _Request:
    """A requested frame; if it has a `future`, a caller waits for it."""

    view: View
    detail: int
    future: Future[Picture] | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """A frame, whose image uses the memory of `pixels`, and its times, s: wall time, and the part for sending poses."""

    view: View
    detail: int
    image: QImage
    pixels: NDArray[np.uint8]
    seconds: float
    upload_seconds: float


def renderer_name() -> str:
    """Return OpenGL's renderer name; "" if there is no OpenGL. An application must be running."""
    shared, surface = QOpenGLContext.globalShareContext(), QOffscreenSurface()
    if shared is None:
        shared = QOpenGLContext()
        shared.create()
    surface.setFormat(shared.format())
    surface.create()
    if not shared.isValid() or not shared.makeCurrent(surface):
        return ""
    try:
        address = shared.getProcAddress(b"glGetString")
        name = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)(int(address))(RENDERER) or b""
    finally:
        shared.doneCurrent()
    return name.decode(errors="replace")


def processor_draws() -> bool:
    """Return whether OpenGL is software rendering, by its name, or missing.

    Without OpenGL a window with a QOpenGLWidget stays black; `PictureThread` reports the reason instead.
    """
    name = renderer_name()
    return not name or any(each in name.lower() for each in SOFTWARE)


class PictureThread:
    """Draws requested frames one at a time; `on_picture` and `on_problem` are called in its thread."""

    def __init__(self, on_picture: Callable[[Picture], None], on_problem: Callable[[str, str], None]):
        self._on_picture, self._on_problem = on_picture, on_problem
        self._surface = QOffscreenSurface()  # must be created and destroyed in the window's thread
        self._surface.create()
        self._changed = threading.Condition()
        self._request: _Request | None = None
        self._quitting, self._problem = False, ""
        self._thread = threading.Thread(target=self._run, name="pictures", daemon=True)
        self._thread.start()

    @property
    def failed(self) -> bool:
        """Whether the thread has reported an error and ended."""
        return bool(self._problem)

    def ask(self, view: View, detail: int) -> None:
        """Request a frame, in place of an earlier request that has not begun."""
        self._post(_Request(view, detail))

    def draw(self, view: View) -> Picture:
        """Draw a view in full and wait for it. Raises RuntimeError if this computer cannot draw."""
        request = _Request(view, 0, Future())
        self._post(request)
        return request.future.result()

    def _post(self, request: _Request) -> None:
        with self._changed:
            self._request = request
            self._changed.notify()
            if self._problem and request.future is not None:
                request.future.set_exception(RuntimeError(self._problem))

    def close(self) -> None:
        """Stop the thread and wait until it has ended."""
        with self._changed:
            self._quitting = True
            self._changed.notify()
        self._thread.join()
        self._surface.destroy()

    def _run(self) -> None:
        try:
            with context.on_surface(self._surface):
                self._work()
        except context.NoOpenGL:
            self._fail(context.NoOpenGL("it gives no OpenGL 3.3 core context"), None)

    def _work(self) -> None:
        """Draw requested frames in the current context."""
        renderer, request = Renderer(), None
        try:
            renderer.initialize()
            while (request := self._next()) is not None:
                self._draw(renderer, request)
        except Exception as error:  # a caller waiting for a frame must get any error of the driver
            self._fail(error, request)
        finally:
            renderer.release()

    def _fail(self, error: Exception, begun: _Request | None) -> None:
        """Report why nothing can be drawn, also to callers waiting for the current or the next request."""
        words, fix = problem_and_fix(error)
        with self._changed:
            self._problem = words
            waiting, self._request = (begun, self._request), None
        self._on_problem(words, fix)
        for request in waiting:
            if request is not None and request.future is not None:
                request.future.set_exception(RuntimeError(words))

    def _next(self) -> _Request | None:
        """Wait for the newest request and return it; None when the thread should end."""
        with self._changed:
            self._changed.wait_for(lambda: self._quitting or self._request is not None)
            request, self._request = self._request, None
            return None if self._quitting else request

    def _draw(self, renderer: Renderer, request: _Request) -> None:
        began, view = time.perf_counter(), request.view
        for _ in renderer.pieces(view, request.detail):
            if request.detail == 0:
                GL.glFinish()  # else the whole cost would fall on the end
                if self._quitting or self._request is not None:
                    return
        pixels = renderer.pixels()
        height, width = pixels.shape[:2]
        image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)
        seconds = time.perf_counter() - began
        if request.detail and view.batch is not None:
            renderer.adapt(seconds)
        picture = Picture(view, request.detail, image, pixels, seconds, renderer.upload_seconds)
        if request.future is not None:
            request.future.set_result(picture)
        else:
            self._on_picture(picture)
