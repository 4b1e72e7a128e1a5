"""`Simulation`: a batch of robots of one model, advanced in time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine import arguments, choice, dynamics
from engine.arguments import Array
from engine.cpu import accelerate, clock, step
from engine.cpu.inverse import all_finite
from engine.cpu.layout import EIGHT, ONE, workspace
from engine.model import Model
from engine.packing import pack, pack_coupling

ALGORITHMS = ("abia", "jsiia")
"""Those that a step is compiled with."""
INTEGRATORS = ("semi-implicit", "rk4", "implicit")
PHASES = accelerate.PHASES


class Diverged(ArithmeticError):
    """A simulation whose state stopped being finite."""


class Simulation:
    """Robots of one model and their motion.

    `integrator` is "semi-implicit" (Euler: the new velocity moves the coordinates), "rk4" (classical Runge-Kutta;
    fourth order while neither friction nor a limit acts) or "implicit" (semi-implicit Euler with joint damping taken at
    the end of the step: stable for any damping). `dt` is in s. `limits`: keep the model's position and velocity
    limits. Efforts are always clipped to the model's.

    `q` (batch, nq), `v` (batch, nv) and `tau` (batch, nv), the generalized forces held until changed, are the live
    arrays: write into them between steps. `time` is in s. `phases` holds how long the last step's phases took, in s.
    """

    def __init__(
        self,
        model: Model,
        batch: int = 1,
        dt: float = 1e-3,
        integrator: str = "semi-implicit",
        algorithm: str = "auto",
        limits: bool = True,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
    ):
        if not (isinstance(dt, int | float | np.number) and np.isfinite(dt) and dt > 0):
            raise ValueError(f"dt is {dt!r}; expected a positive number of seconds, for example 1e-3")
        self.model, self.batch = model, arguments.whole("batch", batch, 1)
        self.dt, self.limits = float(dt), bool(limits)
        self.integrator = arguments.one_of("integrator", integrator, INTEGRATORS)
        self.algorithm, self.why = choice.choose(model, algorithm, self.batch, among=ALGORITHMS)
        lanes = EIGHT if batch > 1 and self.algorithm == "abia" else ONE
        self._algorithm = accelerate.JSIIA if self.algorithm == "jsiia" else accelerate.ABIA
        self._joints = np.stack(
            [model.lower, model.upper, model.velocity_limit, model.effort_limit, model.damping, model.friction]
        )
        free = [(joint.q.start, joint.v.start) for joint in model.joints if joint.kind == "floating"]
        self._free = np.array(free, np.int64).reshape(-1, 2)
        self._limited = self.limits and bool(np.any(model.bounded | np.isfinite(model.velocity_limit)))
        self._rough = self._limited or bool(np.any(model.friction > 0))
        L = len(lanes)
        self._scratch = np.zeros((9, L, model.nv)), np.zeros((3, L, model.nq))
        self._system = accelerate.System(
            pack_coupling(model),
            *pack(model),
            workspace(len(model.parent), lanes),
            lanes,
            accelerate.dense(model, self._algorithm),
        )
        self._phases, self._clock = np.zeros(len(PHASES), np.int64), clock.buffer()
        self.q, self.v = np.empty((self.batch, model.nq)), np.empty((self.batch, model.nv))
        self.tau = np.zeros((self.batch, model.nv))
        self.reset(q, v)

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Back to time 0, at q (nq,) or (batch, nq), by default the neutral one, and v, by default rest."""
        (start_q, start_v), _ = arguments.states(
            self.model, q=self.model.neutral() if q is None else q, v=np.zeros(self.model.nv) if v is None else v
        )
        if len(start_q) not in (1, self.batch):
            raise ValueError(f"q and v have {len(start_q)} rows; expected one state or {self.batch}, the batch")
        self.q[:], self.v[:], self.steps = start_q, start_v, 0

    @property
    def time(self) -> float:
        """Seconds simulated since the last reset."""
        return self.steps * self.dt

    @property
    def phases(self) -> dict[str, float]:
        """Seconds that each phase of the last step took; with a batch, for its first block of robots."""
        return {name: float(time) * 1e-9 for name, time in zip(PHASES, self._phases, strict=True)}

    def step(self, n: int = 1) -> None:
        """Advance by n steps of dt. Raises Diverged where the state stops being finite."""
        self.advance(n)

    def advance(
        self, n: int, controls: Array | None = None, every: int = 1, record: tuple[Array, Array] | None = None
    ) -> None:
        """`step`, under `controls` (batch, n, nv) where given, every `every`-th state written to `record`.

        `record` is a pair of arrays (batch, n // every, nq) and (batch, n // every, nv).
        """
        n = arguments.whole("n", n, 0)
        if not all_finite(self.tau):
            raise ValueError(f"sim.tau[{', '.join(map(str, np.argwhere(~np.isfinite(self.tau))[0]))}] is not finite")
        self._phases[:] = 0
        nothing = np.empty((0, 0, 0))
        record_q, record_v = record if record is not None else (nothing, nothing)
        method = accelerate.Method(
            self.dt, INTEGRATORS.index(self.integrator), self._algorithm, self._limited, self._rough
        )
        diverged = step.run(
            self.q, self.v, self.tau, nothing if controls is None else controls, record_q, record_v, every, n,
            method, self.model.q_of_v, self._joints, self._free, *self._scratch, self._system,
            self._phases, self._clock,
        )  # fmt: skip
        self.steps += n if diverged < 0 else diverged + 1
        if diverged >= 0:
            raise Diverged(self._divergence())

    def _divergence(self) -> str:
        robot, coordinate = np.unravel_index(np.argmax(~(np.abs(self.v) < step.DIVERGED)), self.v.shape)
        cure = f"halve dt (it is {self.dt:g} s)"
        if self.integrator != "implicit" and np.any(self.model.damping > 0):
            cure += ' or take integrator="implicit", which is stable for any joint damping'
        first = self.model.coordinate_names[coordinate] + (f" of robot {robot}" if self.batch > 1 else "")
        return f"the simulation diverged at {self.time:g} s, first in {first}; {cure}"

    def energy(self) -> tuple[Array, Array]:
        """Kinetic and potential energy of each robot, (batch,) each, J."""
        return dynamics.energy(self.model, self.q, self.v)
