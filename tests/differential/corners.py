"""Corner cases that random draws rarely reach: exactly parallel, flat, aligned, at a limit, or out of bounds.

    from tests.differential.corners import CORNERS, corner

    for name in CORNERS:
        differences(corner(name, seed))

Each corner is a family of cases, one for each seed; those of joints and of how steps end are in `corner_joints`.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from engine.algorithms.convex import PosedSolid, Solid, signed_distance
from tests.differential import corner_joints
from tests.differential.cases import Case
from tests.differential.corner_parts import (
    BLOCK,
    GAPS,
    PLANE,
    UP,
    Rng,
    about,
    bodies,
    case_of,
    free,
    hull,
    joint,
    link,
    obstacle,
    one_of,
    ring,
    robot,
    scene,
    shape,
    turned,
    unit,
)


def _pair(rng: Rng, one: dict, other: dict, at: np.ndarray, R: np.ndarray | None = None, **more: object) -> Case:
    """Two shapes beside each other, somewhere: a free body and an obstacle, or two free bodies.

    `at` and `R` are where the first one is, seen from the other; `turn` says how the other stands.
    """
    R = np.eye(3) if R is None else R
    turn = more.pop("turn", None)
    turn = one_of(rng, (np.eye(3), turned(rng))) if turn is None else turn
    p = np.zeros(3) if rng.random() < 0.5 else rng.uniform(-0.5, 0.5, 3)
    first = free(p + turn @ at, turn @ R)
    laws = {"friction": one_of(rng, (0.0, 0.8)), "restitution": one_of(rng, (0.0, 0.0, 1.0))}
    speed = one_of(rng, (0.0, 1.0)) * rng.standard_normal(6)
    if rng.random() < 0.5 and all(np.all(np.array(x["size"]) > 0) for x in (one, other)):
        return case_of(bodies([one]), scene(None, [obstacle(other, p, turn)], **laws), first, speed, **more)
    q, v = [*first, *free(p, turn)], [*speed, *(one_of(rng, (0.0, 1.0)) * rng.standard_normal(6))]
    if rng.random() < 0.5:
        q, both = [*free(p, turn), *first], [other, one]
    else:
        both = [one, other]
    return case_of(bodies(both), scene(None, **laws, self_collision=True), q, v, **more)


def parallel_capsules(rng: Rng) -> Case:
    """Capsules side by side, one behind the other, or over each other's ends; exactly parallel or nearly."""
    r, s = rng.uniform(0.02, 0.08, 2)
    a, b = rng.uniform(0.1, 0.4, 2) if rng.random() < 0.7 else (0.25, 0.25)
    askew = one_of(rng, (np.array([1.0, 0, 0]), np.array([0.0, 1, 0])))
    lean = about(askew, one_of(rng, (0.0, 0.0, 1e-9, 1e-4, 0.02, 0.09, 0.11, 1.0)))
    R = one_of(rng, (np.eye(3), about(np.array([1.0, 0, 0]), np.pi))) @ lean
    way = one_of(rng, ("beside", "beside", "ends", "behind", "over"))
    along = {"beside": rng.uniform(-1, 1) * (a + b) / 2, "ends": one_of(rng, (-1, 1)) * (a + b) / 2,
             "behind": rng.uniform(0.5, 0.6) * (a + b), "over": abs(a - b) / 2}[way]  # fmt: skip
    away = r + s + one_of(rng, (*GAPS, 0.02))
    if rng.random() < 0.2:  # across each other
        way, along = "across", rng.uniform(-0.01, 0.01)
        away, R = r + s + one_of(rng, (4e-4, 0.02)), about(np.array([0.0, 1, 0]), one_of(rng, (0.09, 1.0)))
    beyond = max(abs(along) - (a + b) / 2, 0.0)
    side = np.sqrt(max(away**2 - beyond**2, 0.0))
    return _pair(rng, shape("capsule", r, a), shape("capsule", s, b), np.array([0.0, side, along]), R)


def in_line_capsules(rng: Rng) -> Case:
    """Capsules, or a sphere and one, whose axes meet or coincide, so that no direction is the normal."""
    r, a = rng.uniform(0.03, 0.08), rng.uniform(0.1, 0.3)
    other = shape("capsule", 0.05, 0.2)
    along = one_of(rng, (0.01, 0.03, (a + 0.2) / 2 + r + 0.05 + one_of(rng, GAPS)))
    if rng.random() < 0.3:
        return _pair(rng, shape("sphere", r), other, np.array([0.0, 0.0, one_of(rng, (0.0, 0.05, -0.1))]))
    R = one_of(rng, (np.eye(3), about(np.array([1.0, 0, 0]), np.pi), about(np.array([1.0, 0, 0]), np.pi / 2)))
    return _pair(rng, shape("capsule", r, a), other, np.array([0.0, 0.0, along]), R)


