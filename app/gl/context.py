"""OpenGL contexts without a window: surfaceless EGL on Linux, an offscreen Qt surface elsewhere.

A thread beside a window has a Qt context on a surface that the window's thread has made.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PyQt6.QtGui import QOffscreenSurface

VERSION = (3, 3)


_NUMBERS = re.compile(r"(\d+)\.(\d+)")


class NoOpenGL(RuntimeError):
    """OpenGL is not available on this machine; the message says what is missing."""


def why_too_old(version: str) -> str:
    """Return why an OpenGL version string, such as "2.1 Mesa 22.3.6", is too old; empty if it is not."""
    match = _NUMBERS.search(version)
    if match is None or tuple(map(int, match.groups())) >= VERSION:
        return ""
    return f"its OpenGL is {version}, and {'.'.join(map(str, VERSION))} is needed"


@contextmanager
def offscreen() -> Iterator[None]:
    """Make an OpenGL 3.3 core context current in this thread inside the ``with`` block. Raises NoOpenGL."""
    with _egl() if sys.platform.startswith("linux") else _qt():
        yield


@contextmanager
def canvas(width: int, height: int) -> Iterator[None]:
    """Make a context current like `offscreen`, with a framebuffer of that size in pixels bound."""
    with offscreen():
        from OpenGL import GL

        framebuffer, color = int(GL.glGenFramebuffers(1)), int(GL.glGenRenderbuffers(1))
        GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, color)
        GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, GL.GL_RGBA8, width, height)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_RENDERBUFFER, color)
        try:
            yield
        finally:
            GL.glDeleteFramebuffers(1, [framebuffer])
            GL.glDeleteRenderbuffers(1, [color])


@contextmanager
def on_surface(surface: QOffscreenSurface) -> Iterator[None]:
    """Make a Qt context on a surface, perhaps of another thread, current in this one. Raises NoOpenGL.

    An application must be running.
    """
    from PyQt6.QtGui import QOpenGLContext

    context = QOpenGLContext()
    context.setFormat(surface.requestedFormat())
    if not context.create() or not context.makeCurrent(surface):
        raise NoOpenGL("this computer gives no OpenGL 3.3 core context; update the graphics driver")
    try:
        yield
    finally:
        context.doneCurrent()


@contextmanager
def _egl() -> Iterator[None]:
    try:
        from OpenGL import EGL
    except (ImportError, AttributeError) as error:
        raise NoOpenGL(
            "there is no EGL library; install libEGL and a driver (on Debian: libegl1 libgl1-mesa-dri)"
        ) from error
    display = _egl_display(EGL)
    try:
        EGL.eglBindAPI(EGL.EGL_OPENGL_API)
        wanted = [EGL.EGL_RENDERABLE_TYPE, EGL.EGL_OPENGL_BIT, EGL.EGL_SURFACE_TYPE, 0, EGL.EGL_NONE]
        config, count = (EGL.EGLConfig * 1)(), EGL.EGLint()
        EGL.eglChooseConfig(display, (EGL.EGLint * len(wanted))(*wanted), config, 1, count)
        version = [EGL.EGL_CONTEXT_MAJOR_VERSION, VERSION[0], EGL.EGL_CONTEXT_MINOR_VERSION, VERSION[1]]
        core = [EGL.EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL.EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL.EGL_NONE]
        requested = (EGL.EGLint * (len(version) + len(core)))(*version, *core)
        context = EGL.eglCreateContext(display, config[0] if count.value else None, EGL.EGL_NO_CONTEXT, requested)
        EGL.eglMakeCurrent(display, EGL.EGL_NO_SURFACE, EGL.EGL_NO_SURFACE, context)
    except EGL.EGLError as error:
        raise NoOpenGL(
            f"EGL gives no OpenGL 3.3 core context without a surface ({error.err}); update the driver"
        ) from error
    try:
        yield
    finally:
        EGL.eglMakeCurrent(display, EGL.EGL_NO_SURFACE, EGL.EGL_NO_SURFACE, EGL.EGL_NO_CONTEXT)
        EGL.eglDestroyContext(display, context)
        EGL.eglReleaseThread()


SURFACELESS, DEVICE = 0x31DD, 0x313F
"""EGL_PLATFORM_SURFACELESS_MESA and EGL_PLATFORM_DEVICE_EXT."""


def _egl_display(EGL: Any) -> Any:
    """Return the first display that initialises: Mesa's surfaceless, a device's (NVIDIA), the default."""
    extensions = EGL.eglQueryString(EGL.EGL_NO_DISPLAY, EGL.EGL_EXTENSIONS) or b""
    attempts = []
    if b"EGL_MESA_platform_surfaceless" in extensions:
        attempts.append(lambda: EGL.eglGetPlatformDisplayEXT(SURFACELESS, None, None))
    if b"EGL_EXT_platform_device" in extensions:
        attempts.append(lambda: EGL.eglGetPlatformDisplayEXT(DEVICE, None, None))
    attempts.append(lambda: EGL.eglGetDisplay(EGL.EGL_DEFAULT_DISPLAY))
    for attempt in attempts:
        with suppress(EGL.EGLError):
            display = attempt()
            EGL.eglInitialize(display, None, None)
            return display
    raise NoOpenGL("EGL finds no display to draw on; install a driver (on Debian: libgl1-mesa-dri)")


@contextmanager
def _qt() -> Iterator[None]:
    from PyQt6.QtGui import QGuiApplication, QOffscreenSurface, QSurfaceFormat

    application = QGuiApplication.instance() or QGuiApplication([])
    form = QSurfaceFormat()
    form.setVersion(*VERSION)
    form.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    surface = QOffscreenSurface()
    surface.setFormat(form)
    surface.create()
    try:
        with on_surface(surface):
            yield
    finally:
        surface.destroy()
        del application
