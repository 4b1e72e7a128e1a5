"""Steps of long serial chains, a group of blocks each: one launch of dca_chain_step.cu for any number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.chains import dca
from engine.cuda.runtime import arrays, compiler, header
from engine.cuda.stepping.stepper import Stepper, packed_constants
from engine.step_settings import INTEGRATORS, StepSettings


class DcaChainStepper(Stepper):
    """Serial chains advanced by DCA-ABA; the joints' state stays in registers from step to step."""

    def __init__(self, settings: StepSettings):
        self._n, dtype = len(settings.model.parent), np.dtype(settings.dtype)
        cut = self._cut = dca.cut_here(self._n, settings.batch, dtype, additions=True)
        self._robots = dca.at_once(cut, settings.batch)
        constants = packed_constants(settings)
        gravity = constants[..., -1, :3]
        tables = dca.chain_constants(constants, settings.model, dtype), gravity, settings.joints
        sent = 0 if cut.cluster else self._robots * cut.sent
        super().__init__(settings, dtype.itemsize * (sum(x.size for x in tables) + sent))
        own = np.int32(settings.parameters is not None), np.int32(len(settings.joints) > 1)
        on_gpu = [arrays.to_device(np.ascontiguousarray(x, dtype)) for x in tables]
        self._tables = on_gpu[0], on_gpu[1], own[0], on_gpu[2], own[1]
        self._meetings = arrays.to_device(np.zeros((self._robots, 2), np.uint32))
        self._sent = arrays.empty((max(sent, 1),), settings.dtype)
        self._compile()

    def _compile(self) -> None:
        integrator = header.numbers({"INTEGRATOR": INTEGRATORS.index(self._settings.integrator)})
        name = f"advance_chains<{compiler.REAL[self._settings.dtype]}>"
        preamble = "\n".join([*header.flags(self._facts), *integrator])
        self._kernel = dca.kernel(self._cut, "stepping/dca_chain_step.cu", name, preamble)

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        cut, size = self._cut, (np.int32(self._n), np.int32(self._cut.longest(self._n)))
        apart = cut.blocks > 1 and not cut.cluster
        for first in range(0, self._settings.batch, self._robots):
            count = min(self._robots, self._settings.batch - first)
            given = (
                np.int32(first), *steps, *state, *self._tables, *self._report, self._meetings, self._sent, *size,
                self._body_wrenches, self._batch, self._frozen,
            )  # fmt: skip
            self._start(
                self._kernel, cut.blocks * count, cut.chunks * dca.LANES, given,
                cut.shared(self._n, self._type.itemsize), together=apart, part=first,
            )  # fmt: skip
