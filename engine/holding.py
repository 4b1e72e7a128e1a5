"""Joint gains that hold a robot in a pose, from its inertias and weights, without compiled code.

Inputs are a `Model` and a pose q (nq,); outputs are gains (nv,) for `Simulation(kp=, kd=)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import lie, validation
from engine.lie import Array
from engine.model import FREE, PRISMATIC, SPHERICAL, WORLD, Model, poses
from engine.model.coupling import Indices
from engine.model.joints import BODY_JOINTS, NV
from engine.model.model import EARTH
from engine.step_settings import INTEGRATORS

FREQUENCY = 20.0  # rad/s: the least natural frequency of each joint with what it carries
SAG = (0.004, 0.0005)  # rad and m: the most that a joint sinks under what it carries, or that its friction leaves
SHARE = 0.02  # of the travel between a joint's limits, if it is short: the most that the joint sinks
LEAST = 1e-3  # of `SAG`, to which a joint of a still shorter travel is held
FULL_EFFORT = 0.02  # rad: the deflection at which a joint that supports the robot gives its full effort
LEVEL = 0.01  # m above the lowest shape, within which other shapes count as on the ground
EXPLICIT = (0.1, 0.2)  # of kp dt² μ and kd dt μ for explicit gains; μ is the joint's mobility


def holding_gains(
    model: Model, dt: float = 1e-3, integrator: str = "implicit", q: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Gains kp and kd, (nv,) each, that hold every joint with a scalar coordinate at q (nq,), by default neutral.

    With M_ii the inertia that joint i carries, the diagonal of the mass matrix, and G_i the largest moment of its
    weight about the axis, or its friction if that is more: ``kp = max(20² M_ii, G_i / 0.004 rad)``, or 0.5 mm for a
    prismatic joint, or 2 % of the travel between its limits if that is less, so that no joint sinks further under
    gravity, or is left further from its setpoint by its friction, and ``kd = 2 √(kp M_ii)``, critical damping. N m/rad,
    N m s/rad; N/m, N s/m.

    A robot with a free base is supported by the joints above its lowest shapes, see `support`. They carry the rest of
    it: they give their full effort at `FULL_EFFORT`, and their damping is that of an inertia between the two. An effort
    limit above twice the robot's weight on Earth times its height counts as that much: such limits are placeholders.

    The "implicit" integrator takes gains at the end of the step and is stable for all of them. For the others both are
    bounded by `dt` and the joint's mobility, see `mobility`; the hold may then be softer.

    Free joints and ball joints have no coordinate for kp and are not held: their gains are 0.

    Effort limits clip the drive: a joint whose limit is below its weight sinks nevertheless.
    """
    integrator, dt = validation.one_of("integrator", integrator, INTEGRATORS), validation.time_step(dt)
    (pose,), _ = validation.states(model, q=model.neutral() if q is None else q)
    inertia, weight = inertia_and_load(model, pose[0])
    sliding = np.zeros(model.nv, bool)
    sliding[model.coupling.v_index[model.v_start[model.kind == PRISMATIC]]] = True
    held = model.q_of_v >= 0
    sag, travel = np.where(sliding, SAG[1], SAG[0]), model.upper - model.lower
    sag = np.where(travel > 0, np.clip(SHARE * travel, LEAST * sag, sag), sag)
    load = np.maximum(weight, model.friction) / sag
    kp = np.where(held, np.maximum(FREQUENCY**2 * inertia, load), 0.0)
    standing, moment, root = support(model, pose[0])
    legs = np.isfinite(model.effort_limit) & held & standing & ~sliding
    kp[legs] = np.maximum(kp[legs], np.minimum(model.effort_limit, 2 * moment)[legs] / FULL_EFFORT)
    largest = np.zeros(len(model.parent))
    np.maximum.at(largest, root, inertia)
    kd = 2 * np.sqrt(kp * np.where(legs, np.sqrt(inertia * largest[root]), inertia))
    if integrator != "implicit":
        moves = np.where(held, mobility(model), 1.0)
        kp = np.minimum(kp, EXPLICIT[0] / (dt * dt * moves))
        kd = np.minimum(kd, EXPLICIT[1] / (dt * moves))
    return np.where(held, kp, 0.0), np.where(held, kd, 0.0)


