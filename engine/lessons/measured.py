"""The measured phases of a step in the engine's compiled code, for comparison with the counted stages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.lessons.trace import Stage
from engine.lie import Array
from engine.model import Model
from engine.simulation import Simulation

STEPS = 40
"""Number of steps over which each phase's median is taken."""
DT = 1e-6  # s: so short that the state hardly changes
_TO_VELOCITIES = {"transforms": "kinematics", "velocities": "kinematics", "bias": "bias"}
_SYSTEM = {"eliminate": "elimination", "substitute": "elimination", "solve": "elimination"}
PHASES: Mapping[str, Mapping[str, str]] = {
    "abia": {**_TO_VELOCITIES, "articulated inertia": "inertia recursion", "acceleration": "acceleration"},
    "dca": {
        **_TO_VELOCITIES,
        **{"reduce": "chunks", "beyond": "joins", "joints": "inertia recursion"},
        **{"ends": "acceleration", "moved": "acceleration"},
    },
    "cfa": {
        **_TO_VELOCITIES,
        **{"accelerations": "bias", "forces": "bias", "torques": "bias", "blocks": "assembly"},
        **{"right-hand side": "assembly", **_SYSTEM, "accelerate": "elimination"},
    },
}
"""The phase (`engine.PHASES`) of the compiled code that corresponds to a stage, by the name of the stage or its part.
"""


def step(model: Model, algorithm: str, q: Array, v: Array, tau: Array) -> Mapping[str, float]:
    """Return the seconds of each phase of a CPU step by an algorithm, from q (nq,), v and tau (nv,)."""
    simulation = Simulation(model, dt=DT, q=q, v=v, algorithm=algorithm, device="cpu", integrator="semi-implicit")
    simulation.tau[:] = tau
    taken = []
    for _ in range(STEPS):
        simulation.step(1)
        taken.append(dict(simulation.phases))
    return {name: float(np.median([phases[name] for phases in taken])) for name in taken[0]}


def phase_of(algorithm: str, stage: Stage) -> str:
    """Return the phase of the compiled code for a stage; "" if there is none."""
    names = PHASES[algorithm]
    return names.get(stage.name, names.get(stage.part, ""))


def phase_text(algorithm: str, phases: Mapping[str, float], serial: Mapping[str, float], stage: Stage | None) -> str:
    """Describe the time of a stage's phase, of the whole step, and of the ABA's step."""
    total, other = sum(phases.values()), sum(serial.values())
    words = f"Measured in the engine on this processor: a step takes {_micro(total)} µs"
    words += "" if algorithm == "abia" else f", by the ABA {_micro(other)} µs"
    phase = phase_of(algorithm, stage) if stage else ""
    if not phase:
        return f"{words}."
    if phases.get(phase, 0.0) > 0:
        return f"{words}; in it «{phase}», to which this stage belongs, {_micro(phases[phase])} µs."
    return f"{words}. It has no «{phase}»: on so few processors it makes one part of so few links."


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:.2g}" if seconds < 1e-4 else f"{1e6 * seconds:,.0f}"
