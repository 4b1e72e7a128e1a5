"""MuJoCo on threads, and on GPUs by Warp and MJX, if installed, given the same model, with constraints disabled."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from engine.bench.peers.peer import Missing, Timing, central_inertia, of_a_call, require
from engine.bench.states import State, residual
from engine.model import PRISMATIC, Model
from engine.model.joints import NV
from engine.validation import Array

CHECKED = 64
"""Number of robots of a batch whose results are checked."""


def mujoco_model(model: Model, dt: float = 1e-3) -> Any:
    """Build MuJoCo's model of a fixed-base model, body by body; no contacts, limits, friction or damping.

    Raises Missing if MuJoCo is not installed or cannot represent the model.
    """
    os.environ.setdefault("MUJOCO_GL", "disable")  # no rendering
    require("mujoco", "MuJoCo")
    import mujoco

    if model.has_mimic or np.any(NV[model.kind] > 1) or np.any(model.mass <= 0):
        raise Missing(
            f"MuJoCo is given robots without free joints, ball joints, mimic joints and massless bodies, "
            f"not {model.name}"
        )
    off = mujoco.mjtDisableBit
    spec = mujoco.MjSpec()
    spec.option.gravity, spec.option.timestep = model.gravity, dt
    spec.option.disableflags = int(off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_DAMPER | off.mjDSBL_SENSOR)
    bodies: list[Any] = []
    for i, parent in enumerate(model.parent):
        center, inertia = central_inertia(model, i)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, model.home_rotation[i].ravel())
        body = (bodies[parent] if parent >= 0 else spec.worldbody).add_body(
            name=f"body{i}", pos=model.home_position[i], quat=quaternion, explicitinertial=True,
            mass=model.mass[i], ipos=center, fullinertia=inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
        )  # fmt: skip
        kind = mujoco.mjtJoint.mjJNT_SLIDE if model.kind[i] == PRISMATIC else mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(name=f"joint{i}", type=kind, axis=[0, 0, 1])
        bodies.append(body)
    return spec.compile()


def on_threads(model: Model, q: Array, steps: int, dt: float, threads: int, seconds: float) -> tuple[float, Array]:
    """Return seconds of a rollout from rest at q (batch, nq), storing all states, and the last q. Raises Missing."""
    theirs = mujoco_model(model, dt)
    import mujoco
    from mujoco.rollout import Rollout

    start = np.hstack([np.zeros((len(q), 1)), q, np.zeros((len(q), model.nv))])
    states = np.empty((len(q), steps, start.shape[1]))
    data = [mujoco.MjData(theirs) for _ in range(threads)]
    times: list[float] = []
    with Rollout(nthread=threads) as pool:
        while sum(times) < seconds or len(times) < 4:
            began = perf_counter()
            pool.rollout(theirs, data, start, nstep=steps, state=states)
            times.append(perf_counter() - began)
    return float(np.median(times[1:])), states[:, -1, 1 : 1 + model.nq]


class OnWarp:
    """A batch of robots in MuJoCo Warp, on Warp's current device. Raises Missing."""

    def __init__(self, model: Model, at: State, dt: float = 1e-3):
        require("mujoco_warp", "MuJoCo Warp")
        theirs = mujoco_model(model, dt)
        import warp

        warp.config.log_level = warp.LOG_WARNING  # keeps its messages out of standard output
        if not warp.is_cuda_available():
            raise Missing("MuJoCo Warp finds no GPU that it can use")
        import mujoco_warp

        self._library, self._warp = mujoco_warp, warp
        self.model = mujoco_warp.put_model(theirs)
        self.model.opt.run_collision_detection = False
        self.data = mujoco_warp.make_data(theirs, nworld=len(at.q), nconmax=0, njmax=0)
        for name, values in zip(("qpos", "qvel", "qfrc_applied"), at, strict=True):
            getattr(self.data, name).assign(values.astype(np.float32))

    def forward(self) -> None:
        """Compute q̈ into `qacc_smooth`, with only the necessary stages."""
        library = self._library
        for stage in (library.kinematics, library.com_pos, library.crb, library.com_vel, library.rne):
            stage(self.model, self.data)
        library.fwd_acceleration(self.model, self.data, factorize=True)

    def step(self) -> None:
        """Take one step of semi-implicit Euler."""
        self._library.step(self.model, self.data)

    def output(self, name: str, robots: int) -> Array:
        """Return the first rows of an array of the data, such as qacc_smooth, on the host."""
        values: Array = getattr(self.data, name).numpy()
        return np.asarray(values[:robots, : self.model.nv], float)

    def captured(self, stage: Callable[[], None], inner: int = 1) -> Callable[[], None]:
        """Capture `inner` calls of a stage, which has run before, as one graph."""
        warp = self._warp
        with warp.ScopedCapture() as capture:
            for _ in range(inner):
                stage()
        return lambda: warp.capture_launch(capture.graph)


def warp_seconds(call: Callable[[], None], times: int = 1) -> float:
    """Return the seconds of one of `times` calls by events of Warp on the GPU."""
    import warp

    start, end = (warp.Event(enable_timing=True) for _ in range(2))
    warp.record_event(start)
    for _ in range(times):
        call()
    warp.record_event(end)
    return float(warp.get_event_elapsed_time(start, end)) * 1e-3 / times


def on_warp(model: Model, at: State, seconds: float) -> Timing:
    """Time MuJoCo Warp's forward dynamics as a captured graph, in single precision. Raises Missing."""
    began = perf_counter()
    single = State(*(x.astype(np.float32) for x in at))
    robots = OnWarp(model, single)
    robots.forward()
    output = robots.output("qacc_smooth", CHECKED)
    first = perf_counter() - began
    launch = robots.captured(robots.forward)
    once = warp_seconds(launch, 3)
    inner = int(np.clip(2e-3 / once, 1, 20))
    rounds = int(np.clip(seconds / (inner * once), 3, 25))
    times = [warp_seconds(launch, inner) for _ in range(rounds)]
    how = "one GPU, captured graph, events, float32"
    return Timing(float(np.median(times)), how, first, _left(model, single, output))


def on_mjx(model: Model, at: State, seconds: float) -> Timing:
    """Time MJX's forward dynamics, jitted and mapped over the batch, in single precision. Raises Missing."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the GPU is shared
    require("jax", "JAX")
    theirs = mujoco_model(model)
    require("mujoco.mjx", "MJX")
    import jax
    from mujoco import mjx

    began = perf_counter()
    single = State(*(x.astype(np.float32) for x in at))
    robot = mjx.put_model(theirs)
    blank = mjx.make_data(theirs)

    def forward(q: Any, v: Any, tau: Any) -> Any:
        data = blank.replace(qpos=q, qvel=v, qfrc_applied=tau)
        for stage in (mjx.kinematics, mjx.com_pos, mjx.crb, mjx.factor_m, mjx.com_vel, mjx.rne, mjx.fwd_acceleration):
            data = stage(robot, data)
        return data.qacc_smooth

    batched = jax.jit(jax.vmap(forward))
    states = [jax.device_put(x) for x in single]
    output = np.asarray(batched(*states)[:CHECKED], float)
    first = perf_counter() - began
    how = f"{jax.devices()[0].device_kind}, jitted, host clock, float32"
    return Timing(of_a_call(batched, states, seconds), how, first, _left(model, single, output))


def _left(model: Model, at: State, output: Array) -> float:
    return float(np.max(residual(model, State(*(x[: len(output)] for x in at)), output)))
