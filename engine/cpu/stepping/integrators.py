"""Whole simulation steps for blocks of robots: forces, forward dynamics, limits, integration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.compile.operations import now
from engine.cpu.accelerations import Accelerations, CoordinateForces, Dynamics, accelerations, prepare
from engine.cpu.constraints.active_set import solve_constrained
from engine.cpu.rigid_body.wrenches import Links, on_bodies
from engine.cpu.runtime.arrays import copy, copy_row, fill
from engine.cpu.runtime.laps import lap
from engine.divergence import DIVERGED
from engine.kernels import active_set, rk4
from engine.kernels.contact.contact_step import contact_velocity, integrate
from engine.kernels.contact.detection import find_contacts
from engine.kernels.contact.workspace import CONTACT_COUNT, RESIDUAL, ContactState
from engine.kernels.divergence import is_bounded
from engine.kernels.gains_and_damping import joint_forces
from engine.kernels.joint_motion import advance, to_start_frame
from engine.kernels.joint_rows import JointRows
from engine.kernels.step_state import ActiveSet, Robots
from engine.phases import COLLISION, CONTACT, INTEGRATION
from engine.step_settings import Rotations


class Wrenches(NamedTuple):
    """External wrenches: `on_links` (batch, links, 6), each in its link's frame."""

    on_links: NDArray[np.floating]
    links: Links


class Recording(NamedTuple):
    """The record of the first and every `every`-th state: q (batch, samples, nq) and v; empty arrays record nothing."""

    q: NDArray[np.floating]
    v: NDArray[np.floating]
    every: int


class OwnParameters(NamedTuple):
    """Parameters of each robot: constants (1 or batch, n + 1, CONSTANTS), joint rows (1 or batch, 8, nv)."""

    constants: NDArray[np.floating]
    joints: NDArray[np.floating]


class Divergences(NamedTuple):
    """The number of steps after which each robot diverged, or 0, and the first velocity that did; (batch,) each."""

    steps: NDArray[np.int64]
    velocity: NDArray[np.int64]


class Before(NamedTuple):
    """The state of a block of L robots before a step: q (L, nq), v (L, nv)."""

    q: NDArray[np.floating]
    v: NDArray[np.floating]


class Scratch(NamedTuple):
    """The workspace of a block of L robots; `weightless` are three zeros.

    `wrenches` (n, 6 L) are those on the bodies, as in `rigid_body.wrenches`; an empty tuple where none act.
    """

    block: Robots
    forces: CoordinateForces
    result: Accelerations
    active: ActiveSet
    stages: rk4.Stages
    before: Before
    weightless: NDArray[np.floating]
    wrenches: NDArray[np.floating] | tuple[()]


class Stepping(NamedTuple):
    """What the steps of a block share; see `BlockRun` for the arrays.

    `robot` is the index of its first robot. `loads` are gravity and external wrenches, as for `accelerations`.
    """

    robot: int
    robots: Robots
    rows: JointRows
    rotations: Rotations
    scratch: Scratch
    dynamics: Dynamics
    loads: tuple[NDArray[np.floating], NDArray[np.floating] | tuple[()]]
    contact_state: ContactState | tuple[()]


class BlockRun(NamedTuple):
    """The arguments of `run` that are the same in each call for the robots of a block.

    External `wrenches` act unless they are an empty tuple. `rows` are the joints' (`JointRows`), `rotations` as in
    `StepSettings`. The phases (COUNT,) of the last step are timed in ns, unless `phases` is empty. `contact_state` has
    the contacts, if any (L = 1). With `own`, unless it is an empty tuple, each robot's numbers are copied into
    `dynamics` and `rows` (L = 1).
    """

    robots: Robots
    wrenches: Wrenches | tuple[()]
    integrator: str
    rows: JointRows
    rotations: Rotations
    scratch: Scratch
    dynamics: Dynamics
    phases: NDArray[np.int64]
    divergences: Divergences
    contact_state: ContactState | tuple[()]
    own: OwnParameters | tuple[()]


def scratch(lanes: int, nq: int, nv: int) -> Scratch:
    """Return the workspace of a block of L robots."""
    q, v = (lanes, nq), (lanes, nv)

    def zeros(*shapes: tuple[int, int]) -> list[NDArray[np.floating]]:
        return [np.zeros(shape) for shape in shapes]

    return Scratch(
        Robots(*zeros(q, v, v, v)),
        CoordinateForces(*zeros(v, v, v, v)),
        Accelerations(*zeros(v, v)),
        ActiveSet(np.zeros(v), np.zeros((lanes, active_set.ROWS, nv)), np.zeros(lanes, np.int64)),
        rk4.stages(lanes, nq, nv),
        Before(*zeros(q, v)),
        np.zeros(3),
        (),
    )


