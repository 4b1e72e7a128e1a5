"""q̈ and reactions of a block of robots by the step's algorithm, from q, v and forces.

An algorithm enters here in two parts: what depends on q and v alone (`prepare`), and the accelerations for any forces,
added inertias and held joints (`accelerations`), which may be called repeatedly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import Function, compiled_apart, inline, kernel
from engine.cpu.chains import cfa, constraint_system, dca_step
from engine.cpu.chains.cfa import CfaWorkspace
from engine.cpu.rigid_body import aba, crba, jsiia, tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.cpu.rigid_body.cholesky import cholesky
from engine.cpu.rigid_body.jsiia import Dense
from engine.cpu.rigid_body.wrenches import take_from_bias
from engine.cpu.runtime.laps import begin, lap
from engine.kernels.coordinates import expand
from engine.model import Model
from engine.model.layout import PackedCoupling, pack, pack_coupling
from engine.phases import (
    ACCELERATION,
    ASSEMBLY,
    BIAS,
    ELIMINATION,
    FACTORISATION,
    INERTIA_RECURSION,
    KINEMATICS,
    MASS_MATRIX,
    REFINEMENT,
    SOLVE,
)

Work = Dense | CfaWorkspace | dca_step.GroupArguments | tuple[()]


class Dynamics(NamedTuple):
    """The inputs of the kernels: the model's arrays, see `layout`, the workspace and its lanes.

    `algorithm` is "abia", "jsiia", "cfa" or "dca"; `work` is the workspace of the last three, else empty.
    """

    algorithm: str
    coupling: PackedCoupling
    topology: NDArray[np.int64]
    constants: NDArray[np.floating]
    w: NDArray[np.floating]
    lanes: tuple[int, ...]
    work: Work


class CoordinateForces(NamedTuple):
    """The forces on the coordinates of a block of L robots, (L, nv) each.

    `force` are the generalized forces; `added_inertia` is added to the diagonal of the mass matrix; where `held` is not
    0, the acceleration is `target_acceleration`.
    """

    force: NDArray[np.floating]
    added_inertia: NDArray[np.floating]
    held: NDArray[np.floating]
    target_acceleration: NDArray[np.floating]


class Accelerations(NamedTuple):
    """The result, (L, nv) each: q̈, and the generalized forces at held joints beyond those given."""

    qdd: NDArray[np.floating]
    reaction: NDArray[np.floating]


@compiled_apart
def _prepare_abia(q, v, dynamics, _loads, phases):
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    time = begin(phases)
    tree_passes.scatter_q(q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(v, 0, topology, w, lanes, slot.OF_QD)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)
    lap(phases, KINEMATICS, time)


@compiled_apart
def _abia(forces, result, dynamics, loads, phases):
    gravity, wrenches = loads
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    time = begin(phases)
    tree_passes.scatter_v(forces.force, 0, topology, w, lanes, slot.OF_TAU)
    tree_passes.scatter_additions(forces.added_inertia, forces.held, forces.target_acceleration, topology, w, lanes)
    time = lap(phases, KINEMATICS, time)
    tree_passes.bias_forces(topology, constants, w, lanes)
    if len(wrenches) > 0:
        take_from_bias(wrenches, w, lanes)
    time = lap(phases, BIAS, time)
    tree_passes.rigid_inertias(topology, constants, w, lanes)
    aba.inertia_recursion(topology, w, lanes)
    time = lap(phases, INERTIA_RECURSION, time)
    aba.accelerations(topology, w, lanes, gravity)
    tree_passes.gather_v(result.qdd, 0, topology, w, lanes, slot.OF_QDD)
    tree_passes.gather_v(result.reaction, 0, topology, w, lanes, slot.OF_REACTION)
    lap(phases, ACCELERATION, time)


@kernel
def _prepare_jsiia(q, v, dynamics, loads, phases):
    gravity, wrenches = loads
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    coupling, dense = dynamics.coupling, dynamics.work
    time = begin(phases)
    expand(q[0], coupling.q_index, coupling.q_factor, coupling.q_offset, dense.tree_q[0])
    expand(v[0], coupling.v_index, coupling.v_factor, coupling.v_offset, dense.tree_v[0])
    tree_passes.scatter_q(dense.tree_q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(dense.tree_v, 0, topology, w, lanes, slot.OF_QD)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)
    time = lap(phases, KINEMATICS, time)
    jsiia.bias(dense.tree_v, topology, constants, w, lanes, gravity, wrenches)
    time = lap(phases, BIAS, time)
    crba.composite_bodies(dense.M_tree, topology, constants, w, lanes)
    lap(phases, MASS_MATRIX, time)


@kernel
def _jsiia(forces, result, dynamics, _loads, phases):
    coupling, dense = dynamics.coupling, dynamics.work
    time = begin(phases)
    jsiia.held_system(
        forces.force[0], forces.added_inertia[0], forces.held[0], forces.target_acceleration[0],
        result.qdd[0], result.reaction[0], coupling, dense,
    )  # fmt: skip
    time = lap(phases, MASS_MATRIX, time)
    cholesky(dense.factor)
    time = lap(phases, FACTORISATION, time)
    jsiia.solve(dense.factor, dense.M, result.qdd[0], result.reaction[0])
    lap(phases, SOLVE, time)


@kernel
def _prepare_cfa(q, v, dynamics, loads, phases):
    gravity, wrenches = loads
    topology, constants, w = dynamics.topology, dynamics.constants, dynamics.w
    time = begin(phases)
    cfa.kinematics(q, v, topology, constants, w)
    time = lap(phases, KINEMATICS, time)
    jsiia.bias(dynamics.work.vectors[cfa.BIAS : cfa.BIAS + 1], topology, constants, w, slot.ONE, gravity, wrenches)
    time = lap(phases, BIAS, time)
    constraint_system.assemble(dynamics.work.blocks, topology, constants, w)
    lap(phases, ASSEMBLY, time)


@kernel
def _cfa(forces, result, dynamics, _loads, phases):
    time = begin(phases)
    added_inertia, held, qdd, work = forces.added_inertia[0], forces.held[0], result.qdd[0], dynamics.work
    topology, constants, w = dynamics.topology, dynamics.constants, dynamics.w
    cfa.eliminate(
        forces.force[0], added_inertia, held, forces.target_acceleration[0], qdd, work, topology, constants, w
    )
    time = lap(phases, ELIMINATION, time)
    cfa.refine(added_inertia, held, qdd, result.reaction[0], work, topology, constants, w)
    lap(phases, REFINEMENT, time)


class Algorithm(NamedTuple):
    """An algorithm of steps: its workspace for a model, arrays of the same types, and its two kernels.

    `seconds` are those to compile it, beyond ABIA's. `is_shared`: threads share each call for one robot.
    """

    workspace: Callable[[Model], Work]
    example: Work
    prepare: Function
    accelerations: Function
    seconds: float = 0.0
    is_shared: bool = False


_REAL, _WHOLE = np.zeros(1), np.zeros(1, np.int64)
_MATRIX, _CUBE = _REAL[None], _REAL[None, None]
ABIA = Algorithm(lambda _model: (), (), _prepare_abia, _abia)
JSIIA = Algorithm(jsiia.dense, Dense(_MATRIX, _MATRIX, _CUBE, _MATRIX, _MATRIX), _prepare_jsiia, _jsiia)
CFA = Algorithm(cfa.workspace, CfaWorkspace(_MATRIX, _CUBE, _MATRIX, 1.0), _prepare_cfa, _cfa, 0.1)
DCA = Algorithm(
    lambda _model: dca_step.GroupArguments(np.zeros(dca_step.ARGUMENTS, np.int64)), dca_step.GroupArguments(_WHOLE),
    dca_step.prepare, dca_step.accelerations, 0.4, True,
)  # fmt: skip


@inline
def _by_name(name):
    return ABIA if name == "abia" else JSIIA if name == "jsiia" else CFA if name == "cfa" else DCA


def algorithm_named(name: str) -> Algorithm:
    """Return the algorithm of that name."""
    found: Algorithm = _by_name.function(name)
    return found


def dynamics(algorithm: str, model: Model, lanes: tuple[int, ...]) -> Dynamics:
    """Return the inputs of an algorithm for a block of robots like a model."""
    w, work = slot.workspace(len(model.parent), lanes), algorithm_named(algorithm).workspace(model)
    return Dynamics(algorithm, pack_coupling(model), *pack(model), w, lanes, work)


def example(algorithm: str, lanes: tuple[int, ...]) -> Dynamics:
    """Return arrays of the types and dimensions of those in `dynamics`, for compiling kernels."""
    coupling, work = (PackedCoupling(_WHOLE, _REAL, _REAL, _WHOLE, _REAL, _REAL), algorithm_named(algorithm).example)
    return Dynamics(algorithm, coupling, _WHOLE[None], _MATRIX, _MATRIX, lanes, work)


@inline
def prepare(q, v, dynamics, loads, phases):
    """Compute in the workspace what the accelerations of a block at q (L, nq) and v (L, nv) need.

    `loads` are gravity (3,), and external wrenches (n, 6 L) on the bodies or an empty tuple.
    """
    _by_name(dynamics.algorithm).prepare(q, v, dynamics, loads, phases)


@inline
def accelerations(forces, result, dynamics, loads, phases):
    """Compute q̈ and reactions into `result` under these forces, after `prepare`."""
    _by_name(dynamics.algorithm).accelerations(forces, result, dynamics, loads, phases)
