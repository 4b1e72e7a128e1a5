"""Place the robots of a case: at limits, on, near or in the ground, and beside each other."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise, product

import numpy as np

from engine import holding, lie
from engine.model import FREE, WORLD, Model
from engine.model.poses import body_poses, link_poses
from tests.differential.chances import Rng, chance, log_uniform, one_of, pick, unit
from tests.differential.solids import Cloud, cloud, support

MODES = {"touch": 0.2, "overlap": 0.26, "near": 0.15, "approach": 0.2, "air": 0.14, "deep": 0.05}
_SCAN = np.linspace(-1, 1, 21)


class Placing:
    """A batch of robots during placement: `q` (batch, nq), and the ground as far as it is defined."""

    def __init__(self, rng: Rng, robot: dict, model: Model, batch: int):
        self.rng, self.robot, self.model, self.batch = rng, robot, model, batch
        self.tree = _trees(model)
        self.take(robot, model)
        self.q = np.array([_coordinates(rng, model) for _ in range(batch)])
        self.modes = [self._mode() for _ in range(batch)]

    def take(self, robot: dict, model: Model) -> None:
        """Return the robot with other shapes."""
        self.robot, self.model = robot, model
        found = cloud(robot, model)
        self.cloud = found.of(model.link_body[found.link] != WORLD)

    @cached_property
    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        """The inertias and the weights, (nv,) each, that each velocity carries in the neutral pose."""
        return holding.inertia_and_load(self.model, self.model.neutral())

    @property
    def roots(self) -> np.ndarray:
        """The free bodies that are roots of trees."""
        return np.flatnonzero((self.model.kind == FREE) & (self.model.parent == WORLD))

    def points(self, tree: int | None = None) -> Cloud:
        """Return the points of the moving shapes, or of one tree; the fixed base's is WORLD."""
        found = self.cloud
        return found if tree is None else found.of(self.tree[self.model.link_body[found.link]] == tree)

    def world(self, found: Cloud, row: int) -> np.ndarray:
        return found.world(link_poses(self.model, self.q[row : row + 1])[0])

    def gap(self, mode: str) -> float:
        """Return the gap of such a placement, m."""
        rng = self.rng
        return {
            "touch": lambda: one_of(rng, (0.0, 0.0, 1e-9, -1e-9, 9e-4)),
            "overlap": lambda: -log_uniform(rng, 1e-4, 5e-3),
            "near": lambda: rng.uniform(0, 1e-3),
            "approach": lambda: rng.uniform(0, 4e-3),
            "air": lambda: rng.uniform(0.03, 1),
            "deep": lambda: -log_uniform(rng, 5e-3, 5e-2),
        }[mode]()

    def shift(self, row: int, root: int, move: np.ndarray) -> None:
        """Move a tree of a row."""
        start = int(self.model.q_start[root])
        self.q[row, self._owned(start) : self._owned(start) + 3] += self.model.home_rotation[root].T @ move

    def _owned(self, start: int) -> int:
        """Return the index in q of a tree coordinate; mimic joints may come before it."""
        return int(self.model.coupling.q_index[start])

    def align(self, row: int, root: int, n: np.ndarray, frames: np.ndarray) -> None:
        """Turn a tree so that an axis of one of its shapes is along n, as what lies flat; `frames` are the bodies'."""
        axis = self.axis(frames, root)
        if axis is None:
            return
        body, home = frames[root, :3, :3], self.model.home_rotation[root]
        at = self._owned(int(self.model.q_start[root])) + 3
        self.q[row, at : at + 4] = lie.quaternion_from_rotation(home.T @ _turn(axis, n) @ body)

    def axis(self, frames: np.ndarray, tree: int) -> np.ndarray | None:
        """Draw an axis of a shape that moves with a tree, in the world, with bodies at `frames` (n, 4, 4)."""
        links = self.points(tree).link
        if not len(links):
            return None
        link = int(one_of(self.rng, links))
        name, body = self.model.link_names[link], int(self.model.link_body[link])
        shapes = next(entry["shapes"] for entry in self.robot["links"] if entry["name"] == name)
        shape = shapes[int(self.rng.integers(len(shapes)))]
        R = frames[body, :3, :3] @ self.model.link_rotation[link] @ lie.rotation_from_rpy(shape["rpy"])
        return np.asarray(R[:, int(self.rng.integers(3))] * one_of(self.rng, (-1, 1)))

    def frames(self) -> np.ndarray:
        """(batch, n, 4, 4): the bodies' frames."""
        return body_poses(self.model, self.q)

    def normal(self) -> np.ndarray:
        """Draw a plane's normal: up, a slope, any, or along an axis of a fixed-base robot."""
        rng, up = self.rng, np.array([0.0, 0.0, 1.0])
        draw = rng.random()
        axis = self.axis(self.frames()[0], WORLD) if draw > 0.7 else None
        if axis is not None:
            return axis
        if draw < 0.4:
            return up
        tilt = unit(rng)
        n = up + rng.uniform(0.05, 0.7) * tilt if draw < 0.85 else tilt
        return np.asarray(n / np.linalg.norm(n))

    def settle(self, gaps: Gaps, n: np.ndarray) -> None:
        """Every tree of every row at its distance from the ground; those on a fixed base go there by their joints."""
        held = self.points(WORLD)
        if len(held.link):
            self._scan(held, gaps)
        standing = [int(root) for root in self.roots if len(self.points(int(root)).link)]
        if not standing:
            return
        frames = self.frames()
        for row, root in product(range(self.batch), standing):
            if chance(self.rng, 0.5):
                self.align(row, root, n, frames[row])
        poses = link_poses(self.model, self.q)
        for root in standing:
            found = self.points(root)
            x = found.world(poses)
            far = gaps(x.reshape(-1, 3), np.tile(found.radius, self.batch)).reshape(self.batch, -1).min(1)
            for row, mode in enumerate(self.modes):
                here = mode if chance(self.rng, 0.7) else self._mode()
                self.shift(row, root, n * (self.gap(here) - far[row]))

    def _mode(self) -> str:
        return pick(self.rng, MODES)

    def _scan(self, held: Cloud, gaps: Gaps) -> None:
        """Move the coordinates of further rows along a line from the first row's to their placement."""
        if self.batch == 1:
            return
        scalar = self.model.q_of_v >= 0
        index = self.model.q_of_v[scalar]
        lower, upper = self.model.lower[scalar], self.model.upper[scalar]
        rows, k = self.batch - 1, len(_SCAN)
        line = self.rng.standard_normal((rows, 1, len(index))) * 0.5
        wanted = np.array([self.gap(mode) for mode in self.modes[1:]])[:, None]
        start = np.clip(self.q[0, index], lower, upper)
        middle, width = np.zeros((rows, 1)), 1.0
        q = np.repeat(self.q[1:, None], k, 1)
        for _ in range(3):
            s = middle + width * _SCAN
            q[..., index] = np.clip(start + s[..., None] * line, lower, upper)
            poses = link_poses(self.model, q.reshape(rows * k, -1))
            x = held.world(poses)
            far = gaps(x.reshape(-1, 3), np.tile(held.radius, rows * k)).reshape(rows, k, -1).min(-1)
            best = np.argmin(np.abs(far - wanted), 1)
            middle, width = s[np.arange(rows), best][:, None], width / 8
        self.q[1:] = q[np.arange(rows), best]

    def stack(self, n: np.ndarray) -> bool:
        """Put trees beside or upon each other, in all rows; whether there are two."""
        roots = [int(root) for root in self.roots if len(self.points(int(root)).link)]
        if len(roots) < 2:
            return False
        order = [roots[int(k)] for k in self.rng.permutation(len(roots))]
        frames = self.frames()
        for below, above in list(pairwise(order))[: 1 + int(self.rng.integers(len(order)))]:
            lower, upper = self.points(below), self.points(above)
            for row, mode in enumerate(self.modes):
                u = n.copy() if chance(self.rng, 0.5) else _upwards(self.rng, n)
                if chance(self.rng, 0.5):
                    self.align(row, above, u, frames[row])
                poses = link_poses(self.model, self.q[row : row + 1])[0]
                a = support(lower.world(poses), lower.radius, u)
                b = support(upper.world(poses), upper.radius, -u)
                self.shift(row, above, a + u * self.gap(mode) - b)
        return True

    def jitter(self) -> None:
        """Rows after the first next to it, so that they meet what it meets."""
        for row in range(1, self.batch):
            if chance(self.rng, 0.6):
                moved = self.rng.standard_normal(self.model.nq) * one_of(self.rng, (0.0, 1e-5, 1e-3))
                self.q[row] = self.q[0] + moved
                for _, quaternion in self.model.quaternions:
                    self.q[row, quaternion] /= np.linalg.norm(self.q[row, quaternion])


