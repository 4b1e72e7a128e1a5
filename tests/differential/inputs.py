"""The inputs of a case's robots: velocities, efforts, setpoints, wrenches, gains and parameters."""

import numpy as np

from engine import lie
from engine.holding import static_loads
from engine.model import PRISMATIC, WORLD, Model
from engine.model.poses import link_poses, link_twists
from tests.differential.chances import Rng, chance, log_uniform, one_of, pick
from tests.differential.families import Family
from tests.differential.placing import Placing
from tests.differential.robots import G

_ENDLESS = 1e25
"""N m or N: makes a robot without effort limits diverge in one step."""


def settings(rng: Rng, family: Family, algorithm: str, placing: Placing) -> dict:
    """Draw the step settings."""
    dt = one_of(rng, (1e-4, 5e-4, 1e-3, 2e-3, 5e-3)) if chance(rng, 0.7) else round(log_uniform(rng, 1e-4, 5e-3), 7)
    kp, kd = _gains(rng, family.own, placing)
    own = family.own and ((_alike(kp) and _alike(kd)) or chance(rng, 0.7))
    return {
        "integrator": family.integrator,
        "algorithm": algorithm,
        "dt": dt,
        "limits": chance(rng, 0.75),
        "on_divergence": "freeze" if family.freezes else "raise",
        "kp": kp,
        "kd": kd,
        "parameters": _parameters(rng, algorithm, placing) if own else None,
    }


def _alike(gain: float | list | None) -> bool:
    return not isinstance(gain, list) or not isinstance(gain[0], list) or len(gain) == 1


def _gains(rng: Rng, own: bool, placing: Placing) -> tuple:
    """Draw kp and kd: None, one number, one for each velocity, or one for each of each robot."""
    model, batch = placing.model, placing.batch
    if not chance(rng, 0.6) or not model.nv:
        return None, None
    inertia, _ = placing.carried
    rate = log_uniform(rng, 1, 60)
    kp = np.where(model.q_of_v >= 0, inertia * rate**2, 0.0)
    kd = np.where(model.constrained, inertia * rate * rng.uniform(0, 2), 0.0)
    way = pick(rng, {"number": 0.2, "each": 0.4, "rows": 0.3, "kd": 0.1})
    if way == "number":
        return float(np.median(kp)), float(np.median(kd))
    if way == "kd":
        return None, kd.tolist()
    if way == "rows" and own and batch > 1:
        factor = rng.uniform(0, 2, (batch, 1))
        return (kp * factor).tolist(), (kd * rng.uniform(0, 2, (batch, 1))).tolist()
    return (kp * (rng.random(model.nv) < 0.8)).tolist(), (kd * (rng.random(model.nv) < 0.8)).tolist()


def _parameters(rng: Rng, algorithm: str, placing: Placing) -> dict:
    """Draw some parameters that differ between robots; None in effort_limit is no limit."""
    model, batch, made = placing.model, placing.batch, dict[str, list]()
    if chance(rng, 0.7):
        factor = rng.uniform(0.5, 2, (batch, 1 if algorithm == "dca" else len(model.parent)))
        made |= _bodies(rng, model, factor, batch)
    if chance(rng, 0.3):
        gravity = model.gravity + rng.uniform(-3, 3, (batch, 3))
        made["gravity"] = np.where(rng.random((batch, 1)) < 0.3, 0.0, gravity).tolist()
    scale = placing.carried[0]
    for name, size in (("damping", scale), ("friction", 5 * scale)):
        if chance(rng, 0.4):
            made[name] = (size * rng.uniform(0, 2, (batch, model.nv)) * (rng.random((batch, model.nv)) < 0.7)).tolist()
    if chance(rng, 0.4):
        limit = 20 * (scale + 1e-3) * rng.uniform(0, 1, (batch, model.nv))
        made["effort_limit"] = [[x if chance(rng, 0.7) else None for x in row] for row in limit.tolist()]
    return made


def _bodies(rng: Rng, model: Model, factor: np.ndarray, batch: int) -> dict:
    """Masses times a factor, and centres of mass moved, so that the bodies stay such as can be."""
    n = len(model.parent)
    heavy = model.mass > 0
    mass = model.mass * factor
    centre = model.first_moment / np.where(heavy, model.mass, 1)[:, None]
    P = lie.skew(centre)
    about_centre = model.inertia + model.mass[:, None, None] * P @ P
    moved = centre + heavy[:, None] * rng.uniform(-0.03, 0.03, (batch, n, 3))
    P = lie.skew(moved)
    inertia = factor[..., None, None] * about_centre - mass[..., None, None] * P @ P
    inertia = (inertia + np.swapaxes(inertia, -1, -2)) / 2
    return {"mass": mass.tolist(), "first_moment": (mass[..., None] * moved).tolist(), "inertia": inertia.tolist()}


