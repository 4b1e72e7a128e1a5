"""The contacts of a robot at the start of a step, by exhaustive search.

Inputs are a `Model`, its `Motion`, a `Scene` and dt; results are `Contact`s as defined in docs/collision.md: the
pairs of shapes that can touch, the candidate places, and up to four kept of each. Contact points are
from `algorithms.ground` and `algorithms.pair_places`. Mesh corners are read by `engine.scene.cached_hulls`.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from engine.algorithms.convex import ContactPoint, PosedSolid, Solid, least_distance, signed_distance
from engine.algorithms.ground import ground_places
from engine.algorithms.motion import Motion, frame_of_link, motion
from engine.algorithms.pair_places import pair_places
from engine.lie import Array
from engine.model import FREE, WORLD, Collision, Model
from engine.scene import Obstacle, Scene
from engine.scene.cached_hulls import hulls, of_link

CONTACT_MARGIN = 1e-3  # m: gaps below this, now or within two steps, count as contacts
NEUTRAL = 1e-6  # m: links closer than this in the neutral pose are not a contact pair
KEPT = 4  # contacts per shape and ground, and per pair of shapes
MANY = 16  # number of corners from which a hull's contacts are limited to those reachable by tilting
TILT_RATE = 0.1  # rad/s: the tilting rate assumed in addition to the current one
GROUND = -1


class Contact(NamedTuple):
    """A place x (3,) where a link touches `other`: GROUND, −2 − k for obstacle k, else another link.

    The unit normal n (3,) points towards the link; the gap, m, is negative for an overlap. `next_gap`, m, is the gap
    after a step at the current approach velocity.
    """

    link: int
    other: int
    x: Array
    n: Array
    gap: float
    friction: float
    restitution: float
    next_gap: float = np.inf


Surface = Collision | Obstacle | None
"""What has coefficients; None is the ground."""


class Piece(NamedTuple):
    """A convex piece of a shape: its link (−2 − k for obstacle k), and its pose (4, 4) in the link's frame or the
    world.
    """

    link: int
    solid: Solid
    pose: Array
    surface: Collision | Obstacle


class Near(NamedTuple):
    """The contacts of one shape with the ground or of one pair of shapes; `all`: no point was omitted.

    `tilt`, rad, is the angle by which a hull with many corners may tilt in a step, else 0. If the ground stops it and
    it pivots about its lowest corner, that corner's displacement over `radius`, m, is added.
    """

    contacts: list[Contact]
    all: bool
    pair: tuple[PosedSolid, PosedSolid] | None = None
    tilt: float = 0.0
    radius: float = 1.0


def contacts(model: Model, scene: Scene, bodies: Motion, dt: float) -> list[Contact]:
    """Return the contacts that are active in a step of dt."""
    return [x for near in candidates(model, scene, bodies, dt) for x in reduce_manifold(near)]


def candidates(model: Model, scene: Scene, bodies: Motion, dt: float) -> list[Near]:
    """Return all candidate places, by shapes and pairs, before four of each are kept."""
    robot = [piece for shape in model.collisions for piece in _pieces(shape, shape.link, shape)]
    fixed = [piece for k, shape in enumerate(scene.obstacles) for piece in _pieces(shape, -2 - k, shape)]
    nearby, reach = [], CONTACT_MARGIN + 2 * dt * _fastest(bodies)
    for piece in robot:
        if scene.ground is not None and model.link_body[piece.link] != WORLD:
            places = ground_places(_posed(model, bodies, piece), scene.ground, reach)
            law = coefficients(scene, piece.surface, None)
            corners = piece.solid.vertices
            tilt = TILT_RATE * dt if corners is not None and len(corners) >= MANY else 0.0
            near_contacts = [Contact(piece.link, GROUND, *_on_surface(x), *law) for x in places]
            radius = _radius(_posed(model, bodies, piece)) if tilt > 0 else 1.0
            nearby.append(Near(near_contacts, len(places) <= KEPT and tilt == 0.0, None, tilt, radius))
    for one, other in contact_pairs(model, scene, robot, fixed):
        pair = _posed(model, bodies, one), _posed(model, bodies, other)
        if least_distance(*pair) > reach:
            continue
        law = coefficients(scene, one.surface, other.surface)
        nearby.append(Near([Contact(one.link, other.link, *x, *law) for x in pair_places(*pair)], False, pair))
    nearby = [near._replace(contacts=[with_next_gap(model, bodies, x, dt) for x in near.contacts]) for near in nearby]
    return [near._replace(contacts=[x for x in near.contacts if is_near(x)]) for near in nearby]


def _on_surface(point: ContactPoint) -> ContactPoint:
    """Return the contact of a point on the ground's surface."""
    return point._replace(x=point.x - point.gap * point.n)