class Gaps:
    """The gaps of points with balls above a scene's ground, m."""

    def __init__(self, ground: dict, field: object = None):
        self.ground, self.field = ground, field

    def __call__(self, x: np.ndarray, radius: np.ndarray) -> np.ndarray:
        if self.ground["kind"] == "plane":
            return np.asarray(x @ self.ground["normal"] - self.ground["offset"] - radius)
        height, e = self.field.height, self.field.cell * 1e-3
        dx, dy = ((height(x + move) - height(x - move)) / (2 * e) for move in ([e, 0, 0], [0, e, 0]))
        return np.asarray(x[:, 2] - height(x) - radius * np.sqrt(1 + dx**2 + dy**2))


def _trees(model: Model) -> np.ndarray:
    """(n + 1,): of each body the free root from which it hangs, else WORLD; the last is the world itself."""
    tree: list[int] = []
    for body, parent in enumerate(model.parent.tolist()):
        root = model.kind[body] == FREE and parent == WORLD
        tree.append(body if root else tree[parent] if parent != WORLD else WORLD)
    return np.array([*tree, WORLD])


def _upwards(rng: Rng, n: np.ndarray) -> np.ndarray:
    u = unit(rng)
    return np.asarray(u if u @ n > 0 else -u)


def frame_along(u: np.ndarray) -> np.ndarray:
    """A rotation whose third column is the unit vector u; to the last digit, as `lie.rotation_to` is not near −z."""
    x = np.cross(u, np.eye(3)[np.argmin(np.abs(u))])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(u, x), u], -1)


