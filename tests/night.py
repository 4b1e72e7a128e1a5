"""A night of random robots: whatever acts on them, all states are finite, and no limit is exceeded.

    PYTHONPATH=. python tests/night.py --seconds 3600 [--seed N] [--one]

Each seed makes a robot (a chain, a tree, one whose joints mimic others, one that ships; all kinds of joints), limits,
friction, damping, gains, torques, wrenches and drags, often ground, obstacles and self-collision, an integrator, a time
step and an algorithm, and simulates a batch of it. The first seed is the day's unless it is given. A finding is
reported with its seed, which reproduces it: `--seed N --one`. `--seconds` is the budget; the exit status is 1 after a
finding.
"""

import argparse
import dataclasses
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import numpy as np

import engine
from engine import holding
from engine.model import FREE, Collision
from tests.shaped_trees import shaped

sys.path.insert(0, str(Path(__file__).parent / "engine"))

from mimics import mimics

SHIPPED = sorted(path.stem for path in engine.files.ROBOTS.glob("*.urdf"))
STEPS = 300
MAX_SHAPES = 30  # that may touch each other: more are refused, for the pairs that they make
PASSED = 1e-6  # rad or m beyond a limit


@dataclasses.dataclass
class Night:
    """The simulation of a seed."""

    simulation: engine.Simulation
    rng: np.random.Generator
    words: str


def robot(rng: np.random.Generator) -> engine.Model:
    """A robot without limits, friction and damping of its own, but for those that ship."""
    kind, seed, n = rng.choice(4, p=(0.2, 0.45, 0.1, 0.25)), int(rng.integers(1 << 30)), int(rng.integers(1, 26))
    shares = dict(zip(("prismatic", "spherical"), rng.dirichlet((1, 1, 4))[:2].tolist(), strict=True))
    floating = bool(rng.random() < 0.6)
    if kind == 0:
        return engine.chain(n, seed, straight=bool(rng.random() < 0.3), **shares)
    if kind == 1:
        if rng.random() < 0.3:
            return shaped("legs", max(6, n), seed=seed, floating=floating, spherical=shares["spherical"])
        return engine.tree(n, seed, branching=float(rng.random()), floating=floating, **shares)
    if kind == 2:
        with tempfile.TemporaryDirectory() as folder:
            return mimics(Path(folder), seed % 2**31, floating=floating)
    return engine.load(engine.find_robot(str(rng.choice(SHIPPED))))


def held_back(model: engine.Model, rng: np.random.Generator) -> engine.Model:
    """The robot with shapes that touch, and with limits, friction and damping on some joints, small and large."""
    acts, scalar, nv = model.constrained, model.q_of_v >= 0, model.nv

    def some(values: np.ndarray, where: np.ndarray, otherwise: float) -> np.ndarray:
        return np.where(where & (rng.random(nv) < rng.random()), values, otherwise)

    middle, width = rng.uniform(-1, 1, nv), rng.choice([0.0, 0.01, 0.5, 3.0], nv)
    bounded = scalar & (rng.random(nv) < rng.random())
    shapes = model.collisions or tuple(Collision(v.link, v.shape, v.size, v.pose) for v in model.visuals)
    return dataclasses.replace(
        model, collisions=shapes,
        lower=np.where(bounded, middle - width, -np.inf), upper=np.where(bounded, middle + width, np.inf),
        velocity_limit=some(rng.choice([0.0, 0.5, 10.0], nv), acts, np.inf),
        effort_limit=some(rng.choice([0.0, 1.0, 100.0], nv), acts, np.inf),
        friction=some(rng.choice([0.01, 1.0, 1e3], nv), acts, 0.0),
        damping=some(rng.choice([1e-3, 0.1, 10.0, 1e4], nv), acts, 0.0),
    )  # fmt: skip


def scene(model: engine.Model, rng: np.random.Generator) -> engine.Scene | None:
    if not model.collisions or rng.random() < 0.4:
        return None
    bumps = engine.HeightField(rng.uniform(0, 0.1, (12, 12)), 0.3)
    ground = (engine.Plane(), engine.slope(rng.uniform(-0.5, 0.5)), bumps, None)[rng.integers(4)]
    box = engine.Obstacle("box", (0.4, 0.4, 0.4), pose=tuple(rng.uniform(-1, 1, 3)))
    return engine.Scene(
        ground=ground, friction=float(rng.choice([0.0, 0.3, 0.8, 2.0])), restitution=float(rng.choice([0.0, 0.5, 1.0])),
        obstacles=(box,) if rng.random() < 0.3 else (), self_collision=bool(rng.random() < 0.3 or ground is None),
    )  # fmt: skip


