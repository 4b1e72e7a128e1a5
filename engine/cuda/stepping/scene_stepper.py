"""Steps on a GPU of robots in a scene, by `engine.kernels.scene_steps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.compile.with_loops import WARP, Exists, Given, Layout, Number, Number32, OfBatch, Own, RobotNumber, Table
from engine.cuda.runtime import arrays, compiler
from engine.cuda.stepping.stepper import Stepper, packed_constants
from engine.cuda.stepping.threads_per_robot import WARPS, robots_of_multiprocessor, threads_of_robot
from engine.device_arrays import to_host
from engine.kernels import scene_steps
from engine.kernels.collision import near_points
from engine.kernels.collision.shape_contacts import OF_ALL_ROBOTS
from engine.kernels.contact import workspace
from engine.kernels.contact.body_pairs import MAX_PAIRS
from engine.kernels.contact.workspace import CONTACT_COUNT, OTHER, RESIDUAL, SEEN, WORST_RESIDUAL, WRENCH
from engine.kernels.joint_rows import JointRows
from engine.kernels.step_arguments import State, step_arguments
from engine.model.layout import pack, pack_coupling
from engine.scene import Contacts
from engine.step_settings import StepSettings
from engine.validation import Array

_REGISTERS = {"float32": 128, "float64": 255}
"""Registers per thread, at most, measured on an H100: fewer leave more warps but spill more."""
_SCHEDULERS = 4
"""Warps per multiprocessor up to which each has a block of its own: warps of one block wait for each other."""
_WHOLE_WARPS = 128
"""Robots per multiprocessor from which a warp has 32; else 16, in which robots wait less for each other."""


class SceneStepper(Stepper):
    """Robots advanced by the ABA's recursion, with contact by the inertias of their bodies."""

    def __init__(self, settings: StepSettings):
        each = robots_of_multiprocessor(settings.batch)
        # of robots that touch each other, a thread each: pairs are not shared
        threads = 1 if settings.pairs.capacity else threads_of_robot(each, len(settings.model.parent), settings.dtype)
        self._robot, partners = _robot(settings, threads)
        together = WARP // 2 if each < _WHOLE_WARPS else WARP
        self._layout = layout = Layout(arguments(settings, self._robot, "none"), settings.dtype, threads, together)
        warps = -(-each // layout.robots_of_warp)
        self._warps = min(WARPS[settings.dtype], warps) if warps > _SCHEDULERS else 1
        sizes = {name: layout.numbers_of(name) for name in (settings.dtype, "int32")}
        groups = -(-settings.batch // layout.robots_of_warp)
        super().__init__(
            settings, sum(groups * layout.robots_of_warp * n * np.dtype(name).itemsize for name, n in sizes.items())
        )
        self._tables = [arrays.to_device(layout.table(name), name) for name in sizes]
        self._own = [arrays.empty((groups, max(n, 1), layout.robots_of_warp), name) for name, n in sizes.items()]
        self._firsts = [arrays.to_device(layout.first(name), name) for name in sizes]
        self._partners = [arrays.to_device(x, "int64") for x in partners]
        frames = settings.model.link_rotation, settings.model.link_position
        self._frames = [arrays.to_device(x, settings.dtype) for x in frames]
        self._forget()
        self._compile()

    def _compile(self) -> None:
        tree = arguments(self._settings, self._robot, "act" if self._facts["HAS_WRENCHES"] else "none")
        registers = _REGISTERS[self._settings.dtype]
        self._kernel = compiler.with_loops(scene_steps.advance, tree, self._layout, registers)

    def _forget(self) -> None:
        """Clear contacts and warm starts."""
        for own, first in zip(self._own, self._firsts, strict=True):
            own[:, : len(first)] = first[None, :, None]
        settings, known, rows = self._settings, self._robot.known, self._robot.rows
        for table, values in ((known.constants, packed_constants(settings)), (rows.joints, settings.joints)):
            if isinstance(table, Own):
                self._put(table, arrays.to_device(values, settings.dtype))

    def _view(self, own: Own) -> Any:
        """Return the robots' own arrays in their layout: (groups, numbers, robots of a warp)."""
        start = self._layout.offset[id(own)]
        return self._own[int(own.numbers.dtype == np.int64)][:, start : start + own.numbers.size]

    def _get(self, own: Own) -> Any:
        """Return a copy (batch, …) of own arrays (1, …) of all robots."""
        rows = self._view(own).transpose(0, 2, 1)
        return rows.reshape(-1, *own.numbers.shape[1:])[: self._settings.batch]

    def _put(self, own: Own, values: Any) -> None:
        """Copy (batch, …) values into own arrays; the inverse of the above."""
        import cupy

        view = self._view(own)
        groups, size, together = view.shape
        padded = cupy.zeros((groups * together, size), view.dtype)
        padded[: self._settings.batch] = values.reshape(-1, size)
        view[...] = padded.reshape(groups, together, size).transpose(0, 2, 1)

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        *counts, dt = steps
        blocks = -(-self._settings.batch // (self._warps * self._layout.robots_of_warp))
        given = (
            *self._tables, *self._own, self._batch, *counts, *state, *self._report, self._body_wrenches, self._frozen,
            dt, self._batch,
        )  # fmt: skip
        self._start(self._kernel, blocks, WARP * self._warps, given)

    def advance(
        self, n: int, done: int, controls: Any, every: int, record: tuple[Any, Any], count: Callable[[int], None]
    ) -> None:
        self._view(self._contact_state.summary)[:, WORST_RESIDUAL] = 0
        super().advance(n, done, controls, every, record, count)

    def start(self, q: Array, v: Array) -> None:
        self._stream.synchronize()
        self._forget()
        super().start(q, v)

    def _forget_robots(self, robots: Any) -> None:
        together = self._layout.robots_of_warp
        for own in self._left:
            self._view(own)[robots // together, :, robots % together] = 0

    @property
    def _contact_state(self) -> Any:
        """The robots' own arrays of contacts."""
        return self._robot.contact_state

    @property
    def _left(self) -> tuple[Any, ...]:
        """The state that steps carry over, and the last step's report."""
        return tuple(self._contact_state[1:])

    def memory(self) -> tuple[Array, ...]:
        self._stream.synchronize()
        left = [np.array(to_host(self._get(own))) for own in self._left]
        left = [x.astype(np.int64) if x.dtype == np.int32 else x for x in left]
        _, summary, *of_contacts = left
        beyond = np.arange(of_contacts[0].shape[1]) >= summary[:, CONTACT_COUNT, None]
        for array in of_contacts:
            array[beyond] = 0
        return tuple(left)

    def resume(self, q: Array, v: Array, divergences: Any, memory: tuple[Array, ...]) -> None:
        super().resume(q, v, divergences, memory)
        for own, before in zip(self._left, memory, strict=True):
            self._put(own, arrays.to_device(np.asarray(before), str(self._view(own).dtype)))
        self._current_stream().synchronize()

    def contacts(self) -> Contacts:
        """Return copies of the last step's contacts on the GPU; none for a frozen robot."""
        import cupy

        _, summary, which, _, seen = map(self._get, self._left)
        link, other = (table[which] for table in self._partners)
        summary *= (self._frozen == 0)[:, None]
        residual, number, worst = summary[:, RESIDUAL], summary[:, CONTACT_COUNT], summary[:, WORST_RESIDUAL]
        wrench = self._on_links(link, seen[..., WRENCH:SEEN])
        if self._settings.pairs.capacity:
            own = other >= 0
            on_other = self._on_links(cupy.where(own, other, 0), seen[..., OTHER:]) * own[..., None]
        else:
            on_other = cupy.broadcast_to(cupy.zeros((1, 1, 1), seen.dtype), (*link.shape, 6))
        return workspace.reported(number.astype(np.int64), link, seen, wrench, residual, worst, other, on_other)

    def _on_links(self, link: Any, wrench: Any) -> Any:
        """Return wrenches (…, 6) on bodies, in their frames, as wrenches on their links (…), in those frames."""
        import cupy

        rotation, position = (table[link] for table in self._frames)
        force = wrench[..., 3:]
        moment = wrench[..., :3] - cupy.cross(position, force)
        turned = [(rotation * x[..., None]).sum(-2) for x in (moment, force)]  # Rᵀ x
        return cupy.concatenate(turned, -1)

    @property
    def _on_ground(self) -> bool:
        return True


def arguments(
    settings: StepSettings, robot: scene_steps.SceneRobot, wrenches: Literal["act", "none"]
) -> tuple[Any, ...]:
    """Return the arguments of `scene_steps.advance`, with their layouts."""
    nq, nv, real = settings.model.nq, settings.model.nv, settings.dtype
    state = State(*(OfBatch((n,), real) for n in (nq, nv, nv, nv)))
    given = step_arguments(state, Number32(), Number("int64"), Given(real), Given("int64"))
    fixed = scene_steps.Fixed(
        settings.integrator, "freeze" if settings.freezes else "raise", wrenches,
        "timed" if settings.timed else "untimed",
    )  # fmt: skip
    return RobotNumber(), Exists(), Number32(), given, fixed, robot


def _robot(settings: StepSettings, threads: int) -> tuple[scene_steps.SceneRobot, tuple[NDArray[np.int64], ...]]:
    """Return a robot's workspace as a kernel has it, tables of all robots and its own arrays, and the links of contacts
    by `workspace.partners`."""
    model, scene = settings.model, settings.scene
    assert scene is not None
    contact = workspace.contact_workspace(model, scene, MAX_PAIRS)
    contact = contact._replace(near=near_points.workspace(contact.points, threads))
    own = _each(contact, Own)
    tables = {"flow": Table(contact.solver.tree.flow), "limbs": _each(contact.solver.tree.limbs, Table)}
    solver = own.solver._replace(tree=own.solver.tree._replace(**tables))
    pairs = own.pairs
    if contact.pairs:
        pairs = own.pairs._replace(**{name: _each(getattr(contact.pairs, name), Table) for name in OF_ALL_ROBOTS})
    own = own._replace(
        points=_each(contact.points, Table), surface=_each(contact.surface, Table), solver=solver, pairs=pairs,
        topology=Table(contact.topology),
    )  # fmt: skip
    contact_state = workspace.contact_state(contact, model.nv, 1)
    topology, constants = pack(model)
    known = scene_steps.ModelArrays(
        _each(topology, Table), _each(constants, Table if settings.parameters is None else Own),
        _each(pack_coupling(model), Table),
    )  # fmt: skip
    dt: Any = Number(settings.dtype)
    joints = _each(settings.joints[0].copy(), Table if len(settings.joints) == 1 else Own)
    q_of_v = _each(settings.q_of_v, Table)
    rows = JointRows(dt, settings.has_limits, settings.has_constraints, q_of_v, joints)
    own_work = _each(scene_steps.robot_workspace(len(model.parent), model.nq, model.nv, settings.integrator), Own)
    own_state = workspace.ContactState(own, *_each(contact_state[1:], Own))
    robot = scene_steps.SceneRobot(known, rows, _each(settings.rotations, Table), own_work, own_state)
    return robot, workspace.partners(contact)


def _each(value: Any, kind: type) -> Any:
    """Return a tree of tuples whose arrays all have the layout `kind`."""
    if isinstance(value, tuple):
        items = tuple(_each(item, kind) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    return kind(value) if isinstance(value, np.ndarray) else value