@inline
def _forget_contacts(contact_state, robot):
    """Clear the previous step's impulses, as nothing touches."""
    if contact_state.summary[robot, CONTACT_COUNT] > 0.0:
        for j in range(contact_state.joint_memory.shape[1]):
            contact_state.joint_memory[robot, j] = 0.0
        contact_state.summary[robot, RESIDUAL], contact_state.summary[robot, CONTACT_COUNT] = 0.0, 0.0


@inline
def _touching_step(keeps_energy, stepping, phases):
    """Take a step under contacts, if there are any: v⁺, and q⁺ = q ⊕ dt v⁺ with overlaps corrected. L = 1.

    Returns whether there are any. `keeps_energy`: steps without contacts do.
    """
    q, v, time = stepping.robots.q[0], stepping.robots.v[0], now() if phases.size else 0
    robot, rows, rotations = stepping.robot, stepping.rows, stepping.rotations
    loads, contact_state = stepping.loads, stepping.contact_state
    count = find_contacts(q, v, rows, stepping.dynamics, loads, contact_state.contact)
    time = lap(phases, COLLISION, time)
    if count == 0:
        _forget_contacts(contact_state, robot)
        return False
    forces = stepping.scratch.forces
    contact_velocity(keeps_energy, count, q, v, forces, rows, rotations, loads[0], contact_state, robot)
    integrate(q, v, rows, rotations, contact_state.contact)
    lap(phases, CONTACT, time)
    return True


@inline
def _euler_step(integrator, stepping, phases):
    """Semi-implicit Euler: v⁺ = v + dt q̈(q, v), q⁺ = q ⊕ dt v⁺; `implicit` takes damping and gains at the end.

    A free joint's linear velocity is integrated in the frame at the step's beginning, and rotated into that at its end.
    """
    robots, rows, rotations, scratch = stepping.robots, stepping.rows, stepping.rotations, stepping.scratch
    q, v = robots.q, robots.v
    joint_forces(robots, q, v, rows, scratch.forces, integrator == "implicit")
    if len(stepping.contact_state) > 0 and _touching_step(False, stepping, phases):
        return
    solve_constrained(robots, robots, rows, scratch, stepping.dynamics, stepping.loads, phases)
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[k, j] += rows.dt * scratch.result.qdd[k, j]
        to_start_frame(scratch.before.v[k], rows.dt, v[k], rotations)
        advance(q[k], v[k], v[k], rows.dt, rows.q_of_v, rotations)


@inline
def _rk4_stages(stepping, phases):
    """Compute the weighted sums of the rates at the four stages."""
    robots, rows, dynamics, loads = stepping.robots, stepping.rows, stepping.dynamics, stepping.loads
    forces, result, stages = stepping.scratch.forces, stepping.scratch.result, stepping.scratch.stages
    q, v = robots.q, robots.v
    for k in range(v.shape[0]):
        rk4.begin_stages(q[k], v[k], k, stages)
    fill(forces.held, 0.0)
    for stage in range(4):
        joint_forces(robots, stages.q, stages.v, rows, forces, False)
        prepare(stages.q, stages.v, dynamics, loads, phases)
        accelerations(forces, result, dynamics, loads, phases)
        for k in range(v.shape[0]):
            rk4.add_stage(stage, q[k], v[k], result.qdd[k], k, rows, stepping.rotations, stages)


@kernel
def _rk4_step(stepping, phases):
    """Take a Runge-Kutta step, see `engine.kernels.rk4`, or one under contacts."""
    robots, rows, rotations, scratch = stepping.robots, stepping.rows, stepping.rotations, stepping.scratch
    q, v, forces, stages = robots.q, robots.v, scratch.forces, scratch.stages
    if len(stepping.contact_state) > 0:
        joint_forces(robots, q, v, rows, forces, False)
        if _touching_step(True, stepping, phases):
            return
    _rk4_stages(stepping, phases)
    for k in range(v.shape[0]):
        rk4.end_stages(q[k], v[k], k, rows, rotations, stages)
    if rows.has_constraints:
        fill(stages.v, 0.0)
        fill(forces.force, 0.0)
        none = (scratch.weightless, ())
        solve_constrained(stages, robots, rows, scratch, stepping.dynamics, none, phases)
    for k in range(v.shape[0]):
        if rows.has_constraints:
            for j in range(v.shape[1]):
                v[k, j] += rows.dt * scratch.result.qdd[k, j]
        rk4.accept_coordinates(q[k], stages.q[k], v[k], scratch.active.mode[k], rows, rotations)


@inline
def _record(block, record, start, sample):
    """Record the states of a block's robots, from `start` on, as that sample, unless `record` is empty."""
    if record.shape[1] > 0:
        for k in range(min(block.shape[0], record.shape[0] - start)):
            copy_row(block[k], record[start + k, sample])


