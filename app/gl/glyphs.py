"""The glyphs drawn over a robot: frames, axes, masses and trails, as copies of a few simple meshes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

import engine
from app.gl import mesh
from app.gl.contact_marks import along
from app.gl.extras import Copies
from app.link_extents import ends, link_points

Floats = NDArray[np.floating]

MESHES = {
    "rod": lambda: mesh.cylinder(1.0, 1.0, sides=8, steps=0),
    "head": lambda: mesh.cone(sides=10),
    "ball": lambda: mesh.sphere(1.0, sides=16),
}
"""The meshes of glyphs: z from −1/2 to 1/2, z from 0 to 1, and of radius 1."""
SEEN_THROUGH = ("ball",)
"""Translucent glyphs, drawn last."""
X, Y, Z = (0.93, 0.27, 0.25, 1.0), (0.30, 0.80, 0.32, 1.0), (0.28, 0.52, 1.0, 1.0)
REVOLUTE_COLOR, PRISMATIC_COLOR = (1.0, 0.80, 0.16, 1.0), (0.20, 0.85, 0.90, 1.0)
MASS, WHOLE = (1.0, 0.55, 0.10, 1.0), (0.98, 0.30, 0.72, 1.0)
INERTIA = (0.62, 0.46, 0.98, 0.42)
TRAIL = (0.35, 0.90, 0.95)
SPAN = (0.03, 0.14)
"""The minimum and maximum length of a frame's axes, in robot sizes."""
THIN = 0.045
"""The radius of an axis relative to its length."""
POINTS, STEP = 400, 0.006
"""The maximum number of points of a trail, and their minimum distance in robot sizes."""


