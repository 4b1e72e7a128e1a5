"""Contacts with a plane of robots whose limbs or bodies have a lane each: tables, memory, the last step's report."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.rigid_body import joint_space, lane_bodies
from engine.cuda.rigid_body.limbs import LANES, has_even_limbs, limbs
from engine.cuda.runtime import arrays, header
from engine.device_arrays import to_host
from engine.kernels.contact import interior, workspace
from engine.kernels.contact.workspace import SEEN, WRENCH, reported
from engine.model.joints import NV
from engine.scene import Contacts, Plane, Points, contact_tolerances, points
from engine.scene.points import KEPT, WALKED
from engine.step_settings import StepSettings
from engine.validation import Array

_CONTACT = {"POINT": 1, "SHAPE": 1, "GAP": 1, "PLACE": 3, "NORMAL": 3, "INSIDE": 3, "FRAME": 9}
"""The numbers of a contact: its point's and its shape's index, and its gap; place and normal in the world; place and
rows n, t₁, t₂ in its body's frame."""
_REMEMBERED = {"POINT": 1, "IMPULSE": 3}
"""The warm start of a contact: its point's index, and the impulse in the world."""
_SHAPE = {"FIRST": 1, "COUNT": 1, "LINK": 1, "FRICTION": 1, "ROTATION": 9, "POSITION": 3}
"""A shape: its first point and their number, its link, and the link's pose in its body's frame."""
_POINT = {"POSITION": 3, "RADIUS": 1, "AXIS": 3, "RIM": 1}
_SEEN = {name: getattr(workspace, name) for name in ("PLACE", "NORMAL", "GAP", "IMPULSE", "SLIP", "WRENCH")}
"""The first column of each quantity of a reported contact."""
_MAX_VELOCITIES = 64  # of robots solved by several lanes
_FEW = 32  # their most contacts
_TOLERANCES = "CONTACT_MARGIN", "LIMIT_MARGIN", "ERP", "OVERLAP_TOLERANCE_SINGLE", "ACCEPTED_RESIDUAL_SINGLE"
_TOLERANCES_BY_TYPE = "GAP_TOLERANCE", "RESIDUAL_TOLERANCE", "VELOCITY_FLOOR", "MIN_EPSILON"
_OF_INTERIOR_POINT = "NO_LIMIT", "COMPLIANCE", "MAX_ESTIMATE", "MAX_FRACTION", "SHORT"
_MAX_INDEX = 2**31 - 1  # kernels index a block's workspace by int


def touches_something(settings: StepSettings) -> bool:
    """Return whether robots have shapes that can touch the ground, an obstacle or each other."""
    scene = settings.scene
    return scene is not None and points(settings.model, scene).capacity + settings.pairs.capacity > 0


def lanes(settings: StepSettings) -> int:
    """Return the lanes per robot of the kernels for limbs or bodies on a plane, with friction; 1 for other robots.

    In double precision bodies are stepped faster by the one text.
    """
    scene, model = settings.scene, settings.model
    assert scene is not None
    found, plane = points(model, scene), isinstance(scene.ground, Plane)
    few = found.capacity <= _FEW and np.max(np.diff(found.first), initial=0) < WALKED
    plain = np.all(found.friction > 0) and not np.any(found.restitution > 0) and not settings.pairs.capacity
    euler = settings.algorithm == "abia" and settings.integrator != "rk4"
    if not (few and plane and plain and euler) or model.nv > _MAX_VELOCITIES:
        return 1
    if limbs(model):
        return LANES if np.all(np.diff(found.first)[found.body > 0] <= KEPT) else 1
    return lane_bodies.WARP if settings.dtype == "float32" and lane_bodies.fits(model) else 1


