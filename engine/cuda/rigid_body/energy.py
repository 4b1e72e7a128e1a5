"""Energies of a batch of robots whose states are on the GPU: one launch, any tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.rigid_body import tree
from engine.cuda.runtime import arrays, compiler, device, header
from engine.device_arrays import to_host
from engine.model import Model
from engine.model.layout import pack
from engine.parameters import Parameters
from engine.validation import Array

_THREADS = 64
_NUMBERS = 18  # of a body's pose and twist


class Energies:
    """``energies(q, v)``: kinetic and potential energy of each robot, (batch,) each, J, on the host."""

    def __init__(self, model: Model, batch: int, dtype: str, parameters: Parameters | None):
        import cupy

        constants = pack(model).constants if parameters is None else np.moveaxis(parameters.constants(), 0, -1)
        self._constants = cupy.asarray(np.ascontiguousarray(constants, dtype))
        flags = header.flags({"OWN_CONSTANTS": parameters is not None})
        preamble = "\n".join([*header.numbers({"THREADS": _THREADS}), *flags, tree.preamble(model, dtype)])
        name = f"energies<{compiler.REAL[dtype]}>"
        self._kernel = compiler.load("rigid_body/energy.cu", [name], preamble).function(name)
        bodies = 0 if tree.Layout(model).serial else len(model.parent)
        size = max(1, _NUMBERS * bodies * batch)
        device.require_memory(np.dtype(dtype).itemsize * size, f"the energies of {batch} robots {model.name!r}")
        self._workspace = arrays.empty((size,), dtype)
        self._out = arrays.empty((2, batch), dtype)

    def __call__(self, q: Any, v: Any) -> tuple[Array, Array]:
        batch = len(q)
        given = np.int32(batch), q, v, self._constants, self._workspace, self._out[0], self._out[1]
        self._kernel((-(-batch // _THREADS),), (_THREADS,), given)
        kinetic, potential = to_host(self._out).astype(float)
        return kinetic, potential
