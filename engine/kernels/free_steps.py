"""Steps of one robot without contacts: v⁺ = v + dt q̈(q, v), q⁺ = q ⊕ dt v⁺.

Joint friction and limits are solved exactly, as in `engine.cpu.constraints.active_set`: for given modes the ABA
computes q̈ of all joints and the reactions of held ones, and each joint changes to the mode that follows, until none
changes. One turn of the loop is such a round, not a step, so that a robot whose joints change modes does not delay
others of its warp. Where these rounds cycle, a primal active-set method takes over.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import at_run_time, local, rows
from engine.kernels import active_set
from engine.kernels.aba import accelerate, leave
from engine.kernels.bodies import NV, ZERO, rigid_inertia
from engine.kernels.coordinates import is_bounded
from engine.kernels.joint_constraints import (
    ACTIVE_SET_STEPS,
    BLOCK_PIVOTS,
    friction,
    held_at,
    initial_mode,
    released,
    slack_of_reaction,
    slack_of_velocity,
    slides,
    stopped,
)
from engine.kernels.joint_motion import advance_joint
from engine.kernels.joint_rows import JointRows, bounds, force_without_friction, may_hold
from engine.kernels.outward import enter
from engine.kernels.phase_timer import lap, start_watch, stop_watch
from engine.kernels.robot import ENTER, KIND, V_START
from engine.kernels.spatial import sub
from engine.kernels.step_arguments import record_state, report_divergence, set_controls
from engine.kernels.step_state import Acting
from engine.phases import ACCELERATION, INTEGRATION


@inline
def _copy(row, count, into):
    for k in range(count):
        into[k] = row[k]


@inline
def _begin_modes(acting):
    for k in range(acting.known.q_of_v.shape[0]):
        if may_hold(acting.rows, k):
            low, high = bounds(acting.rows, k, acting.q)
            acting.mode[k] = initial_mode(acting.v[k], low, high, friction(acting.rows.joints, k, acting.v[k]))


@inline
def _settle(acting, k, qdd, reaction, descending, after):
    """Compute v⁺ of a velocity and its next mode; return whether the mode changes. The active-set method keeps the
    mode."""
    v, f = acting.v[k], friction(acting.rows.joints, k, acting.v[k])
    following = v + acting.rows.dt * qdd
    if not may_hold(acting.rows, k):
        after[k] = following
        return False
    (low, high), mode, drive = bounds(acting.rows, k, acting.q), acting.mode[k], force_without_friction(acting, k)
    sliding = slides(mode)
    after[k] = following if sliding else held_at(mode, low, high)
    freed = released(mode, reaction, f, low, high, slack_of_reaction(f, drive))
    kept = mode if descending else stopped(mode, following, f, low, high, slack_of_velocity(v))
    then = kept if sliding else (mode if descending else freed)
    acting.mode[k] = then
    return then != mode


@inline
def _round(acting, wrenches, number, batch, descending, after, reaction):
    """Run the ABA in the present modes: v⁺ into `after` (nv,), reactions; return whether a joint changed its mode."""
    known = acting.known
    robot, changed = known.robot, False
    n, nv = robot.tree.shape[0], known.q_of_v.shape[0]
    numbers, twist, bias, inertia, force = rows(n), rows(n), rows(n), rows(n), rows(n)
    acceleration, kept, qdd = rows(n), rows(nv), rows(nv)
    for e in range(robot.walk.shape[0]):
        i = robot.walk[e, 0]
        if robot.walk[e, 1] == ENTER:
            enter(robot, i, acting.q, acting.v, (ZERO, ZERO), numbers, twist, bias, force)
            inertia[i] = rigid_inertia(robot.bodies[i])
            if known.has_wrenches:
                force[i] = _less_wrench(force[i], wrenches, 6 * batch * i + number, batch)
        else:
            leave(robot, i, acting, numbers, inertia, force, kept)
    for i in range(n):
        accelerate(robot, i, acting, numbers, kept, acceleration, qdd, reaction)
        for k in range(robot.tree[i, V_START], robot.tree[i, V_START] + NV[robot.tree[i, KIND]]):
            changed = _settle(acting, k, qdd[k], reaction[k], descending, after) or changed
    return changed


@inline
def _less_wrench(p, w, at, batch):
    """p minus the wrench whose number r is at w[at + r · batch]."""
    n, f = (w[at], w[at + batch], w[at + 2 * batch]), (w[at + 3 * batch], w[at + 4 * batch], w[at + 5 * batch])
    return sub(p[0], n), sub(p[1], f)


@inline
def _descend(acting, begins, after, reaction, table):
    """Take a step of the primal active-set method with the work array `table` (ROWS, nv); return False at the solution.

    Such steps are rare, so they are not written out for the robot: their inputs are put into a table.
    """
    nv = acting.known.q_of_v.shape[0]
    for k in range(nv):
        table[active_set.NEXT, k] = after[k]
        table[active_set.IS_ROW, k] = 0.0
        if may_hold(acting.rows, k):
            low, high = bounds(acting.rows, k, acting.q)
            table[active_set.IS_ROW, k], table[active_set.LOWEST, k], table[active_set.HIGHEST, k] = 1.0, low, high
            table[active_set.FRICTION, k] = friction(acting.rows.joints, k, acting.v[k])
            table[active_set.DRIVE, k] = force_without_friction(acting, k)
            table[active_set.REACTION, k], table[active_set.MODE, k] = reaction[k], acting.mode[k]
    going = True
    if begins:
        active_set.set_feasible(table, at_run_time(nv))
    else:
        going = active_set.take_step(table, at_run_time(nv))
    for k in range(nv):
        after[k] = table[active_set.FEASIBLE, k]
        if may_hold(acting.rows, k):
            acting.mode[k] = table[active_set.MODE, k]
    return going


@inline
def _take(acting, after):
    """Move to v⁺; return whether it is bounded. With freezing, do not move to one that is not."""
    known, sound = acting.known, True
    if known.freezes:
        sound = is_bounded(after)
    if sound:
        for i in range(known.robot.tree.shape[0]):
            advance_joint(known.robot, i, acting.q, acting.v, after, acting.rows.dt)
    return sound if known.freezes else is_bounded(acting.v)


@kernel
def advance(known, robot, batch, given, dt):
    """Take the steps of `given`, see `StepArguments`, from its state q (nq,), v, tau and target (nv,), in place."""
    steps, state, controls, record = given.steps, given.state, given.controls, given.record
    report, every, last, phases = given.report, given.record.every, given.steps.last, given.report.phases
    nq, nv = state.q.shape[0], state.v.shape[0]
    joints = JointRows(dt, known.has_limits, known.has_constraints, known.q_of_v, known.joints)
    acting = Acting(known, joints, local(nq), local(nv), local(nv), local(nv), local(nv))
    _copy(state.q, nq, acting.q)
    _copy(state.v, nv, acting.v)
    _copy(state.tau, nv, acting.tau)
    _copy(state.target, nv, acting.target)
    after, reaction, table = local(nv), local(nv), local(active_set.ROWS, nv)
    sample = robot * (steps.total // every + 1)
    end, until, number = sample + last // every + 1, every - steps.first % every, 0
    if steps.first == 0:
        record_state(acting.q, acting.v, record, sample)
    sample += steps.first // every + 1
    step = steps.first
    if known.freezes:
        step = last if given.frozen[robot] != 0 else steps.first
    while step < last:
        watched = known.timed and robot == 0 and step == steps.total - 1
        if number == 0:
            set_controls(controls, (robot if controls.rows > 1 else 0) * steps.total + step, acting.tau)
            _begin_modes(acting)
            start_watch(watched, phases)
        descending = number > BLOCK_PIVOTS
        going = _round(acting, given.wrenches, robot, batch, descending, after, reaction)
        if known.has_constraints and (descending or (going and number == BLOCK_PIVOTS)):
            going = _descend(acting, number == BLOCK_PIVOTS, after, reaction, table)
            going = going and number < BLOCK_PIVOTS + ACTIVE_SET_STEPS * nv
        number += 1
        if not going:
            number = 0
            step += 1
            lap(watched, phases, ACCELERATION)
            sound = _take(acting, after)
            lap(watched, phases, INTEGRATION)
            stop_watch(watched, phases)
            until -= 1
            if sound and until == 0:
                until = every
                record_state(acting.q, acting.v, record, sample)
                sample += 1
            if not sound:
                if known.freezes:
                    given.frozen[robot] = steps.done + step
                else:
                    report_divergence(report, steps.done + step)
                step = last
    if known.freezes:
        while sample < end:
            record_state(acting.q, acting.v, record, sample)
            sample += 1
    _copy(acting.q, nq, state.q)
    _copy(acting.v, nv, state.v)