class PlaneContacts:
    """The contacts of a batch whose robots have `lanes`.

    After `place`, `preamble` is the C++ text that defines them for contact_workspace.cuh, and `bytes` the memory that
    `make` allocates.
    """

    def __init__(self, settings: StepSettings):
        assert settings.scene is not None
        assert isinstance(settings.scene.ground, Plane)
        self._model, self._batch, self._dtype = settings.model, settings.batch, settings.dtype
        self._plane = settings.scene.ground
        self._points: Points = points(settings.model, settings.scene)
        self._order = np.argsort(self._points.body, kind="stable")
        self._joint_rows = int(settings.model.constrained.sum()) if settings.has_constraints else 0
        self.lanes = lanes(settings)

    @property
    def capacity(self) -> int:
        """The most contacts of a robot."""
        return self._points.capacity

    @property
    def even_limbs(self) -> bool:
        """Whether all limbs are alike and touch by single points, so that most steps run in registers."""
        found, model = self._points, self._model
        if not has_even_limbs(model) or np.any(found.rim > 0):
            return False
        many = np.diff(found.first)[self._order]
        start = np.searchsorted(found.body[self._order], np.arange(len(model.parent) + 1))
        of_limbs = np.diff(start)[1:].reshape(LANES, -1)
        return bool(np.all(many[start[1] :] == 1) and np.all(of_limbs == of_limbs[0]))

    def place(self, robots: int, grid: int, few: int, in_turns: bool) -> None:
        """Lay the contacts out for `grid` groups of `robots` (a kernel's blocks, unless robots step in turns).

        The workspace for `few` contacts is in shared memory. `in_turns`: robots with even limbs are scheduled on seats.
        """
        self._few, self._in_turns = few, in_turns
        numbers = self._numbers
        rooms = 2 if few < self.capacity else 1  # of robots, unless all are `few`, and of teams
        room = robots * (numbers["KEPT_SLOTS"] + numbers["FAR_SLOTS"] + rooms * numbers["WORKSPACE_SLOTS"])
        self._refuse_beyond(room)
        self._robots, self._grid, self._room = robots, grid, grid * room
        self.preamble = self._preamble()
        size, capacity = np.dtype(self._dtype).itemsize, self.capacity
        report_bytes = 4 * (1 + capacity) + size * (2 + capacity * SEEN)
        self.bytes = size * self._room + self._batch * report_bytes

    def _refuse_beyond(self, room: int) -> None:
        C, name = self.capacity, self._model.name
        if room > _MAX_INDEX:
            raise ValueError(
                f"{name} may have {C} contacts at a time, more than a GPU's indices reach; give fewer shapes, or use "
                "device='cpu' and dtype='float64'"
            )

    def make(self) -> None:
        """Allocate the memory and copy the tables."""
        import cupy

        batch, capacity, dtype = self._batch, self.capacity, self._dtype
        tables = self._shape_table(), self._point_table(), np.array([*self._plane.normal, self._plane.offset])
        self._tables = tuple(arrays.to_device(np.ascontiguousarray(x, dtype)) for x in tables)
        self._memory = arrays.empty((self._room,), dtype)
        self._number, self._link = cupy.zeros(batch, np.int32), cupy.zeros((batch, capacity), np.int32)
        self._seen = cupy.zeros((batch, capacity, SEEN), dtype)
        self._residual, self._worst = cupy.zeros(batch, dtype), cupy.zeros(batch, dtype)
        shape = batch, capacity
        self._nothing = cupy.broadcast_to(cupy.zeros((1, 1, 1), dtype), (*shape, 6))
        self._other = cupy.broadcast_to(cupy.asarray(np.full((1, 1), -1, np.int32)), shape)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The kernel arguments for contacts, after those of all steps."""
        return *self._tables, self._memory, *self._report

    def forget(self, robots: Any = slice(None)) -> None:
        """Clear contacts and warm starts, of all robots or of the indices `robots`."""
        for array in self._report:
            array[robots] = 0
        if isinstance(robots, slice):
            self._kept[robots] = 0
        else:
            together = self._kept.shape[2]
            self._kept[robots // together, :, robots % together] = 0

    def touches(self) -> Contacts:
        """Return the contacts of the last step, as arrays on the GPU."""
        return reported(
            self._number, self._link, self._seen, self._seen[..., WRENCH:], self._residual, self._worst, self._other,
            self._nothing,
        )  # fmt: skip

    def memory(self) -> tuple[Array, ...]:
        """Return the warm start of the next step, (batch, … C + nv), and the last step's contact report, on the host.

        Unused contacts are zero, so equal states give equal results on any GPU.
        """
        kept, of_contact = np.array(to_host(self._kept)).transpose(0, 2, 1), sum(_REMEMBERED.values())
        kept = kept.reshape(-1, kept.shape[2])[: self._batch]
        left = tuple(np.array(to_host(x)) for x in self._report)
        number, C = left[0], self.capacity
        unused = np.arange(C) >= number[:, None]
        kept[:, : of_contact * C][np.repeat(unused, of_contact, 1)] = 0
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
        together = 1 if self.lanes == lane_bodies.WARP else self._robots
        blocks = self._memory.reshape(-1, self._room // self._grid // self._robots, together)
        return blocks[:, : self._numbers["KEPT_SLOTS"]]

    @property
    def _report(self) -> tuple[Any, ...]:
        return self._number, self._link, self._seen, self._residual, self._worst

    def workspace_size(self, contacts: int) -> int:
        """Return the size of a step's workspace for at most `contacts` contacts: `Places` in contact_workspace.cuh."""
        C, J, nv, rows = contacts, self._joint_rows, self._model.nv, self._matrix
        N = 3 * C + J
        found = sum(_CONTACT.values()) * C + rows.numbers + 3 * nv + max(N * int(rows.level.max()), self._lane_slots)
        if self.lanes == lane_bodies.WARP:
            found += 2 * rows.numbers + 9 * C + J + N + 2 * (nv + 1)
        return found + 4 * N + C + 3 * (J if J > C else J + C) + J

    @property
    def _matrix(self) -> joint_space.MassMatrixRows:
        """The sparse rows of M."""
        return joint_space.rows(self._model)

    @property
    def _lane_slots(self) -> int:
        """Numbers in the exchange slots of a warp's lanes: `lane_slot` in lane_ground.cuh."""
        return 18 * lane_bodies.WARP + 4 * len(self._points.radius) if self.lanes == lane_bodies.WARP else 0

    @property
    def _numbers(self) -> dict[str, int]:
        """The counts by their names in the kernels."""
        rows, C, J, nv = self._matrix, self.capacity, self._joint_rows, self._model.nv
        N = 3 * C + J
        longest = max(N, nv)
        return {
            "CONTACTS": C, "JOINT_ROWS": J, "DEPTH": int(rows.level.max()), "KEPT": KEPT,
            "SHAPES": len(self._points.body), "POINTS": len(self._points.radius),
            "FACTOR_SLOTS": rows.numbers, "KEPT_SLOTS": sum(_REMEMBERED.values()) * C + nv,
            "WORKSPACE_SLOTS": self.workspace_size(C),
            "FAR_SLOTS": N * (N + 1) // 2 + 2 * N + (16 + longest) * longest + 21 * (J + C),
            "LANE_SLOTS": self._lane_slots, "FEW": self._few, "FEW_SLOTS": self.workspace_size(self._few),
            "BLOCKED_STEPS": interior.BLOCKED_STEPS,
        }  # fmt: skip

    def _preamble(self) -> str:
        runs = (limbs(self._model) if self.lanes == LANES else None) or (0, 0)
        one = self._points.body[self._order]
        reals = {name: getattr(contact_tolerances, name) for name in _TOLERANCES}
        reals |= {name: getattr(interior, name) for name in _OF_INTERIOR_POINT}
        bodies = np.arange(len(self._model.parent) + 1)
        tables = {
            "SHAPE_START": np.searchsorted(one, bodies),
            "SHAPE_BODY": one,
            "SHAPE_TIP": self._model.v_start[one] + NV[self._model.kind[one]] - 1,
            "COMMON": _common(self._matrix.parent),
            "PATH": _paths(self._matrix),
            "LIMB_FIRST": np.array(runs),
            "POINT_SHAPE": np.repeat(np.argsort(self._order), np.diff(self._points.first)),
        }
        tables |= lane_bodies.tables(self._model, self.lanes == lane_bodies.WARP)
        levels = int(tables["BODY_DEPTH"].max()) + 1
        return "\n".join(
            [
                *header.numbers(self._numbers | {"LIMB_MOST": int(np.diff(runs).max()), "TREE_LEVELS": levels}),
                *header.flags({"HAS_RIMS": bool(np.any(self._points.rim > 0))}),
                *(f"constexpr double {name} = {value!r};" for name, value in reals.items()),
                *(header.by_type(contact_tolerances, name) for name in _TOLERANCES_BY_TYPE),
                f"#define EVEN_LIMBS {int(self._in_turns)}",
                *header.row("contact", _CONTACT),
                *header.row("memory", _REMEMBERED),
                *header.row("shape", _SHAPE),
                *header.row("point", _POINT),
                *header.scope("seen", _SEEN | {"NUMBERS": SEEN}),
                *(_table(name, values) for name, values in tables.items()),
            ]
        )

    def _shape_table(self) -> Array:
        """(shapes, 16), in the order of their bodies: see `_SHAPE`."""
        found, model, order = self._points, self._model, self._order
        link = found.link[order]
        columns = found.first[:-1][order], np.diff(found.first)[order], link, found.friction[order]
        frames = model.link_rotation[link].reshape(-1, 9), model.link_position[link]
        return np.concatenate([np.stack(columns, 1), *frames], 1).astype(float)

    def _point_table(self) -> Array:
        """(points, 8): see `_POINT`."""
        found = self._points
        return np.concatenate([found.position, found.radius[:, None], found.axis, found.rim[:, None]], 1)


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
