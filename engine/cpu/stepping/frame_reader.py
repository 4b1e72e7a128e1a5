"""Frames of the state of robots on the CPU, which is on the host already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from time import perf_counter

from engine.frame import Frame, Spent
from engine.model import Model, poses
from engine.validation import Array


class FrameReader:
    """See `engine.frame.FrameReader`."""

    ready = True

    def __init__(
        self,
        model: Model,
        q: Array,
        v: Array,
        robots: int,
        steps: Callable[[], int],
        phases: Callable[[], Mapping[str, float]],
    ):
        self._model, self._q, self._v, self._robots = model, q, v, robots
        self._steps, self._phases = steps, phases
        self._began = nan
        self._frame: Frame | None = None

    def begin(self) -> None:
        self._began = perf_counter()

    def request(self) -> None:
        now = perf_counter()
        link_poses = poses.link_poses(self._model, self._q[: self._robots])
        spent = Spent(now - self._began, perf_counter() - now, 0.0)
        self._frame = Frame(self._steps(), self._q.copy(), self._v.copy(), link_poses, self._phases(), spent)
        self._began = nan

    def take(self) -> Frame:
        if self._frame is None:
            raise RuntimeError("no frame was requested; call request() before take()")
        frame, self._frame = self._frame, None
        return frame
