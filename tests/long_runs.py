"""Long runs: what becomes of energy, momentum, time and memory over ten million steps.

    PYTHONPATH=. python tests/long_runs.py [--steps 10000000]

For each integrator: the double pendulum's energy, which nothing takes or gives; the momentum of a tree in free flight
without gravity, with Euler's the linear one, and the length of its quaternion; `time` against steps times dt; and by
how much the process has grown.
Bounds are those of `BOUNDS`, which the test suite holds a shorter run to; the exit status is 1 where one is passed.
"""

import argparse
import resource
import sys
from dataclasses import dataclass
from time import perf_counter

import numpy as np

import engine

DT = 1e-3
LOOKS = 50
BOUNDS = {"semi-implicit": (2.0, 0.05), "rk4": (1e-6, 1e-7), "implicit": (2.0, 0.05)}
"""By integrator, maximum changes of energy and of momentum, relative to their scales. RK4's are for 1000 s, and grow at
most with the third power of time. Euler's conserve energy and linear momentum to their order, but not rotation.
"""
FLIGHT = 100_000
"""Steps after which the tree has landed with those that let rotation grow: in an hour it would diverge."""
SCALE = 10.0
"""J: about what the pendulum's gravity can give."""
GROWN = 4.0  # MB


@dataclass(frozen=True)
class Kept:
    """The results of a long run: the largest relative changes, the worst quaternion, seconds lost, and MB grown."""

    integrator: str
    energy: float
    momentum: float
    quaternion: float
    time: float
    grown: float

    def faults(self, steps: int) -> list[str]:
        of_energy, of_momentum = BOUNDS[self.integrator]
        if self.integrator == "rk4":
            of_energy, of_momentum = (bound * max(1.0, steps * DT / 1e3) ** 3 for bound in (of_energy, of_momentum))
        held = {
            f"energy changed by {self.energy:.1e}": self.energy <= of_energy,
            f"momentum changed by {self.momentum:.1e}": self.momentum <= of_momentum,
            f"a quaternion is {self.quaternion:.1e} from its length": self.quaternion <= 1e-12,
            f"time is off by {self.time:.1e} s": self.time <= 1e-9 * max(1.0, steps * DT / 1e4),
            f"the process grew by {self.grown:.1f} MB": self.grown <= GROWN,
        }
        return [f"{self.integrator}: {words}" for words, sound in held.items() if not sound]


def size() -> float:
    """MB that the process takes at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(integrator: str, steps: int) -> Kept:
    pendulum = engine.load(engine.find_robot("double_pendulum"))
    hanging = engine.Simulation(pendulum, dt=DT, integrator=integrator, q=[0.4, 0.3], limits=False, device="cpu")
    tree = engine.tree(5, seed=2, floating=True, prismatic=0.2).with_gravity((0, 0, 0))
    rng = np.random.default_rng(0)
    q, v = tree.random(rng), 0.5 * rng.uniform(-1, 1, tree.nv)
    flying = engine.Simulation(tree, dt=DT, integrator=integrator, q=q, v=v, limits=False, device="cpu")
    start = sum(part[0] for part in hanging.energy())
    whole = engine.momentum(tree, flying.q, flying.v)[0]
    energy = momentum = quaternion = before = 0.0
    keeps = integrator == "rk4"
    flight, part = (steps, slice(None)) if keeps else (min(steps, FLIGHT), slice(3, None))
    for look in range(LOOKS):
        hanging.step(steps // LOOKS)
        flying.step(flight // LOOKS)
        energy = max(energy, abs(sum(part[0] for part in hanging.energy()) - start) / SCALE)
        now = engine.momentum(tree, flying.q, flying.v)[0]
        momentum = max(momentum, float(np.linalg.norm((now - whole)[part]) / np.linalg.norm(whole[part])))
        quaternion = max(quaternion, abs(float(np.linalg.norm(flying.q[0, 3:7])) - 1))
        before = size() if look == 2 else before
    off = abs(hanging.time - steps // LOOKS * LOOKS * DT)
    return Kept(integrator, energy, momentum, quaternion, off, size() - before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10**7)
    args = parser.parse_args()
    faults: list[str] = []
    for integrator in engine.INTEGRATORS:
        began = perf_counter()
        kept = run(integrator, args.steps)
        faults += kept.faults(args.steps)
        print(
            f"{integrator}, {args.steps} steps in {perf_counter() - began:.0f} s: energy {kept.energy:.1e}, momentum "
            f"{kept.momentum:.1e}, quaternion {kept.quaternion:.1e}, time {kept.time:.1e} s, grown {kept.grown:.1f} MB",
            flush=True,
        )
    print("\n".join(faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
