"""Steps of any number of robots, a thread each: one launch of robot_step.cu, or of contact_step.cu, for a whole run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.cuda.constraints.contacts import PlaneContacts, lanes, touches_something
from engine.cuda.rigid_body import thread_per_robot, tree
from engine.cuda.rigid_body.lane_bodies import WARP
from engine.cuda.rigid_body.limbs import LANES
from engine.cuda.runtime import compiler, device, header
from engine.cuda.stepping.stepper import Stepper, constraint_facts, packed_constants
from engine.model.layout import CONSTANTS
from engine.scene import Contacts
from engine.step_settings import INTEGRATORS, StepSettings
from engine.validation import Array

_JOINT_TABLE_BYTES = 8 * 1024
"""Joint tables of at most this size are in constant memory, beside the robot's constants."""
_ON_GROUND = {LANES: ((16, 4), (16, 2), (16, 1)), WARP: ((4, 4), (4, 2), (4, 1))}
"""Robots per block and blocks per multiprocessor, by lanes per robot, for robots with contacts."""
_SEATS = 64, 32, 16
"""Candidate numbers of seats per block for robots with even limbs; beyond the seats their states are in global memory.
"""
_KINDS = (
    "ONE_CONTACT",  # at most one contact a lane
    "TWO_CONTACTS",  # at most two contacts a lane
    "TWO_CONTACTS_CONTINUED",  # such a step after TYPICAL_STEPS of Newton's steps
    "MANY_CONTACTS",  # at most LIMB_POINTS contacts a lane, or damped steps
    "INTERIOR_POINT",  # the interior point method
    "GENERAL",  # the general step of contact_dynamics.cuh
)
"""The kinds of steps of robots with limbs."""
_ENUMERATION = f"enum StepKind : int {{{', '.join(_KINDS)}, KINDS}};"
_RESERVED_BYTES = 1024
"""Shared memory per block that CUDA keeps for itself."""
_MAX_THREADS = {4: 512, 8: 256}
"""Threads per multiprocessor, by the bytes of a number, that leave each the registers it needs."""
_IN_TURNS = 1024
"""The most robots per block that are scheduled on its seats."""


class RobotStepper(Stepper):
    """Robots advanced by ABIA or JSIIA, a thread each, or several lanes each with contacts and suitable limbs."""

    def __init__(self, settings: StepSettings):
        import cupy

        self._shape = shape = _Shape(settings)
        super().__init__(settings, shape.bytes)
        self._workspace = cupy.empty(shape.workspace, self._type)
        self._constants, self._joint_table = self._tables()
        if shape.contacts:
            shape.contacts.make()
        self._compile()

    def _compile(self) -> None:
        shape, settings = self._shape, self._settings
        preamble = "\n".join([shape.preamble, *header.flags(self._facts)])
        module = compiler.load(shape.source, [shape.kernel], preamble)
        self._advance = module.function(shape.kernel)
        if shape.joint_table_bytes:
            module.symbol("joint_table_memory").copy_from_device(self._joint_table.data, shape.joint_table_bytes)
        if settings.parameters is None:
            tree.fill_constant_memory(module, settings.model, settings.dtype)

    def _tables(self) -> tuple[Any, Any]:
        """Constants and joint table in the kernel's layout, robot index innermost where robots differ."""
        import cupy

        settings = self._settings
        joints = settings.joints[0] if len(settings.joints) == 1 else settings.joints
        tables = (np.moveaxis(x, 0, -1) if x.ndim == 3 else x for x in (packed_constants(settings), joints))
        own, shared = (cupy.asarray(np.ascontiguousarray(x, self._type)) for x in tables)
        return own, shared

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        shape = self._shape
        tables = self._constants, self._joint_table, self._workspace
        given = self._batch, *steps, *state, *tables, *self._report, self._body_wrenches, self._frozen
        touched = shape.contacts.arguments if shape.contacts else ()
        self._start(self._advance, shape.grid, shape.threads, (*given, *touched), shape.shared)

    def start(self, q: Array, v: Array) -> None:
        if self._shape.contacts:
            self._stream.synchronize()
            self._shape.contacts.forget()
        super().start(q, v)

    def _forget_robots(self, robots: Any) -> None:
        if self._shape.contacts:
            self._shape.contacts.forget(robots)

    def memory(self) -> tuple[Array, ...]:
        self._stream.synchronize()
        return self._shape.contacts.memory() if self._shape.contacts else ()

    def resume(self, q: Array, v: Array, divergences: Any, memory: tuple[Array, ...]) -> None:
        super().resume(q, v, divergences, memory)
        if self._shape.contacts:
            self._shape.contacts.remember(memory)
            self._current_stream().synchronize()

    def contacts(self) -> Contacts | None:
        return self._shape.contacts.touches() if self._shape.contacts else None

    @property
    def _on_ground(self) -> bool:
        return self._shape.contacts is not None

    @property
    def _phase_names(self) -> tuple[str, ...]:
        """A thread decides about constraints between its accelerations, untimed."""
        return tuple(name for name in super()._phase_names if name != "constraints")