class Explainer:
    """Makes the glyphs of one robot; constant parts are computed once."""

    def __init__(self, model: engine.Model, size: float):
        """`size` is the robot's size in its pose, m."""
        self._model = model
        self.names = model.link_names
        self._first = _first_links(model)
        self._carried = np.array([body in self._first for body in range(len(model.parent))], bool)
        links = np.array([self._first.get(body, 0) for body in range(len(model.parent))], np.int64)
        self._links = links
        R, p = model.link_rotation[links], model.link_position[links]
        self._in_link = np.zeros((len(links), 4, 4))  # the body's frame in its first link's
        self._in_link[:, :3, :3], self._in_link[:, 3, 3] = R.transpose(0, 2, 1), 1.0
        self._in_link[:, :3, 3] = -np.einsum("nji,nj->ni", R, p)
        self._revolute, self._prismatic = _axes(model, self._carried)
        self._length = _length(model, size)
        self._masses()
        self.tips = _tips(model, self._first)
        """The links at the ends of the tree."""
        self.ends = ends(link_points(model))
        """(links, 3): the point of each link, in its frame, that is farthest from its origin."""

    def _masses(self) -> None:
        """Compute the centres and equivalent ellipsoids of bodies with mass, in body frames."""
        model = self._model
        self._heavy = np.flatnonzero(self._carried & (model.mass > 0))
        mass, moment = model.mass[self._heavy], model.first_moment[self._heavy]
        self._mass, self._center = mass, moment / mass[:, None]
        square = np.einsum("ni,ni->n", self._center, self._center)[:, None, None] * np.eye(3)
        about = model.inertia[self._heavy] - mass[:, None, None] * (
            square - self._center[:, :, None] * self._center[:, None, :]
        )
        principal, axes = np.linalg.eigh(about)
        # A uniform ellipsoid of semi-axes a has I₁ = m (a₂² + a₃²)/5, and so on.
        squares = 2.5 * (principal.sum(1, keepdims=True) - 2 * principal) / mass[:, None]
        self._ellipsoid = np.zeros((len(mass), 4, 4))
        self._ellipsoid[:, :3, :3] = axes * np.sqrt(np.maximum(squares, (0.02 * self._length) ** 2))[:, None, :]
        self._ellipsoid[:, :3, 3], self._ellipsoid[:, 3, 3] = self._center, 1.0

    @property
    def anchors(self) -> Floats:
        """(links, 3): positions of name labels in link frames: at centres of mass, else at the origins."""
        anchors = np.zeros((len(self.names), 3))
        first = self._links[self._heavy]
        R, p = self._model.link_rotation[first], self._model.link_position[first]
        anchors[first] = np.einsum("nji,nj->ni", R, self._center - p)
        return anchors

    def glyphs(self, kinds: Sequence[str], poses: Floats, hidden: frozenset[int] = frozenset()) -> dict[str, Copies]:
        """Return the glyphs of these kinds for link poses (links, 4, 4), by mesh, without those of hidden links."""
        made: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in MESHES}
        if not kinds:
            return {}
        bodies = poses[self._links] @ self._in_link
        shown = ~np.isin(np.arange(len(poses)), list(hidden))
        of_shown = shown[self._links]  # of the bodies
        for kind in kinds:
            if kind == "frames":
                self._frames(made, poses[shown])
            elif kind == "axes":
                self._axes(made, bodies, of_shown)
            elif kind == "masses":
                self._centers(made, bodies, of_shown)
            elif kind == "inertias":
                ellipsoids = (bodies[self._heavy] @ self._ellipsoid)[of_shown[self._heavy]]
                made["ball"].append((ellipsoids, _same(INERTIA, len(ellipsoids))))
        return join_copies(made)

    def _frames(self, made: dict[str, list[tuple[Floats, Floats]]], poses: Floats) -> None:
        every = np.full(len(poses), self._length)
        for axis, color in enumerate((X, Y, Z)):
            direction = poses[:, :3, axis]
            middle = poses[:, :3, 3] + self._length / 2 * direction
            made["rod"].append((along(middle, direction, every, THIN * every), _same(color, len(poses))))

    def _axes(self, made: dict[str, list[tuple[Floats, Floats]]], bodies: Floats, shown: NDArray[np.bool_]) -> None:
        for which, color in ((self._revolute, REVOLUTE_COLOR), (self._prismatic, PRISMATIC_COLOR)):
            pose = bodies[which[shown[which]]]
            reach = np.full(len(pose), 1.7 * self._length)
            origin, direction = pose[:, :3, 3], pose[:, :3, 2]
            tip = origin + reach[:, None] / 2 * direction
            made["rod"].append((along(origin, direction, reach, 1.3 * THIN * reach / 1.7), _same(color, len(pose))))
            made["head"].append((along(tip, direction, 0.3 * reach, 0.09 * reach), _same(color, len(pose))))

    def _centers(self, made: dict[str, list[tuple[Floats, Floats]]], bodies: Floats, shown: NDArray[np.bool_]) -> None:
        if not len(self._heavy):
            return
        centers = self._centers_of(bodies)
        share = np.clip((self._mass / self._mass.max()) ** (1 / 3), 0.4, 1.0)
        balls = _balls(centers, 0.16 * self._length * share)[shown[self._heavy]]
        made["ball"].append((balls, _same(MASS, len(balls))))
        if (whole := self._whole(centers)) is not None:
            made["ball"].append((_balls(whole[None], np.array([0.3 * self._length])), _same(WHOLE, 1)))

    def _whole(self, centers: Floats) -> Floats | None:
        of_robot = self._model.part_of_body[self._heavy] == 0  # not of what stands around the robot
        if not of_robot.any():
            return None
        return (self._mass[of_robot, None] * centers[of_robot]).sum(0) / self._mass[of_robot].sum()

    def center_of_mass(self, poses: Floats) -> Floats | None:
        """Return the robot's centre of mass (3,), m, for link poses (links, 4, 4); None if nothing of it has mass."""
        return self._whole(self._centers_of(poses[self._links] @ self._in_link))

    def _centers_of(self, bodies: Floats) -> Floats:
        """Return the centres of mass (heavy, 3) of the bodies with mass, for all body poses."""
        pose = bodies[self._heavy]
        centers: Floats = (pose[:, :3, :3] @ self._center[..., None])[..., 0] + pose[:, :3, 3]
        return centers