def sphere_inside(rng: Rng) -> Case:
    """A sphere whose centre is in a box or in a cylinder, nearest to any side; now and then in the very middle."""
    if rng.random() < 0.5:
        half = np.array([0.1, 0.15, 0.2])
        at, k = half * rng.uniform(-0.3, 0.3, 3), int(rng.integers(3))
        at[k] = one_of(rng, (-1, 1)) * half[k] * rng.uniform(0.9, 1.0)
        other = shape("box", *(2 * half))
    else:
        at = unit(rng) * rng.uniform(0, 0.09)
        at *= one_of(rng, (np.array([1.0, 1, 0.2]), np.array([0.3, 0.3, 1]), np.array([0.0, 0, 1])))
        at[2] = at[2] if rng.random() < 0.5 else one_of(rng, (-1, 1)) * 0.095
        other = shape("cylinder", 0.1, 0.2)
    if rng.random() < 0.15:
        at = np.zeros(3)
    return _pair(rng, shape("sphere", rng.uniform(0.01, 0.05)), other, at)


def spheres_in_boxes(rng: Rng) -> Case:
    """Six spheres whose centres are in boxes, each nearest to another side."""
    half, q, boxes = np.array([0.1, 0.15, 0.2]), list[float](), list[dict]()
    for k, sign in product(range(3), (-1, 1)):
        at, p, R = half * rng.uniform(-0.3, 0.3, 3), np.array([2.0 * k, sign, 0.0]), turned(rng)
        at[k] = sign * half[k] * rng.uniform(0.9, 1.0)
        q += free(p + R @ at, R)
        boxes.append(obstacle(shape("box", *(2 * half)), p, R))
    return case_of(bodies([shape("sphere", 0.02)] * 6), scene(None, boxes), q, 0.1 * rng.standard_normal(36))


def capsules_both_ways(rng: Rng) -> Case:
    """Parallel capsules that share a part of their lengths: towards either end, along each other and against."""
    q, others = list[float](), list[dict]()
    for flip, end in product((0.0, np.pi), (-1, 1)):
        p, R = np.array([2.0 * end, 2.0 + flip, 0.0]), turned(rng)
        lean = about(np.array([1.0, 0, 0]), flip + one_of(rng, (0.0, 1e-9, 1e-4)))
        q += free(p + R @ np.array([0.0, 0.1 + one_of(rng, GAPS), end * rng.uniform(0.05, 0.2)]), R @ lean)
        others.append(obstacle(shape("capsule", 0.05, 0.25), p, R))
    return case_of(bodies([shape("capsule", 0.05, 0.3)] * 4), scene(None, others), q, 0.1 * rng.standard_normal(24))


_FLAT: tuple[tuple[dict, float], ...] = (
    (shape("box", 0.2, 0.2, 0.2), 0.1), (hull(BLOCK), 0.1), (shape("cylinder", 0.1, 0.2), 0.1),
    (hull(ring(6, 0.1, -0.05) + ring(6, 0.1, 0.05)), 0.05), (shape("box", 0.3, 0.1, 0.06), 0.03),
    (shape("capsule", 0.05, 0.1), 0.1), (hull(ring(20, 0.1, -0.05) + ring(20, 0.1, 0.05)), 0.05),
)  # fmt: skip


def stacked(rng: Rng) -> Case:
    """One shape stands upright on another, aligned with it, rotated by a part of a right angle, or off its edge."""
    (above, high), (below, low) = one_of(rng, _FLAT), one_of(rng, _FLAT)
    if rng.random() < 0.3:
        above, high = below, low
    aside = one_of(rng, (np.zeros(3), np.array([0.05, 0, 0]), np.array([0.05, 0.05, 0]), np.array([0.1, 0, 0])))
    R = about(UP, one_of(rng, (0.0, np.pi / 4, np.pi / 2, 0.3)))
    if rng.random() < 0.2:  # a pin on the corner of a block
        (above, high), (below, low) = _FLAT[5], one_of(rng, _FLAT[:2])
        aside = np.array([0.1, one_of(rng, (0.1, 0.05)), 0])
        return _pair(rng, above, below, aside + UP * (high + low + one_of(rng, GAPS)), turn=np.eye(3))
    return _pair(rng, above, below, aside + UP * (high + low + one_of(rng, GAPS)), R)


