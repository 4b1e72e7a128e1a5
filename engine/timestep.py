"""A time step and an integrator that hold for a model, from how fast its joints can turn, without compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine import holding
from engine.lie import Array
from engine.model import PRISMATIC, Model, poses

LONGEST = 1e-3  # s
STEPS = (1e-3, 5e-4, 2.5e-4, 1e-4, 5e-5, 2.5e-5, 1e-5)  # s, those that are suggested
TURN = 0.12  # rad, or parts of a metre, that the fastest joint moves in a step
DAMPED = 10.0  # 1/s: a joint whose damping slows it at such a rate does not come to speed


class SuggestedStep(NamedTuple):
    """How to step a model in time: `dt` in s, `integrator`, one of `engine.INTEGRATORS`, and why, in a sentence."""

    dt: float
    integrator: str
    why: str


def suggested_step(model: Model, held: bool = False) -> SuggestedStep:
    """The time step, at most 1 ms, and the integrator by which a model should be simulated.

    What limits an explicit step is how far a joint turns in it, since centrifugal and Coriolis forces change with the
    square of the speed. `top_speeds` estimates that speed. Where the fastest joint turns by less than 0.12 rad in 1 ms,
    and wherever the joints are `held` by `holding_gains`, "implicit" with 1 ms serves: it is also stable for any
    damping and any gains. Otherwise, in long chains without damping, semi-implicit Euler gains energy until it
    diverges; "rk4" with the step in which the fastest joint turns by 0.12 rad does not.
    """
    if held:
        return SuggestedStep(LONGEST, "implicit", "gains hold the joints, and act at the end of each step")
    speed = float(np.max(top_speeds(model), initial=0.0))
    if speed * LONGEST <= TURN:
        return SuggestedStep(LONGEST, "implicit", f"no joint is expected to move faster than {speed:.3g} rad/s or m/s")
    dt = next((dt for dt in STEPS if speed * dt <= TURN), STEPS[-1])
    return SuggestedStep(dt, "rk4", f"joints without damping or velocity limit may reach {speed:.3g} rad/s or m/s")


def top_speeds(model: Model) -> Array:
    """An estimate of the speed that each joint reaches in free motion from rest at the neutral pose, (nv,).

    At most its velocity limit, and what it has when the energy of the deepest fall, E, is shared evenly by the n
    coordinates, ``√(2 E/n · μ)`` with the joint's `mobility` μ: equipartition, to which long chains come. 0 for free
    joints and for those that damping slows within 0.1 s.
    """
    scalar = model.constrained
    moves = holding.mobility(model)
    share = 2 * _deepest_fall(model) / max(int(scalar.sum()), 1)
    speeds = np.minimum(np.sqrt(share * moves), model.velocity_limit)
    return np.where(scalar & (model.damping * moves < DAMPED), speeds, 0.0)


def _deepest_fall(model: Model) -> float:
    """What gravity can do at most, J: every body hanging from its root joint by its links' whole length."""
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
    """How far each body's sliding joint goes from zero, m; 0 where it has no limits, and for other joints."""
    reach = np.maximum(np.abs(model.lower), np.abs(model.upper))
    reach = np.where(np.isfinite(reach), reach, 0.0)
    at = model.coupling.v_index[model.v_start]
    return np.where(model.kind == PRISMATIC, reach[at], 0.0)
