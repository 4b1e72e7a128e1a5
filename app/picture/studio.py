"""Images of any size and films, drawn in a thread with its own OpenGL context, independent of the window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL
from PIL import Image
from PyQt6.QtGui import QFont, QImage, QOffscreenSurface, QPainter

from app.gl import context
from app.gl.renderer import Renderer
from app.gl.view import View
from app.picture.labels import paint

MAX_SIZE = 16384
"""The largest width or height of an image, px."""
ENCODERS = ("libx264", "libopenh264", "mpeg4")
"""Video encoders, best first."""
NO_ENCODER = "videos are encoded by PyAV, which is not here; install it with: pip install 'catena[video]'"


class Studio:
    """A renderer made in the window's thread, and used in another one within `open`."""

    def __init__(self, font: QFont):
        self._surface, self._font = QOffscreenSurface(), font
        self._surface.create()
        self._renderer: Renderer | None = None

    @contextmanager
    def open(self) -> Iterator[Studio]:
        """Hold a renderer in the calling thread. Raises RuntimeError if this computer cannot draw."""
        with context.on_surface(self._surface):
            self._renderer = Renderer(fine=True)
            try:
                self._renderer.initialize()
                yield self
            finally:
                self._renderer.release()
                self._renderer = None

    def close(self) -> None:
        """Free the surface; call it in the window's thread."""
        self._surface.destroy()

    def draw(
        self, view: View, transparent: bool = False, after_piece: Callable[[], None] = lambda: None
    ) -> NDArray[np.uint8]:
        """Draw a view in full with its labels; return RGBA pixels (height, width, 4).

        `after_piece` is called after each piece of the work, and may raise to abort it.
        """
        renderer = self._renderer
        if renderer is None:
            raise RuntimeError("the studio is not open")
        renderer.transparent = transparent
        for _ in renderer.pieces(view):
            GL.glFinish()  # else the whole cost would fall on the end
            after_piece()
        pixels = renderer.pixels()
        height, width = pixels.shape[:2]
        form = QImage.Format
        kind = form.Format_ARGB32_Premultiplied if transparent else form.Format_RGB32
        image = QImage(pixels.data, width, height, 4 * width, kind)
        painter = QPainter(image)
        paint(painter, view, 1.0, self._font)
        painter.end()
        straight = image.convertToFormat(form.Format_RGBA8888)
        bits = straight.constBits()
        bits.setsize(straight.sizeInBytes())
        return np.frombuffer(bits, np.uint8).reshape(height, width, 4).copy()


def save_picture(file: IO[Any], pixels: NDArray[np.uint8], transparent: bool) -> None:
    """Write pixels (height, width, 4) as PNG."""
    Image.fromarray(pixels if transparent else np.ascontiguousarray(pixels[..., :3])).save(file, "PNG")


def why_no_film() -> str | None:
    """Return why no film can be encoded here, in a sentence; None if it can."""
    try:
        import av  # noqa: F401
    except ImportError:
        return NO_ENCODER
    return None


def encode(
    file: IO[Any], pictures: Iterable[NDArray[np.uint8]], rate: float, done: Callable[[int], None] = lambda _: None
) -> int:
    """Write frames (height, width, 4) at `rate` fps as an MP4 film; return their number.

    An odd size loses a row or a column, since H.264 stores colours for every second pixel.
    """
    import av

    target = _Target(file)
    try:
        return _encode(av, target, pictures, rate, done)
    except Exception as error:
        raise target.error or error from None


class _Target:
    """A file that keeps its OSError, since the encoder passes on at most its number."""

    def __init__(self, file: IO[Any]):
        self._file = file
        self.error: OSError | None = None
        self.seek, self.tell = file.seek, file.tell

    def write(self, data: bytes) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise


def _encode(
    av: Any, target: _Target, pictures: Iterable[NDArray[np.uint8]], rate: float, done: Callable[[int], None]
) -> int:
    name = next(each for each in ENCODERS if each in av.codecs_available)
    count = 0
    with av.open(target, "w", format="mp4") as container:
        stream: Any = None
        for pixels in pictures:
            height, width = (side - side % 2 for side in pixels.shape[:2])
            if stream is None:
                options = {"crf": "18", "preset": "medium"} if name == "libx264" else {"qscale": "2"}
                stream = container.add_stream(name, rate=Fraction(rate).limit_denominator(1001), options=options)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.bit_rate = 0 if name == "libx264" else 8 * width * height
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels[:height, :width, :3]), format="rgb24")
            container.mux(stream.encode(frame))
            count += 1
            done(count)
        if stream is not None:
            container.mux(stream.encode())
    return count


def times(start: float, end: float, rate: float, speed: float) -> NDArray[np.float64]:
    """Return the times (n,), s, of a run from `start` to `end` that a film at `rate` fps and a speed shows."""
    count = math.floor((end - start) * rate / speed + 1e-9) + 1
    return np.asarray(start + np.arange(count) * speed / rate)