def lying(rng: Rng) -> Case:
    """A cylinder or a capsule lies on another shape, along an axis of it, across, or anyhow."""
    made = one_of(rng, (shape("cylinder", 0.05, 0.3), shape("capsule", 0.05, 0.2), shape("cylinder", 0.05, 0.1)))
    below, low = one_of(rng, (*_FLAT[:5], (made, 0.05)))
    angle = one_of(rng, (0.0, np.pi / 2, rng.uniform(-3, 3)))
    flat = about(np.array([1.0, 0, 0]), np.pi / 2)
    R = about(UP, angle) @ flat
    if below is made:  # lying itself: seen from it, up is along its y
        R, up = flat.T @ R, np.array([0.0, 1.0, 0])
        return _pair(rng, made, below, up * (0.05 + low + one_of(rng, GAPS)), R)
    aside = one_of(rng, (0.0, 0.1, 0.12)) * np.array([np.cos(angle), np.sin(angle), 0])
    return _pair(rng, made, below, aside + UP * (0.05 + low + one_of(rng, GAPS)), R)


_NEEDLE = hull([[0, 0, -0.2], *ring(5, 1e-4, 0.0)])
_TIP = hull([[0, 0, -0.1], *ring(4, 0.05, 0.05)])
_WEDGE = hull(
    [[-0.1, 0, -0.1], [0.1, 0, -0.1], [-0.1, -0.05, 0.1], [0.1, -0.05, 0.1], [-0.1, 0.05, 0.1], [0.1, 0.05, 0.1]]
)


def corner_on_face(rng: Rng) -> Case:
    """The tip or the edge of a hull exactly on a face, an edge or a corner of another shape, or in it."""
    made, reach = one_of(rng, ((_NEEDLE, 0.2), (_TIP, 0.1), (_TIP, 0.1), (_WEDGE, 0.1)))
    below, low = one_of(rng, (*_FLAT[:5], (_TIP, 0.05)))
    aside = one_of(rng, ((0.0, 0, 0), (0.02, 0.01, 0), (0.1, 0, 0), (0.1, 0.1, 0), (0.05, 0, 0)))
    R = about(UP, one_of(rng, (0.0, np.pi / 4, 1.0)))
    gap = one_of(rng, (*GAPS, -0.05))
    return _pair(rng, made, below, np.array(aside) + UP * (reach + low + gap), R)


def corner_to_corner(rng: Rng) -> Case:
    """Hulls whose corners or edges meet exactly, or whose middles are in one place."""
    one, other = (one_of(rng, (hull(BLOCK), _TIP, _WEDGE, shape("box", 0.2, 0.2, 0.2), shape("cylinder", 0.1, 0.2)))
                  for _ in range(2))  # fmt: skip
    at = one_of(
        rng, ((0.2, 0.2, 0.2), (0.2, 0.2, 0), (0.2, 0.2, 0.1), (0, 0, 0), (0.1, 0.1, 0.2), (0.05, 0, 0), (0, 0, 0.2))
    )
    R = one_of(rng, (np.eye(3), np.eye(3), about(UP, np.pi / 2), about(np.array([1.0, 0, 0]), np.pi), turned(rng)))
    return _pair(rng, one, other, np.array(at, float), R)


def round_on_round(rng: Rng) -> Case:
    """Cylinders that touch with their mantles and rims, a little apart or in each other, at any angle."""
    sizes = (0.1, rng.uniform(0.02, 0.4)), (rng.uniform(0.02, 0.2), 0.2)
    R, u, far = turned(rng), unit(rng), np.array([0.0, 1.0])
    still = PosedSolid(Solid("cylinder", sizes[1]), np.eye(3), np.zeros(3), np.eye(3))
    gap = one_of(rng, GAPS)
    for _ in range(40):  # from within the other to where they only just touch
        middle = far.mean()
        apart = signed_distance(PosedSolid(Solid("cylinder", sizes[0]), R, middle * u, R), still) > gap
        far[int(apart)] = middle
    return _pair(rng, *(shape("cylinder", *size) for size in sizes), far.mean() * u, R)