def with_next_gap(model: Model, bodies: Motion, x: Contact, dt: float) -> Contact:
    """Return the contact with the gap that its approach leaves after a step."""
    closing = -x.n @ (_velocity(model, bodies, x.link, x.x) - _velocity(model, bodies, x.other, x.x))
    return x._replace(next_gap=x.gap - dt * max(float(closing), 0.0))


def is_near(x: Contact) -> bool:
    return bool(x.gap <= CONTACT_MARGIN + 2 * (x.gap - x.next_gap))


def _fastest(bodies: Motion) -> float:
    """Return an upper bound of the approach velocity of any two shapes, m/s, within 2 m of their bodies' origins."""
    own = [
        np.linalg.norm(V[3:] + np.cross(V[:3], p)) + 2 * np.linalg.norm(V[:3])
        for V, p in zip(bodies.V, bodies.p, strict=True)
    ]
    return 2 * float(max(own, default=0.0))


def _velocity(model: Model, bodies: Motion, link: int, x: Array) -> Array:
    body = body_of(model, link)
    return np.zeros(3) if body == WORLD else bodies.V[body][3:] + np.cross(bodies.V[body][:3], x)


def _radius(posed: PosedSolid) -> float:
    """Return the radius of a hull about the centre of its bounding box in body axes."""
    assert posed.solid.vertices is not None
    x = posed.solid.vertices @ posed.inner.T
    return float(np.max(np.linalg.norm(x - (np.min(x, 0) + np.max(x, 0)) / 2, axis=1)))


def body_of(model: Model, link: int) -> int:
    """Return the body of a link; the world for the ground and for obstacles."""
    return WORLD if link < 0 else int(model.link_body[link])


def reduce_manifold(near: Near) -> list[Contact]:
    """Keep at most four contacts: the deepest, the farthest from it, and two that enlarge the area most.

    For a hull with many corners, distance is measured relative to the tilt needed to reach a corner.
    """
    remaining = list(near.contacts)
    if near.all or not remaining:
        return remaining
    first = min(remaining, key=lambda x: x.gap)
    chosen, n, descent = [first], first.n, first.gap - first.next_gap
    tilt = near.tilt + descent / near.radius if near.tilt > 0 else 0.0
    while len(chosen) < KEPT:
        remaining = [x for x in remaining if all(x is not y for y in chosen)]
        best = max(remaining, key=lambda x: area_gain(chosen, x, n, tilt), default=None)
        if best is None or area_gain(chosen, best, n, tilt) <= 0:
            break
        chosen.append(best)
    return chosen


def area_gain(chosen: list[Contact], new: Contact, n: Array, tilt: float) -> float:
    """Return a contact's score relative to those chosen: distance, then area, then area outside the triangle.

    For a tilting hull: the distance from the first, from a line and from the triangle, minus (height/tilt). The descent
    of the first contact in the step lowers no other, since the ground stops it.
    """

    def offset(a: Contact, b: Contact) -> float:
        area = float(n @ np.cross(b.x - a.x, new.x - a.x))
        return area / float(np.linalg.norm(b.x - a.x)) if tilt > 0 else area

    descent = chosen[0].gap - chosen[0].next_gap
    too_high = max(min(new.next_gap + descent, new.gap) - chosen[0].gap, 0.0) / tilt if tilt > 0 else 0.0
    if len(chosen) == 1:
        distance = float(np.linalg.norm(new.x - chosen[0].x))
        return distance - too_high if tilt > 0 else distance**2
    if len(chosen) == 2:
        return abs(offset(*chosen)) - too_high
    a, b, c = chosen
    orientation = 1.0 if n @ np.cross(b.x - a.x, c.x - a.x) >= 0 else -1.0
    return max(-orientation * offset(*side) for side in ((a, b), (b, c), (c, a))) - too_high


