"""Quantities of a batch of robots by the names used in plots, such as "hand position z" or "total energy".

The input is a simulation at its current state; results are arrays (batch,), in SI units, on its device. A quantity
belongs to the robot, to a joint coordinate or to a link; of a vector it is the component x, y or z in world axes, or
the |norm|.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from engine.device_arrays import to_host
from engine.model import FREE, Model
from engine.recording.tables import units
from engine.simulation import Simulation
from engine.study.frames import Frames, Vector, norm

MEASURED = "step time"
"""The only measured quantity, whose bits differ between runs: s of wall time."""
_ENERGIES = ("kinetic energy", "potential energy", "total energy")
_OF_LINKS = ("position", "velocity", "angular velocity", "contact force")
_PARTS = ("x", "y", "z")


class Quantity(NamedTuple):
    """The meaning of a name: the owner ("robot", "joint" or "link"), the kind, and the component of a vector.

    `place` is the index of the link, or of the joint's coordinate in v; for a mimic joint that of its leader.
    """

    subject: str
    kind: str
    place: int = -1
    part: str = ""
    q: int = -1
    multiplier: float = 1.0
    offset: float = 0.0


def quantities_of(model: Model, ground: bool) -> Iterator[tuple[str, Quantity]]:
    """Return all quantities of a robot by name; those of contacts if it is on the `ground`."""
    for kind in (*_ENERGIES, MEASURED):
        yield kind, Quantity("robot", kind)
    if ground:
        yield from _vector("contact force", "", Quantity("robot", "contact force"))
        for kind in ("contacts", "contact residual"):
            yield kind, Quantity("robot", kind)
    yield from _of_joints(model)
    touching = {collision.link for collision in model.collisions} if ground else set()
    for k, link in enumerate(model.link_names):
        for kind in _OF_LINKS:
            if kind != "contact force" or k in touching:
                yield from _vector(kind, f"{link} ", Quantity("link", kind, k))


def _vector(kind: str, owner: str, quantity: Quantity) -> Iterator[tuple[str, Quantity]]:
    for part in _PARTS:
        yield f"{owner}{kind} {part}", quantity._replace(part=part)
    yield f"{owner}|{kind}|", quantity._replace(part="norm")


def _of_joints(model: Model) -> Iterator[tuple[str, Quantity]]:
    for joint in model.joints:
        leader = model.joint(joint.leader) if joint.leader else joint
        if FREE in leader.type.bodies or leader.type.quaternion is not None:
            continue
        for k, v in enumerate(range(leader.v.start, leader.v.stop)):
            name = joint.name if joint.leader else model.coordinate_names[v]
            of = Quantity("joint", "position", v, "", leader.q.start + k, joint.multiplier, joint.offset)
            yield f"{name} position", of
            yield f"{name} velocity", of._replace(kind="velocity")
            if joint.leader is None:
                yield f"{name} {'torque' if joint.type.angular[k] else 'force'}", of._replace(kind="effort")
                yield f"{name} position setpoint", of._replace(kind="setpoint")
                yield f"{name} error", of._replace(kind="error")


def unit_of(model: Model, quantity: Quantity) -> str:
    """Return the SI unit of a quantity; "" for a number without."""
    kind = quantity.kind
    if quantity.subject == "joint":
        length = units(model)[1][quantity.place]
        effort = "N m" if length == "rad" else "N"
        return {"velocity": f"{length}/s", "effort": effort}.get(kind, length)
    if kind in _ENERGIES:
        return "J"
    return {**_OF_LINK_UNITS, MEASURED: "s"}.get(kind, "")


_OF_LINK_UNITS = {"position": "m", "velocity": "m/s", "angular velocity": "rad/s", "contact force": "N"}


class Instant:
    """A simulation at one time; common intermediate results are cached. `step_time` returns s."""

    def __init__(self, simulation: Simulation, step_time: Callable[[], float] = lambda: np.nan):
        self._simulation, self._step_time = simulation, step_time
        self.frames = Frames(simulation.model, simulation.q, simulation.v)

    def value(self, quantity: Quantity) -> Any:
        """Return the quantity's value, (batch,)."""
        values = getattr(self, f"_{quantity.subject}")(quantity)
        return np.full(self._simulation.batch, values) if isinstance(values, float) else values

    def _robot(self, quantity: Quantity) -> Any:
        if quantity.kind in _ENERGIES:
            kinetic, potential = self._energies
            return {"kinetic energy": kinetic, "potential energy": potential}.get(quantity.kind, kinetic + potential)
        if quantity.kind == "contact force":
            return _part(self._contact_force(-1), quantity.part)
        if quantity.kind == MEASURED:
            return self._step_time()
        contacts = self._simulation.contacts
        if contacts is None:
            return 0.0
        return np.array(to_host(contacts.number if quantity.kind == "contacts" else contacts.residual), float)

    def _joint(self, quantity: Quantity) -> Any:
        simulation = self._simulation
        if quantity.kind == "velocity":
            return simulation.v[:, quantity.place] * quantity.multiplier
        if quantity.kind == "effort":
            return self._effort[:, quantity.place]
        position = simulation.q[:, quantity.q] * quantity.multiplier + quantity.offset
        if quantity.kind == "position":
            return position
        setpoint = simulation.target[:, quantity.place] + 0.0
        return setpoint if quantity.kind == "setpoint" else setpoint - position

    def _link(self, quantity: Quantity) -> Any:
        if quantity.kind == "contact force":
            return _part(self._contact_force(quantity.place), quantity.part)
        if quantity.kind == "position":
            return _part(self.frames.pose(quantity.place).p, quantity.part)
        twist = self.frames.twist(quantity.place)
        return _part(twist.omega if quantity.kind == "angular velocity" else twist.velocity, quantity.part)

    @cached_property
    def _energies(self) -> tuple[Any, Any]:
        return self._simulation.energy()

    @cached_property
    def _effort(self) -> Any:
        return self._simulation.effort

    def _contact_force(self, link: int) -> Vector:
        """Return the force on a link, or with −1 on the robot, N; summed contact by contact, independently of the
        batch.
        """
        touches, batch = self._touches, self._simulation.batch
        total = np.zeros((batch, 3))
        if touches is None:
            return total[:, 0], total[:, 1], total[:, 2]
        for c in range(touches.link.shape[1]):
            there = c < touches.number
            on = there & (touches.other[:, c] < 0) if link < 0 else there & (touches.link[:, c] == link)
            force = touches.impulse[:, c] / self._simulation.dt
            total[on] += force[on]
            if link >= 0:
                against = there & (touches.other[:, c] == link)
                total[against] -= force[against]
        return total[:, 0], total[:, 1], total[:, 2]

    @cached_property
    def _touches(self) -> Any:
        contacts = self._simulation.contacts
        return None if contacts is None else contacts.on_host()


def _part(x: Vector, part: str) -> Any:
    return norm(x) if part == "norm" else x[_PARTS.index(part)]