def steep(rng: Rng) -> Case:
    """A thin hull stands on its edge or its tip, with nearly vertical sides."""
    blade = hull([[x, y, z] for x in (-0.1, 0.1) for y, z in ((0, -0.1), (5e-5, 0.1), (-5e-5, 0.1))])
    below, low = one_of(rng, _FLAT[:5])
    made, reach = one_of(rng, ((blade, 0.1), (_NEEDLE, 0.2)))
    R = about(UP, rng.uniform(-3, 3)) @ about(np.array([1.0, 0, 0]), one_of(rng, (0.0, 1e-5, -1e-4)))
    aside = one_of(rng, ((0.01, 0.02), (0.01, 0.02), (0.1, 0.1)))
    return _pair(rng, made, below, np.array([*aside, reach + low + one_of(rng, GAPS)]), R)


_SIZELESS: tuple[tuple[dict, float], ...] = ((shape("capsule", 0.05, 0), 0.05), (shape("cylinder", 0.1, 0), 0.0))


def without_size(rng: Rng) -> Case:
    """A capsule without length or a cylinder that is a disc, on something or on one another."""
    made, reach = one_of(rng, _SIZELESS)
    below, low = one_of(rng, (*_FLAT, *_SIZELESS, (shape("capsule", 0.05, 0.1), 0.1)))
    R = one_of(rng, (np.eye(3), about(UP, 1.0), turned(rng) if made["kind"] == "capsule" else np.eye(3)))
    aside = one_of(rng, ((0.0, 0.0, 0.0), (0.02, 0.01, 0.0)))
    at = np.array(aside) + UP * (reach + low + one_of(rng, GAPS))
    return _pair(rng, made, below, at if np.any(at) else 1e-4 * UP, R)


def _field(heights: np.ndarray, cell: float) -> dict:
    rows, columns = heights.shape
    origin = [-cell * (columns - 1) / 2, -cell * (rows - 1) / 2, 0.0]
    return {"kind": "field", "heights": np.round(heights, 6).tolist(), "cell": cell, "origin": origin}


def on_field(rng: Rng) -> Case:
    """Spheres and boxes on spikes, in grooves, on ridges of a height field, under it and beyond its border."""
    cell = 0.1
    way = one_of(rng, ("spikes", "groove", "corner", "under", "border", "flat"))
    i, j = np.mgrid[0:9, 0:9]
    heights = {
        "spikes": 0.05 * ((i + j) % 2) + rng.uniform(0, 0.002, (9, 9)), "groove": 0.1 * abs(i - 4.0),
        "corner": 0.1 * np.maximum(abs(i - 4.0), abs(j - 4.0)) * one_of(rng, (-1, 1)), "under": 0.05 * np.sin(i + j),
        "border": 0.03 * np.cos(i * j), "flat": 0.0 * i,
    }[way]  # fmt: skip
    r = {"spikes": rng.uniform(0.1, 0.5)}.get(way, one_of(rng, (0.005, 0.05, 0.2)))
    p = np.array([*one_of(rng, ((0.0, 0), (0.05, 0), (0.05, 0.05), (0.03, 0.02))), 0.0])
    if way == "border":
        p[:2] = one_of(rng, ((0.4, 0.0), (0.5, 0.5), (-0.7, 0.1), (0.1, -2)))
    made = shape("sphere", r) if rng.random() < 0.7 else one_of(rng, _FLAT)[0]
    ground = _field(np.asarray(heights, float), cell)
    high = _rest(ground, made, p) + (one_of(rng, GAPS) if way != "under" else -one_of(rng, (0.5, 1.0, 1.5)) * r)
    v = one_of(rng, (0.0, 1.0)) * rng.standard_normal(6)
    laws = {"friction": one_of(rng, (0.0, 0.8)), "restitution": one_of(rng, (0.0, 1.0))}
    return case_of(bodies([made]), scene(ground, **laws), free(p + UP * high), v, dt=one_of(rng, (1e-3, 5e-3)))


def _rest(ground: dict, made: dict, p: np.ndarray) -> float:
    """Return the approximate height over p of a body that stands upright on the ground: a sphere on nearby points."""
    from tests.differential.scenes import ground as of
    from tests.differential.solids import points

    field = of(ground)
    near, radius = points(made)
    if made["kind"] != "sphere":
        x = near + p
        return float(np.max(field.height(x) - near[:, 2] + radius))
    side = np.linspace(-radius, radius, 41)
    x, y = (w.ravel() for w in np.meshgrid(side, side))
    inside = x * x + y * y <= radius**2
    x, y = x[inside], y[inside]
    at = np.stack([p[0] + x, p[1] + y, 0 * x], -1)
    return float(np.max(field.height(at) + np.sqrt(np.maximum(radius**2 - x * x - y * y, 0))))


