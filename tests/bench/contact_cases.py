"""The suite `contact`, case by case: robots and bodies on a plane, on the CPU, in double precision."""

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine import files
from engine.bench import timer
from engine.dynamics import link_poses
from engine.holding import holding_gains
from engine.model import Model
from engine.scene import Contacts, Plane, Scene, put_down, slope
from engine.simulation import Simulation
from engine.urdf.load import load
from engine.validation import Array

G = 9.81
INERTIA = 0.0134
"""kg m², of the bodies of 2 kg, about any axis."""
BODY = """<robot name="body"><link name="body">
<inertial><mass value="2"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>{shape}</geometry></collision></link></robot>"""
DT = {"quadruped": 2e-3, "humanoid": 1e-3, "snake50": 1e-3}
BINS = {"≤ 1e-9": 1e-9, "≤ 1e-8": 1e-8, "≤ 1e-6": 1e-6, "≤ 1e-4": 1e-4, "> 1e-4": np.inf}
ROBOTS, STEPS = 140, 834
"""For each row of residuals of the quadruped and the humanoid: 10⁵ steps, some of them in the air."""
SNAKE_STEPS = 700
NEAR_SLIP = 1e-3
"""The relative distance of the ramps from the angle of friction, in its tangent."""
HELD = 60.0
"""Seconds for which what holds is watched."""


def body(shape: str) -> Model:
    """A free body of 2 kg that touches by one shape of a URDF."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body.urdf"
        path.write_text(BODY.format(i=INERTIA, shape=shape), "utf-8")
        return load(path, floating=True)


def simulated(model: Model, scene: Scene, q: Array, **options: Any) -> Simulation:
    """Robots at q, (nq,) or (batch, nq), in a scene."""
    options = {"batch": len(np.atleast_2d(q)), **options}
    return Simulation(model, q=q, scene=scene, algorithm="abia", device="cpu", timed=False, **options)


def thrown(model: Model, scene: Scene, height: float, tilt: float = 0.0, **options: Any) -> Simulation:
    """Bodies at rest, level with a slope, their origins so high above it."""
    q = model.neutral()
    q[:3] = height * np.array([np.sin(tilt), 0, np.cos(tilt)])
    q[3:7] = [0, np.sin(tilt / 2), 0, np.cos(tilt / 2)]
    return simulated(model, scene, q, **options)


def robot(name: str) -> Model:
    """Return a robot that ships, on a free base."""
    return load(files.find_robot(name), floating=name == "snake50")


def standing(name: str, scene: Scene, q: Array | None = None, **options: Any) -> Simulation:
    """Robots that are put down on the ground, by default in their neutral posture, and held by their gains alone."""
    model = robot(name)
    kp, kd = holding_gains(model)
    q = put_down(model, scene, model.neutral() if q is None else q)
    return simulated(model, scene, q, dt=DT[name], integrator="implicit", kp=kp, kd=kd, **options)


def _fallen(name: str, rng: np.random.Generator, scene: Scene, robots: int) -> Simulation:
    """Limp robots in random postures, turned at random, that fall from 0.2 m with random velocities."""
    model = robot(name)
    q = put_down(model, scene, model.random(rng, robots))
    q[:, 2] += 0.2
    v = rng.standard_normal((robots, model.nv))
    return simulated(model, scene, q, v=v, dt=DT[name], integrator="implicit")


def residuals(name: str, how: str, robots: int = ROBOTS) -> dict[str, Any]:
    """Return the residuals of all steps with contact of robots that stand, are pushed, or fall."""
    rng, scene = np.random.default_rng(5), Scene()
    simulation = _fallen(name, rng, scene, robots) if how == "falling" else standing(name, scene, batch=robots)
    if how == "standing":
        simulation.v[:] = 0.05 * rng.standard_normal(simulation.v.shape)

    def push(step: int) -> None:
        if how == "pushed" and step % 100 == 0:
            simulation.v[:, :6] += rng.standard_normal((robots, 6)) * [1, 1, 1, 0.5, 0.5, 0.2]

    return stepped(simulation, STEPS, push)


def stepped(simulation: Simulation, steps: int, before: Callable[[int], None] = lambda _step: None) -> dict[str, Any]:
    """Residuals of the steps with contact, of every robot that touches, and how many contacts one had at most."""
    left, most = list[float](), 0
    for step in range(steps):
        before(step)
        simulation.step()
        found = touching(simulation)
        left += [float(x) for x in found.residual[found.number > 0]]
        most = max(most, int(found.number.max()))
    return histogram(left) | {"contacts at most": most}


def touching(simulation: Simulation) -> Contacts:
    """The contacts of the last step, where there is a scene."""
    found = simulation.contacts
    assert found is not None
    return found


def histogram(left: list[float]) -> dict[str, Any]:
    """Return the number of steps, their number in each bin, the share up to 1e-8 in % and the worst."""
    values = np.array(left)
    counts = np.histogram(values, [-1.0, *(np.nextafter(x, np.inf) for x in BINS.values())])[0]
    return {
        "steps": len(left),
        "histogram": dict(zip(BINS, counts.tolist(), strict=True)),
        "share ≤ 1e-8, %": 100 * float(np.mean(values <= 1e-8)),
        "worst": float(values.max()),
    }


def snake() -> dict[str, Any]:
    """Two limp snakes of 50 links that sink from nearly straight and lie, touching with up to a hundred points."""
    rng, scene, model = np.random.default_rng(6), Scene(), robot("snake50")
    q = np.tile(model.neutral(), (2, 1))
    q[:, model.q_of_v[model.q_of_v >= 0]] += 0.01 * rng.standard_normal((2, int((model.q_of_v >= 0).sum())))
    q = put_down(model, scene, q)
    return stepped(simulated(model, scene, q, dt=DT["snake50"], integrator="implicit"), SNAKE_STEPS)


def ramp(name: str, mu: float) -> dict[str, Any]:
    """Simulate a box or a robot on a ramp near the angle of friction.

    Just below: its displacement in 60 s after settling; just above, from rest: the deviation of its acceleration from g
    (sin θ − μ cos θ), in %.
    """
    below, above = (np.arctan(mu * (1 + sign * NEAR_SLIP)) for sign in (-1, 1))
    drift = _drift(_on_ramp(name, mu, below), 10.0)
    sliding = _on_ramp(name, mu, above)
    sliding.step(round(2 / sliding.dt))
    first = _speed(sliding)
    sliding.step(round(8 / sliding.dt))
    gained = (_speed(sliding) - first) / (round(8 / sliding.dt) + 1) / sliding.dt
    expected = G * (np.sin(above) - mu * np.cos(above))
    return {"drift in 60 s, m": drift, "acceleration, % off": 100 * float(abs(gained / expected - 1))}


def _drift(simulation: Simulation, settle: float) -> float:
    """Return the base's displacement in `HELD` s after settling, m."""
    simulation.step(round(settle / simulation.dt))
    start = simulation.q[0, :3].copy()
    simulation.step(round(HELD / simulation.dt))
    return float(np.linalg.norm(simulation.q[0, :3] - start))


