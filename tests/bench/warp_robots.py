"""MuJoCo Warp, if installed: batches of a robot with individual states, on a plane, held or limp."""

import gc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engine.bench.peers.mujoco import warp_seconds
from engine.bench.peers.peer import require
from engine.model import Model
from engine.validation import Array
from tests.bench import mujoco_contact

HOW = "float32, pyramidal cones, Newton's solver, implicitfast, captured graph, events"
BLOWN = 1e3
"""rad/s or m/s: robots do not move so fast."""
TRIED, SPARE, CONTACTS, ROWS = 8, 1.5, 16, 64
"""Robots that are tried by MuJoCo on the processor, for the room that contacts and rows need, with some to spare; in
such units, since there are kernels for each number."""
AGAIN = 3
"""How often the capacity is doubled if insufficient."""
_LOST = ("NEFC", "NJMAX_NNZ", "BROADPHASE", "NARROWPHASE", "CCD")


class Setup(NamedTuple):
    """A robot's URDF and model, gains (nv,), dt in s, friction, and what happens.

    `q` (batch, nq) is where they start; every `together` steps the gains have the next `targets` (count, 1 or batch,
    nv), and after the last the first again.
    """

    path: Path
    model: Model
    kp: Array
    kd: Array
    dt: float
    mu: float
    q: Array
    targets: Array
    together: int


class Found(NamedTuple):
    """Seconds of each window, and until the first step was done; what happened to the robots."""

    times: list[float]
    first: float
    blown: float
    """The share of robots that were not finite, or faster than `BLOWN`, at the end of a window."""
    overflow: bool
    """Whether contacts or rows were lost, since there was no room for them even after `AGAIN` times."""
    heights: tuple[float, float]
    contacts: float
    """Final number of contacts of a robot."""
    room: tuple[int, int]
    """For contacts and rows of a robot."""


def measured(setup: Setup, settle: int, steps: int, windows: int) -> Found:
    """Time windows of steps, after settling. Raises Missing if MuJoCo Warp is not installed."""
    require("mujoco_warp", "MuJoCo Warp")
    require("warp", "Warp, which MuJoCo Warp needs,")
    gc.collect()  # what earlier batches have on the GPU
    room = _room(setup, settle + windows * steps)
    for _ in range(AGAIN):
        found = _run(_Batch(setup, room), settle, steps, windows)
        if not found.overflow:
            break
        room = room[0] * 2, room[1] * 2
    return found


def _room(setup: Setup, steps: int) -> tuple[int, int]:
    """For contacts and rows of constraints: what some robots need in those steps by MuJoCo, and some to spare."""
    import mujoco

    theirs, data, own = mujoco_contact.held_on_plane(setup.path, setup.model, setup.kp, setup.kd, setup.dt, setup.mu)
    contacts = rows = 0
    for robot, q in enumerate(mujoco_contact.coordinates(theirs, setup.model, setup.q[:TRIED])):
        mujoco.mj_resetData(theirs, data)
        data.qpos[:] = q
        for step in range(steps):
            if step % setup.together == 0:
                target = setup.targets[step // setup.together % len(setup.targets)]
                data.ctrl[:] = target[robot % len(target), own]
            mujoco.mj_step(theirs, data)
            contacts, rows = max(contacts, data.ncon), max(rows, data.nefc)
    return CONTACTS * (1 + int(SPARE * contacts) // CONTACTS), ROWS * (1 + int(SPARE * rows) // ROWS)


class _Batch:
    """A batch on Warp's device, with its state at the start."""

    def __init__(self, setup: Setup, room: tuple[int, int]):
        import mujoco
        import mujoco_warp
        import warp

        warp.config.log_level = warp.LOG_WARNING  # standard output is ours
        began = perf_counter()
        theirs, data, own = mujoco_contact.held_on_plane(
            setup.path, setup.model, setup.kp, setup.kd, setup.dt, setup.mu
        )
        start = mujoco_contact.coordinates(theirs, setup.model, setup.q)
        data.qpos[:] = start[0]
        mujoco.mj_forward(theirs, data)
        self._library, self._warp, self.setup, self.room = mujoco_warp, warp, setup, room
        batch = len(setup.q)
        self._model = mujoco_warp.put_model(theirs)
        self._model.opt.warn_overflow = 0
        self._data = mujoco_warp.put_data(theirs, data, nworld=batch, nconmax=room[0], njmax=room[1])
        self._targets = [
            warp.array(np.broadcast_to(target[:, own], (batch, len(own))), dtype=float) for target in setup.targets
        ]
        self._start = warp.array(start.astype(np.float32), dtype=float)
        self._cuda = bool(warp.get_device().is_cuda)
        self.reset()
        mujoco_warp.step(self._model, self._data)  # compiled
        self._go: Callable[[], Any] = self._steps
        if self._cuda:
            with warp.ScopedCapture() as capture:
                self._steps()
            self._go = lambda: warp.capture_launch(capture.graph)
            self._go()
        warp.synchronize()
        self.first = perf_counter() - began
        self.reset()

    def _steps(self) -> None:
        for _ in range(self.setup.together):
            self._library.step(self._model, self._data)

    def reset(self) -> None:
        """Back to the start, at rest."""
        data = self._data
        self._warp.copy(data.qpos, self._start)
        for x in (data.qvel, data.qacc_warmstart, data.time, data.overflow):
            x.zero_()
        self._rounds = 0

    def step(self, steps: int) -> None:
        """Steps, a multiple of `together`."""
        for _ in range(steps // self.setup.together):
            self._warp.copy(self._data.ctrl, self._targets[self._rounds % len(self._targets)])
            self._rounds += 1
            self._go()

    def seconds(self, steps: int) -> float:
        """Return their seconds, by the GPU's clock if there is one."""
        self._warp.synchronize()
        if self._cuda:
            return warp_seconds(lambda: self.step(steps))
        began = perf_counter()
        self.step(steps)
        return perf_counter() - began

    def blown(self) -> Any:
        """(batch,): which robots are not finite, or too fast."""
        q, v = self._data.qpos.numpy(), self._data.qvel.numpy()
        return ~(np.all(np.isfinite(q), 1) & np.all(np.abs(v) < BLOWN, 1))

    def overflow(self) -> bool:
        """Whether contacts or rows were lost."""
        lost = sum(int(getattr(self._library.OverflowType, name)) for name in _LOST)
        return bool(np.any(self._data.overflow.numpy() & lost))

    def heights(self) -> tuple[float, float]:
        """The least and the largest height of the bases, m."""
        heights = self._data.qpos.numpy()[:, 2]
        return float(heights.min()), float(heights.max())

    def contacts(self) -> float:
        """Return the number of contacts of a robot."""
        return float(self._data.nacon.numpy()[0]) / len(self.setup.q)


def _run(batch: _Batch, settle: int, steps: int, windows: int) -> Found:
    batch.step(settle)
    times, blown = [], np.zeros(len(batch.setup.q), bool)
    for _ in range(windows):
        times.append(batch.seconds(steps))
        blown |= batch.blown()
    return Found(
        times, batch.first, float(blown.mean()), batch.overflow(), batch.heights(), batch.contacts(), batch.room
    )
