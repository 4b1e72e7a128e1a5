"""A searchable catalogue of a robot's quantities: a chain of 1000 links has 18 000.

A `Quantity` is made on access. Joints or links of the same sort share one tuple of `Slot`s, so that a search tests
each name and each slot once, and not every quantity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, overload

import numpy as np

import engine
from app.acting.coordinates import Coordinate, coordinates, label_of
from app.plotting.quantities import (
    ACCELERATION,
    ANGLE,
    ANGULAR_ACCELERATION,
    ANGULAR_MOMENTUM,
    ANGULAR_VELOCITY,
    AXES,
    COUNT,
    ENERGY,
    FORCE,
    GHOST,
    LENGTH,
    LOGGED,
    MOMENTUM,
    NORM,
    POWER,
    RESIDUAL,
    TORQUE,
    VELOCITY,
    Quantity,
    Unit,
    logged_unit,
)
from app.plotting.second_quantities import KINDS, SECOND


class Slot(NamedTuple):
    """A `Quantity` without its owner, with the same fields."""

    kind: str
    part: str
    unit: Unit
    words: str = ""
    relative: bool = False

    def of(self, owner: Owner) -> Quantity:
        """Return the owner's quantity."""
        subject, name, number, _, row = owner
        limits = () if row is None or self.kind not in _LIMITED else (row.reach(_LIMITED[self.kind]),)
        return Quantity(subject, name, self.kind, self.part, self.unit, number, self.words, self.relative, *limits)


class Owner(NamedTuple):
    """The robot, a joint's coordinate or a link, with the slots of its quantities."""

    subject: str
    name: str
    number: int
    slots: tuple[Slot, ...]
    row: Coordinate | None = None


class Quantities(Sequence[Quantity]):
    """An ordered sequence of quantities, each made on access."""

    def __init__(self, catalogue: Catalogue, places: np.ndarray):
        """Take quantities of a catalogue by their numbers `places` (N,)."""
        self._catalogue, self._places = catalogue, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Quantity: ...
    @overload
    def __getitem__(self, place: slice) -> Quantities: ...
    def __getitem__(self, place: int | slice) -> Quantity | Quantities:
        if isinstance(place, slice):
            return Quantities(self._catalogue, self._places[place])
        return self._catalogue.quantity(int(self._places[place]))


class Catalogue(Quantities):
    """All quantities of a robot: first the robot's own, then the joints', then the links'."""

    def __init__(self, owners: Sequence[Owner] = ()):
        self._owners = owners
        self._ends = np.fromiter(accumulate(len(each.slots) for each in owners), np.int64, len(owners))
        super().__init__(self, np.arange(int(self._ends[-1]) if len(owners) else 0))

    def quantity(self, number: int) -> Quantity:
        """Return the quantity with a number, from 0."""
        k = int(np.searchsorted(self._ends, number, side="right"))
        owner = self._owners[k]
        return owner.slots[number - int(self._ends[k])].of(owner)  # counted from the end of its owner's slots

    def named(self, key: str) -> Quantity | None:
        """Return the quantity with a `Quantity.key`; None if there is none."""
        subject, *name, kind, part = parts if len(parts := key.split("/")) > 3 else ("", "", "", "")
        owner = self._by_name.get((subject, "/".join(name)))
        if owner is None:
            return None
        return next((slot.of(owner) for slot in owner.slots if (slot.kind, slot.part) == (kind, part)), None)

    def of(self, subject: str, name: str) -> list[Quantity]:
        """Return all quantities of the joint or link with a name."""
        owner = self._by_name.get((subject, name))
        return [] if owner is None else [slot.of(owner) for slot in owner.slots]

    def of_kinds(self, subject: str, kinds: Sequence[str]) -> list[Quantity]:
        """Return all quantities of these kinds whose owners have this subject."""
        owners = (owner for owner in self._owners if owner.subject == subject)
        return [slot.of(owner) for owner in owners for slot in owner.slots if slot.kind in kinds]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], Owner]:
        return {(owner.subject, owner.name): owner for owner in self._owners}

    @cached_property
    def _names(self) -> list[str]:
        labels = (label_of(owner.name) for owner in self._owners)
        return [f"{label} {owner.name}".casefold() for label, owner in zip(labels, self._owners, strict=True)]

    @cached_property
    def _of_slot(self) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str]]]:
        """The owner and slot numbers of each quantity; each slot's part of the label, and further search words."""
        numbered: dict[int, tuple[int, int]] = {}  # by the tuple's identity, since hashing it takes longer
        texts: list[tuple[str, str]] = []
        for owner in self._owners:
            if id(owner.slots) not in numbered:
                numbered[id(owner.slots)] = len(texts), len(texts) + len(owner.slots)
                texts += [_texts(owner.subject, slot) for slot in owner.slots]
        spans = [numbered[id(owner.slots)] for owner in self._owners]
        counts = [end - start for start, end in spans]
        slots = np.concatenate([np.zeros(0, np.int64), *(np.arange(*span) for span in spans)])
        return np.arange(len(self._owners)).repeat(counts), slots, texts

    def found(self, text: str) -> Quantities:
        """Return the quantities that contain every word of a text, first those whose label has them all."""
        words = text.casefold().split()
        if not words:
            return self
        owners, slots, texts = self._of_slot
        by_name = everywhere = np.ones(len(self), bool)
        for word in words:
            in_name = np.array([word in name for name in self._names], bool)[owners]
            in_label, in_words = (np.array([word in each[k] for each in texts], bool)[slots] for k in (0, 1))
            by_name = by_name & (in_name | in_label)
            everywhere = everywhere & (in_name | in_label | in_words)
        return Quantities(self, np.concatenate([np.flatnonzero(by_name), np.flatnonzero(everywhere & ~by_name)]))


