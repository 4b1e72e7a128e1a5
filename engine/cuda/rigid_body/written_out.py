"""Dynamics of many robots at once, a thread a robot, by kernels that are unrolled for the robot.

Constants are in the instructions, and what passes between bodies is in registers. For robots too large for that, or for
the driver's assembler, there is `thread_per_robot`: measured on an H200, see docs/measured_kernels.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compile import Function
from engine.cuda.rigid_body import thread_per_robot
from engine.cuda.runtime import compiler, device
from engine.kernels import aba, rnea
from engine.kernels.robot import TILTED, robot_of
from engine.model import REVOLUTE, Model

MAX_BODIES = 40
MAX_TILTED = {"float32": 16, "float64": 12}
"""The most revolute joints with a full home rotation, by number type: they take the most registers."""
BLOCK = 64


class WrittenOut:
    """A kernel for a model: ``(*arrays)`` of contiguous CuPy arrays with a row a robot, without waiting."""

    def __init__(self, kernel: Function, model: Model, dtype: str, widths: tuple[int, ...]):
        self._kernel = compiler.written_out(kernel, robot_of(model), widths, dtype)
        self._arrays = len(widths)
        self._launches: dict[int, compiler.Launch] = {}

    def __call__(self, *arrays: Any) -> None:
        batch = len(arrays[0])
        (self._launches.get(batch) or self.prepare(batch))(*arrays)

    def prepare(self, batch: int) -> compiler.Launch:
        """Return the launch for `batch` robots. Raises MemoryError for more robots than a launch can index."""
        launch = compiler.Launch(self._kernel, *spread(batch), self._arrays, (np.int32(batch),))
        self._launches[batch] = launch
        return launch


def spread(batch: int) -> tuple[int, int]:
    """Return blocks, and threads of a block. Raises MemoryError for more robots than a launch can index."""
    device.require_count(batch)
    block = BLOCK if batch > BLOCK * device.properties()["multiProcessorCount"] else BLOCK // 2
    return -(-batch // block), block


def serves(model: Model, dtype: str) -> bool:
    """Return whether kernels are unrolled for a robot in that number type."""
    if len(model.parent) > MAX_BODIES or model.has_mimic:
        return False
    tilted = robot_of(model).tree[model.kind == REVOLUTE, TILTED]
    return bool(tilted.sum() <= MAX_TILTED[dtype])


def forward_dynamics(model: Model, dtype: str) -> WrittenOut | thread_per_robot.Abia:
    """q̈ by the ABA: ``(q, v, tau, out)``, q (batch, nq) and the others (batch, nv)."""
    if not serves(model, dtype):
        return thread_per_robot.Abia(model, dtype)
    return WrittenOut(aba.forward_dynamics, model, dtype, (model.nq, model.nv, model.nv, model.nv))


def inverse_dynamics(model: Model, dtype: str) -> Callable[..., None]:
    """τ by the RNEA: ``(q, v, a, out)``, q (batch, nq) and the others (batch, nv)."""
    if not serves(model, dtype):
        return thread_per_robot.InverseDynamics(model, dtype)
    return WrittenOut(rnea.inverse_dynamics, model, dtype, (model.nq, model.nv, model.nv, model.nv))