def velocities(rng: Rng, placing: Placing, scene: dict | None) -> np.ndarray:
    """(batch, nv): at rest, slow or fast, some joints still; near the ground, robots approach it, slide or spin."""
    model = placing.model
    below = scene and scene["ground"]
    n = np.array(below["normal"]) if below and below["kind"] == "plane" else np.array([0.0, 0.0, 1.0])
    v = np.zeros((placing.batch, model.nv))
    slides, frames = (model.kind == PRISMATIC)[_first_body(model)], placing.frames()
    for row, mode in enumerate(placing.modes):
        size = pick(rng, {0.0: 0.25, 0.01: 0.1, 0.5: 0.35, 3.0: 0.25, 6.0: 0.04, 100.0: 0.01})
        v[row] = size * rng.standard_normal(model.nv) * np.where(slides, 0.3, 1.0) * (rng.random(model.nv) < 0.8)
        for root in placing.roots:
            start = int(model.coupling.v_index[model.v_start[root]])
            v[row, start : start + 6] = _free(rng, mode, n, frames[row, root, :3, :3])
        if mode == "approach" and chance(rng, 0.8) and _lowest_rises(placing, row, v[row], n):
            v[row, model.constrained] *= -1
    return v


def _first_body(model: Model) -> np.ndarray:
    """(nv,): the body of each velocity, of those that follow a leader the leader's."""
    bodies = np.zeros(model.nv, int)
    for joint in model.joints:
        if joint.leader is None:
            count = joint.v.stop - joint.v.start
            several = joint.bodies.stop - joint.bodies.start > 1
            bodies[joint.v] = (
                np.arange(joint.bodies.start, joint.bodies.stop) if several else [joint.bodies.start] * count
            )
    return bodies


def _free(rng: Rng, mode: str, n: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The twist of a free body in its own frame."""
    across = np.cross(n, rng.standard_normal(3))
    across /= np.linalg.norm(across)
    ways = {"rest": 0.25, "slip": 0.25, "spin": 0.15, "tumble": 0.25, "creep": 0.1}
    way = pick(rng, ways)
    omega, v = np.zeros(3), np.zeros(3)
    if way in ("slip", "creep"):
        v = across * (rng.uniform(0.1, 3) if way == "slip" else 1e-3)
    elif way == "spin":
        omega = n * rng.uniform(-8, 8)
    elif way == "tumble":
        omega, v = rng.standard_normal(3) * 3, rng.standard_normal(3)
    if mode == "approach":
        v = v - n * log_uniform(rng, 0.1, 5)
    elif mode == "near" and chance(rng, 0.3):
        v = v + n * rng.uniform(0, 1)
    return np.concatenate([R.T @ omega, R.T @ v])


def _lowest_rises(placing: Placing, row: int, v: np.ndarray, n: np.ndarray) -> bool:
    """Whether the lowest point of a fixed-base robot moves up."""
    held = placing.points(WORLD)
    if not len(held.link):
        return False
    q = placing.q[row : row + 1]
    x = placing.world(held, row)
    k = int(np.argmin(x @ n - held.radius))
    twist = link_twists(placing.model, q, v[None])[0, held.link[k]]
    arm = x[k] - link_poses(placing.model, q)[0, held.link[k], :3, 3]
    return bool((twist[3:] + np.cross(twist[:3], arm)) @ n > 0)


def state(rng: Rng, family: Family, placing: Placing, v: np.ndarray) -> dict:
    """Draw a simulation's initial state."""
    model, q = placing.model, placing.q
    tau, target = (np.zeros((placing.batch, model.nv)) for _ in range(2))
    ways = {"nothing": 0.25, "weight": 0.15, "within friction": 0.2, "any": 0.3, "far": 0.1}
    held = pick(rng, ways)
    load = sum(placing.carried)
    for row in range(placing.batch):
        if held in ("weight", "within friction"):
            tau[row] = static_loads(model, q[row])
        if held == "within friction":
            tau[row] += model.friction * rng.uniform(-1, 1, model.nv)
        elif held in ("any", "far"):
            tau[row] = load * rng.standard_normal(model.nv) * (5 if held == "far" else 1) * (rng.random(model.nv) < 0.8)
        target[row] = _target(rng, model, q[row])
    if chance(rng, 0.3):
        tau[:, ~model.constrained] += rng.standard_normal((placing.batch, int((~model.constrained).sum())))
    if family.freezes and chance(rng, 0.08):
        tau[int(rng.integers(placing.batch))] = _ENDLESS
    wrench = _wrench(rng, model, placing.batch) if family.wrenches else None
    return {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist(), "target": target.tolist(), "wrench": wrench}


def _target(rng: Rng, model: Model, q: np.ndarray) -> np.ndarray:
    far = one_of(rng, (0.0, 0.02, 0.3, 3.0))
    here = np.where(model.q_of_v >= 0, q[np.maximum(model.q_of_v, 0)], 0.0)
    return np.asarray(here + far * rng.standard_normal(model.nv) * (model.q_of_v >= 0))


def _wrench(rng: Rng, model: Model, batch: int) -> list:
    """Wrenches on some links, those of the world among them."""
    weight = max(float(model.mass.sum()), 0.01) * G
    wrench = rng.standard_normal((batch, len(model.link_names), 6)) * weight * one_of(rng, (0.01, 0.3, 2))
    wrench[..., :3] *= 0.2
    return (wrench * (rng.random((batch, len(model.link_names), 1)) < rng.uniform(0.2, 1))).tolist()