def _texts(subject: str, slot: Slot) -> tuple[str, str]:
    """Return a slot's part of the label, with the unit, and its further search words."""
    kind = f"|{slot.kind}|" if slot.part == NORM else f"{slot.kind} {slot.part}"
    return f"{kind} {slot.unit.label}".casefold(), f"{slot.words} {subject}"


def catalogue(
    model: engine.Model, ghost: bool = False, second: engine.Model | None = None, logged: Sequence[str] = ()
) -> Catalogue:
    """Return the catalogue of a robot's quantities.

    With those of its `ghost`, which only the window's frames have, those of a `second` robot, and the numbers that a
    controller or a script has `logged` under these names.
    """
    own_numbers = [Owner(LOGGED, each, -1, (Slot("", "", logged_unit(each), "controller script"),)) for each in logged]
    beside = [*own_numbers, *([Owner(GHOST, "", -1, _OF_GHOST)] if ghost else [])]
    own = Owner("robot", "", -1, _of_robot(model)), *beside, *_of_joints(model), *_of_links(model)
    return Catalogue([*own, *([] if second is None else _of_second(second))])


def _of_second(model: engine.Model) -> Iterator[Owner]:
    owners = [Owner("robot", "", -1, _of_robot(model)), *_of_joints(model), *_of_links(model)]
    slots = {id(each.slots): tuple(slot for slot in each.slots if slot.kind in KINDS) for each in owners}
    for each in owners:
        name = f"second: {each.name}".strip()
        yield each._replace(subject=f"{SECOND}{each.subject}", name=name, slots=slots[id(each.slots)])


def _vector(kind: str, unit: Unit, words: str = "") -> Iterator[Slot]:
    for part in (*AXES, NORM):
        yield Slot(kind, part, unit, words)


def _of_robot(model: engine.Model) -> tuple[Slot, ...]:
    slots = [Slot(kind, "", ENERGY) for kind in ("kinetic energy", "potential energy", "total energy")]
    slots.append(Slot("energy drift", "", ENERGY, "change error", relative=True))
    if model.mass.sum() > 0:
        slots += (Slot("centre of mass", part, LENGTH, "com cog center gravity") for part in AXES)
    slots += _vector("momentum", MOMENTUM, "linear")
    slots += _vector("angular momentum", ANGULAR_MOMENTUM, "about the origin")
    if model.collisions:
        slots += _vector("contact force", FORCE, "total ground reaction")
        slots += Slot("contacts", "", COUNT, "number count"), Slot("contact residual", "", RESIDUAL, "error tolerance")
        if any(joint.kind == "floating" for joint in model.joints):
            slots.append(Slot("support margin", "", LENGTH, "polygon balance tips"))
    return tuple(slots)


_OF_GHOST = (
    Slot("ghost deviation", "", LENGTH, "difference precision single double float32 float64 integrator"),
    Slot("ghost energy", "", ENERGY, "total precision single double float32 float64 integrator"),
)
_JOINT_UNITS = {
    True: (ANGLE, ANGULAR_VELOCITY, ANGULAR_ACCELERATION, TORQUE),
    False: (LENGTH, VELOCITY, ACCELERATION, FORCE),
}
"""The units of position, velocity, acceleration and effort, by whether a coordinate is an angle."""
_LIMITED = {
    "position": "target", "position setpoint": "target", "velocity": "velocity", "torque": "effort", "force": "effort",
}  # fmt: skip
"""The drive mode whose limits a joint's quantity has."""


def _of_joints(model: engine.Model) -> Iterator[Owner]:
    slots: dict[tuple[bool, bool, bool, bool], tuple[Slot, ...]] = {}
    for k, row in enumerate(coordinates(model)):
        sort = row.angular, row.driveable, row.holdable, row.leader is not None
        if sort not in slots:
            slots[sort] = tuple(_of_coordinate(row))
        yield Owner("joint", row.name, k, slots[sort], row)


def _of_coordinate(row: Coordinate) -> Iterator[Slot]:
    position, velocity, acceleration, effort = _JOINT_UNITS[row.angular]
    yield Slot("position", "", position, "angle q coordinate")
    if row.driveable or row.leader is not None:
        yield Slot("velocity", "", velocity, "speed rate")
        yield Slot("acceleration", "", acceleration, "rate")
    if row.driveable:
        yield Slot("torque" if row.angular else "force", "", effort, "effort drive motor tau")
        yield Slot("power", "", POWER, "mechanical work motor watt")
    if row.holdable:
        yield Slot("position setpoint", "", position, "target reference")
        yield Slot("error", "", position, "tracking setpoint − position")


def _of_links(model: engine.Model) -> Iterator[Owner]:
    touching = {collision.link for collision in model.collisions}
    plain = (
        *_vector("position", LENGTH, "origin pose"),
        *_vector("velocity", VELOCITY, "linear twist speed"),
        *_vector("angular velocity", ANGULAR_VELOCITY, "omega twist"),
    )
    touched = (*plain, *_vector("contact force", FORCE, "ground reaction"))
    for k, name in enumerate(model.link_names):
        yield Owner("link", name, k, touched if k in touching else plain)