@inline
def _load(robots, start, block):
    """Load the robots from `start` on into a block; past the end of the batch the last one is repeated."""
    for k in range(block.q.shape[0]):
        robot = min(start + k, robots.q.shape[0] - 1)
        copy_row(robots.q[robot], block.q[k])
        copy_row(robots.v[robot], block.v[k])
        copy_row(robots.tau[robot], block.tau[k])
        copy_row(robots.target[robot], block.target[k])


@inline
def _all_bounded(v):
    """Whether every velocity is bounded."""
    bounded = True
    for k in range(v.shape[0]):
        bounded &= is_bounded(v[k])
    return bounded


@inline
def _replace_frozen(block, divergences, start):
    """Replace a block's frozen robots by one that is not; return which, −1 if there is none."""
    last, going = divergences.steps.shape[0] - 1, -1
    for k in range(block.q.shape[0]):
        if going < 0 and divergences.steps[min(start + k, last)] == 0:
            going = k
    for k in range(block.q.shape[0]):
        if going >= 0 and divergences.steps[min(start + k, last)] != 0:
            copy_row(block.q[going], block.q[k])
            copy_row(block.v[going], block.v[k])
            copy_row(block.tau[going], block.tau[k])
            copy_row(block.target[going], block.target[k])
    return going


@inline
def _freeze(block, before, divergences, start, steps):
    """Restore the robots of a block that diverged, and report those that did in this step.

    The reported velocity is, of the unbounded ones, the one that was largest before.
    """
    for k in range(block.q.shape[0]):
        robot, worst, speed = min(start + k, divergences.steps.shape[0] - 1), -1, -1.0
        for j in range(block.v.shape[1]):
            if not abs(block.v[k, j]) < DIVERGED and not abs(before.v[k, j]) <= speed:
                worst, speed = j, abs(before.v[k, j])
        if worst >= 0 and divergences.steps[robot] == 0:
            divergences.steps[robot] = steps
            divergences.velocity[robot] = worst
        if divergences.steps[robot] != 0:
            copy_row(before.q[k], block.q[k])
            copy_row(before.v[k], block.v[k])


@kernel
def run(fixed, controls, record, steps, done, freezes):
    """Advance the robots of a `BlockRun` in place by `steps` steps after `done`; return the first step that diverged,
    or −1.

    The controls are `robots.tau`, or `controls` (1 or batch, steps, nv) where it is not empty. A robot that diverges
    keeps its state before that step, and is entered in `divergences`; unless `freezes`, its block stops.
    """
    robots, wrenches, rows, scratch = fixed.robots, fixed.wrenches, fixed.rows, fixed.scratch
    dynamics, phases, divergences, own = fixed.dynamics, fixed.phases, fixed.divergences, fixed.own
    block, before, batch = scratch.block, scratch.before, robots.q.shape[0]
    diverged, untimed = -1, phases[:0]
    loads = (dynamics.constants[dynamics.topology.shape[0]], scratch.wrenches)
    for start in range(0, batch, len(dynamics.lanes)):
        _load(robots, start, block)
        if len(own) > 0:
            copy(own.constants[min(start, own.constants.shape[0] - 1)], dynamics.constants)
            copy(own.joints[min(start, own.joints.shape[0] - 1)], rows.joints)
        if len(wrenches) > 0:
            on_bodies(wrenches.on_links, start, wrenches.links, scratch.wrenches, dynamics.lanes)
        _record(block.q, record.q, start, 0)
        _record(block.v, record.v, start, 0)
        for step in range(steps):
            timed = phases if step == steps - 1 and start == 0 else untimed
            began = now() if timed.size else 0
            if controls.shape[1] > 0:
                for k in range(block.tau.shape[0]):
                    copy_row(controls[min(start + k, controls.shape[0] - 1), step], block.tau[k])
            copy(block.q, before.q)
            copy(block.v, before.v)
            going = 0
            if freezes:
                going = _replace_frozen(block, divergences, start)
            if going >= 0:
                stepping = Stepping(start, block, rows, fixed.rotations, scratch, dynamics, loads, fixed.contact_state)
                if fixed.integrator == "rk4":
                    _rk4_step(stepping, timed)
                else:
                    _euler_step(fixed.integrator, stepping, timed)
            if timed.size:
                timed[INTEGRATION] = now() - began
                for phase in range(timed.size):
                    if phase != INTEGRATION:
                        timed[INTEGRATION] -= timed[phase]
            if freezes:
                _freeze(block, before, divergences, start, done + step + 1)
            elif not _all_bounded(block.v):
                _freeze(block, before, divergences, start, done + step + 1)
                diverged = step if diverged < 0 else min(diverged, step)
                break
            if (step + 1) % record.every == 0:
                _record(block.q, record.q, start, (step + 1) // record.every)
                _record(block.v, record.v, start, (step + 1) // record.every)
        for k in range(min(block.q.shape[0], batch - start)):
            copy_row(block.q[k], robots.q[start + k])
            copy_row(block.v[k], robots.v[start + k])
    return diverged
