"""Contacts of robots on a GPU: the tables of shapes, the memory for contacts, and the report of the last step."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.collision.pair_tables import NO_PAIRS_PREAMBLE, PairTables, meeting
from engine.cuda.rigid_body import joint_space, lane_bodies
from engine.cuda.rigid_body.limbs import LANES, has_even_limbs, limbs
from engine.cuda.runtime import arrays, header
from engine.device_arrays import to_host
from engine.kernels.contact.workspace import OTHER, WRENCH, reported
from engine.model import FREE, WORLD, Model
from engine.scene import HeightField, Plane, Points, Scene, Touches, points, thresholds
from engine.scene.points import KEPT, WALKED
from engine.scene.touches import BEARABLE_SINGLE, TOLERANCE, TOLERANCE_SINGLE, VELOCITY_FLOOR, VELOCITY_FLOOR_SINGLE
from engine.step_settings import StepSettings
from engine.validation import Array

_CONTACT, _SPHERE_PLACE, _REMEMBERED, _PLACED = 21, 7, 4, 21  # numbers per contact etc., see contact_room.cuh
_FEATURE, _OTHER = 2, 12  # further numbers per contact with pairs, and with pairs of a robot's own bodies
_MOST_VELOCITIES = 64  # of robots solved by several lanes
_FEW = 32  # their most contacts
_NULL = np.uint64(0)
_LARGEST_INDEX = 2**31 - 1  # kernels index a block's workspace by int


def touches_something(settings: StepSettings) -> bool:
    """Return whether robots have shapes that can touch the ground, an obstacle or each other."""
    scene = settings.scene
    return scene is not None and points(settings.model, scene).capacity + settings.pairs.capacity > 0


def lanes(settings: StepSettings) -> int:
    """Return the lanes per robot of the kernels for limbs or bodies on a plane, with friction; 1 for other robots."""
    scene, model = settings.scene, settings.model
    assert scene is not None
    found, plane = points(model, scene), isinstance(scene.ground, Plane)
    few = found.capacity <= _FEW and np.max(np.diff(found.first), initial=0) < WALKED
    plain = np.all(found.friction > 0) and not np.any(found.restitution > 0) and not settings.pairs.capacity
    euler = settings.algorithm == "abia" and settings.integrator != "rk4"
    if not (few and plane and plain and euler) or model.nv > _MOST_VELOCITIES:
        return 1
    if limbs(model):
        return LANES if np.all(np.diff(found.first)[found.body > 0] <= KEPT) else 1
    return lane_bodies.WARP if lane_bodies.fits(model) else 1


class Contacts:
    """The contacts of a batch whose settings satisfy `touches_something`.

    After `place`, `preamble` is the C++ text that defines them for contact_room.cuh, and `bytes` the memory that `make`
    allocates.
    """

    def __init__(self, settings: StepSettings):
        assert settings.scene is not None
        self._model, self._batch, self._dtype = settings.model, settings.batch, settings.dtype
        self._scene: Scene = settings.scene
        self._points: Points = points(settings.model, settings.scene)
        self._laws = settings.pairs
        self._pairs = PairTables(settings.model, settings.pairs) if settings.pairs.capacity else None
        self._meeting = meeting(settings.pairs)
        self._order = np.argsort(self._points.body, kind="stable")
        self._rk4 = settings.integrator == "rk4"
        self._by_aba = settings.algorithm == "abia"
        self._joint_rows = int(settings.model.constrained.sum()) if settings.has_constraints else 0
        self._seen_numbers = OTHER + 6 * (self._pairs is not None and self._pairs.acts_on_two_links)
        self._refuse_too_many()

    @property
    def capacity(self) -> int:
        """The most contacts of a robot."""
        return self._points.capacity + self._laws.capacity

    @property
    def lanes(self) -> int:
        """The lanes per robot on a plane: a warp, a few where limbs touch by few points, or 1."""
        found, plane = self._points, self._by_aba and isinstance(self._scene.ground, Plane)
        plain = np.all(found.friction > 0) and not np.any(found.restitution > 0) and not self._pairs
        if not plane or not plain or self._rk4 or self._model.nv > _MOST_VELOCITIES:
            return 1
        if limbs(self._model):
            return LANES if np.all(np.diff(found.first)[found.body > 0] <= KEPT) else 1
        return lane_bodies.WARP if lane_bodies.fits(self._model) else 1

    @property
    def may_be_few(self) -> bool:
        """Whether a step with few contacts can use the smaller workspace."""
        return not self._rk4 and isinstance(self._scene.ground, Plane) and not self._pairs

    @property
    def even_limbs(self) -> bool:
        """Whether all limbs are alike and touch by single points, so that most steps run in registers."""
        found, model = self._points, self._model
        if self.lanes == 1 or not has_even_limbs(model) or np.any(found.rim > 0):
            return False
        many = np.diff(found.first)[self._order]
        start = np.searchsorted(found.body[self._order], np.arange(len(model.parent) + 1))
        of_limbs = np.diff(start)[1:].reshape(LANES, -1)
        return bool(np.all(many[start[1] :] == 1) and np.all(of_limbs == of_limbs[0]))

    def place(self, robots: int, grid: int, few: int, lanes: int, in_turns: bool) -> None:
        """Lay the contacts out for `grid` groups of `robots` (a kernel's blocks, unless robots step in turns), `lanes`
        each.

        The workspace for `few` contacts is in shared memory. `in_turns`: robots with even limbs are scheduled on seats.
        """
        self._few, self._lanes, self._in_turns = few, lanes, in_turns
        numbers = self._numbers
        rooms = 2 if few < self.capacity else 1  # of robots, unless all are `few`, and of teams
        room = robots * (numbers["KEPT_SLOTS"] + numbers["FAR_SLOTS"] + rooms * numbers["ROOM_SLOTS"])
        self._refuse_beyond(room)
        self._robots, self._grid, self._room = robots, grid, grid * room
        self._work = grid * robots * (self._pairs.work if self._pairs else 0)
        self.preamble = self._preamble()
        size, capacity = np.dtype(self._dtype).itemsize, self.capacity
        report_bytes = 4 * (1 + capacity * (2 if self._pairs else 1)) + size * (2 + capacity * self._seen_numbers)
        self.bytes = size * self._room + 8 * self._work + self._batch * report_bytes

    def _refuse_too_many(self) -> None:
        C, name = self.capacity, self._model.name
        if C > thresholds.MOST:
            raise ValueError(
                f"{name} may have {C} contacts at a time, and at most {thresholds.MOST} are solved together; "
                "give fewer shapes"
            )

    def _refuse_beyond(self, room: int) -> None:
        C, name = self.capacity, self._model.name
        if room > _LARGEST_INDEX:
            raise ValueError(
                f"{name} may have {C} contacts at a time, more than a GPU's indices reach; give fewer shapes, or use "
                "device='cpu' and dtype='float64'"
            )

    def make(self) -> None:
        """Allocate the memory and copy the tables."""
        import cupy

        batch, capacity, dtype = self._batch, self.capacity, self._dtype
        tables = self._shape_table(), self._point_table(), self._ground_table()
        self._tables = tuple(arrays.to_device(np.ascontiguousarray(x, dtype)) for x in tables)
        self._memory = arrays.empty((self._room,), dtype)
        self._number, self._link = cupy.zeros(batch, np.int32), cupy.zeros((batch, capacity), np.int32)
        self._seen = cupy.zeros((batch, capacity, self._seen_numbers), dtype)
        self._residual, self._worst = cupy.zeros(batch, dtype), cupy.zeros(batch, dtype)
        shape = batch, capacity
        self._nothing = cupy.broadcast_to(cupy.zeros((1, 1, 1), dtype), (*shape, 6))
        if self._pairs is None:
            self._other = cupy.broadcast_to(cupy.asarray(np.full((1, 1), -1, np.int32)), shape)
            self._solids, self._pair_room = (_NULL, _NULL), _NULL
        else:
            self._other = cupy.zeros(shape, np.int32)
            self._solids = cupy.asarray(self._pairs.reals), cupy.asarray(self._pairs.wholes)
            self._pair_room = arrays.empty((max(self._work, 1),), "float64")

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The kernel arguments for contacts, after those of all steps."""
        number, link, *numbers = self._report[:2] + self._report[-3:]
        other = _NULL if self._pairs is None else self._other
        return *self._tables, *self._solids, self._memory, self._pair_room, number, link, other, *numbers

    def forget(self, robots: Any = slice(None)) -> None:
        """Clear contacts and warm starts, of all robots or of the indices `robots`."""
        for array in self._report:
            array[robots] = 0
        if isinstance(robots, slice):
            self._kept[robots] = 0
        else:
            together = self._kept.shape[2]
            self._kept[robots // together, :, robots % together] = 0

    def touches(self) -> Touches:
        """Return the contacts of the last step, as arrays on the GPU."""
        seen, tells_other = self._seen, self._seen_numbers > OTHER
        return reported(
            self._number, self._link, seen, seen[..., WRENCH:OTHER], self._residual, self._worst, self._other,
            seen[..., OTHER:] if tells_other else self._nothing,
        )  # fmt: skip

    def memory(self) -> tuple[Array, ...]:
        """Return the warm start of the next step, (batch, … C + nv), and the last step's contact report, on the host.

        Unused contacts are zero, so equal states give equal results on any GPU.
        """
        kept = np.array(to_host(self._kept)).transpose(0, 2, 1)
        kept = kept.reshape(-1, kept.shape[2])[: self._batch]
        left = tuple(np.array(to_host(x)) for x in self._report)
        number, C, width = left[0], self.capacity, self._remembered
        unused = np.arange(C) >= number[:, None]
        kept[:, : width * C][np.repeat(unused, width, 1)] = 0
        for array in left[1:-2]:
            array[unused] = 0
        return kept, *left

    def remember(self, memory: tuple[Array, ...]) -> None:
        """Restore what `memory` returned."""
        import cupy

        kept, *left = memory
        blocks, slots, threads = self._kept.shape
        padded = np.zeros((blocks * threads, slots), self._dtype)
        padded[: self._batch] = kept
        by_block = padded.reshape(blocks, threads, slots).transpose(0, 2, 1)
        self._kept[...] = cupy.asarray(np.ascontiguousarray(by_block))
        for array, before in zip(self._report, left, strict=True):
            array[:] = cupy.asarray(before)

    @property
    def _kept(self) -> Any:
        """The warm starts, a view (blocks, … C + nv, robots), or (robots, … C + nv, 1) where each robot has a warp."""
        together = 1 if self._lanes == lane_bodies.WARP else self._robots
        blocks = self._memory.reshape(-1, self._room // self._grid // self._robots, together)
        return blocks[:, : self._numbers["KEPT_SLOTS"]]

    @property
    def _remembered(self) -> int:
        """Numbers per contact in a warm start."""
        return _REMEMBERED + (_FEATURE if self._pairs else 0)

    @property
    def _report(self) -> tuple[Any, ...]:
        other = (self._other,) if self._pairs else ()
        return self._number, self._link, *other, self._seen, self._residual, self._worst

    def room(self, contacts: int) -> int:
        """Return the numbers of a step's workspace for at most `contacts` contacts: `Places` in contact_room.cuh."""
        C, J, nv, rows = contacts, self._joint_rows, self._model.nv, self._matrix
        N, all_rub = self._rows(C), bool(np.all(self._friction > 0))
        bounces, whole = bool(np.any(self._restitution > 0)), contacts == self.capacity
        contact = _CONTACT + (_FEATURE + _OTHER * bool(self._meeting) if self._pairs else 0)
        places = _SPHERE_PLACE * self._spheres + _PLACED * (self._pairs.moving if self._pairs else 0)
        found = contact * C + places * whole + rows.numbers + 3 * nv + max(N * int(rows.level.max()), self._lane_slots)
        if self.lanes == lane_bodies.WARP:
            found += 2 * rows.numbers + 10 * C + J + N + 2 * (nv + 1)
        return found + (4 + 2 * bounces) * N + (1 + bounces) * C + 3 * (J if all_rub and J > C else J + C) + J

    def _rows(self, contacts: int) -> int:
        return (3 if np.any(self._friction > 0) else 1) * contacts + self._joint_rows

    @property
    def _matrix(self) -> joint_space.MassMatrixRows:
        """The sparse rows of M."""
        return joint_space.rows(self._model, self._meeting)

    @property
    def _spheres(self) -> int:
        """The most spheres of a shape that are searched against a height field."""
        if not isinstance(self._scene.ground, HeightField):
            return 0
        first = self._points.first
        return int(np.max(np.diff(first) * (self._points.radius[first[:-1]] > 0), initial=0))

    @property
    def _lane_slots(self) -> int:
        """Numbers in the exchange slots of a warp's lanes: `lane_slot` in lane_ground.cuh."""
        return 18 * lane_bodies.WARP + 4 * len(self._points.radius) if self.lanes == lane_bodies.WARP else 0

    @property
    def _numbers(self) -> dict[str, int]:
        """The counts by their names in the kernels."""
        rows, C, J, nv = self._matrix, self.capacity, self._joint_rows, self._model.nv
        N = self._rows(C)
        longest = max(N, nv)
        return {
            "CONTACTS": C, "JOINT_ROWS": J, "DEPTH": int(rows.level.max()), "KEPT": KEPT,
            "SPHERE_PLACES": self._spheres, "SHAPES": len(self._points.body), "POINTS": len(self._points.radius),
            "FACTOR_SLOTS": rows.numbers, "KEPT_SLOTS": self._remembered * C + nv, "ROOM_SLOTS": self.room(C),
            "FAR_SLOTS": N * (N + 1) // 2 + 2 * N + (16 + longest) * longest + 22 * (J + C),
            "LANE_SLOTS": self._lane_slots, "FEW": self._few, "FEW_SLOTS": self.room(self._few),
            "HALVINGS": thresholds.HALVINGS, "WALKED": WALKED,
        }  # fmt: skip

    @property
    def _friction(self) -> Array:
        """Friction coefficients of the shapes, then of the pairs."""
        return np.concatenate([self._points.friction, self._laws.friction])

    @property
    def _restitution(self) -> Array:
        """Coefficients of restitution of the shapes, then of the pairs."""
        return np.concatenate([self._points.restitution, self._laws.restitution])

    def _preamble(self) -> str:
        runs = (limbs(self._model) if self._lanes == LANES else None) or (0, 0)
        one, other = self._bodies
        flags = {
            "SOME_RUB": bool(np.any(self._friction > 0)),
            "ALL_RUB": bool(np.all(self._friction > 0)),
            "HAS_RESTITUTION": bool(np.any(self._restitution > 0)),
            "HAS_RIMS": bool(np.any(self._points.rim > 0)),
            "MAY_HOLD": bool(self._meeting) or not np.all(_hangs_from_free(self._model)[one]),
            "HEIGHT_FIELD": isinstance(self._scene.ground, HeightField),
        }
        reals = {
            "NEAR": thresholds.NEAR, "LEAN": thresholds.LEAN, "IMPACT": thresholds.IMPACT, "REACH": thresholds.REACH,
            "HELD": thresholds.HELD, "BACK": thresholds.BACK,
            "SHUT_DOUBLE": thresholds.SHUT, "SHUT_SINGLE": thresholds.SHUT_SINGLE,
            "OVERLAP_SINGLE": thresholds.OVERLAP_SINGLE, "TOLERANCE": TOLERANCE, "TOLERANCE_SINGLE": TOLERANCE_SINGLE,
            "BEARABLE_SINGLE": BEARABLE_SINGLE,
            "VELOCITY_FLOOR": VELOCITY_FLOOR, "VELOCITY_FLOOR_SINGLE": VELOCITY_FLOOR_SINGLE,
        }  # fmt: skip
        bodies = np.arange(len(self._model.parent) + 1)
        tables = {
            "SHAPE_START": np.searchsorted(self._points.body[self._order], bodies),
            "SHAPE_BODY": one,
            "SHAPE_OTHER": other,
            "SHAPE_TIP": np.array([self._tip(*pair) for pair in zip(one.tolist(), other.tolist(), strict=True)]),
            "COMMON": _common(self._matrix.parent),
            "PATH": _paths(self._matrix),
            "LIMB_FIRST": np.array(runs),
            "POINT_SHAPE": np.repeat(np.argsort(self._order), np.diff(self._points.first)),
        }
        tables |= lane_bodies.tables(self._model, self._lanes == lane_bodies.WARP)
        levels = int(tables["BODY_DEPTH"].max()) + 1
        if self._pairs:
            tables["SOLID_START"] = np.searchsorted(self._pairs.body[: self._pairs.moving], bodies)
        return "\n".join(
            [
                *header.numbers(self._numbers | {"LIMB_MOST": int(np.diff(runs).max()), "TREE_LEVELS": levels}),
                *header.flags(flags),
                *(f"constexpr double {name} = {value!r};" for name, value in reals.items()),
                f"#define EVEN_LIMBS {int(self._in_turns)}",
                *(self._pairs.preamble(self._robots) if self._pairs else NO_PAIRS_PREAMBLE),
                *(_table(name, values) for name, values in tables.items()),
            ]
        )

    @property
    def _bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """For shapes, then pairs: the body of a contact's link, and the other body or −1."""
        own = self._points.body[self._order]
        one, other = self._pairs.bodies if self._pairs else (own[:0], own[:0])
        return np.concatenate([own, one]), np.concatenate([np.full_like(own, WORLD), other])

    def _tip(self, one: int, other: int) -> int:
        """Return the last of the velocities that move two bodies."""
        moving = joint_space.moving
        return max(moving(self._model, one) + moving(self._model, other))

    def _shape_table(self) -> Array:
        """(shapes + pairs, 18), shapes in the order of their bodies: see `shape` in contact_room.cuh."""
        found, model, order, laws = self._points, self._model, self._order, self._laws
        link = np.concatenate([found.link[order], laws.link[laws.one]])
        none = np.zeros(len(laws.one))
        columns = (
            np.append(found.first[:-1][order], none), np.append(np.diff(found.first)[order], none), link,
            np.append(found.friction[order], laws.friction), np.append(found.restitution[order], laws.restitution),
        )  # fmt: skip
        frames = model.link_rotation[link].reshape(-1, 9), model.link_position[link]
        radius = np.append(found.bound[order, 3], none)[:, None]
        return np.concatenate([np.stack(columns, 1), *frames, radius], 1).astype(float)

    def _point_table(self) -> Array:
        """(points, 8): see `point` in contact_room.cuh."""
        found = self._points
        return np.concatenate([found.position, found.radius[:, None], found.axis, found.rim[:, None]], 1)

    def _ground_table(self) -> Array:
        """Return the numbers of the ground: see `Surroundings` in contact_room.cuh."""
        ground = self._scene.ground
        if isinstance(ground, Plane):
            return np.array([*ground.normal, ground.offset])
        if ground is None:
            return np.zeros(4)
        corner, heights = ground.corner, ground.heights
        return np.concatenate([[*corner[:2], ground.cell, *heights.shape], (heights + corner[2]).ravel()])


def _hangs_from_free(model: Model) -> np.ndarray:
    """(bodies,): whether the root of each body has a free joint."""
    free = model.kind == FREE
    for body, parent in enumerate(model.parent):
        if parent >= 0:
            free[body] |= free[parent]
    return np.asarray(free)


def _common(parent: np.ndarray) -> np.ndarray:
    """(nv, nv): the number of velocities that the paths from two of them to the root have in common."""
    common = np.zeros((len(parent), len(parent)), np.int64)
    for k, above in enumerate(parent):
        if above >= 0:
            common[k, :k] = common[above, :k]
        common[k, k] = 1 + (common[above, above] if above >= 0 else 0)
        common[:k, k] = common[k, :k]
    return common


def _paths(rows: joint_space.MassMatrixRows) -> np.ndarray:
    """(nv, depth): the velocities on the path from the root to each one, itself last, then zeros."""
    paths = np.zeros((len(rows.parent), int(rows.level.max())), np.int64)
    for k, above in enumerate(rows.parent):
        if above >= 0:
            paths[k] = paths[above]
        paths[k, rows.level[k] - 1] = k
    return paths


def _table(name: str, values: np.ndarray) -> str:
    entries = values.ravel().tolist() or [0]  # NVRTC rejects empty arrays
    return f"[[maybe_unused]] __device__ constexpr int {name}[] = {{{', '.join(map(str, entries))}}};"
