"""Steps of one robot without contacts: v⁺ = v + dt q̈(q, v), q⁺ = q ⊕ dt v⁺.

Joint friction and limits are solved exactly, as in `engine.cpu.constraints.active_set`: for given modes the ABA
computes q̈ of all joints and the reactions of held ones, and each joint takes the mode that results, until no mode
changes. One iteration of the loop is such a round, not a step, so that a robot whose joints change modes does not delay
others of its warp. Where these rounds cycle, a primal active-set method takes over.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import at_run_time, local, registers
from engine.kernels import active_set
from engine.kernels.aba import accelerate, leave
from engine.kernels.bodies import NV, ZERO, rigid_inertia
from engine.kernels.divergence import is_bounded
from engine.kernels.gains_and_damping import force_without_friction
from engine.kernels.joint_constraints import (
    ACTIVE_SET_STEPS,
    BLOCK_PIVOTS,
    friction,
    held_velocity,
    initial_mode,
    next_mode_of_held,
    next_mode_of_sliding,
    slack_of_reaction,
    slack_of_velocity,
    slides,
)
from engine.kernels.joint_motion import advance_joint
from engine.kernels.joint_rows import JointRows, bounds, may_be_held
from engine.kernels.outward import enter
from engine.kernels.phase_timer import lap, start_watch, stop_watch
from engine.kernels.robot import ENTER, KIND, V_START
from engine.kernels.spatial import sub
from engine.kernels.step_arguments import record_state, report_divergence, set_controls
from engine.kernels.step_state import StepInputs
from engine.phases import ACCELERATION, INTEGRATION


@inline
def _copy(x, count, out):
    for k in range(count):
        out[k] = x[k]


@inline
def _initialise_modes(inputs):
    for k in range(inputs.known.q_of_v.shape[0]):
        if may_be_held(inputs.rows, k):
            low, high = bounds(inputs.rows, k, inputs.q)
            inputs.mode[k] = initial_mode(inputs.v[k], low, high, friction(inputs.rows.joints, k, inputs.v[k]))


@inline
def _next_mode(inputs, k, qdd, reaction, primal, v_next):
    """Compute v⁺ of a velocity and its next mode; return whether the mode changes. The `primal` method sets
    modes itself."""
    v, f = inputs.v[k], friction(inputs.rows.joints, k, inputs.v[k])
    next_velocity = v + inputs.rows.dt * qdd
    if not may_be_held(inputs.rows, k):
        v_next[k] = next_velocity
        return False
    (low, high), mode, drive = bounds(inputs.rows, k, inputs.q), inputs.mode[k], force_without_friction(inputs, k)
    sliding = slides(mode)
    v_next[k] = next_velocity if sliding else held_velocity(mode, low, high)
    released_mode = mode if primal else next_mode_of_held(mode, reaction, f, low, high, slack_of_reaction(f, drive))
    stopped_mode = mode if primal else next_mode_of_sliding(mode, next_velocity, f, low, high, slack_of_velocity(v))
    next_mode = stopped_mode if sliding else released_mode
    inputs.mode[k] = next_mode
    return next_mode != mode


@inline
def _solve_in_modes(inputs, wrenches, robot_index, batch, primal, v_next, reaction):
    """Run the ABA in the present modes: v⁺ into `v_next` (nv,), reactions; return whether a joint changed its mode."""
    known = inputs.known
    robot, changed = known.robot, False
    n, nv = robot.tree.shape[0], known.q_of_v.shape[0]
    numbers, twist, bias, inertia, force = registers(n), registers(n), registers(n), registers(n), registers(n)
    acceleration, factors, qdd = registers(n), registers(nv), registers(nv)
    for e in range(robot.walk.shape[0]):
        i = robot.walk[e, 0]
        if robot.walk[e, 1] == ENTER:
            enter(robot, i, inputs.q, inputs.v, (ZERO, ZERO), numbers, twist, bias, force)
            inertia[i] = rigid_inertia(robot.bodies[i])
            if known.has_wrenches:
                force[i] = _minus_wrench(force[i], wrenches, 6 * batch * i + robot_index, batch)
        else:
            leave(robot, i, inputs, numbers, inertia, force, factors)
    for i in range(n):
        accelerate(robot, i, inputs, numbers, factors, acceleration, qdd, reaction)
        for k in range(robot.tree[i, V_START], robot.tree[i, V_START] + NV[robot.tree[i, KIND]]):
            changed = _next_mode(inputs, k, qdd[k], reaction[k], primal, v_next) or changed
    return changed


@inline
def _minus_wrench(p, w, i, batch):
    """p minus the wrench whose number r is at w[at + r · batch]."""
    n, f = ((w[i], w[i + batch], w[i + 2 * batch]), (w[i + 3 * batch], w[i + 4 * batch], w[i + 5 * batch]))
    return sub(p[0], n), sub(p[1], f)


@inline
def _active_set_round(inputs, first, v_next, reaction, table):
    """Take a step of the primal active-set method with the work array `table` (ROWS, nv); return False at the solution.

    Such steps are rare, so they are not written out for the robot: their inputs are put into a table.
    """
    nv = inputs.known.q_of_v.shape[0]
    for k in range(nv):
        table[active_set.NEXT, k] = v_next[k]
        table[active_set.IS_ROW, k] = 0.0
        if may_be_held(inputs.rows, k):
            low, high = bounds(inputs.rows, k, inputs.q)
            table[active_set.IS_ROW, k], table[active_set.LOWEST, k], table[active_set.HIGHEST, k] = 1.0, low, high
            table[active_set.FRICTION, k] = friction(inputs.rows.joints, k, inputs.v[k])
            table[active_set.DRIVE, k] = force_without_friction(inputs, k)
            table[active_set.REACTION, k], table[active_set.MODE, k] = reaction[k], inputs.mode[k]
    unsolved = True
    if first:
        active_set.set_feasible(table, at_run_time(nv))
    else:
        unsolved = active_set.take_step(table, at_run_time(nv))
    for k in range(nv):
        v_next[k] = table[active_set.FEASIBLE, k]
        if may_be_held(inputs.rows, k):
            inputs.mode[k] = table[active_set.MODE, k]
    return unsolved


@inline
def _integrate(inputs, v_next):
    """Move to v⁺; return whether it is bounded. With freezing, do not move to one that is not."""
    known, bounded = inputs.known, True
    if known.freezes:
        bounded = is_bounded(v_next)
    if bounded:
        for i in range(known.robot.tree.shape[0]):
            advance_joint(known.robot, i, inputs.q, inputs.v, v_next, inputs.rows.dt)
    return bounded if known.freezes else is_bounded(inputs.v)


@kernel
def advance(known, robot, batch, given, dt):
    """Take the steps of `given`, see `StepArguments`, from its state q (nq,), v, tau and target (nv,), in place."""
    steps, state, controls, record = given.steps, given.state, given.controls, given.record
    report, every, last, phases = given.report, given.record.every, given.steps.last, given.report.phases
    nq, nv = state.q.shape[0], state.v.shape[0]
    joints = JointRows(dt, known.has_limits, known.has_constraints, known.q_of_v, known.joints)
    inputs = StepInputs(known, joints, local(nq), local(nv), local(nv), local(nv), local(nv))
    _copy(state.q, nq, inputs.q)
    _copy(state.v, nv, inputs.v)
    _copy(state.tau, nv, inputs.tau)
    _copy(state.target, nv, inputs.target)
    v_next, reaction, table = local(nv), local(nv), local(active_set.ROWS, nv)
    sample = robot * (steps.total // every + 1)
    end_sample, countdown, rounds = sample + last // every + 1, every - steps.first % every, 0
    if steps.first == 0:
        record_state(inputs.q, inputs.v, record, sample)
    sample += steps.first // every + 1
    step = steps.first
    if known.freezes:
        step = last if given.frozen[robot] != 0 else steps.first
    while step < last:
        timed = known.timed and robot == 0 and step == steps.total - 1
        if rounds == 0:
            set_controls(controls, (robot if controls.rows > 1 else 0) * steps.total + step, inputs.tau)
            _initialise_modes(inputs)
            start_watch(timed, phases)
        primal = rounds > BLOCK_PIVOTS
        changing = _solve_in_modes(inputs, given.wrenches, robot, batch, primal, v_next, reaction)
        if known.has_constraints and (primal or (changing and rounds == BLOCK_PIVOTS)):
            changing = _active_set_round(inputs, rounds == BLOCK_PIVOTS, v_next, reaction, table)
            changing = changing and rounds < BLOCK_PIVOTS + ACTIVE_SET_STEPS * nv
        rounds += 1
        if not changing:
            rounds = 0
            step += 1
            lap(timed, phases, ACCELERATION)
            bounded = _integrate(inputs, v_next)
            lap(timed, phases, INTEGRATION)
            stop_watch(timed, phases)
            countdown -= 1
            if bounded and countdown == 0:
                countdown = every
                record_state(inputs.q, inputs.v, record, sample)
                sample += 1
            if not bounded:
                if known.freezes:
                    given.frozen[robot] = steps.done + step
                else:
                    report_divergence(report, steps.done + step)
                step = last
    if known.freezes:
        while sample < end_sample:
            record_state(inputs.q, inputs.v, record, sample)
            sample += 1
    _copy(inputs.q, nq, state.q)
    _copy(inputs.v, nv, state.v)