def spread(robot_bytes: int, itemsize: int, batch: int) -> tuple[int, int, bool]:
    """Return robots per block, blocks per multiprocessor at least, and whether state is in shared memory.

    Shared memory is used if it leaves work for six warps; global memory has more latency to hide, so more warps. The
    threads of a block copy its states together, which pads the slots by one number.
    """
    processors, memory = (device.properties()[name] for name in ("multiProcessorCount", "sharedMemPerMultiprocessor"))
    counts = (2 * WARP, WARP) if batch > 2 * WARP * processors else (WARP,)
    fit = {n: min(memory // (robot_bytes * (n + 1) + _RESERVED_BYTES), _MAX_THREADS[itemsize] // n) for n in counts}
    threads = max(counts, key=lambda n: n * fit[n])
    if fit[threads] * threads >= 6 * WARP:
        return threads, fit[threads], True
    return counts[0], _MAX_THREADS[4] // counts[0], False


class _Sharing(NamedTuple):
    """The layout of robots with contacts where shared memory suffices."""

    robots: int
    """Per block."""
    blocks: int
    few: int
    """Contacts up to which a step works in shared memory."""
    in_turns: bool
    """Whether a block may have more robots than seats, which are scheduled in turns."""


def _sharing(contacts: PlaneContacts, slots: int, itemsize: int) -> _Sharing | None:
    """None where shared memory does not suffice for a robot on four feet."""
    properties = device.properties()

    def most_shared(blocks: int) -> int:
        of_block = properties["sharedMemPerMultiprocessor"] // blocks - _RESERVED_BYTES
        return int(min(of_block, properties["sharedMemPerBlockOptin"]))

    if contacts.even_limbs:
        for seats in _SEATS:
            if seats * slots * itemsize + _turns_bytes(seats) <= most_shared(1):
                return _Sharing(seats, 1, 0, True)
    robot = [itemsize * (slots + contacts.workspace_size(few)) for few in range(contacts.capacity + 1)]
    for robots, blocks in _ON_GROUND[contacts.lanes]:
        most = most_shared(blocks)
        few = sum(robots * size <= most for size in robot) - 1
        if few >= min(4, contacts.capacity):
            return _Sharing(robots, blocks, few, False)
    return None


def _turns_bytes(seats: int) -> int:
    """Return the bytes of a block's `Turns` (robot_scheduling.cuh), with at most a warp per seat."""
    kinds = len(_KINDS)
    return 4 * (3 + kinds * (3 + seats)) + (5 + 2 * kinds) * _IN_TURNS


class _Slots(NamedTuple):
    """A robot's slots: those of its tree, of `matrices` and of its state."""

    additions: bool
    matrices: int
    state: int
    all: int


def _slots(settings: StepSettings) -> _Slots:
    model, facts, constrained = settings.model, constraint_facts(settings), settings.has_constraints
    rk4, implicit = (settings.integrator == name for name in ("rk4", "implicit"))
    gained, nq, nv = facts["HAS_GAINS"], model.nq, model.nv
    additions = constrained or (implicit and (facts["HAS_DAMPING"] or gained))
    joint_space = settings.algorithm == "jsiia"
    matrices = joint_space * (1 + constrained)
    constrained_slots = constrained * (1 + (nv > 64) + joint_space)
    state = nq + nv * (2 + gained + constrained_slots) + rk4 * 2 * (nq + nv)
    layout = tree.Layout(model, additions, matrices, touches_something(settings))
    return _Slots(additions, matrices, state, layout.slots + state)


def serves(settings: StepSettings) -> bool:
    """Return whether this stepper takes the batch: robots that touch nothing, or that several lanes step."""
    if not touches_something(settings):
        return True
    size = np.dtype(settings.dtype).itemsize
    return lanes(settings) > 1 and _sharing(PlaneContacts(settings), _slots(settings).all, size) is not None


class _Shape:
    """The constants of the kernel's text, and its launch configuration."""

    def __init__(self, settings: StepSettings):
        model, joints = settings.model, settings.joints
        touching = touches_something(settings)
        additions, matrices, state, slots = _slots(settings)
        size = np.dtype(settings.dtype).itemsize
        table = joints[0].size * size
        self.joint_table_bytes = table if len(joints) == 1 and table <= _JOINT_TABLE_BYTES else 0
        self.contacts = PlaneContacts(settings) if touching else None
        sharing = _sharing(self.contacts, slots, size) if self.contacts else None
        if self.contacts:
            assert sharing is not None, "`serves` refuses others"
            robots, blocks, few, in_turns = sharing
            threads, in_shared = self.contacts.lanes, True
        else:
            (robots, blocks, in_shared), threads, few = spread(slots * size, size, settings.batch), 1, 0
            in_turns = False
        self.threads = robots * threads
        self.grid = -(-settings.batch // robots)
        room = self.contacts.workspace_size(few) * robots if self.contacts and few else 0
        self.shared = (slots * (robots + (not touching)) + room) * size if in_shared else 0
        self.shared += _turns_bytes(robots) if in_turns else 0
        self.workspace = 0 if in_shared else slots * robots * self.grid
        if self.contacts:
            self.contacts.place(robots, self.grid, few, in_turns)
        if in_turns:
            processors = device.properties()["multiProcessorCount"]
            own = min(_IN_TURNS, -(-settings.batch // processors))
            self.grid = -(-settings.batch // own)
        name = "advance_touching" if touching else "advance"
        self.source = "stepping/contact_step.cu" if touching else "stepping/robot_step.cu"
        self.kernel = f"{name}<{compiler.REAL[settings.dtype]}, {self.threads}, {blocks}, {str(in_shared).lower()}>"
        facts = {
            "OWN_JOINT_TABLE": len(joints) > 1,
            "OWN_CONSTANTS": settings.parameters is not None,
            "JOINT_TABLE_FITS": self.joint_table_bytes > 0,
        }
        numbers = {
            "INTEGRATOR": INTEGRATORS.index(settings.integrator),
            "STATE_SLOTS": state,
            "LANES": threads,
            "IN_TURNS": _IN_TURNS,
            "TURNS_BYTES": _turns_bytes(robots),
            "JOINT_TABLE_BYTES": max(16, self.joint_table_bytes),
        }
        indices = ", ".join(map(str, model.q_of_v))
        self.preamble = "\n".join(
            [
                thread_per_robot.preamble(model, settings.dtype, additions, matrices, touching, threads == WARP),
                *header.numbers(numbers),
                *header.flags(facts),
                f"[[maybe_unused]] __device__ constexpr int Q_OF_V[] = {{{indices}}};",
                *([self.contacts.preamble, _ENUMERATION] if self.contacts else []),
            ]
        )
        own = settings.batch if settings.parameters is not None else 1
        constants = own * CONSTANTS * (len(model.parent) + 1)
        self.bytes = size * (self.workspace + joints.size + constants) + (self.contacts.bytes if self.contacts else 0)
