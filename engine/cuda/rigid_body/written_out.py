"""Dynamics of many robots at once, a thread a robot, by kernels that are written out for the robot.

What is known of it is in the instructions, and what passes between bodies in registers. Where that does not fit, or the
driver's assembler would take too long, a robot has `thread_per_robot`: measured on an H200, see docs/kernels.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compile import Function
from engine.cuda.rigid_body import thread_per_robot
from engine.cuda.runtime import compiler, device
from engine.kernels import aba, rnea
from engine.kernels.robot import TILTED, known
from engine.model import REVOLUTE, Model

MOST_BODIES = 40
MOST_TILTED = {"float32": 16, "float64": 12}
"""Revolute joints whose home rotation has hardly a zero, by number type: they take the most registers."""
BLOCK = 64


class WrittenOut:
    """A kernel for a model: ``(*arrays)`` of contiguous CuPy arrays with a row a robot, without waiting."""

    def __init__(self, kernel: Function, model: Model, dtype: str, widths: tuple[int, ...]):
        self._kernel = compiler.written_out(kernel, known(model), widths, dtype)
        self._arrays = len(widths)
        self._launches: dict[int, compiler.Launch] = {}

    def __call__(self, *arrays: Any) -> None:
        batch = len(arrays[0])
        (self._launches.get(batch) or self.prepare(batch))(*arrays)

    def prepare(self, batch: int) -> compiler.Launch:
        """The launch for a batch of that size. MemoryError where robots are more than a launch counts."""
        launch = compiler.Launch(self._kernel, *spread(batch), self._arrays, (np.int32(batch),))
        self._launches[batch] = launch
        return launch


def spread(batch: int) -> tuple[int, int]:
    """Blocks, and threads of a block. MemoryError where robots are more than a launch counts."""
    device.require_count(batch)
    block = BLOCK if batch > BLOCK * device.properties()["multiProcessorCount"] else BLOCK // 2
    return -(-batch // block), block


def serves(model: Model, dtype: str) -> bool:
    """Whether kernels are written out for a robot in that number type."""
    if len(model.parent) > MOST_BODIES or model.has_mimic:
        return False
    tilted = known(model).tree[model.kind == REVOLUTE, TILTED]
    return bool(tilted.sum() <= MOST_TILTED[dtype])


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
