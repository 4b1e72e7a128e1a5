"""Simulation steps on the CPU: the arrays and the compiled loop of one `Plan`."""

from __future__ import annotations

import numpy as np

from engine.arguments import Array
from engine.cpu import accelerate, clock, step
from engine.cpu.inverse import all_finite
from engine.cpu.layout import EIGHT, ONE, workspace
from engine.packing import pack, pack_coupling
from engine.plan import INTEGRATORS, PHASES, Plan

_NOTHING = np.empty((0, 0, 0))


class Stepper:
    """The state of a plan's robots in NumPy arrays; blocks of eight robots go together where all are alike."""

    def __init__(self, plan: Plan):
        model, batch = plan.model, plan.batch
        alike = len(plan.joints) == 1 and plan.parameters is None
        lanes = EIGHT if batch > 1 and plan.algorithm == "abia" and alike else ONE
        algorithm = accelerate.JSIIA if plan.algorithm == "jsiia" else accelerate.ABIA
        self._plan, self._alike = plan, alike
        self._method = accelerate.Method(
            plan.dt, INTEGRATORS.index(plan.integrator), algorithm, plan.limited, plan.rough
        )
        self._scratch = np.zeros((9, len(lanes), model.nv)), np.zeros((3, len(lanes), model.nq))
        self._constants = pack(model).constants[None] if plan.parameters is None else plan.parameters.constants()
        self._system = accelerate.System(
            pack_coupling(model),
            *pack(model),
            workspace(len(model.parent), lanes),
            lanes,
            accelerate.dense(model, algorithm),
        )
        self._phases, self._clock = np.zeros(len(PHASES) if plan.timed else 0, np.int64), clock.buffer()
        self._diverged = 0
        self.q, self.v = np.empty((batch, model.nq)), np.empty((batch, model.nv))
        self.tau, self.target = np.zeros((batch, model.nv)), np.zeros((batch, model.nv))

    def start(self, q: Array, v: Array) -> None:
        """The robots at q (1 or batch, nq) and v, with nothing done yet."""
        self.q[:], self.v[:], self._diverged = q, v, 0

    def advance(
        self, n: int, done: int, controls: Array | None, every: int, record: tuple[Array | None, Array | None]
    ) -> None:
        """Steps `done` + 1 … `done` + n, see `Simulation.advance`."""
        if not all_finite(self.tau):
            raise ValueError(f"sim.tau[{', '.join(map(str, np.argwhere(~np.isfinite(self.tau))[0]))}] is not finite")
        self._phases[:] = 0
        sequence = _NOTHING if controls is None else controls
        blocks = [slice(0, self._plan.batch)] if self._alike else [slice(k, k + 1) for k in range(self._plan.batch)]
        first = -1
        for block in blocks:
            diverged = step.run(
                self.q[block], self.v[block], self.tau[block], self.target[block],
                sequence[block] if len(sequence) > 1 else sequence,
                *(_NOTHING if array is None else array[block] for array in record), every, n,
                self._method, self._plan.model.q_of_v, _row(self._plan.joints, block), self._plan.free,
                *self._scratch, self._system._replace(constants=_row(self._constants, block)),
                self._phases if block.start == 0 else self._phases[:0], self._clock,
            )  # fmt: skip
            if diverged >= 0:
                first = diverged if first < 0 else min(first, diverged)
        self._diverged = done + first + 1 if first >= 0 else 0

    def diverged(self, wait: bool) -> int:  # noqa: ARG002 - here there is nothing to wait for
        """After how many steps a state stopped being finite; 0 where all went well."""
        return self._diverged

    def phases(self) -> Array:
        """Seconds that each phase of the last step took, for the first block of robots; 0 where nothing is timed."""
        return self._phases * 1e-9 if self._plan.timed else np.zeros(len(PHASES))


def _row(table: Array, block: slice) -> Array:
    """What a table holds for a block of robots: its only row, or the block's."""
    row: Array = table[block.start if len(table) > 1 else 0]
    return row
