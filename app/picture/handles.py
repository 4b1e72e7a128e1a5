"""Handles at a link in the viewport: arrows that translate it along its three axes, rings that rotate it about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PyQt6.QtWidgets import QWidget

import engine
from app.desktop import theme
from app.gl import glyphs
from app.gl.camera import Camera
from app.gl.picking import ray, seen_at
from app.picture.labels import draw_text_at
from app.picture.viewport import Viewport

ARROW, RING = "arrow", "ring"
START, LENGTH, RADIUS = 0.16, 1.0, 0.66  # relative to the handles' size: the ends of arrows, and the rings' radius
SIZE = 105.0  # px, an arrow's length seen from the side
PICK_DISTANCE = 7.0  # px, the largest distance of the cursor from a handle under it
HEAD = 11.0  # px, the size of an arrow's head
POINTS = 64  # points of a ring
FACING = 0.98  # cosine to the line of sight above which an arrow points at the eye and cannot be dragged
COVERING = 0.97  # cosine, in the picture, above which the arrow of a force would be covered by a handle
EDGE = 0.06  # cosine below which a ring is seen edge-on and cannot be dragged
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Handle:
    """A handle: its kind and the index of its axis in the link's frame."""

    kind: str
    axis: int


@dataclass(frozen=True, eq=False)
class Shape:
    """The handles of a frame (4, 4), m, as seen: their size, m, and the lines of each, px, (points, 2)."""

    frame: np.ndarray
    size: float
    lines: dict[Handle, np.ndarray]
    behind: dict[Handle, np.ndarray]
    """A mask (points,) for each ring of the points on its far side."""

    @property
    def box(self) -> QRectF | None:
        """The rectangle around all handles, px; None if a line leaves the picture through the eye's plane."""
        points = np.concatenate([np.zeros((0, 2)), *self.lines.values()])
        if not len(points) or not np.isfinite(points).all():
            return None
        return QRectF(QPointF(*points.min(0)), QPointF(*points.max(0))).adjusted(-HEAD, -HEAD, HEAD, HEAD)


def shape(
    frame: np.ndarray, camera: Camera, picture: tuple[float, float], others: Sequence[np.ndarray] = ()
) -> Shape | None:
    """Return the handles of a frame (4, 4) in a picture of this width and height; None if it is behind the eye.

    An arrow that would cover one of `others`, vectors (3,) in the world that begin at the frame, points the other way.
    """
    R, origin = frame[:3, :3], frame[:3, 3]
    depth = camera.depth(origin)
    if depth <= 0:
        return None
    size = SIZE * 2 * np.tan(camera.angle / 2) * depth / min(picture)
    sight = (camera.eye - origin) / np.linalg.norm(camera.eye - origin)
    lines, behind = {}, {}
    drawn = [origin + size * np.outer((0, 1), other / np.linalg.norm(other)) for other in others]
    for axis in range(3):
        toward = abs(float(R[:, axis] @ sight))
        if toward < FACING:
            both = [
                seen_at(camera, picture, origin + size * np.outer((START, LENGTH), way * R[:, axis])) for way in (1, -1)
            ]
            covered = [any(_covers(line, seen_at(camera, picture, ends)) for ends in drawn) for line in both]
            lines[Handle(ARROW, axis)] = both[covered[0] and not covered[1]]
        if toward > EDGE:
            round_it = ring(R, axis)
            ring_handle = Handle(RING, axis)
            lines[ring_handle] = seen_at(camera, picture, origin + size * RADIUS * round_it)
            behind[ring_handle] = round_it @ sight < -0.05
    return Shape(frame, size, lines, behind)


def _covers(line: np.ndarray, other: np.ndarray) -> bool:
    """Whether two lines (2, 2) from about one place, px, point the same way."""
    one, two = line[1] - line[0], other[1] - other[0]
    return bool(one @ two > COVERING * np.linalg.norm(one) * np.linalg.norm(two))


def ring(R: np.ndarray, axis: int) -> np.ndarray:
    """Return a closed circle of radius 1 about an axis of a frame, (POINTS + 1, 3)."""
    angles = np.linspace(0, 2 * np.pi, POINTS + 1)[:, None]
    one, other = R[:, (axis + 1) % 3], R[:, (axis + 2) % 3]
    return np.cos(angles) * one + np.sin(angles) * other


def under(shape: Shape, place: np.ndarray) -> Handle | None:
    """Return the handle at a position (2,), px: the nearest within `PICK_DISTANCE`, of rings only the near sides."""
    best, nearest = PICK_DISTANCE, None
    for handle, line in shape.lines.items():
        start, end = line[:-1], line[1:]
        if handle.kind == RING:
            seen = ~(shape.behind[handle][:-1] | shape.behind[handle][1:])
            start, end = start[seen], end[seen]
        segment = end - start
        share = np.clip(((place - start) * segment).sum(1) / np.maximum((segment**2).sum(1), 1e-12), 0, 1)
        away = np.linalg.norm(start + share[:, None] * segment - place, axis=1)
        distance = float(np.nanmin(away, initial=np.inf))
        if distance < best:
            best, nearest = distance, handle
    return nearest