def _turn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A rotation that brings the unit vector a to b."""
    return np.asarray(frame_along(b) @ frame_along(a).T)


def _coordinates(rng: Rng, model: Model) -> np.ndarray:
    """(nq,): at random, some joints at a limit, just inside or beyond it; free bodies somewhere about the origin."""
    q = np.zeros(model.nq)
    for joint in model.joints:
        if joint.leader is not None:
            continue
        if (place := joint.type.quaternion) is not None:
            rotation = rng.standard_normal(4) if not chance(rng, 0.2) else np.array([0.0, 0.0, 0.0, 1.0])
            q[joint.q] = [*rng.uniform(-0.5, 0.5, place), *(rotation / np.linalg.norm(rotation))]
            continue
        spans = [min(span, 0.3) if span == 1.0 else span for span in joint.type.spans]
        for index, v, span in zip(
            range(joint.q.start, joint.q.stop), range(joint.v.start, joint.v.stop), spans, strict=True
        ):
            q[index] = _coordinate(rng, float(model.lower[v]), float(model.upper[v]), span)
    return q


def _coordinate(rng: Rng, lower: float, upper: float, span: float) -> float:
    ends = [end for end in (lower, upper) if np.isfinite(end)]
    if not ends or chance(rng, 0.45):
        if not ends and chance(rng, 0.15):
            return 0.0
        low = max(lower, min(-span, upper - span))
        high = min(upper, max(span, lower + span)) + 0.0  # from 0 to −0 would be a negative range
        return float(rng.uniform(low, high))
    end = ends[int(rng.integers(len(ends)))]
    outward = 1.0 if end == upper else -1.0
    way = pick(rng, {"at": 0.3, "beyond": 0.25, "inside": 0.3, "next": 0.15})
    size = {"at": 0.0, "beyond": log_uniform(rng, 1e-6, 2e-2), "inside": -log_uniform(rng, 1e-5, 1e-2)}
    return end + outward * size.get(way, one_of(rng, (-1e-9, 1e-9, -1e-8, 1e-7)))