def within_three(rng: Rng) -> Case:
    """Of four corners in the ground one is above the triangle of the others: three are kept though four may be."""
    made = hull([[0, 0, -0.02], [0, 0, 0.1], *ring(3, 0.1, 0.0)])
    R = about(UP, rng.uniform(-3, 3)) @ about(np.array([1.0, 0, 0]), 0.3)
    return case_of(bodies([made]), scene(PLANE), free([0.0, 0.0, -0.04], R), rng.standard_normal(6))


def tilted_prism(rng: Rng) -> Case:
    """A prism that slides fast on a slab: more than four corners are in reach of that speed, some of them near."""
    tilt, gap = rng.uniform(0.01, 0.02), one_of(rng, GAPS)
    made = hull(ring(8, 0.1, -0.05) + ring(8, 0.1, 0.05))
    R = about(np.array([1.0, 0, 0]), tilt) @ about(UP, one_of(rng, (0.0, np.pi / 8)))
    low = 0.05 * np.cos(tilt) + 0.1 * np.sin(tilt) + gap
    slab = obstacle(shape("box", 1.0, 1.0, 0.2), np.array([0.0, 0, -0.1]))
    v = [*rng.uniform(-1, 1, 3), 3.0, 0.0, 0.0]
    return case_of(bodies([made]), scene(None, [slab], friction=0.3), free([0.0, 0.0, low], R), v)


def leaning_rod(rng: Rng) -> Case:
    """A rod that falls obliquely with e = 1 and friction, so that its full restitution would add energy (Kane)."""
    angle = rng.uniform(0.3, 1.2)
    R = about(np.array([0.0, 1, 0]), angle)
    down = 0.15 * np.cos(angle) + 0.01 - one_of(rng, (0.0, 1e-4))
    v = R.T @ np.array([rng.uniform(-3, 3), rng.uniform(-0.2, 0.2), -rng.uniform(0.5, 3)])
    q = free([0, 0, down], R)
    laws = {"friction": rng.uniform(0.2, 1.5), "restitution": 1.0}
    made = bodies([shape("capsule", 0.01, 0.3)])
    return case_of(made, scene(PLANE, **laws), q, [*rng.uniform(-3, 3, 3), *v], dt=one_of(rng, (1e-4, 1e-3)))


def table(rng: Rng) -> Case:
    """A heavy table on many legs, with boxes on it: contacts whose rows depend on each other."""
    return _table(rng, (0.0, 0.0, 2e-4))


def _table(rng: Rng, gaps: tuple[float, ...]) -> Case:
    legs = [shape("box", 0.05, 0.05, 0.4, xyz=(x, y, -0.2)) for x in (-0.4, 0.0, 0.4) for y in (-0.3, 0.3)]
    top = shape("box", 1.0, 0.8, 0.04)
    links = [link("base", [], None), link("table", [top, *legs], 10.0 ** rng.uniform(-1, 3), 0.4)]
    links += [link(f"box{k}", [shape("box", 0.2, 0.2, 0.2)], 10.0 ** rng.uniform(-2, 2)) for k in range(2)]
    made = robot(links, [joint("floating", "base", one["name"]) for one in links[1:]])
    gap = one_of(rng, gaps)
    q = [*free([0, 0, 0.4 + gap]), *free([0.2, 0, 0.52 + gap]), *free([0.2, 0.02, 0.72 + 2 * gap])]
    v = one_of(rng, (0.0, 0.3, 3.0)) * rng.standard_normal(18)
    laws = {"friction": one_of(rng, (0.3, 0.8, 2.0)), "restitution": one_of(rng, (0.0, 0.5, 1.0))}
    return case_of(made, scene(PLANE, **laws, self_collision=True), q, v)


def nothing_moves(rng: Rng) -> Case:
    """Contacts that no joint moves along their normal, beside one that a joint moves; and an upright slide."""
    links = [
        link("base", [], None),
        link("sledge", [shape("box", 0.2, 0.2, 0.2)]),
        link("lift", [shape("sphere", 0.1)]),
    ]
    links.append(link("arm", [shape("capsule", 0.05, 0.2)]))
    joints = [joint("prismatic", "base", "sledge", axis=(1, 0, 0)), joint("prismatic", "base", "lift", axis=(0, 0, 1)),
              joint("revolute", "base", "arm", xyz=(1, 0, 0.05), axis=(0, 0, 1), rpy=(np.pi / 2, 0, 0))]  # fmt: skip
    gap = one_of(rng, GAPS)
    joints[0]["xyz"], joints[1]["xyz"] = [0.0, 0, 0.1 + gap], [0.5, 0, 0.1 + gap]
    laws = {"friction": one_of(rng, (0.0, 0.8)), "restitution": one_of(rng, (0.0, 1.0))}
    v = rng.standard_normal(3) * one_of(rng, (0.0, 1.0))
    return case_of(robot(links, joints), scene(PLANE, **laws), None, v)