class Drag:
    """A drag of a handle: its distance as a function of the cursor's position."""

    def __init__(self, handle: Handle, shape: Shape, camera: Camera, picture: tuple[float, float], start: np.ndarray):
        self.handle, self.frame, self._picture, self._start = handle, shape.frame, picture, start
        self._camera = camera
        self._axis = shape.frame[:3, handle.axis]
        if handle.kind == ARROW:
            self._first = self._along(start)
            return
        line = shape.lines[handle]
        visible = np.where(shape.behind[handle], np.inf, np.linalg.norm(line - start, axis=1))
        point = shape.size * RADIUS * ring(shape.frame[:3, :3], handle.axis)[int(np.nanargmin(visible))]
        ends = shape.frame[:3, 3] + point + np.outer((-0.01, 0.01), np.cross(self._axis, point))
        before, after = seen_at(camera, picture, ends)
        self._rate = (after - before) / 0.02  # px per rad, at the point where the ring was grabbed

    def _along(self, place: np.ndarray) -> float:
        """Return the position on the arrow's line nearest to the line of sight through a point (2,), m."""
        eye, sight = ray(self._camera, self._picture, (float(place[0]), float(place[1])))
        between, cosine = eye - self.frame[:3, 3], float(self._axis @ sight)
        return float((self._axis - cosine * sight) @ between) / (1 - cosine**2)

    def amount(self, place: np.ndarray) -> float:
        """Return how far the handle is moved with the cursor at a point (2,): m along its axis, or rad about it."""
        if self.handle.kind == ARROW:
            return self._along(place) - self._first
        return float((place - self._start) @ self._rate / (self._rate @ self._rate))

    def pose(self, amount: float) -> np.ndarray:
        """Return the frame moved by an amount, (4, 4)."""
        pose, R = self.frame.copy(), self.frame[:3, :3]
        if self.handle.kind == ARROW:
            pose[:3, 3] += amount * self._axis
        else:
            pose[:3, :3] = R @ engine.rotation_from_rpy(amount * np.eye(3)[self.handle.axis])
        return pose


class HandleLayer(QWidget):
    """An overlay of the viewport with the handles of one frame."""

    def __init__(self, viewport: Viewport):
        super().__init__(viewport)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._viewport = viewport
        self.shape: Shape | None = None
        """The visible handles; None if there are none."""
        self.marked: Handle | None = None
        """The handle under the cursor, or being dragged."""
        self.held = False
        self.text = ""
        """The text at the cursor during a drag."""
        self.cursor_at = QPointF()
        self.hide()

    def show_frame(self, frame: np.ndarray | None, others: Sequence[np.ndarray] = ()) -> None:
        """Show the handles of a frame (4, 4) in the robot's world, m; None hides them. `others` as in `shape`."""
        viewport, seen = self._viewport, None
        if frame is not None:
            placed = frame.copy()
            placed[:3, 3] += viewport.center
            seen = shape(placed, viewport.camera, (viewport.width(), viewport.height()), others)
        before, self.shape = self.shape, seen
        viewport.labels.keep_clear(None if seen is None else seen.box)
        if seen is None:
            self.marked = None
            if before is not None:
                self.hide()
            return
        self.setGeometry(viewport.rect())
        self.show()
        self.raise_()
        self.update()

    def mark(self, at: QPointF) -> Handle | None:
        """Mark the handle under the cursor and return it."""
        handle = under(self.shape, np.array([at.x(), at.y()])) if self.shape is not None else None
        if handle != self.marked:
            self.marked = handle
            self.update()
        return handle

    def paintEvent(self, _: QPaintEvent) -> None:
        if self.shape is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        order = sorted(self.shape.lines, key=lambda handle: (handle == self.marked, handle.kind == ARROW))
        for handle in order:
            if not self.held or handle == self.marked:
                self._paint(painter, handle)
        if self.held and self.text:
            draw_text_at(painter, QFont(self.font()), self.cursor_at, self.text, self.width())

    def _paint(self, painter: QPainter, handle: Handle) -> None:
        line, marked = self.shape.lines[handle], handle == self.marked
        if np.isnan(line).any():
            return
        color = axis_color(handle.axis)
        halo = QColor(0, 0, 0, 130) if theme.is_dark() else QColor(255, 255, 255, 190)
        width = 4.0 if marked else 2.4
        away = self.shape.behind.get(handle)
        for pen, wide in ((halo, width + 2.6), (color, width)):
            if handle.kind == ARROW:
                painter.setPen(QPen(pen, wide, cap=Qt.PenCapStyle.RoundCap))
                painter.drawLine(QPointF(*line[0]), QPointF(*line[1]))
                _draw_head(painter, line, pen, HEAD + (2.6 if pen is halo else 0) + (2.0 if marked else 0))
                continue
            faint = QColor(pen)
            faint.setAlpha(pen.alpha() // 5)
            for some, ink in ((away, faint), (~away, pen)):
                painter.setPen(QPen(ink, wide, cap=Qt.PenCapStyle.FlatCap if some is away else Qt.PenCapStyle.RoundCap))
                for run in _runs(some):
                    painter.drawPolyline(QPolygonF([QPointF(*line[k]) for k in run]))


def axis_color(axis: int) -> QColor:
    """Return the colour of a frame's axis in the viewport, darkened for a light background."""
    color = QColor.fromRgbF(*(glyphs.X, glyphs.Y, glyphs.Z)[axis])
    return color if theme.is_dark() else color.darker(135)


def _draw_head(painter: QPainter, line: np.ndarray, color: QColor, size: float) -> None:
    """Draw a triangle at the end of an arrow, px."""
    direction = line[1] - line[0]
    length = float(np.linalg.norm(direction))
    if length < 1e-6:
        return
    direction /= length
    aside = np.array([-direction[1], direction[0]])
    corners = (line[1] + 0.9 * size * direction, line[1] - 0.2 * size * direction + 0.55 * size * aside,
               line[1] - 0.2 * size * direction - 0.55 * size * aside)  # fmt: skip
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
    painter.setBrush(Qt.BrushStyle.NoBrush)


def _runs(which: np.ndarray) -> list[range]:
    """Return the runs of true entries, each extended by its neighbours, so that adjacent lines meet."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    last = len(which) - 1
    return [range(max(start - 1, 0), min(end, last) + 1) for start, end in edges.reshape(-1, 2)]
