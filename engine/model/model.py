"""`Model`: the immutable arrays that describe a robot.

A robot is a tree of *bodies*, each with one elementary joint of the joint table (`engine.model.joints`). Links
connected by fixed joints form one body; a planar joint is two massless prismatic bodies and a revolute one. A body's
frame is oriented so that its screw axis is the z-axis. The pose of each link's frame in its body is kept for kinematics
and drawing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine import lie
from engine.model.coupling import Coupling, Indices
from engine.model.diagnostic import Diagnostic, ModelError
from engine.model.joints import FREE, NQ, NV, Joint
from engine.model.shapes import Collision, Visual
from engine.real_numbers import excerpt, reals

if TYPE_CHECKING:
    from engine.model.composition import Part

Array = NDArray[np.floating]

WORLD = -1
EARTH = (0.0, 0.0, -9.81)


def _require_fields(kind: type[Any], state: Mapping[str, Any]) -> None:
    """Raise ModelError if a pickled state has missing or additional fields, as from another version."""
    fields = {entry.name for entry in dataclasses.fields(kind)}
    if other := sorted(fields.symmetric_difference(state)):
        raise ModelError(
            f"this pickled Model is of another version of Catena, which differs in {kind.__name__}.{other[0]}; "
            "load the robot's file again"
        )


@dataclass(frozen=True, eq=False)
class Model:
    """A robot: immutable arrays over n bodies, ordered depth first, parents before children.

    ===================  ============  ==================================================================
    name                 shape         meaning
    ===================  ============  ==================================================================
    parent               (n,)          index of the parent body; -1 is the world
    kind                 (n,)          REVOLUTE, PRISMATIC, FREE or SPHERICAL
    home_rotation        (n, 3, 3)     R of T_i at q = 0: the body's frame in its parent's
    home_position        (n, 3)        p of T_i at q = 0, m
    mass                 (n,)          kg
    first_moment         (n, 3)        mass × centre of mass in the body's frame, kg m
    inertia              (n, 3, 3)     rotational inertia about the body's origin, kg m²
    gravity              (3,)          acceleration of free fall in the world, m/s²
    joints                             `Joint` records, depth first, those that mimic included
    lower, upper         (nv,)         position limits, rad or m; ∓inf where there are none
    velocity_limit       (nv,)         rad/s or m/s; inf where there is none
    effort_limit         (nv,)         N m or N; inf where there is none
    damping              (nv,)         viscous, N m s/rad or N s/m
    friction             (nv,)         Coulomb, N m or N
    link_names                         every link of the URDF, depth first
    link_body            (l,)          the body that carries the link; -1 is the world
    link_rotation        (l, 3, 3)     the link's frame in its body's frame
    link_position        (l, 3)        m
    visuals                            `Visual` records: the shapes to draw, in link order
    collisions                         `Collision` records: the collision shapes, in link order
    disabled_collisions                pairs of link indices that never collide (from an SRDF)
    options                            arguments of `engine.load` beside the file `source`, for reloading
    declared_args                      the values of the arguments that the xacro file `source` declares
    included                           the files that it includes or reads
    parts                              the `Part` records of a model from `engine.compose`
    group_states                       named poses of an SRDF: by name, the coordinates by joint name
    ===================  ============  ==================================================================

    Coordinates: q has one number per revolute or prismatic body, a unit quaternion x, y, z, w per spherical one, and
    position (3) and unit quaternion (4) per free one; v has one number, the angular velocity ω in the body's frame, or
    the body twist (ω, v). Mimic joints have none: `nq` and `nv` count the independent coordinates y (q = C y + q₀),
    `tree_nq` and `tree_nv` those of all bodies. Without mimic joints both are equal.
    """

    name: str
    parent: Indices
    kind: Indices
    home_rotation: Array
    home_position: Array
    mass: Array
    first_moment: Array
    inertia: Array
    joints: tuple[Joint, ...]
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    damping: Array
    friction: Array
    link_names: tuple[str, ...]
    link_body: Indices
    link_rotation: Array
    link_position: Array
    gravity: Array = field(default_factory=lambda: np.array(EARTH))
    visuals: tuple[Visual, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    source: str | None = None
    collisions: tuple[Collision, ...] = ()
    disabled_collisions: tuple[tuple[int, int], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    declared_args: Mapping[str, str] = field(default_factory=dict)
    included: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    group_states: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._freeze()
        order = np.arange(len(self.parent))
        if np.any(self.parent >= order) or np.any(self.parent < WORLD):
            raise ModelError(f"{self.name}: a body comes before its parent; order the bodies from the base outwards")

    def _freeze(self) -> None:
        """Copy the arrays and make them read-only."""
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                integer = entry.name in ("parent", "kind", "link_body")
                frozen = np.array(value, np.int64 if integer else np.float64, order="C")
                frozen.flags.writeable = False
                object.__setattr__(self, entry.name, frozen)

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        _require_fields(type(self), state)
        for record in (*state["joints"], *state["visuals"], *state["collisions"], *state["diagnostics"]):
            _require_fields(type(record), vars(record))
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self._freeze()  # the arrays of pickles and copies are writeable

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.parent)} bodies, nq {self.nq}, nv {self.nv}>"

    @cached_property
    def nq(self) -> int:
        return max((joint.q.stop for joint in self.joints), default=0)

    @cached_property
    def nv(self) -> int:
        return max((joint.v.stop for joint in self.joints), default=0)

    @cached_property
    def q_start(self) -> Indices:
        """(n,): the index of each body's first coordinate in the tree's q."""
        width = NQ[self.kind]
        return np.asarray(np.cumsum(width) - width, np.int64)

    @cached_property
    def v_start(self) -> Indices:
        """(n,): the index of each body's first velocity in the tree's v."""
        width = NV[self.kind]
        return np.asarray(np.cumsum(width) - width, np.int64)

    @cached_property
    def tree_nq(self) -> int:
        return int(NQ[self.kind].sum())

    @cached_property
    def tree_nv(self) -> int:
        return int(NV[self.kind].sum())

    @property
    def has_mimic(self) -> bool:
        return any(joint.leader for joint in self.joints)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The joints with coordinates of their own, in the order of q."""
        return tuple(joint.name for joint in self.joints if joint.leader is None)

    @cached_property
    def _by_name(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    def joint(self, name: str) -> Joint:
        """Return the joint of a name. An unknown name raises KeyError, which lists the names."""
        if name not in self._by_name:
            raise KeyError(f"{self.name} has no joint {name!r}; its joints are {', '.join(self._by_name)}")
        return self._by_name[name]

    def q_slice(self, joint: str) -> slice:
        """Return the slice of q of a joint. Raises KeyError for a mimic joint, which has none."""
        return self._owner(joint).q

    def v_slice(self, joint: str) -> slice:
        """Return the slice of v of a joint. Raises KeyError for a mimic joint, which has none."""
        return self._owner(joint).v

    def _owner(self, name: str) -> Joint:
        joint = self.joint(name)
        if joint.leader is not None:
            raise KeyError(
                f"{self.name}: joint {name!r} follows {joint.leader!r} and has no coordinate; ask for that one"
            )
        return joint

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """(nv,): a name for each velocity: the joint's, with the component if it has several."""
        names: list[str] = []
        for joint in self.joints:
            if joint.leader is None:
                names += [f"{joint.name}.{part}" for part in joint.type.parts] or [joint.name]
        return tuple(names)

    @cached_property
    def bounded(self) -> NDArray[np.bool_]:
        """(nv,) bool: the coordinates with an upper or a lower position limit."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    @cached_property
    def constrained(self) -> NDArray[np.bool_]:
        """(nv,): the velocities that limits, friction, damping and gains may affect: all but free joints'."""
        free = [joint for joint in self.joints if FREE in joint.type.bodies]
        constrained = np.ones(self.nv, bool)
        for joint in free:
            constrained[joint.v] = False
        return constrained

    @cached_property
    def part_of_body(self) -> Indices:
        """(n,): the part of a composed model to which a body belongs; 0 in any other model."""
        counts = [len(part.model.parent) for part in self.parts] or [len(self.parent)]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def part_of_link(self) -> Indices:
        """(l,): the part of a composed model to which a link belongs; 0 in any other model."""
        counts = [len(part.model.link_names) for part in self.parts] or [len(self.link_names)]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def q_of_v(self) -> Indices:
        """(nv,): for each velocity the index in q of its integral; -1 for free and ball joints, which have none."""
        index = np.full(self.nv, -1, np.int64)
        for joint in self.joints:
            if joint.type.quaternion is None and joint.leader is None:
                index[joint.v] = np.arange(joint.q.start, joint.q.stop)
        return index

    @cached_property
    def quaternions(self) -> tuple[tuple[str, slice], ...]:
        """The joints with a unit quaternion, each with the quaternion's slice of q."""
        places = ((joint, joint.type.quaternion) for joint in self.joints)
        return tuple(
            (joint.name, slice(joint.q.start + place, joint.q.stop)) for joint, place in places if place is not None
        )

    def neutral(self) -> Array:
        """(nq,): every coordinate zero, or at the closer limit if zero is outside the limits; identity rotations."""
        q = np.zeros(self.nq)
        for _, quaternion in self.quaternions:
            q[quaternion.stop - 1] = 1
        scalar = self.q_of_v >= 0
        q[self.q_of_v[scalar]] = np.clip(0.0, self.lower[scalar], self.upper[scalar])
        return q

    @property
    def poses(self) -> dict[str, Array]:
        """The named poses, (nq,) each: "neutral", and those of the SRDF; see `pose`."""
        return {name: self.pose(name) for name in dict.fromkeys(("neutral", *self.group_states))}

    def pose(self, name: str, q: Array | None = None) -> Array:
        """(nq,): a named pose: the SRDF's value for the joints that it lists, within limits; other joints as in q
        (nq,).

        Angles are brought within limits by whole turns if possible, otherwise moved to the closer limit.

        Without q the other joints are as in `neutral`. "neutral" is `neutral`, unless the SRDF defines it. An unknown
        name raises KeyError, which lists the names.
        """
        if name not in self.group_states:
            if name == "neutral":
                return self.neutral()
            names = ", ".join(("neutral", *self.group_states))
            raise KeyError(f"{self.name} has no pose {name!r}; its poses are {names}")
        posed = np.array(self.neutral() if q is None else q, float)
        for joint_name, values in self.group_states[name].items():
            posed[self.q_slice(joint_name)] = values
        for _, quaternion in self.quaternions:
            posed[quaternion] /= np.linalg.norm(posed[quaternion])
        for joint in self.joints:
            limits = self.lower[joint.v], self.upper[joint.v]
            if joint.leader is None and joint.type.quaternion is None:
                posed[joint.q] = joint.turned(posed[joint.q], *limits).clip(*limits)
        return posed

    def random(self, rng: np.random.Generator, batch: int | None = None) -> Array:
        """(nq,) or (batch, nq), by rng: uniform inside the limits, within ±π or ±1 m without; rotations uniform."""
        rows = 1 if batch is None else batch
        q = np.zeros((rows, self.nq))
        for joint in self.joints:
            if joint.leader is not None:
                continue
            if (place := joint.type.quaternion) is not None:
                rotation = rng.standard_normal((rows, 4))
                q[:, joint.q] = np.hstack(
                    [rng.uniform(-1, 1, (rows, place)), rotation / np.linalg.norm(rotation, axis=1, keepdims=True)]
                )
                continue
            for index, dof, span in zip(
                range(joint.q.start, joint.q.stop), range(joint.v.start, joint.v.stop), joint.type.spans, strict=True
            ):
                lower, upper = self.lower[dof], self.upper[dof]
                low = lower if np.isfinite(lower) else min(-span, upper - span)
                high = upper if np.isfinite(upper) else max(span, lower + span)
                q[:, index] = rng.uniform(low, high + 0.0, rows)  # avoids the negative range 0 to −0
        return q[0] if batch is None else q

    @cached_property
    def J(self) -> Array:
        """(n, 6, 6): the bodies' spatial inertias about their origins, twist order (ω, v)."""
        return spatial_inertias(self.mass, self.first_moment, self.inertia)

    @cached_property
    def coupling(self) -> Coupling:
        """The map from q and v to the coordinates of all bodies of the tree."""
        q_index: list[int] = []
        v_index: list[int] = []
        q_scale, q_offset, v_scale = [], [], []
        for joint in self.joints:
            owner = joint if joint.leader is None else self.joint(joint.leader)
            width = owner.q.stop - owner.q.start
            q_index += range(owner.q.start, owner.q.stop)
            v_index += range(owner.v.start, owner.v.stop)
            q_scale += [joint.multiplier] * width
            q_offset += [joint.offset] * width
            v_scale += [joint.multiplier] * (owner.v.stop - owner.v.start)
        return Coupling(
            np.array(q_index, np.int64),
            np.array(q_scale),
            np.array(q_offset),
            np.array(v_index, np.int64),
            np.array(v_scale),
            self.nv,
        )

    def with_gravity(self, gravity: tuple[float, float, float] | Array) -> Model:
        """Return the robot with another `gravity`, (3,) in m/s². Raises ValueError for an invalid one."""
        expected = f"gravity is three finite numbers in m/s², for example (0, 0, -9.81); got {excerpt(gravity)}"
        try:
            vector = reals(gravity)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{expected} ({error})") from None
        if vector.shape != (3,) or not np.all(np.isfinite(vector)):
            raise ValueError(expected)
        return dataclasses.replace(self, gravity=vector)


def spatial_inertias(mass: Array, first_moment: Array, inertia: Array) -> Array:
    """Return J (…, 6, 6), twist order (ω, v), from mass (…,), first moment (…, 3), rotational inertia (…, 3, 3)."""
    J, mc = np.zeros((*mass.shape, 6, 6)), lie.skew(first_moment)
    J[..., :3, :3], J[..., :3, 3:], J[..., 3:, :3] = inertia, mc, -mc
    J[..., 3:, 3:] = mass[..., None, None] * np.eye(3)
    return J
