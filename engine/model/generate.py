"""Generate chains and trees of any size for experiments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine import lie
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Collision, Joint, JointKind, Model, Visual
from engine.model.joints import NQ, NV
from engine.model.shapes import Kind, checked_color, checked_friction, checked_size
from engine.model.urdf_text import COLORS
from engine.real_numbers import excerpt

JOINT_KINDS: dict[int, JointKind] = {
    FREE: "floating",
    PRISMATIC: "prismatic",
    REVOLUTE: "continuous",
    SPHERICAL: "spherical",
}
"""The kinds of joints by their numbers."""


SOLIDS: tuple[Kind, ...] = ("box", "sphere", "cylinder", "capsule")
"""The shapes that `free_body` supports."""


def free_body(
    shape: Kind,
    size: ArrayLike,
    mass: float,
    name: str = "",
    color: tuple[float, float, float, float] = (0.85, 0.45, 0.20, 1.0),
    friction: float | None = None,
) -> Model:
    """Return a model of one link on a free joint: a cube to grasp, a ball to throw.

    `shape` is "box", "sphere", "cylinder" or "capsule", `size`, m, is as in `Obstacle`, and `mass`, kg, is evenly
    distributed. The link is called `name`, by default the shape's; `color` is RGBA in 0…1, and `friction`
    its coefficient, at least 0, None for the scene's.

    Raises ValueError, in one sentence, for an invalid shape, size, mass, colour or friction.
    """
    if shape not in SOLIDS:
        raise ValueError(f"the body's shape is {shape!r}; expected one of {', '.join(SOLIDS)}")
    size = checked_size(shape, size, "the body")
    if isinstance(mass, bool) or not isinstance(mass, int | float | np.number) or not (np.isfinite(mass) and mass > 0):
        raise ValueError(f"the body's mass is {excerpt(mass)}; expected a positive number in kg")
    color = checked_color(color, "the body")
    friction = None if friction is None else checked_friction(friction, "the body")
    unlimited, name = np.full(6, np.inf), name or shape
    return Model(
        name=name, parent=np.array([-1]), kind=np.array([FREE]), home_rotation=np.eye(3)[None],
        home_position=np.zeros((1, 3)), mass=np.array([mass]), first_moment=np.zeros((1, 3)),
        inertia=np.diag(mass * _unit_inertia(shape, size))[None],
        joints=(Joint("floating_base", "floating", slice(0, 1), slice(0, 7), slice(0, 6)),),
        lower=-unlimited, upper=unlimited, velocity_limit=unlimited, effort_limit=unlimited,
        damping=np.zeros(6), friction=np.zeros(6), link_names=(name,), link_body=np.array([0]),
        link_rotation=np.eye(3)[None], link_position=np.zeros((1, 3)),
        visuals=(Visual(0, shape, size, np.eye(4), color),),
        collisions=(Collision(0, shape, size, np.eye(4), friction=friction),),
        options={"floating": True},
    )  # fmt: skip


def _unit_inertia(shape: str, size: tuple[float, ...]) -> np.ndarray:
    """(3,): the principal moments about the centre of a solid of 1 kg, kg m²."""
    if shape == "box":
        x, y, z = np.square(size)
        return np.array([y + z, x + z, x + y]) / 12
    if shape == "sphere":
        return np.full(3, 0.4 * size[0] ** 2)
    r, length = size
    cylinder = np.array([(3 * r**2 + length**2) / 12, (3 * r**2 + length**2) / 12, r**2 / 2])
    if shape == "cylinder":
        return cylinder
    ends = 4 * r / (4 * r + 3 * length)  # volume fraction of the two half balls
    across = 0.4 * r**2 + length**2 / 4 + 3 * length * r / 8
    return (1 - ends) * cylinder + ends * np.array([across, across, 0.4 * r**2])


def chain(n: int, seed: int = 0, straight: bool = False, prismatic: float = 0.0, spherical: float = 0.0) -> Model:
    """A serial chain of n moving links with random inertias, twists and home poses.

    `straight`: every joint 0.1 m above the one before, axes parallel; else offsets and rotations are random.
    `prismatic` is the share of prismatic joints, `spherical` that of ball joints. The same arguments give the same
    chain, another for each `seed`.
    """
    return random_robot(f"chain{n}", np.arange(n) - 1, seed, straight, prismatic, spherical)


def tree(
    n: int,
    seed: int = 0,
    branching: float = 0.3,
    prismatic: float = 0.0,
    floating: bool = False,
    spherical: float = 0.0,
) -> Model:
    """A tree of n moving links with random inertias, twists and home poses.

    Each hangs on the link before it or, with the probability `branching`, on a random earlier one. With `floating` the
    first joint is free. `prismatic` and `spherical` are the shares of prismatic and of ball joints, `seed` is as for
    `chain`.
    """
    rng = np.random.default_rng([seed, n])
    before = np.arange(n) - 1
    branch = rng.random(n) < branching
    parent = np.where(branch & (before > 0), rng.integers(0, np.maximum(before, 1)), before)
    return random_robot(f"tree{n}", parent, seed, False, prismatic, spherical, floating)


def _depth_first(parent: np.ndarray) -> np.ndarray:
    """Return the parents after renumbering the nodes depth first."""
    children: list[list[int]] = [[] for _ in parent]
    roots: list[int] = []
    for i, above in enumerate(parent):
        (children[above] if above >= 0 else roots).append(i)
    number, stack = {-1: -1}, roots[::-1]
    result: list[int] = []
    while stack:
        i = stack.pop()
        number[i] = len(result)
        result.append(number[int(parent[i])])
        stack += children[i][::-1]
    return np.array(result, np.int64)


def random_robot(
    name: str, parent: np.ndarray, seed: int, straight: bool, prismatic: float, spherical: float, floating: bool = False
) -> Model:
    """A robot of random links whose parents, -1 for the base, are given, with random kinds of joints."""
    n = len(parent)
    if n < 1:
        raise ValueError(f"{name}: a robot has at least one moving link; ask for n of 1 or more")
    rng = np.random.default_rng(seed)
    drawn = rng.random(n)
    kind = np.where(drawn < prismatic, PRISMATIC, np.where(drawn >= 1 - spherical, SPHERICAL, REVOLUTE))
    if floating:
        kind[0] = FREE
    R: lie.Array = np.tile(np.eye(3), (n, 1, 1))
    p = np.tile([0.0, 0.0, 0.1], (n, 1))
    if not straight:
        x = rng.standard_normal((n, 4))
        R = lie.rotation_from_quaternion(x / np.linalg.norm(x, axis=1, keepdims=True))
        p = rng.uniform(-0.2, 0.2, (n, 3))
    mass, center = rng.uniform(0.5, 1.5, n), rng.uniform(-0.05, 0.05, (n, 3))
    root = 0.03 * rng.standard_normal((n, 3, 3))
    second = root @ np.swapaxes(root, 1, 2) + 1e-3 * np.eye(3)  # ∫ x xᵀ dm: any one gives a valid inertia
    about_center = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    c = lie.skew(center)
    joints, links, q, v = [], [], 0, 0
    for i in range(n):
        nq, nv = int(NQ[kind[i]]), int(NV[kind[i]])
        joints.append(
            Joint(f"joint{i + 1}", JOINT_KINDS[int(kind[i])], slice(i, i + 1), slice(q, q + nq), slice(v, v + nv))
        )
        links.append(f"link{i + 1}")
        q, v = q + nq, v + nv
    unlimited = np.full(v, np.inf)
    parent = _depth_first(parent)
    return Model(
        name=name,
        parent=parent,
        kind=kind,
        home_rotation=R,
        home_position=p,
        mass=mass,
        first_moment=mass[:, None] * center,
        inertia=about_center - mass[:, None, None] * c @ c,
        joints=tuple(joints),
        lower=-unlimited,
        upper=unlimited,
        velocity_limit=unlimited,
        effort_limit=unlimited,
        damping=np.zeros(v),
        friction=np.zeros(v),
        link_names=("base", *links),
        link_body=np.arange(-1, n),
        link_rotation=np.tile(np.eye(3), (n + 1, 1, 1)),
        link_position=np.zeros((n + 1, 3)),
        visuals=_bars(parent, p),
    )


def _bars(parent: np.ndarray, p: np.ndarray) -> tuple[Visual, ...]:
    """Return a sphere at each joint and a bar from it to each child joint."""
    visuals = []
    for i, above in enumerate(parent):
        color = COLORS[i % 2]
        visuals.append(Visual(i + 1, "sphere", (0.022,), np.eye(4), color))
        length = float(np.linalg.norm(p[i]))
        if above >= 0 and length > 0:
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = lie.rotation_to(p[i] / length), p[i] / 2
            visuals.append(Visual(int(above) + 1, "cylinder", (0.014, length), pose, COLORS[above % 2]))
    return tuple(sorted(visuals, key=lambda visual: visual.link))
