"""What a robot touches as a step begins. Everything is looked at.

In come a `Model`, its `Motion`, a `Scene` and dt; out come `Contact`s as docs/contact.md has them under *Geometry*:
which shapes may touch, which places take part, and which four of them are kept. Where a shape touches is for
`algorithms.ground` and `algorithms.pair_places`. Corners of meshes are read from their files by `engine.scene.hull`.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from engine.algorithms.convex import Place, Solid, Standing, least_distance, signed_distance
from engine.algorithms.ground import ground_places
from engine.algorithms.motion import Motion, frame_of_link, motion
from engine.algorithms.pair_places import pair_places
from engine.lie import Array
from engine.model import FREE, WORLD, Collision, Model
from engine.scene import Obstacle, Scene
from engine.scene.hull import hulls, of_link

NEAR = 1e-3  # m: what is this near takes part, and what comes this near within two steps
NEUTRAL = 1e-6  # m: links this near in the neutral pose are not held against each other
KEPT = 4  # contacts of a shape with the ground, and of a pair of shapes
MANY = 16  # corners from which on a hull's contacts with the ground are those to which it may lean over in a step
LEAN = 0.1  # rad/s: as fast as it may then turn beside how it turns already
GROUND = -1


class Contact(NamedTuple):
    """A place x (3,) where a link touches `other`: GROUND, −2 − k for obstacle k, else another link.

    The unit normal n (3,) points to the link; the gap, m, is negative where they overlap. `ahead`, m, is the gap after
    a step in which it comes down as it does now.
    """

    link: int
    other: int
    x: Array
    n: Array
    gap: float
    friction: float
    restitution: float
    ahead: float = np.inf


class Piece(NamedTuple):
    """A convex piece of a shape: of a link, in whose frame its pose (4, 4) is, or of obstacle k, whose link is −2 −
    k."""

    link: int
    solid: Solid
    pose: Array
    surface: Collision | None


class Near(NamedTuple):
    """The contacts of one shape with the ground or of one pair of shapes; `all` its points were few enough to keep.

    `lean`, rad, is the angle by which a hull with many corners may lean over in a step, else 0; where the ground stops
    it, and it turns about its lowest corner, by that corner's way over `radius`, m, more.
    """

    contacts: list[Contact]
    all: bool
    pair: tuple[Standing, Standing] | None = None
    lean: float = 0.0
    radius: float = 1.0


def contacts(model: Model, scene: Scene, at: Motion, dt: float) -> list[Contact]:
    """The contacts that take part in a step of dt."""
    return [x for near in candidates(model, scene, at, dt) for x in kept(near)]


def candidates(model: Model, scene: Scene, at: Motion, dt: float) -> list[Near]:
    """All places that could be contacts, by shapes and pairs, before four of each are chosen."""
    robot = [piece for shape in model.collisions for piece in _pieces(shape, shape.link, shape)]
    still = [piece for k, shape in enumerate(scene.obstacles) for piece in _pieces(shape, -2 - k, None)]
    found, reach = [], NEAR + 2 * dt * _fastest(at)
    for piece in robot:
        if scene.ground is not None and model.link_body[piece.link] != WORLD:
            places = ground_places(_standing(model, at, piece), scene.ground, reach)
            law = coefficients(scene, piece.surface, None)
            corners = piece.solid.vertices
            lean = LEAN * dt if corners is not None and len(corners) >= MANY else 0.0
            here = [Contact(piece.link, GROUND, *x, *law) for x in places]
            radius = _radius(_standing(model, at, piece)) if lean > 0 else 1.0
            found.append(Near(here, len(places) <= KEPT and lean == 0.0, None, lean, radius))
    for one, other in may_touch(model, scene, robot, still):
        pair = _standing(model, at, one), _standing(model, at, other)
        if least_distance(*pair) > reach:
            continue
        law = coefficients(scene, one.surface, other.surface)
        found.append(Near([Contact(one.link, other.link, *x, *law) for x in pair_places(*pair)], False, pair))
    found = [near._replace(contacts=[_ahead(model, at, x, dt) for x in near.contacts]) for near in found]
    return [near._replace(contacts=[x for x in near.contacts if _is_near(x)]) for near in found]


def takes_part(model: Model, at: Motion, x: Contact, dt: float) -> bool:
    return _is_near(_ahead(model, at, x, dt))


def _ahead(model: Model, at: Motion, x: Contact, dt: float) -> Contact:
    closing = -x.n @ (_velocity(model, at, x.link, x.x) - _velocity(model, at, x.other, x.x))
    return x._replace(ahead=x.gap - dt * max(float(closing), 0.0))


def _is_near(x: Contact) -> bool:
    return bool(x.gap <= NEAR + 2 * (x.gap - x.ahead))


def _fastest(at: Motion) -> float:
    """More than any two shapes of a robot approach each other by, m/s, within 2 m of their bodies' origins."""
    own = [
        np.linalg.norm(V[3:] + np.cross(V[:3], p)) + 2 * np.linalg.norm(V[:3]) for V, p in zip(at.V, at.p, strict=True)
    ]
    return 2 * float(max(own, default=0.0))


def _velocity(model: Model, at: Motion, link: int, x: Array) -> Array:
    body = body_of(model, link)
    return np.zeros(3) if body == WORLD else at.V[body][3:] + np.cross(at.V[body][:3], x)


def _radius(standing: Standing) -> float:
    """Of a ball about the middle of the box, along its body's axes, around a hull."""
    assert standing.solid.vertices is not None
    x = standing.solid.vertices @ standing.inner.T
    return float(np.max(np.linalg.norm(x - (np.min(x, 0) + np.max(x, 0)) / 2, axis=1)))