def inertia_and_load(model: Model, q: Array) -> tuple[Array, Array]:
    """Return the diagonal of the mass matrix and each joint's largest moment of weight, (nv,) each, at q (nq,).

    All bodies beyond a joint are one rigid body, summed over a range of the depth-first order. With mimic joints, both
    are upper bounds. 0 for free joints; a ball joint has the three axes of its body.
    """
    R, p, moment = _placed(model, q)
    # each body's inertia about the world's origin, from that about its own
    P, H = lie.skew(p), lie.skew(moment)
    about = R @ model.inertia @ np.swapaxes(R, 1, 2) - P @ H - H @ P - model.mass[:, None, None] * (P @ P)
    end = _ends(model)
    mass, first, second = (_sums(x, end) for x in (model.mass, moment + model.mass[:, None] * p, about))
    # and the composite body's about the joint's own frame
    arm, F = first - mass[:, None] * p, lie.skew(first)
    composite = second + P @ F + F @ P - mass[:, None, None] * (P @ P)
    at, body, local, slides = _axes(model)
    axis, arm, mass, composite = (R[body] @ local[..., None])[..., 0], arm[body], mass[body], composite[body]
    inertia = np.where(slides, mass, np.einsum("ni,nij,nj->n", axis, composite, axis))
    lever = np.linalg.norm(arm - axis * np.sum(axis * arm, 1, keepdims=True), axis=1)
    weight = np.linalg.norm(model.gravity) * np.where(slides, mass, lever)
    G = np.abs(model.coupling.v_scale[at])
    root, load = np.zeros(model.nv), np.zeros(model.nv)
    np.add.at(root, model.coupling.v_index[at], G * np.sqrt(np.maximum(inertia, 0.0)))
    np.add.at(load, model.coupling.v_index[at], G * weight)
    return root * root, load


def support(model: Model, q: Array) -> tuple[NDArray[np.bool_], Array, Indices]:
    """Return the joints, (nv,), on the paths to the lowest collision shapes, by origins, of their robot on a free base.

    And (nv,) each, of their robot, which is all bodies on one root: its weight on Earth times its height, N m, that of
    its highest body above these shapes; and the root body.
    """
    count, T = len(model.parent), poses.body_poses(model, q[None])[0]
    root, lowest, highest = np.arange(count), np.full(count, np.inf), np.full(count, -np.inf)
    for child, parent in enumerate(model.parent.tolist()):
        root[child] = child if parent < 0 else root[parent]
    shapes = [shape for shape in model.collisions if model.link_body[shape.link] != WORLD]
    links = np.array([shape.link for shape in shapes], np.int64)
    shaped, origins = model.link_body[links], np.array([shape.pose[:, 3] for shape in shapes]).reshape(-1, 4)
    heights = np.einsum("kj,kj->k", poses.link_poses(model, q[None])[0, links, 2], origins)
    np.minimum.at(lowest, root[shaped], heights)
    np.maximum.at(highest, root, T[:, 2, 3])
    below = np.zeros(count, bool)
    below[shaped[heights < lowest[root[shaped]] + LEVEL]] = True
    for child in reversed(range(count)):
        if model.parent[child] >= 0:
            below[model.parent[child]] |= below[child]
    stands = np.isin(root, root[model.kind == FREE]) & np.isfinite(lowest[root])
    weight = np.bincount(root, model.mass, count) * np.linalg.norm(EARTH)
    moment = weight[root] * np.where(stands, highest[root] - lowest[root], 0.0)
    at, body, _, _ = _axes(model)
    result = np.zeros(model.nv, bool), np.zeros(model.nv), np.zeros(model.nv, np.int64)
    for each, of_body in zip(result, (below & stands, moment, root), strict=True):
        each[model.coupling.v_index[at]] = of_body[body]
    return result


def static_loads(model: Model, q: ArrayLike) -> Array:
    """The efforts that hold the model at rest at q (nq,) against its weight, (nv,), N m or N, without compiled code.

    Equal to `inverse_dynamics` for zero velocity and acceleration, except 0 for free joints.
    """
    (pose,), _ = validation.states(model, q=q)
    R, p, moment = _placed(model, pose[0])
    mass, first = (_sums(x, _ends(model)) for x in (model.mass, moment + model.mass[:, None] * p))
    rotation = np.cross(first - mass[:, None] * p, model.gravity)
    at, body, local, slides = _axes(model)
    axis = (R[body] @ local[..., None])[..., 0]
    pull = np.where(slides[:, None], mass[body, None] * model.gravity, rotation[body])
    load = np.zeros(model.nv)
    np.add.at(load, model.coupling.v_index[at], -model.coupling.v_scale[at] * np.sum(axis * pull, 1))
    return load


def _axes(model: Model) -> tuple[Indices, Indices, Array, NDArray[np.bool_]]:
    """The axes of all joints but free ones: index of the velocity, body, axis in its frame (3,), whether prismatic."""
    body = np.repeat(np.arange(len(model.parent)), NV[model.kind])
    columns = [column for kind in model.kind.tolist() for column in BODY_JOINTS[kind].columns]
    at = np.flatnonzero(model.kind[body] != FREE)
    column = np.array(columns, np.int64)[at]
    return at, body[at], np.eye(3)[column % 3], column >= 3


def _placed(model: Model, q: Array) -> tuple[Array, Array, Array]:
    """The bodies' rotations (n, 3, 3), origins (n, 3), and first moments about these (n, 3), in the world, at q."""
    T = poses.body_poses(model, q[None])[0]
    R = T[:, :3, :3]
    return R, T[:, :3, 3], (R @ model.first_moment[..., None])[..., 0]


