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
from engine.kernels import active_set
from engine.kernels.joint_constraints import (
    ACTIVE_SET_STEPS,
    BLOCK_PIVOTS,
    friction,
    initial_mode,
    next_mode_of_held,
    next_mode_of_sliding,
    slack_of_reaction,
    slack_of_velocity,
    slides,
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
def _fill_table(k, rows, start, active, forces, result):
    """Write what robot k's results in its present modes are into its table."""
    table = active.table[k]
    for j in range(start.v.shape[1]):
        table[active_set.NEXT, j], table[active_set.IS_ROW, j] = start.v[k, j] + rows.dt * result.qdd[k, j], 0.0
        if is_row(rows, j):
            low, high = bounds(rows, j, start.q[k])
            table[active_set.IS_ROW, j], table[active_set.LOWEST, j], table[active_set.HIGHEST, j] = 1.0, low, high
            table[active_set.FRICTION, j] = friction(rows.joints, j, start.v[k, j])
            table[active_set.DRIVE, j], table[active_set.REACTION, j] = forces.force[k, j], result.reaction[k, j]
            table[active_set.MODE, j] = active.mode[k, j]


@inline
def _take_modes(k, rows, start, active, forces):
    for j in range(start.v.shape[1]):
        if is_row(rows, j):
            set_mode(active.table[k, active_set.MODE, j], k, j, rows, start, active, forces)


@inline
def _active_set_step(rows, start, active, forces, result):
    """Take a step of every robot that has not settled; return whether any continues."""
    going = False
    for k in range(start.v.shape[0]):
        if active.settled[k] == 0:
            _fill_table(k, rows, start, active, forces, result)
            going = active_set.take_step(active.table[k], start.v.shape[1]) or going
            _take_modes(k, rows, start, active, forces)
    return going


@rare
def _solve_by_active_set_steps(rows, start, active, forces, result, dynamics, loads, phases):
    """Solve by active-set steps. Robots that have settled keep their bits, whichever robots share the block."""
    for k in range(start.v.shape[0]):
        if active.settled[k] == 0:
            _fill_table(k, rows, start, active, forces, result)
            active_set.set_feasible(active.table[k], start.v.shape[1])
            _take_modes(k, rows, start, active, forces)
        for j in range(start.v.shape[1]):
            if active.settled[k] != 0:
                active.table[k, active_set.FEASIBLE, j] = result.qdd[k, j]
    for _ in range(ACTIVE_SET_STEPS * start.v.shape[1]):
        accelerations(forces, result, dynamics, loads, phases)
        time = begin(phases)
        going = _active_set_step(rows, start, active, forces, result)
        lap(phases, CONSTRAINTS, time)
        if not going:
            break
    for k in range(start.v.shape[0]):
        for j in range(start.v.shape[1]):
            feasible = active.table[k, active_set.FEASIBLE, j]
            result.qdd[k, j] = feasible if active.settled[k] != 0 else (feasible - start.v[k, j]) / rows.dt


@inline
def solve_constrained(state, start, rows, work, dynamics, loads, phases):
    """Compute q̈ at `state` into `work.result`, with constraints on v⁺ = v + dt q̈ of the step from `start`.

    `state` and `start`, usually the same, have q (L, nq) and v (L, nv); `loads` act on the bodies, see `prepare`.
    `work.forces` come with no joint held: sliding `rows` (`JointRows`) add their friction, others are held.
    `work.active` (`ActiveSet`) gets the modes.
    """
    active, forces, result = work.active, work.forces, work.result
    prepare(state.q, state.v, dynamics, loads, phases)
    fill(forces.held, 0.0)
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
