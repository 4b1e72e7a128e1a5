"""Frames of robots stepped on a GPU: poses computed there, and one asynchronous copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any

import numpy as np

from engine.cuda.rigid_body.poses import LinkPoses, StateGathering
from engine.cuda.runtime import device
from engine.frame import Frame, Spent
from engine.model import Model
from engine.validation import Array

POSES = "float32"
"""The number type of a frame's poses, which are for drawing."""
_ALIGNMENT, _TO_HOST = 64, 2  # bytes; cudaMemcpyDeviceToHost
_BEGUN, _STEPPED, _POSED, _COPIED = range(4)


class FrameReader:
    """See `engine.frame.FrameReader`. `counters` are those of the phases; `phases` converts them to seconds."""

    def __init__(
        self,
        model: Model,
        q: Any,
        v: Any,
        counters: Any,
        robots: int,
        steps: Callable[[], int],
        phases: Callable[[Array], Mapping[str, float]],
    ):
        import cupy

        dtype = str(q.dtype)
        self._q, self._v, self._counters, self._steps, self._phases = q, v, counters, steps, phases
        shapes = ((robots, len(model.link_names), 4, 4), POSES), (q.shape, dtype), (v.shape, dtype)
        pieces = _pieces((*shapes, (counters.shape, "int64")))
        size = pieces[-1][0].stop
        device.require_memory(size, f"the frames of {robots} robots {model.name!r}")
        self._packed, self._pinned = cupy.empty(size, np.uint8), cupy.cuda.alloc_pinned_memory(size)
        host = np.frombuffer(self._pinned, np.uint8, size)
        self._out = [self._packed[place].view(kind).reshape(shape) for place, shape, kind in pieces]
        self._host = [host[place].view(kind).reshape(shape) for place, shape, kind in pieces]
        self._link_poses = LinkPoses(model, dtype, POSES)
        self._gather = StateGathering(dtype, (q.size, v.size, counters.size))
        self._events = [cupy.cuda.Event(block=True) for _ in range(4)]
        self._copy = cupy.cuda.runtime.memcpyAsync
        self._stream = cupy.cuda.get_current_stream
        self._elapsed = cupy.cuda.get_elapsed_time
        self._begun = False
        self._requested: int | None = None

    def begin(self) -> None:
        self._events[_BEGUN].record()
        self._begun = True

    def request(self) -> None:
        events, (link_poses, *state) = self._events, self._out
        events[_STEPPED].record()
        self._link_poses(self._q, link_poses)
        self._gather(self._q, self._v, self._counters, *state)
        events[_POSED].record()
        self._copy(self._pinned.ptr, self._packed.data.ptr, self._packed.nbytes, _TO_HOST, self._stream().ptr)
        events[_COPIED].record()
        self._requested = self._steps()

    @property
    def ready(self) -> bool:
        return self._requested is not None and bool(self._events[_COPIED].done)

    def take(self) -> Frame:
        if self._requested is None:
            raise RuntimeError("no frame was requested; call request() before take()")
        self._events[_COPIED].synchronize()
        times = [self._seconds(k) for k in range(3)]
        steps, self._requested, self._begun = self._requested, None, False
        link_poses, q, v, counters = self._host
        return Frame(steps, q, v, link_poses, self._phases(counters), Spent(*times))

    def _seconds(self, first: int) -> float:
        if first == _BEGUN and not self._begun:
            return nan
        return float(self._elapsed(self._events[first], self._events[first + 1])) * 1e-3


def _pieces(arrays: tuple[tuple[tuple[int, ...], str], ...]) -> list[tuple[slice, tuple[int, ...], str]]:
    """Return the offsets of arrays, given by shape and number type, within one block of bytes."""
    parts, start = [], 0
    for shape, kind in arrays:
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        parts.append((slice(start, start + size), shape, kind))
        start += -(-size // _ALIGNMENT) * _ALIGNMENT
    return parts