def mobility(model: Model) -> Array:
    """An upper bound of the diagonal of M⁻¹, (nv,), in any pose: a joint's acceleration per unit effort.

    If the two bodies at a joint were free of all others, a unit effort between them would accelerate it by the sum of
    both bodies' inverse inertias; further joints can only reduce the mobility (Gauss's principle). Two bodies at a
    prismatic joint also rotate together if their centres of mass are offset: with d between these and a the axis that
    adds (d × a)ᵀ (I₁ + I₂)⁻¹ (d × a). A body without inertia of its own is taken as rigid with all that it carries,
    which is an estimate, not a bound. 0 for free joints.
    """
    center = model.first_moment / np.where(model.mass > 0, model.mass, 1.0)[:, None]
    C = lie.skew(center)
    central = model.inertia + model.mass[:, None, None] * (C @ C)
    at, body, axis, slides = _axes(model)
    above = np.where(model.parent >= 0, model.parent, 0)[body]
    own = _inverse(model.mass[body], central[body], axis, slides)
    turned = (model.home_rotation[body] @ axis[..., None])[..., 0]
    ball = model.kind[body] == SPHERICAL
    other = _inverse(model.mass[above], central[above], turned, slides)
    other[ball] = _largest_inverse(central[above[ball]])  # its axes may have any direction in the body before
    other = np.where(slides, other + _pair_rotation(model, center, central, body, axis), other)
    both, G = own + np.where(model.parent[body] >= 0, other, 0.0), model.coupling.v_scale[at]
    result = np.full(model.nv, np.inf)  # any one bounds all of a group of mimic joints
    np.minimum.at(result, model.coupling.v_index[at], np.where(G != 0, both / np.where(G != 0, G, 1.0) ** 2, np.inf))
    composite, _ = inertia_and_load(model, model.neutral())
    rigid = 1 / np.where(composite > 0, composite, np.inf)
    return np.where(np.isfinite(result), result, np.where(model.constrained, rigid, 0.0))


def _pair_rotation(model: Model, center: Array, central: Array, body: Indices, axis: Array) -> Array:
    """(d × a)ᵀ (I₁ + I₂)⁻¹ (d × a) of two bodies that slide along a, see `mobility`, in the given bodies' frames."""
    above, R = np.maximum(model.parent, 0)[body], model.home_rotation[body]
    d = center[body] - np.einsum("nji,nj->ni", R, center[above] - model.home_position[body])
    both = central[body] + np.swapaxes(R, 1, 2) @ central[above] @ R
    arm = np.cross(d, axis)
    length = np.linalg.norm(arm, axis=1)
    beside = length > 1e-12
    unit = np.where(beside[:, None], arm / np.where(beside, length, 1.0)[:, None], axis)
    rotation = _inverse(np.ones(len(body)), both, unit, np.zeros(len(body), bool))
    added: Array = length**2 * np.where(beside, rotation, 0.0)
    return added


def _inverse(mass: Array, inertia: Array, axis: Array, slides: NDArray[np.bool_]) -> Array:
    """1/m, or aᵀ I⁻¹ a, of each body; infinite where it has no inertia."""
    size = np.trace(inertia, axis1=1, axis2=2)
    least = np.linalg.eigvalsh(inertia)[:, 0]
    sound = least > 1e-9 * size
    solved = np.linalg.solve(np.where(sound[:, None, None], inertia, np.eye(3)), axis[..., None])[..., 0]
    rotation = np.where(sound, np.sum(axis * solved, 1), np.inf)
    sliding = 1 / np.where(mass > 0, mass, np.nan)
    return np.where(slides, np.where(mass > 0, sliding, np.inf), rotation)


def _largest_inverse(inertia: Array) -> Array:
    """The largest aᵀ I⁻¹ a of each body over all axes a; infinite where it has no inertia about one."""
    least, size = np.linalg.eigvalsh(inertia)[:, 0], np.trace(inertia, axis1=1, axis2=2)
    sound = least > 1e-9 * size
    return np.where(sound, 1 / np.where(sound, least, 1.0), np.inf)


def _ends(model: Model) -> Indices:
    """(n,): the end of each body's subtree, which is the range i … end − 1."""
    end = np.arange(1, len(model.parent) + 1)
    for i in range(len(end) - 1, -1, -1):
        parent = model.parent[i]
        if parent >= 0 and end[i] > end[parent]:
            end[parent] = end[i]
    return end


def _sums(x: Array, end: Indices) -> Array:
    """The sum of x (n, …) over each body's subtree."""
    suffix = np.concatenate([np.cumsum(x[::-1], 0)[::-1], np.zeros_like(x[:1])])
    total: Array = suffix[:-1] - suffix[end]
    return total