def coefficients(scene: Scene, one: Surface, other: Surface) -> tuple[float, float]:
    """Return friction and restitution of two surfaces, the smaller value of each. None means the scene.

    A link without coefficients in the robot's file has the scene's; an obstacle has a friction of its own at most.
    """
    friction = [scene.friction if s is None or s.friction is None else s.friction for s in (one, other)]
    links = [s if isinstance(s, Collision) else None for s in (one, other)]
    restitution = [scene.restitution if s is None or s.restitution is None else s.restitution for s in links]
    return min(friction), min(restitution)


def contact_pairs(model: Model, scene: Scene, robot: list[Piece], fixed: list[Piece]) -> list[tuple[Piece, Piece]]:
    """Return the contact pairs, the moving shape first."""
    pairs = [(x, y) for x in robot if body_of(model, x.link) != WORLD for y in fixed]
    if not (scene.self_collision or model.parts):
        return pairs
    neutral = motion(model, model.neutral(), np.zeros(model.nv))
    for x, y in combinations(robot, 2):
        a, b = body_of(model, x.link), body_of(model, y.link)
        pair = min(x.link, y.link), max(x.link, y.link)
        between_parts = model.part_of_link[x.link] != model.part_of_link[y.link]
        if a == b or pair in model.disabled_collisions or not (between_parts or scene.self_collision):
            continue
        # links separated by a free joint are not neighbours
        if not between_parts and _root(model, a) == _root(model, b):
            if _carrier(model, a) == b or _carrier(model, b) == a:
                continue
            pair_there = _posed(model, neutral, x), _posed(model, neutral, y)
            if least_distance(*pair_there) <= NEUTRAL and signed_distance(*pair_there) <= NEUTRAL:
                continue
        pairs.append((y, x) if a == WORLD else (x, y))
    return pairs


def _root(model: Model, body: int) -> int:
    """Return the free joint's body, or the world, at the root of a body's subtree."""
    while body != WORLD and model.kind[body] != FREE:
        body = int(model.parent[body])
    return body


def _carrier(model: Model, body: int) -> int:
    """Return a body's closest ancestor with a link: those between belong to one joint; the world's is the world."""
    while body != WORLD:
        body = int(model.parent[body])
        if body in model.link_body:
            return body
    return WORLD if body == WORLD else body


def _pieces(shape: Collision | Obstacle, link: int, surface: Collision | Obstacle) -> list[Piece]:
    pose = np.asarray(shape.pose)
    if shape.shape != "mesh":
        return [Piece(link, Solid(shape.shape, tuple(shape.size)), pose, surface)]
    parts = hulls(str(shape.mesh)) if isinstance(shape, Obstacle) else of_link(shape.mesh)
    return [Piece(link, Solid("hull", (), part * shape.size), pose, surface) for part in parts]


def _posed(model: Model, bodies: Motion, piece: Piece) -> PosedSolid:
    R, p = frame_of_link(model, bodies, piece.link) if piece.link >= 0 else (np.eye(3), np.zeros(3))
    inner = piece.pose[:3, :3]
    if piece.link >= 0:
        inner = model.link_rotation[piece.link] @ inner
    return PosedSolid(piece.solid, R @ piece.pose[:3, :3], R @ piece.pose[:3, 3] + p, inner)


__all__ = ["GROUND", "Contact", "ContactPoint", "Near", "candidates", "coefficients", "contacts", "reduce_manifold"]
