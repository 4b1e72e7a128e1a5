"""Accelerations under joint friction and joint limits, by an exact active-set method.

With the mass matrix, the rows of `joint_constraints` have a unique solution, since their laws are monotone: a linear
complementarity problem, solved by block principal pivoting (Júdice and Pires 1994), usually in one or two rounds. Block
pivoting may cycle; after BLOCK_PIVOTS rounds a primal active-set method takes over, which cannot. v⁺ is the proximal
point, in the metric of the mass matrix, of a convex function with its minimum at rest: limits and friction dissipate
energy.
"""

from __future__ import annotations

from engine.compile import inline, rare
from engine.cpu.accelerations import accelerations, prepare
from engine.cpu.runtime.arrays import fill
from engine.cpu.runtime.laps import begin, lap
from engine.kernels.joint_constraints import (
    ACTIVE_SET_STEPS,
    BLOCK_PIVOTS,
    HIGH,
    LOW,
    STUCK,
    feasible_mode,
    friction,
    friction_excess,
    initial_mode,
    next_mode_of_held,
    next_mode_of_sliding,
    slack_of_reaction,
    slack_of_velocity,
    slides,
    sliding_interval,
)
from engine.kernels.joint_rows import bounds, is_row, set_mode
from engine.phases import CONSTRAINTS


@inline
def _set_initial_active_set(rows, start, active, forces):
    """Set the initial mode of each row: held at rest or at its velocity limit, else sliding."""
    fill(active.mode, 0.0)
    for k in range(start.v.shape[0]):
        for j in range(start.v.shape[1]):
            if is_row(rows, j):
                low, high = bounds(rows, j, start.q[k])
                mode = initial_mode(start.v[k, j], low, high, friction(rows.joints, j, start.v[k, j]))
                set_mode(mode, k, j, rows, start, active, forces)


@inline
def _block_pivot(rows, start, active, forces, result):
    """Change each row to the mode that its result implies; return whether any changed."""
    changed = False
    for k in range(start.v.shape[0]):
        settled = 1
        for j in range(start.v.shape[1]):
            if not is_row(rows, j):
                continue
            low, high = bounds(rows, j, start.q[k])
            v, f, mode = start.v[k, j], friction(rows.joints, j, start.v[k, j]), active.mode[k, j]
            if slides(mode):
                after = v + rows.dt * result.qdd[k, j]
                following = next_mode_of_sliding(mode, after, f, low, high, slack_of_velocity(v))
            else:
                slack = slack_of_reaction(f, forces.force[k, j])
                following = next_mode_of_held(mode, result.reaction[k, j], f, low, high, slack)
            if following != mode:
                changed = True
                settled = 0
                set_mode(following, k, j, rows, start, active, forces)
        active.settled[k] = settled
    return changed


@inline
def _set_feasible(rows, start, active, forces, result):
    """Set a feasible velocity, the last one clipped to its bounds, and its modes; of settled robots keep q̈."""
    for k in range(start.v.shape[0]):
        for j in range(start.v.shape[1]):
            if active.settled[k] != 0:
                active.feasible[k, j] = result.qdd[k, j]
                continue
            after = start.v[k, j] + rows.dt * result.qdd[k, j]
            if is_row(rows, j):
                low, high = bounds(rows, j, start.q[k])
                after = min(max(after, low), high)
                mode = feasible_mode(after, low, high, friction(rows.joints, j, start.v[k, j]))
                set_mode(mode, k, j, rows, start, active, forces)
            active.feasible[k, j] = after


@inline
def _blocking(k, rows, start, active, forces, result):
    """The step length of robot k to the velocity of its modes, at most 1, and the row that blocks it, or −1."""
    share, blocking = 1.0, -1
    for j in range(start.v.shape[1]):
        if not is_row(rows, j) or forces.locked[k, j] != 0.0:
            continue
        low, high = bounds(rows, j, start.q[k])
        low, high = sliding_interval(active.mode[k, j], low, high, friction(rows.joints, j, start.v[k, j]))
        here, there = active.feasible[k, j], start.v[k, j] + rows.dt * result.qdd[k, j]
        slack = slack_of_velocity(here)
        if there > high + slack and share * (there - here) > high - here:
            share, blocking = max(0.0, high - here) / (there - here), j
        elif there < low - slack and share * (there - here) < low - here:
            share, blocking = min(0.0, low - here) / (there - here), j
    return share, blocking