class Trails:
    """The past positions of some links."""

    def __init__(self, links: Iterable[int], size: float, ends: Floats):
        """`ends` (links, 3): the tracked point of each link, in link frames."""
        self.links, self._ends = tuple(links), ends
        self._step, self._radius = STEP * size, 0.0022 * size
        self._points: dict[int, deque[Floats]] = {link: deque(maxlen=POINTS) for link in self.links}
        self._time = 0.0

    def add(self, time: float, poses: Floats) -> bool:
        """Add the links' poses (links, 4, 4) at a time, s; an earlier time clears. Return whether a trail changed."""
        changed = time < self._time
        if changed:
            self.clear()
        self._time = time
        for link, points in self._points.items():
            here = poses[link, :3, :3] @ self._ends[link] + poses[link, :3, 3]
            if not points or float(np.linalg.norm(here - points[-1])) >= self._step:
                points.append(here)
                changed = True
        return changed

    def clear(self) -> None:
        for points in self._points.values():
            points.clear()

    def glyphs(self, center: Floats | float = 0.0, hidden: frozenset[int] = frozenset()) -> dict[str, Copies]:
        """Return rods between points, fading with age, of links that are not hidden.

        `center` (3,) is the offset at which the robot is drawn.
        """
        made: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in MESHES}
        for link, points in self._points.items():
            if len(points) < 2 or link in hidden:
                continue
            line = np.array(points) + center
            step = np.diff(line, axis=0)
            length = np.linalg.norm(step, axis=1)
            color = np.empty((len(step), 4), np.float32)
            color[:, :3], color[:, 3] = TRAIL, np.linspace(0.15, 1.0, POINTS)[-len(step) :]
            radius = np.full(len(step), self._radius)
            made["rod"].append((along((line[1:] + line[:-1]) / 2, step / length[:, None], length, radius), color))
        return join_copies(made)


def join_copies(made: dict[str, list[tuple[Floats, Floats]]]) -> dict[str, Copies]:
    """Concatenate lists of poses and colours by mesh, without empty ones."""
    return {
        name: Copies(
            np.concatenate([poses for poses, _ in parts]).astype(np.float32),
            np.concatenate([colors for _, colors in parts]).astype(np.float32),
        )
        for name, parts in made.items()
        if sum(len(poses) for poses, _ in parts)
    }


def _same(color: tuple[float, ...], count: int) -> Floats:
    return np.broadcast_to(np.array(color, np.float32), (count, 4))


def _balls(centers: Floats, radius: Floats) -> Floats:
    poses = np.zeros((len(centers), 4, 4))
    poses[:, [0, 1, 2], [0, 1, 2]] = radius[:, None]
    poses[:, :3, 3], poses[:, 3, 3] = centers, 1.0
    return poses


def _first_links(model: engine.Model) -> dict[int, int]:
    first: dict[int, int] = {}
    for link, body in enumerate(model.link_body.tolist()):
        first.setdefault(body, link)
    return first


def _axes(model: engine.Model, carried: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bodies that rotate about their z-axis, and those that slide along it, among those with links."""
    moving = [
        (body, angular)
        for joint in model.joints
        if joint.type.quaternion is None
        for body, angular in zip(range(joint.bodies.start, joint.bodies.stop), joint.type.angular, strict=True)
    ]
    revolute, prismatic = ([body for body, angular in moving if angular == turns] for turns in (True, False))
    turns, slides = (np.array([body for body in bodies if carried[body]], np.int64) for bodies in (revolute, prismatic))
    return turns, slides


def _tips(model: engine.Model, first: dict[int, int]) -> tuple[int, ...]:
    """Return the last link of each body that carries no other: the outermost links."""
    carriers = set(model.parent.tolist())
    last = {int(body): link for link, body in enumerate(model.link_body)}
    return tuple(last[body] for body in range(len(model.parent)) if body not in carriers and body in first)


def _length(model: engine.Model, size: float) -> float:
    """Return the length of a frame's axes, m: about a third of the distance between joints."""
    distances = np.linalg.norm(model.home_position, axis=1)
    distances = distances[distances > 1e-3 * size]
    typical = float(np.median(distances)) if len(distances) else size
    return float(np.clip(0.35 * typical, SPAN[0] * size, SPAN[1] * size)) if len(distances) < 60 else 0.35 * typical
