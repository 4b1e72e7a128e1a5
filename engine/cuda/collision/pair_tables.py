"""The pairs of shapes that may touch, packed for solid_tables.cuh."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.cuda.rigid_body.joint_space import Meeting
from engine.cuda.runtime import header
from engine.model import WORLD, Model
from engine.scene import Pairs
from engine.scene.shapes import BOX, CAPSULE, CYLINDER, HULL, SPHERE, Shapes, shapes
from engine.validation import Array

Whole = NDArray[np.int64]
_RIM = 8  # corners of a cylinder's rim
_POLYTOPE = 3 * 96 + (4 + 3 + 2) * 224  # numbers of epa.cuh
_OF_FACES, _OF_FACE_CORNER = 16, 38  # numbers of touching_faces.cuh, and more for each corner


def meeting(pairs: Pairs) -> Meeting:
    """Return the pairs of a robot's own bodies that may touch."""
    one, other = pairs.body[pairs.one].tolist(), pairs.body[pairs.other].tolist()
    return tuple(sorted({(a, b) for a, b in zip(one, other, strict=True) if b != WORLD}))


class PairTables:
    """The tables of N pairs of S shapes, moving shapes first, in the order of their bodies.

    `reals` and `wholes` are the concatenated tables; `preamble` has the offset of each.
    """

    def __init__(self, model: Model, pairs: Pairs):
        self._model, self._pairs = model, pairs
        after = np.where(pairs.body == WORLD, len(model.parent), pairs.body)
        self._order = np.argsort(after, kind="stable")
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(place))
        self._solids: Shapes = shapes([pairs.solids[k] for k in self._order])
        self.one, self.other = place[pairs.one], place[pairs.other]
        self.body = pairs.body[self._order]
        self.moving = int((self.body != WORLD).sum())
        kinds = self._solids.kind
        self._first, self._second = kinds[self.one], kinds[self.other]
        self.turned = (self._first > self._second) | ((self._first == self._second) & (pairs.one > pairs.other))

    @property
    def acts_on_two_links(self) -> bool:
        """Whether contacts act on two links."""
        return bool(np.any(self._pairs.link[self._pairs.other] >= 0))

    @property
    def bodies(self) -> tuple[Whole, Whole]:
        """The bodies of each pair's shapes, (N,) each."""
        return self.body[self.one], self.body[self.other]

    @property
    def _has_faces(self) -> bool:
        """Whether any pair has no closed form."""
        low, high = np.minimum(self._first, self._second), np.maximum(self._first, self._second)
        closed = ((low == SPHERE) & (high != HULL)) | (high == CAPSULE)
        return not np.all(closed)

    @property
    def work(self) -> int:
        """A thread's workspace for one pair, in numbers."""
        return max(_POLYTOPE, _OF_FACES + _OF_FACE_CORNER * self._corners) if self._has_faces else 0

    @property
    def _corners(self) -> int:
        return max(_RIM, self._solids.longest_loop)

    @cached_property
    def _reals(self) -> dict[str, Array]:
        pairs, solids, order, model = self._pairs, self._solids, self._order, self._model
        rotation, position = pairs.rotation[order], pairs.position[order]
        link = np.maximum(pairs.link[pairs.other], 0)
        return {
            "SIZE": solids.size, "BOUND": solids.bound,
            "INNER": np.concatenate([rotation.reshape(-1, 9), position], 1),
            "MIDDLE": np.einsum("sij,sj->si", rotation, solids.bound[:, :3]) + position,
            "OTHER_FRAME": np.concatenate([model.link_rotation[link].reshape(-1, 9), model.link_position[link]], 1),
            "VERTEX": solids.vertices, "PLANE": solids.plane,
        }  # fmt: skip

    @cached_property
    def _wholes(self) -> dict[str, Array]:
        pairs, solids = self._pairs, self._solids
        return {
            "KIND": solids.kind, "ONE": self.one, "OTHER": self.other, "TURNED": self.turned,
            "MOST": np.diff(pairs.first), "OTHER_LINK": pairs.link[pairs.other],
            "FIRST": solids.first, "FIRST_FACE": solids.first_face, "FIRST_LOOP": solids.first_loop,
            "LOOP": solids.loop, "FIRST_NEIGHBOUR": solids.first_neighbour, "NEIGHBOUR": solids.neighbour,
            "FIRST_FACE_AT": solids.first_face_at, "FACE_AT": solids.face_at,
        }  # fmt: skip

    @property
    def reals(self) -> Array:
        """Lengths in m and directions, in double precision."""
        return np.concatenate([np.ravel(x) for x in self._reals.values()]).astype(np.float64)

    @property
    def wholes(self) -> Array:
        """Kinds, counts and indices."""
        return np.concatenate([np.ravel(x) for x in self._wholes.values()]).astype(np.int32)

    def preamble(self, threads: int) -> list[str]:
        """Return the C++ text of the tables' offsets and counts, for blocks of `threads` threads."""
        starts: dict[str, int] = {}
        for tables in (self._reals, self._wholes):
            ends = np.cumsum([np.size(x) for x in tables.values()])
            starts |= {name: int(end) - np.size(x) for (name, x), end in zip(tables.items(), ends, strict=True)}
        kinds = {"SPHERE": SPHERE, "CAPSULE": CAPSULE, "BOX": BOX, "CYLINDER": CYLINDER, "HULL": HULL}
        numbers = {
            "PAIRS": len(self.one), "MOVING_SOLIDS": self.moving, "WORK_PITCH": threads, "WORK_SLOTS": self.work,
            "FACE_CORNERS": self._corners,
        }  # fmt: skip
        flags = {
            "HAS_HULLS": bool(np.any(self._solids.kind == HULL)),
            "TELLS_OTHER": self.acts_on_two_links,
            "OWN_PAIRS": bool(meeting(self._pairs)),
        }
        return [
            "#define ANY_PAIRS 1",
            f"#define HAS_FACES {int(self._has_faces)}",
            *header.scope("solid", kinds),
            *header.scope("solid_at", starts),
            *header.numbers(numbers),
            *header.flags(flags),
        ]


NO_PAIRS_PREAMBLE = ["#define ANY_PAIRS 0", *header.flags({"TELLS_OTHER": False, "OWN_PAIRS": False})]
NO_PAIRS_PREAMBLE += header.numbers({"MOVING_SOLIDS": 0})
"""The preamble for robots that touch the ground only."""
