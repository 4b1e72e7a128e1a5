"""A stable time step and integrator for a model, from its joints' possible speeds, without compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine import holding
from engine.lie import Array
from engine.model import PRISMATIC, Model, poses

MAX_STEP = 1e-3  # s
STEPS = (1e-3, 5e-4, 2.5e-4, 1e-4, 5e-5, 2.5e-5, 1e-5)  # s, suggested ones
TURN = 0.12  # rad, or fraction of a metre, that the fastest joint moves in a step
DAMPED = 10.0  # 1/s: a joint damped at such a rate does not gain speed


class SuggestedStep(NamedTuple):
    """A time step: `dt` in s, `integrator`, one of `engine.INTEGRATORS`, and why, in a sentence."""

    dt: float
    integrator: str
    why: str


def suggested_step(model: Model, held: bool = False) -> SuggestedStep:
    """The time step, at most 1 ms, and the integrator by which a model should be simulated.

    An explicit step is limited by a joint's rotation in it, since centrifugal and Coriolis forces are quadratic in the
    speed. `top_speeds` estimates that speed. Where the fastest joint turns by less than 0.12 rad in 1 ms, and wherever
    the joints are `held` by `holding_gains`, "implicit" with 1 ms suffices: it is also stable for any damping and any
    gains. But in a minute it takes a tenth or more of the energy of a double pendulum that nothing slows down, and
    "rk4" keeps it: that is for robots whose joints have no damping, friction or velocity limit. In faster ones, such
    as long chains without damping, semi-implicit Euler gains energy until it diverges; "rk4" with the step in which
    the fastest joint turns by 0.12 rad does not.
    """
    if held:
        return SuggestedStep(MAX_STEP, "implicit", "gains hold the joints, and act at the end of each step")
    speed = float(np.max(top_speeds(model), initial=0.0))
    if speed * MAX_STEP <= TURN and model.constrained.any() and not _dissipates(model):
        return SuggestedStep(MAX_STEP, "rk4", "no joint has damping, friction or a velocity limit; rk4 keeps energy")
    if speed * MAX_STEP <= TURN:
        return SuggestedStep(MAX_STEP, "implicit", f"no joint is expected to move faster than {speed:.3g} rad/s or m/s")
    dt = next((dt for dt in STEPS if speed * dt <= TURN), STEPS[-1])
    return SuggestedStep(dt, "rk4", f"joints without damping or velocity limit may reach {speed:.3g} rad/s or m/s")


def top_speeds(model: Model) -> Array:
    """An estimate of the speed that each joint reaches in free motion from rest at the neutral pose, (nv,).

    At most its velocity limit, and the speed at which the energy of the deepest fall, E, is shared evenly by the n
    coordinates, ``√(2 E/n · μ)`` with the joint's `mobility` μ: equipartition, which long chains approach. 0 for free
    joints and for those that damping slows within 0.1 s.
    """
    scalar = model.constrained
    moves = holding.mobility(model)
    share = 2 * _deepest_fall(model) / max(int(scalar.sum()), 1)
    speeds = np.minimum(np.sqrt(share * moves), model.velocity_limit)
    return np.where(scalar & (model.damping * moves < DAMPED), speeds, 0.0)


def _dissipates(model: Model) -> bool:
    """Return whether any joint has damping, friction or a velocity limit, which take energy from a free motion."""
    return bool(np.any(model.damping) or np.any(model.friction) or np.any(np.isfinite(model.velocity_limit)))


def _deepest_fall(model: Model) -> float:
    """Return an upper bound of gravity's work, J: every body hanging from its root joint by its links' whole length."""
    T = poses.body_poses(model, model.neutral()[None])[0]
    down = -model.gravity
    n = len(model.parent)
    hop = np.linalg.norm(model.home_position, axis=1)
    reach = np.where(model.kind == PRISMATIC, _travel(model), 0.0) + hop
    length, root = np.zeros(n), np.arange(n)
    for i, parent in enumerate(model.parent):
        if parent >= 0:
            length[i], root[i] = length[parent] + reach[i], root[parent]
    moment = (T[:, :3, :3] @ model.first_moment[..., None])[..., 0]
    height = (moment + model.mass[:, None] * (T[:, :3, 3] - T[root, :3, 3])) @ down
    hanging = model.mass * length + np.linalg.norm(model.first_moment, axis=1)
    return float(np.sum(height) + np.linalg.norm(down) * np.sum(hanging))


def _travel(model: Model) -> Array:
    """Return the travel of each body's prismatic joint from zero, m; 0 without limits, and for other joints."""
    reach = np.maximum(np.abs(model.lower), np.abs(model.upper))
    reach = np.where(np.isfinite(reach), reach, 0.0)
    at = model.coupling.v_index[model.v_start]
    return np.where(model.kind == PRISMATIC, reach[at], 0.0)
