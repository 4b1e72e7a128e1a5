"""The steps of one robot in a scene, in three stages: its beginning, one Newton step of its search, its end.

On a GPU the threads of a block take each stage together, so that a multiprocessor executes the same instructions at a
time. Rounds take a step of the search while more than one in `SEARCH_ONE_IN` of the block's robots needs one; then the
waiting robots end their steps and begin the next, and the few continue with them. So a robot with a long search does
not delay its block. Robots are independent: no bit depends on which robots share a block, or on the number of threads.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.compile.operations import count_threads, parallel_range
from engine.kernels import rk4
from engine.kernels.contact.contact_step import begin_contacts, end_contacts, free_velocity, integrate
from engine.kernels.contact.detection import find_contacts, update_bodies
from engine.kernels.contact.problem import CONTACTS, JOINTS
from engine.kernels.contact.recursion import factorise
from engine.kernels.contact.search import advance as advance_search
from engine.kernels.contact.workspace import ContactState
from engine.kernels.divergence import is_bounded
from engine.kernels.gains_and_damping import joint_forces
from engine.kernels.joint_constraints import FORWARD, STUCK, joint_law
from engine.kernels.joint_motion import to_start_frame
from engine.kernels.joint_rows import JointRows
from engine.kernels.phase_timer import lap, start_watch, stop_watch
from engine.kernels.step_arguments import record_state, report_divergence, set_controls
from engine.kernels.step_state import Robots
from engine.model.layout import PackedCoupling
from engine.phases import COLLISION, CONTACT, INTEGRATION
from engine.step_settings import Rotations

BEGIN, SEARCH, END, DONE = range(4)
"""The stages of a step; `DONE` after the last step."""
SEARCH_ONE_IN = 12
"""A block takes only search steps while more than one in so many of its unfinished robots needs one."""


class Fixed(NamedTuple):
    """Settings that are known when the kernel is compiled; they are strings, also on the host."""

    integrator: str
    on_divergence: Literal["raise", "freeze"]
    wrenches: Literal["act", "none"]
    phases: Literal["timed", "untimed"]


class Forces(NamedTuple):
    """The generalized forces and the diagonal added to the mass matrix, (1, nv) each."""

    force: NDArray[np.floating]
    added_inertia: NDArray[np.floating]


class RobotWorkspace(NamedTuple):
    """The workspace of a robot: its state, the state as the step began, forces, wrenches (n, 6), whether RK4's stages
    were taken (1,), and these, an empty tuple for other integrators."""

    state: Robots
    before: Robots
    forces: Forces
    wrenches: NDArray[np.floating]
    took_stages: NDArray[np.int64]
    stages: rk4.Stages | tuple[()]


def robot_workspace(bodies: int, nq: int, nv: int, integrator: str) -> RobotWorkspace:
    """Return the workspace of a robot with these numbers of bodies, coordinates and velocities."""
    state, before = (Robots(np.zeros((1, nq)), *(np.zeros((1, nv)) for _ in range(3))) for _ in range(2))
    forces = Forces(np.zeros((1, nv)), np.zeros((1, nv)))
    stages = rk4.stages(1, nq, nv) if integrator == "rk4" else ()
    return RobotWorkspace(state, before, forces, np.zeros((bodies, 6)), np.zeros(1, np.int64), stages)


class ModelArrays(NamedTuple):
    """A robot's arrays for its dynamics, see `model.layout`."""

    topology: NDArray[np.int64]
    constants: NDArray[np.floating]
    coupling: PackedCoupling


class SceneRobot(NamedTuple):
    """A robot in its scene: its arrays, joint rows, rotations, workspace and contacts."""

    known: ModelArrays
    rows: JointRows
    rotations: Rotations
    workspace: RobotWorkspace
    contact_state: ContactState


@inline
def _copy(x, out):
    for k in parallel_range(x.shape[1]):
        out[0, k] = x[0, k]


@kernel
def _take_stages(robot, loads):
    """Take RK4's stages: v_f is their velocity, and M is taken at their coordinates."""
    state, forces, stages = robot.workspace.state, robot.workspace.forces, robot.workspace.stages
    contact, q, v = robot.contact_state.contact, state.q[0], state.v[0]
    rk4.begin_stages(q, v, 0, stages)
    for stage in range(4):
        joint_forces(state, stages.q, stages.v, robot.rows, forces, False)
        update_bodies(stages.q[0], stages.v[0], robot.known, loads, contact)
        free_velocity(stages.v[0], forces, robot.rows, contact.topology, loads[0], contact)
        rk4.add_stage(stage, q, v, contact.column, 0, robot.rows, robot.rotations, stages)
    rk4.end_stages(q, v, 0, robot.rows, robot.rotations, stages)
    update_bodies(stages.q[0], v, robot.known, loads, contact)
    factorise(forces.force[0], forces.added_inertia[0], contact.topology, contact.bodies, contact.solver.tree)
    for j in parallel_range(v.size):
        contact.free[j] = v[j]


@inline
def _end_stages(robot):
    """Move to the velocity `contact.free` and the coordinates of RK4's stages."""
    state, stages, contact = robot.workspace.state, robot.workspace.stages, robot.contact_state.contact
    p, mode = contact.solver.problem, stages.v_sum[0]
    for j in parallel_range(mode.size):
        mode[j], state.v[0, j] = FORWARD, contact.free[j]
    for k in parallel_range(contact.solver.search.counts[JOINTS]):
        y, f, low, high = p.joint_u[k] - p.g[k] * p.joint_impulse[k], p.g[k] * p.law[k, 0], p.law[k, 1], p.law[k, 2]
        v_next = joint_law(y, f, low, high)
        if abs(y) < f or v_next <= low or v_next >= high:
            mode[p.joint[k]] = STUCK
    rk4.accept_coordinates(state.q[0], stages.q[0], state.v[0], mode, robot.rows, robot.rotations)