@inline
def _release(k, rows, start, active, forces, result):
    """Release the held row of robot k whose reaction exceeds its bound most; return whether there was one."""
    worst, which, mode_of_worst = 0.0, -1, STUCK
    for j in range(start.v.shape[1]):
        if not is_row(rows, j) or forces.locked[k, j] == 0.0:
            continue
        low, high = bounds(rows, j, start.q[k])
        f, r, mode = friction(rows.joints, j, start.v[k, j]), result.reaction[k, j], active.mode[k, j]
        following = next_mode_of_held(mode, r, f, low, high, slack_of_reaction(f, forces.force[k, j]))
        if following != mode and low < high:
            beyond = friction_excess(mode, r, f, low)
            if beyond > worst or which < 0:
                worst, which, mode_of_worst = beyond, j, following
    if which < 0:
        return False
    set_mode(mode_of_worst, k, which, rows, start, active, forces)
    return True


@inline
def _active_set_step(rows, start, active, forces, result):
    """Take a step of every robot, to the velocity of its modes or to the blocking row; return whether any continues."""
    going = False
    for k in range(start.v.shape[0]):
        if active.settled[k] != 0:
            continue
        share, blocking = _blocking(k, rows, start, active, forces, result)
        for j in range(start.v.shape[1]):
            after = start.v[k, j] + rows.dt * result.qdd[k, j]
            active.feasible[k, j] += share * (after - active.feasible[k, j])
        if blocking >= 0:
            going = True
            low, high = bounds(rows, blocking, start.q[k])
            bottom, top = sliding_interval(
                active.mode[k, blocking], low, high, friction(rows.joints, blocking, start.v[k, blocking])
            )
            up = start.v[k, blocking] + rows.dt * result.qdd[k, blocking] > active.feasible[k, blocking]
            edge = top if up else bottom
            mode = (HIGH if edge == high else STUCK) if up else (LOW if edge == low else STUCK)
            active.feasible[k, blocking] = edge
            set_mode(mode, k, blocking, rows, start, active, forces)
        elif _release(k, rows, start, active, forces, result):
            going = True
    return going


@rare
def _solve_by_active_set_steps(rows, start, active, forces, result, dynamics, loads, phases):
    """Solve by active-set steps: feasible iterates, one row at a time, with decreasing energy.

    Robots that have settled keep their bits, whichever robots share the block.
    """
    _set_feasible(rows, start, active, forces, result)
    for _ in range(ACTIVE_SET_STEPS * start.v.shape[1]):
        accelerations(forces, result, dynamics, loads, phases)
        time = begin(phases)
        going = _active_set_step(rows, start, active, forces, result)
        lap(phases, CONSTRAINTS, time)
        if not going:
            break
    for k in range(start.v.shape[0]):
        for j in range(start.v.shape[1]):
            feasible = active.feasible[k, j]
            result.qdd[k, j] = feasible if active.settled[k] != 0 else (feasible - start.v[k, j]) / rows.dt


@inline
def solve_constrained(state, start, rows, work, dynamics, loads, phases):
    """Compute q̈ at `state` into `work.result`, with constraints on v⁺ = v + dt q̈ of the step from `start`.

    `state` and `start`, usually the same, have q (L, nq) and v (L, nv); `loads` act on the bodies, see `prepare`.
    `work.forces` come without locks: sliding `rows` (`JointRows`) add their friction, held ones their locks.
    `work.active` (`ActiveSet`) gets the modes.
    """
    active, forces, result = work.active, work.forces, work.result
    prepare(state.q, state.v, dynamics, loads, phases)
    fill(forces.locked, 0.0)
    if rows.has_constraints:
        time = begin(phases)
        _set_initial_active_set(rows, start, active, forces)
        lap(phases, CONSTRAINTS, time)
    for _ in range(1 + BLOCK_PIVOTS):
        accelerations(forces, result, dynamics, loads, phases)
        if not rows.has_constraints:
            return
        time = begin(phases)
        changed = _block_pivot(rows, start, active, forces, result)
        lap(phases, CONSTRAINTS, time)
        if not changed:
            return
    _solve_by_active_set_steps(rows, start, active, forces, result, dynamics, loads, phases)
