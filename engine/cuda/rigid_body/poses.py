"""Poses of the links of a batch of robots, from coordinates on the GPU: one launch, any tree, mimic joints too."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.runtime import arrays, compiler, device, header
from engine.model import Model

_THREADS = 256
_NUMBERS = 24  # workspace of a body: two poses of 12
_NULL = np.uint64(0)


class LinkPoses:
    """``poses(q, out)``: the frames of all links in the world, in the order of `model.link_names`.

    q (robots, nq) of type `dtype` and `out` (robots, links, 4, 4) of type `out_dtype` are contiguous CuPy arrays. Poses
    are joined by pointer doubling, as in `engine.model.poses`: ⌈log₂ depth⌉ rounds, a thread a body.
    """

    def __init__(self, model: Model, dtype: str, out_dtype: str):
        self._n, self._links, c = len(model.parent), len(model.link_names), model.coupling
        above = _above(model.parent)
        home = np.concatenate([model.home_rotation.reshape(-1, 9), model.home_position], 1)
        frames = np.concatenate([model.link_rotation.reshape(-1, 9), model.link_position], 1)
        whole = [arrays.to_device(np.ascontiguousarray(x), "int32") for x in (model.kind, model.q_start, c.q_index)]
        real = [arrays.to_device(np.ascontiguousarray(x), dtype) for x in (c.q_scale, c.q_offset, home)]
        joined = [arrays.to_device(np.ascontiguousarray(x), "int32") for x in (above, model.link_body)]
        self._tables = (*whole, *real, *joined, arrays.to_device(frames, dtype))
        self._sizes = tuple(np.int32(x) for x in (model.nq, self._n, self._links, len(above)))
        self._width = max(1, _THREADS // max(1, self._n))
        room = _NUMBERS * self._width * self._n
        self._shared = room * np.dtype(dtype).itemsize
        self._most = 4 * device.properties()["multiProcessorCount"]
        self._workspace: Any = _NULL
        if self._shared > device.properties()["sharedMemPerBlockOptin"]:
            self._shared, self._most = 0, device.properties()["multiProcessorCount"]
            self._workspace = arrays.empty((self._most * room,), dtype)
        name = f"link_poses<{compiler.REAL[dtype]}, {compiler.REAL[out_dtype]}>"
        self._kernel = _load(name).function(name)
        self._launches: dict[int, compiler.Launch] = {}

    def __call__(self, q: Any, out: Any) -> None:
        """Launch, without waiting."""
        if out.size:
            (self._launches.get(len(out)) or self._prepare(len(out)))(q, out)

    def _prepare(self, robots: int) -> compiler.Launch:
        """Return the launch for `robots` robots."""
        grid = min(-(-robots // self._width), self._most)
        rest = np.int32(robots), np.int32(self._width), *self._sizes, *self._tables, self._workspace
        launch = self._launches[robots] = compiler.Launch(self._kernel, grid, _THREADS, 2, rest, self._shared)
        return launch


class StateGathering:
    """``gather(q, v, counters, q_out, v_out, counters_out)``: copies of three contiguous CuPy arrays.

    The outputs may be adjacent in memory, so that one copy takes them to the host. `sizes` are those of the three.
    """

    def __init__(self, dtype: str, sizes: tuple[int, int, int]):
        name = f"gather_state<{compiler.REAL[dtype]}>"
        grid = min(64, -(-max(sizes) // _THREADS))
        self._launch = compiler.Launch(_load(name).function(name), grid, _THREADS, 6, tuple(map(np.int32, sizes)))

    def __call__(self, q: Any, v: Any, counters: Any, q_out: Any, v_out: Any, counters_out: Any) -> None:
        """Launch, without waiting."""
        self._launch(q, v, counters, q_out, v_out, counters_out)


def _load(name: str) -> compiler.Module:
    return compiler.load("rigid_body/poses.cu", [name], "\n".join(header.numbers({"THREADS": _THREADS})))


def _above(parent: np.ndarray) -> np.ndarray:
    """Return (rounds, n): the body to which each is joined in each round of doubling, −1 for none."""
    rounds, above = [], parent.copy()
    while np.any(hangs := above >= 0):
        rounds.append(above.copy())
        i = np.flatnonzero(hangs)
        above[i] = above[above[i]]
    return np.array(rounds, np.int32).reshape(len(rounds), len(parent))
