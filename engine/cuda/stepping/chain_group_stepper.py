"""Steps of serial chains by CFA or JSIIA, a group of threads each: a launch of chain_group_step.cuh a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.cuda.chains import cfa, jsiia
from engine.cuda.chains.thread_group import ThreadGroupKernels, ThreadGroups, Workspace
from engine.cuda.runtime import arrays, header
from engine.cuda.stepping.stepper import Stepper, packed_constants
from engine.model import REVOLUTE
from engine.model.model import spatial_inertias
from engine.step_settings import INTEGRATORS, StepSettings

_JOINT_NUMBERS = 24
"""The most numbers of the simulation's type in a `Joint` of chain_constraints.cuh."""


class _Solver(NamedTuple):
    """The accelerations of an algorithm within a step's kernel."""

    preamble: str
    fields: int
    """Numbers of a link that other threads may read."""
    kept: int
    """Numbers of a link that its own thread keeps."""
    numbers: Any
    """The solver's global memory."""
    shared: int
    """Bytes of shared memory."""


class ChainGroupStepper(Stepper):
    """Serial chains advanced by the settings' algorithm, "cfa" or "jsiia"."""

    def __init__(self, settings: StepSettings):
        n, batch, self._dtype = len(settings.model.parent), settings.batch, np.dtype(settings.dtype)
        self._algorithm = settings.algorithm
        self._groups = groups = ThreadGroups.of(batch, n, dense=self._algorithm == "jsiia")
        constants = np.swapaxes(packed_constants(settings), -1, -2)
        several = groups.resident * groups.block * groups.blocks * groups.links if groups.links > 1 else 0
        more = constants.size + settings.joints.size + 3 * batch * n + _JOINT_NUMBERS * several
        super().__init__(settings, self._dtype.itemsize * more)
        own = np.int32(settings.parameters is not None), np.int32(len(settings.joints) > 1)
        revolute = arrays.to_device((settings.model.kind == REVOLUTE).astype(np.int32))
        table = np.ascontiguousarray(settings.joints, self._dtype)
        constants = arrays.to_device(np.ascontiguousarray(constants, self._dtype))
        self._tables = constants, own[0], revolute, arrays.to_device(table), own[1]
        self._additions = settings.has_constraints or settings.integrator == "implicit"
        self._solver = (
            _of_cfa(settings, self._additions)
            if self._algorithm == "cfa"
            else _of_jsiia(settings, groups, self._additions)
        )
        self._workspace = Workspace(groups, self._solver.fields, self._solver.kept, settings.dtype, self._solver.shared)
        self._places = arrays.empty((3, batch, n), settings.dtype)
        self._joints = arrays.empty((max(1, _JOINT_NUMBERS * several),), settings.dtype)
        self._compile()

    def _compile(self) -> None:
        integrator = INTEGRATORS.index(self._settings.integrator)
        numbers = header.numbers({"INTEGRATOR": integrator, "JOINT_NUMBERS": _JOINT_NUMBERS})
        preamble = "\n".join([self._solver.preamble, *header.flags(self._facts), *numbers])
        source = f"stepping/{self._algorithm}_step.cu"
        kernels = ThreadGroupKernels(source, ["advance_groups<"], self._settings.dtype, preamble)
        (self._kernel,) = kernels.of(self._groups)

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        work = self._workspace
        given = (
            *work.first, work.outside, *steps, *state, *self._tables, *self._report, self._body_wrenches,
            self._places, self._joints, self._solver.numbers, self._frozen,
        )  # fmt: skip
        self._start(self._kernel, work.grid, work.block, given, work.all_shared)


def _of_cfa(settings: StepSettings, additions: bool) -> _Solver:
    own = settings.parameters
    J = settings.model.J if own is None else spatial_inertias(own.mass, own.first_moment, own.inertia)
    numbers = np.ascontiguousarray(np.swapaxes(cfa.inverse_inertias(J), -1, -2), settings.dtype)
    fields, kept = cfa.sizes(len(settings.model.parent), additions)
    limits = header.numbers({"REFINEMENTS": cfa.REFINEMENTS})
    tolerance = f"constexpr double TOLERANCE = {cfa.TOLERANCE[settings.dtype]!r};"
    preamble = "\n".join([cfa.preamble(additions), *limits, tolerance])
    return _Solver(preamble, fields, kept, arrays.to_device(numbers), 0)


def _of_jsiia(settings: StepSettings, groups: ThreadGroups, additions: bool) -> _Solver:
    shared, _, numbers = jsiia.dense(groups, settings.dtype, additions)
    return _Solver(jsiia.preamble(additions), jsiia.FIELDS, 0, numbers, shared)