def body_of(model: Model, link: int) -> int:
    """The body of a link; the world for the ground and for obstacles."""
    return WORLD if link < 0 else int(model.link_body[link])


def kept(near: Near) -> list[Contact]:
    """Of more than four the deepest, the one farthest from it, and two that widen the area most.

    Of a hull with many corners those that are far for the angle by which it would have to lean over to them.
    """
    left = list(near.contacts)
    if near.all or not left:
        return left
    first = min(left, key=lambda x: x.gap)
    chosen, n, stops = [first], first.n, first.gap - first.ahead
    lean = near.lean + stops / near.radius if near.lean > 0 else 0.0
    while len(chosen) < KEPT:
        left = [x for x in left if all(x is not y for y in chosen)]
        best = max(left, key=lambda x: _widening(chosen, x, n, lean), default=None)
        if best is None or _widening(chosen, best, n, lean) <= 0:
            break
        chosen.append(best)
    return chosen


def _widening(chosen: list[Contact], new: Contact, n: Array, lean: float) -> float:
    """What a contact adds to those chosen: distance, then area, then area outside of the triangle.

    Of a hull that leans over: the distances from the first, from a line and from the triangle, less (height/lean). The
    way that the first comes down in the step brings no other down, since the ground stops it.
    """

    def beside(a: Contact, b: Contact) -> float:
        area = float(n @ np.cross(b.x - a.x, new.x - a.x))
        return area / float(np.linalg.norm(b.x - a.x)) if lean > 0 else area

    stops = chosen[0].gap - chosen[0].ahead
    too_high = max(min(new.ahead + stops, new.gap) - chosen[0].gap, 0.0) / lean if lean > 0 else 0.0
    if len(chosen) == 1:
        far = float(np.linalg.norm(new.x - chosen[0].x))
        return far - too_high if lean > 0 else far**2
    if len(chosen) == 2:
        return abs(beside(*chosen)) - too_high
    a, b, c = chosen
    turn = 1.0 if n @ np.cross(b.x - a.x, c.x - a.x) >= 0 else -1.0
    return max(-turn * beside(*side) for side in ((a, b), (b, c), (c, a))) - too_high


def coefficients(scene: Scene, one: Collision | None, other: Collision | None) -> tuple[float, float]:
    """Friction and restitution: of two surfaces the smaller value. None is a surface of the scene.

    A link of which the robot's file says nothing has the scene's values.
    """
    friction = [scene.friction if s is None or s.friction is None else s.friction for s in (one, other)]
    restitution = [scene.restitution if s is None or s.restitution is None else s.restitution for s in (one, other)]
    return min(friction), min(restitution)


def may_touch(model: Model, scene: Scene, robot: list[Piece], still: list[Piece]) -> list[tuple[Piece, Piece]]:
    """The pairs that are held against each other, the one that moves first."""
    found = [(x, y) for x in robot if body_of(model, x.link) != WORLD for y in still]
    if not (scene.self_collision or model.parts):
        return found
    neutral = motion(model, model.neutral(), np.zeros(model.nv))
    for x, y in combinations(robot, 2):
        a, b = body_of(model, x.link), body_of(model, y.link)
        pair = min(x.link, y.link), max(x.link, y.link)
        apart = model.part_of_link[x.link] != model.part_of_link[y.link]
        if a == b or pair in model.disabled_collisions or not (apart or scene.self_collision):
            continue
        if not apart and _root(model, a) == _root(model, b):  # a free joint between them makes them nobody's neighbours
            if _carrier(model, a) == b or _carrier(model, b) == a:
                continue
            pair_there = _standing(model, neutral, x), _standing(model, neutral, y)
            if least_distance(*pair_there) <= NEUTRAL and signed_distance(*pair_there) <= NEUTRAL:
                continue
        found.append((y, x) if a == WORLD else (x, y))
    return found


def _root(model: Model, body: int) -> int:
    """The free body from which a body hangs on other joints, or the world."""
    while body != WORLD and model.kind[body] != FREE:
        body = int(model.parent[body])
    return body


def _carrier(model: Model, body: int) -> int:
    """The body with a link from which a body hangs: those between are parts of one joint. The world's is the world."""
    while body != WORLD:
        body = int(model.parent[body])
        if body in model.link_body:
            return body
    return WORLD if body == WORLD else body


def _pieces(shape: Collision | Obstacle, link: int, surface: Collision | None) -> list[Piece]:
    pose = np.asarray(shape.pose)
    if shape.shape != "mesh":
        return [Piece(link, Solid(shape.shape, tuple(shape.size)), pose, surface)]
    parts = hulls(str(shape.mesh)) if isinstance(shape, Obstacle) else of_link(shape.mesh)
    return [Piece(link, Solid("hull", (), part * shape.size), pose, surface) for part in parts]


def _standing(model: Model, at: Motion, piece: Piece) -> Standing:
    R, p = frame_of_link(model, at, piece.link) if piece.link >= 0 else (np.eye(3), np.zeros(3))
    inner = piece.pose[:3, :3]
    if piece.link >= 0:
        inner = model.link_rotation[piece.link] @ inner
    return Standing(piece.solid, R @ piece.pose[:3, :3], R @ piece.pose[:3, 3] + p, inner)


__all__ = ["GROUND", "Contact", "Near", "Place", "candidates", "coefficients", "contacts", "kept"]