def held_alone(rng: Rng) -> Case:
    """A pendulum that slides on the ground, which no joint moves it along the normal of, by "rk4"."""
    links = [link("base", [], None), link("arm", [shape("capsule", 0.05, 0.2)])]
    high, upright = 0.05 + one_of(rng, GAPS), (np.pi / 2, 0, 0)
    pivot = joint("revolute", "base", "arm", xyz=(1, 0, high), rpy=upright, axis=(0, 1, 0))
    made = robot(links, [pivot], [3.0, 1.0, -9.0])
    return case_of(made, scene(PLANE), None, rng.standard_normal(1), integrator="rk4", dt=5e-3)


def on_its_base(rng: Rng) -> Case:
    """A robot's hand upon its first link, which is free, or fixed to the world; the order of shapes is either."""
    r, gap, half = rng.uniform(0.03, 0.06), one_of(rng, GAPS), rng.uniform(0.1, 0.2)
    hand = one_of(rng, (shape("sphere", r), shape("box", 2 * r, 2 * r, 2 * r)))
    links = [link("base", [shape("box", *(2 * [2 * half]), 0.1)]), link("arm", []), link("hand", [hand], 0.5)]
    joints = [joint("prismatic", "base", "arm", axis=(1, 0, 0)), joint("prismatic", "arm", "hand", (0, 0, 0.3))]
    made = robot(links, joints) | {"floating": bool(rng.random() < 0.5)}
    slides = [rng.uniform(-0.05, 0.05), r + gap - 0.25]
    p, R = rng.uniform(-0.5, 0.5, 3), turned(rng)
    q = [*free(p, R), *slides] if made["floating"] else slides
    v = one_of(rng, (0.0, 0.5)) * rng.standard_normal(2 + 6 * made["floating"])
    laws = {"friction": one_of(rng, (0.0, 0.8)), "restitution": one_of(rng, (0.0, 0.5))}
    v[-1] = -abs(v[-1]) - 0.1  # it presses
    return case_of(made, scene(None, **laws, self_collision=True), q, v)


def concentric_capsules(rng: Rng) -> Case:
    """Capsules of different lengths about the same middle and axis."""
    one, other = shape("capsule", 0.06, rng.uniform(0.1, 0.18)), shape("capsule", 0.05, 0.2)
    return _pair(rng, one, other, np.zeros(3), one_of(rng, (np.eye(3), about(np.array([1.0, 0, 0]), np.pi))))


def point_on_hull(rng: Rng) -> Case:
    """A sphere without radius on a hull."""
    return _pair(rng, shape("sphere", 0), hull(BLOCK), np.array([0.02, 0.01, 0.1 + one_of(rng, (0.0, -1e-4, -1e-3))]))


def _overlapping_legs(_rng: Rng) -> Case:
    """A table whose six legs are a millimetre in the ground, with boxes on it."""
    return _table(np.random.default_rng([5, 11]), (0.0, -1e-4, -1e-3))


ON_THE_CPU: dict[str, Callable[[Rng], Case]] = {"overlapping_legs": _overlapping_legs}
"""Corners that the CPU alone is held to: the rows' solver took overlaps back by no push here; a GPU is not tried."""

CORNERS: dict[str, Callable[[Rng], Case]] = {
    made.__name__: made
    for made in (
        parallel_capsules, in_line_capsules, sphere_inside, stacked, lying, corner_on_face, corner_to_corner,
        round_on_round, steep, without_size, on_field, within_three, leaning_rod, table, nothing_moves, on_its_base,
        concentric_capsules, point_on_hull, spheres_in_boxes, capsules_both_ways, held_alone, tilted_prism,
        *corner_joints.CORNERS,
    )
}  # fmt: skip


def corner(name: str, seed: int) -> Case:
    """The case of a corner and a seed."""
    return (CORNERS | ON_THE_CPU)[name](np.random.default_rng([seed, *name.encode()]))