def _on_ramp(name: str, mu: float, tilt: float) -> Simulation:
    scene = Scene(ground=slope(tilt), friction=mu)
    if name == "box":
        return thrown(body('<box size="0.2 0.2 0.2"/>'), scene, 0.1, tilt)
    level = robot(name)
    q = put_down(level, Scene(ground=Plane()), level.neutral())
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    q[:3] = turn @ q[:3]
    q[3:7] = [0, np.sin(tilt / 2), 0, np.cos(tilt / 2)]
    return standing(name, scene, q)


def _speed(simulation: Simulation) -> float:
    """Return the base's speed over one step."""
    before = simulation.q[0, :3].copy()
    simulation.step()
    return float(np.linalg.norm(simulation.q[0, :3] - before)) / simulation.dt


def stopping() -> dict[str, Any]:
    """Push a flat box at 2 m/s in 16 directions; return the deviation of its path from v²/2μg, and the spread."""
    mu, speed, angles = 0.5, 2.0, np.arange(16) * np.pi / 8
    model, figures = body('<box size="0.4 0.4 0.02"/>'), {}
    for dt in (1e-3, 5e-4, 2.5e-4):
        simulation = thrown(model, Scene(friction=mu), 0.01, batch=16, dt=dt)
        simulation.v[:, 3], simulation.v[:, 4] = speed * np.cos(angles), speed * np.sin(angles)
        simulation.step(round(0.8 / dt))
        ways = np.linalg.norm(simulation.q[:, :2], axis=1)
        figures[f"% off at {dt * 1e3:g} ms"] = 100 * float(np.abs(ways / (speed**2 / (2 * mu * G)) - 1).max())
        figures[f"spread at {dt * 1e3:g} ms, relative"] = float(np.ptp(ways) / ways.mean())
    return figures