def made(seed: int) -> Night:
    """The simulation of a seed, before its first step."""
    rng = np.random.default_rng(seed)
    model = held_back(robot(rng), rng)
    where = scene(model, rng)
    batch = int(rng.choice([1, 2, 9]))
    names = ("abia",) if where is not None else engine.simulation_algorithms(model, "cpu")
    names = tuple(name for name in names if name in engine.simulation_algorithms(model, "cpu")) or ("jsiia",)
    step = engine.suggested_step(model)
    integrator = str(rng.choice([step.integrator, *engine.INTEGRATORS]))
    dt = step.dt if rng.random() < 0.6 else float(10 ** rng.uniform(-5, -2.5))
    if np.any(dt * model.damping * holding.mobility(model) > 0.5):
        integrator = "implicit"  # since damping is stiff
    gained = rng.random() < 0.4
    q, v = model.random(rng, batch), rng.uniform(-1, 1, (batch, model.nv)) * rng.choice([0.0, 1.0, 5.0])
    if where is not None and np.any(model.kind == FREE) and where.ground is not None:
        q = np.stack([engine.put_down(model, where, row) for row in q])
    kp, kd = engine.holding_gains(model, dt, integrator, q[0]) if gained else (None, None)
    if where is not None and len(model.collisions) > MAX_SHAPES:
        where = engine.Scene(ground=where.ground or engine.Plane(), friction=where.friction)
    simulation = engine.Simulation(
        model, batch, dt, integrator, str(rng.choice(names)), q=q, v=v, kp=kp, kd=kd, scene=where, device="cpu",
        on_divergence="freeze",
    )  # fmt: skip
    words = (
        f"{model.name}, {batch} by {simulation.algorithm}, {integrator} at {dt:.2g} s"
        + (", gains" if gained else "") + (", scene" if where else "")
    )  # fmt: skip
    return Night(simulation, rng, words)


def faults(night: Night) -> list[str]:
    """Simulate it; what went wrong, in words."""
    simulation, rng, model = night.simulation, night.rng, night.simulation.model
    pushed, weight = rng.random() < 0.5, 10.0 * float(model.mass.sum())
    found: list[str] = []
    scalar = np.flatnonzero(model.q_of_v >= 0)
    for _ in range(10):
        simulation.tau[:] = rng.uniform(-1, 1, simulation.tau.shape) * rng.choice([0.0, 0.1, 1.0]) * weight
        if pushed:
            simulation.wrench[:] = 0
            link = int(rng.integers(len(model.link_names)))
            simulation.wrench[:, link] = rng.uniform(-1, 1, 6) * weight * rng.choice([0.1, 2.0])
        simulation.step(STEPS // 10)
        if not (np.all(np.isfinite(simulation.q)) and np.all(np.isfinite(simulation.v))):
            return [*found, f"a number was lost by {simulation.time:g} s"]
        if not all(np.all(np.isfinite(part)) for part in simulation.energy()):
            found.append("the energy is no number")
        for name, quaternion in model.quaternions:
            if np.any(np.abs(np.linalg.norm(simulation.q[:, quaternion], axis=1) - 1) > 1e-9):
                found.append(f"the quaternion of {name} is no rotation")
        ok = ~simulation.diverged
        q = simulation.q[ok][:, model.q_of_v[scalar]]
        past = np.maximum(q - model.upper[scalar], model.lower[scalar] - q)
        if past.size and past.max() > PASSED:
            joint = model.coordinate_names[scalar[np.unravel_index(np.argmax(past), past.shape)[1]]]
            found.append(f"{joint} is {past.max():.2g} beyond its limit at {simulation.time:g} s")
    lost = np.flatnonzero(simulation.diverged).tolist()
    return found + [f"nobody says why robot {k} is frozen" for k in lost if simulation.divergence(k) is None]


def seed_of_the_day() -> int:
    return int(datetime.now(UTC).strftime("%Y%m%d")) * 10**5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--one", action="store_true", help="only that seed")
    args = parser.parse_args()
    seed, began, runs, frozen, findings = args.seed or seed_of_the_day(), perf_counter(), 0, 0, 0
    while not runs or (not args.one and perf_counter() - began < args.seconds):
        words = ""
        try:
            night = made(seed)
            words, found = night.words, faults(night)
            frozen += int(np.count_nonzero(night.simulation.diverged) > 0)
        except Exception:  # a finding, whatever it is
            found = [traceback.format_exc()]
        for fault in found:
            print(f"seed {seed} ({words}): {fault}", flush=True)
        findings, runs, seed = findings + bool(found), runs + 1, seed + 1
    print(
        f"{runs} runs in {perf_counter() - began:.0f} s: {findings} with findings, {frozen} in which a robot diverged"
    )
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