@kernel
def _begin(number, row, given, batch, fixed, robot, timed):
    """Begin a step of robot `number`; return whether the previous step's impulses are accepted as its own."""
    state, before, forces = robot.workspace.state, robot.workspace.before, robot.workspace.forces
    known, rows, contact_state, contact = robot.known, robot.rows, robot.contact_state, robot.contact_state.contact
    phases = given.report.phases
    start_watch(timed, phases)
    set_controls(given.controls, row, state.tau[0])
    if fixed.wrenches == "act":
        for i in parallel_range(robot.workspace.wrenches.shape[0]):
            for k in range(6):
                robot.workspace.wrenches[i, k] = given.wrenches[(6 * i + k) * batch + number]
    _copy(state.q, before.q)
    _copy(state.v, before.v)
    gravity, q, v = known.constants[known.topology.shape[0]], state.q[0], state.v[0]
    keeps_energy = fixed.integrator == "rk4"
    joint_forces(state, state.q, state.v, rows, forces, fixed.integrator == "implicit")
    loads = gravity, robot.workspace.wrenches if fixed.wrenches == "act" else ()
    count = find_contacts(q, v, rows, known, loads, contact)
    lap(timed, phases, COLLISION)
    robot.workspace.took_stages[0] = 1 if keeps_energy and count == 0 else 0
    if keeps_energy and count == 0:
        _take_stages(robot, loads)
    else:
        free_velocity(v, forces, rows, contact.topology, gravity, contact)
        to_start_frame(v, rows.dt, contact.free, robot.rotations)
    return begin_contacts(keeps_energy, count, q, v, forces.added_inertia[0], rows, contact_state, 0)


@kernel
def _search(robot):
    """Take a Newton step of a search; return whether it is over."""
    contact, counts = robot.contact_state.contact, robot.contact_state.contact.solver.search.counts
    return advance_search(
        counts[CONTACTS], counts[JOINTS], robot.workspace.forces.added_inertia[0], contact.topology, contact.bodies,
        contact.solver, contact.step_counts,
    )  # fmt: skip


@kernel
def _end(accepted, fixed, robot, timed, phases):
    """End a step after its search, or directly if the previous step's impulses were `accepted`.

    Returns False if another search begins.
    """
    state, contact = robot.workspace.state, robot.contact_state.contact
    inertia = robot.workspace.forces.added_inertia[0]
    if not end_contacts(accepted, fixed.integrator == "rk4", robot.rows.dt, inertia, robot.contact_state, 0):
        return False
    lap(timed, phases, CONTACT)
    if fixed.integrator == "rk4" and robot.workspace.took_stages[0] == 1:
        _end_stages(robot)
    else:
        integrate(state.q[0], state.v[0], robot.rows, robot.rotations, contact)
    lap(timed, phases, INTEGRATION)
    stop_watch(timed, phases)
    return True


@inline
def _block_stage(stage):
    """The stage that the threads of a block take together; `DONE` after the last step of all robots."""
    searching = count_threads(stage == SEARCH)
    ending, beginning = count_threads(stage == END), count_threads(stage == BEGIN)
    if SEARCH_ONE_IN * searching > searching + ending + beginning:
        return SEARCH
    if ending > 0:
        return END
    return BEGIN if beginning > 0 else DONE


@kernel
def advance(number, exists, batch, given, fixed, robot):
    """Take the steps of `given`, see `StepArguments`, from its state q (1, nq), v, tau and target (1, nv), in place.

    `number` is the robot's in the batch; threads without a robot have `exists` false.
    """
    steps, record, every, last = given.steps, given.record, given.record.every, given.steps.last
    state, before = robot.workspace.state, robot.workspace.before
    stage, step = DONE, steps.first
    sample, countdown = number * (steps.total // every + 1), every - steps.first % every
    end_sample, accepted = sample + last // every + 1, False
    if exists:
        _copy(given.state.q, state.q)
        _copy(given.state.v, state.v)
        _copy(given.state.tau, state.tau)
        _copy(given.state.target, state.target)
        if steps.first == 0:
            record_state(state.q[0], state.v[0], record, sample)
        if steps.first < last and (fixed.on_divergence != "freeze" or given.frozen[number] == 0):
            stage = BEGIN
    sample += steps.first // every + 1
    row = (number if given.controls.rows > 1 else 0) * steps.total
    block_stage = _block_stage(stage)
    while block_stage != DONE:
        if stage == block_stage:
            timed = fixed.phases == "timed" and number == 0 and step == steps.total - 1
            if stage == BEGIN:
                accepted = _begin(number, row + step, given, batch, fixed, robot, timed)
                stage = END if accepted else SEARCH
            elif stage == SEARCH:
                stage = END if _search(robot) else SEARCH
            elif not _end(accepted, fixed, robot, timed, given.report.phases):
                accepted, stage = False, SEARCH
            else:
                step += 1
                countdown -= 1
                bounded = is_bounded(state.v[0])
                if not bounded:
                    if fixed.on_divergence == "freeze":
                        _copy(before.q, state.q)
                        _copy(before.v, state.v)
                        given.frozen[number] = steps.done + step
                    else:
                        report_divergence(given.report, steps.done + step)
                elif countdown == 0:
                    countdown = every
                    record_state(state.q[0], state.v[0], record, sample)
                    sample += 1
                stage = BEGIN if bounded and step < last else DONE
        block_stage = _block_stage(stage)
    if exists:
        if fixed.on_divergence == "freeze":
            while sample < end_sample:
                record_state(state.q[0], state.v[0], record, sample)
                sample += 1
        _copy(state.q, given.state.q)
        _copy(state.v, given.state.v)