def bounces() -> dict[str, Any]:
    """A ball that falls by 0.5 m: how far the height it springs back to is from e² times that, in % of it."""
    model, fall, figures = body('<sphere radius="0.1"/>'), 0.5, {}
    for dt in (1e-3, 1e-4):
        for e in (0.0, 0.5, 1.0):
            simulation = thrown(model, Scene(restitution=e), 0.1 + fall, dt=dt)
            simulation.step(round(np.sqrt(2 * fall / G) / dt) + 2)
            heights = [_height(simulation, 1e-3) for _ in range(400)]
            figures[f"e {e:g} at {dt * 1e3:g} ms, %"] = 100 * abs(max(heights) / fall - e * e)
    return figures


def _height(simulation: Simulation, seconds: float) -> float:
    simulation.step(round(seconds / simulation.dt))
    return float(simulation.q[0, 2]) - 0.1


def impacts() -> dict[str, Any]:
    """10⁵ boxes each at e = 0.5 and 1 that strike with a corner, in a nanosecond and without weight: what the impact
    adds to the energy, relative, at most."""
    model, batch, half = body('<box size="0.3 0.2 0.1"/>'), 100_000, np.array([0.15, 0.1, 0.05])
    model = dataclasses.replace(model, gravity=np.zeros(3))
    figures: dict[str, Any] = {}
    for e in (0.5, 1.0):
        rng, q = np.random.default_rng(3), np.tile(model.neutral(), (batch, 1))
        q[:, 3:7] = rng.standard_normal((batch, 4))
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        q[:, 2] = np.abs(link_poses(model, q)[:, 0, 2, :3] * half).sum(1) - 1e-9
        v = 2 * rng.standard_normal((batch, 6))
        simulation = simulated(model, Scene(restitution=e), q, v=v, dt=1e-9)
        before, _ = simulation.energy()
        simulation.step()
        after, _ = simulation.energy()
        figures[f"energy gained at e {e:g}"] = float(np.max((after - before) / before))
        figures[f"struck at e {e:g}"] = int(np.count_nonzero(touching(simulation).impulse[:, 0, 2]))
    return figures


def rods() -> dict[str, Any]:
    """200 slender rods that slide over rough ground, μ = 2, in Painlevé's manner: residuals until they lie."""
    rng, batch = np.random.default_rng(7), 200
    model, scene = body('<capsule radius="0.005" length="0.4"/>'), Scene(friction=2.0)
    q, tilt = np.tile(model.neutral(), (batch, 1)), rng.uniform(0.2, 1.4, batch)
    q[:, 4], q[:, 6] = np.sin(tilt / 2), np.cos(tilt / 2)
    q = put_down(model, scene, q)
    simulation = simulated(model, scene, q)
    turn = link_poses(model, q)[:, 0, :3, :3]
    simulation.v[:, 3:] = np.einsum("kji,kj->ki", turn, rng.uniform(-3, 3, (batch, 3)) * [1, 1, 0])
    return stepped(simulation, 400)


def held() -> dict[str, Any]:
    """Let the humanoid stand on flat feet by gains; return its pelvis's displacement in 60 s after settling for 5 s."""
    return {"drift in 60 s, m": _drift(standing("humanoid", Scene()), 5.0)}


def alike() -> dict[str, Any]:
    """Pushed quadrupeds, alone and in a batch of 256, and the batch twice: how many of them differ in any bit."""
    batch, rng = 256, np.random.default_rng(0)
    push = rng.standard_normal((batch, 18))

    def end(of: Array) -> Array:
        simulation = standing("quadruped", Scene(), batch=len(of))
        simulation.v[:] = of
        simulation.step(250)
        return np.hstack([simulation.q, simulation.v])

    together = end(push)
    some = range(0, batch, 37)
    apart = sum(not np.array_equal(end(push[k : k + 1])[0], together[k]) for k in some)
    again = int(np.any(end(push) != together, axis=1).sum())
    return {"robots that differ": apart + again, "compared": len(some) + batch}


def speed(seconds: float) -> dict[str, Any]:
    """Return µs per step of one standing robot, on one core: medians of turns of a millisecond."""
    simulations = [standing(name, Scene(), threads=1) for name in ("quadruped", "humanoid")]
    for simulation in simulations:
        simulation.step(1000)
    samples = timer.alternate([(simulation.step, 1) for simulation in simulations], 2 * seconds)
    return {
        f"{simulation.model.name}, µs a step": float(np.median(times)) * 1e6
        for simulation, times in zip(simulations, samples, strict=True)
    }
