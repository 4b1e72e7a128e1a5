"""MuJoCo Warp on the ground, if installed: batches of robots that stand by gains, or fall limp."""

from pathlib import Path

import numpy as np

from engine.bench.peers.mujoco import warp_seconds
from engine.bench.peers.peer import require
from engine.model import Model
from engine.validation import Array
from tests.bench import mujoco_contact

HOW = "one GPU, captured graph of ten steps, events, float32, pyramidal cones, Newton's solver, implicitfast"
TOGETHER = 10
"""Steps of a graph."""
CONTACTS, ROWS = 32, 192
"""Room for each robot: contacts, and rows of constraints."""


class OnGround:
    """`batch` robots of a URDF on a plane, at q (batch, nq) of `model`, or settled by MuJoCo.

    Raises Missing if MuJoCo Warp is not installed.
    """

    def __init__(
        self, urdf: Path, kp: Array, kd: Array, dt: float, mu: float, batch: int, model: Model, q: Array | None
    ):
        require("mujoco_warp", "MuJoCo Warp")
        require("warp", "Warp, which MuJoCo Warp needs,")
        theirs, data = mujoco_contact.on_plane(urdf, kp, kd, dt, mu, elliptic=False)
        import warp

        warp.config.log_level = warp.LOG_WARNING  # standard output is ours
        import mujoco
        import mujoco_warp

        self._library, self._warp, self._batch = mujoco_warp, warp, batch
        if q is None:
            mujoco.mj_step(theirs, data, 1000)
        else:
            mujoco.mj_forward(theirs, data)
        self._model = mujoco_warp.put_model(theirs)
        self._data = mujoco_warp.put_data(theirs, data, nworld=batch, nconmax=CONTACTS, njmax=ROWS)
        self._start = np.tile(data.qpos, (batch, 1)) if q is None else mujoco_contact.coordinates(theirs, model, q)
        self._reset()
        for _ in range(TOGETHER):
            mujoco_warp.step(self._model, self._data)
        with warp.ScopedCapture() as capture:
            for _ in range(TOGETHER):
                mujoco_warp.step(self._model, self._data)
        self._graph = capture.graph

    def _reset(self) -> None:
        self._data.qpos.assign(self._start.astype(np.float32))
        self._data.qvel.zero_()
        self._data.qacc_warmstart.zero_()

    def seconds(self, steps: int, runs: int) -> float:
        """Return the seconds of a step of all robots: the median of `runs` runs of `steps` steps from the start, by
        events.
        """
        warp, times = self._warp, []
        for _ in range(runs):
            self._reset()
            warp.synchronize()
            times.append(warp_seconds(lambda: warp.capture_launch(self._graph), steps // TOGETHER) / TOGETHER)
        return float(np.median(times))

    def heights(self) -> tuple[float, float]:
        """Return the minimum and maximum height of the bases, m, to check that robots stand or lie."""
        heights = self._data.qpos.numpy()[:, 2]
        return float(heights.min()), float(heights.max())
