"""Robots on which all algorithms must agree, their inputs, and their initial states."""

import dataclasses
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import engine
from engine.model import Model
from tests.shaped_trees import shaped

LENGTHS = (1, 2, 7, 40, 129, 1000)
SHIPPED = tuple(sorted(path.stem for path in (Path(__file__).parents[2] / "robots").glob("*.urdf")))
TREES = {
    "straight": lambda: engine.chain(30, seed=3, straight=True),
    "branches": lambda: engine.tree(12, seed=4, prismatic=0.3),
    "balls": lambda: engine.tree(14, seed=2, prismatic=0.3, spherical=0.4),
    "floating": lambda: engine.tree(10, seed=5, floating=True, spherical=0.3),
    "snake": lambda: engine.tree(30, seed=3, branching=0.0, floating=True),
    "legs": lambda: shaped("legs", 65, seed=1, floating=True, spherical=0.1),
    "bush": lambda: engine.tree(70, seed=8, spherical=0.1),
    "mimic": lambda: _mimicking(),
    "massless": lambda: _without_mass(engine.chain(6, seed=3), 2),
}
ROBOTS = (*(f"chain{n}" for n in LENGTHS), *SHIPPED, *TREES)
ACTING = ("nothing", "limits and friction", "wrenches", "gains", "all")
"""Inputs on a robot beside gravity and torques."""
CONSTRAINED = ("limits and friction", "all")
BATCH, STEPS = 2, 200


class Start(NamedTuple):
    """A batch of robots of one model: their initial states and inputs."""

    model: Model
    dt: float
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    target: np.ndarray
    wrench: np.ndarray | None
    settings: dict[str, object]

    def simulation(self, **settings: object) -> engine.Simulation:
        """A simulation that starts there, made with these settings as well."""
        made = engine.Simulation(self.model, BATCH, self.dt, q=self.q, v=self.v, **self.settings, **settings)
        made.tau[:], made.target[:] = made.array(self.tau), made.array(self.target)
        if self.wrench is not None:
            made.wrench[:] = made.array(self.wrench)
        return made


@cache
def start(name: str, acting: str) -> Start:
    """Return the robot of that name with such inputs.

    Forces are proportional to a joint's load, and steps are short for long chains, so that ABIA's own motion does not
    diverge from a neighbour's (checked in `test_stepping_contract`).
    """
    rng = np.random.default_rng(sum(map(ord, name)))
    model = robot(name)
    load, scalar, acts = carried(model), model.q_of_v >= 0, model.constrained
    q, v = _gathered(model, rng), rng.uniform(-0.3, 0.3, (BATCH, model.nv))
    v[rng.random(v.shape) < 0.2] = 0
    tau, target = np.minimum(1, 0.3 * load) * rng.uniform(-1, 1, v.shape), rng.uniform(-0.2, 0.2, v.shape)
    wrench = rng.uniform(-1, 1, (BATCH, len(model.link_names), 6))
    settings: dict[str, object] = {"limits": acting in CONSTRAINED}
    if settings["limits"]:
        model = held_back(model, load, q, rng)
    if acting in ("gains", "all"):
        stiffness = np.minimum(10, load)
        settings |= {"kp": np.where(scalar, stiffness, 0), "kd": np.where(acts, 0.02 * stiffness, 0)}
    pushed = acting in ("wrenches", "all")
    dt = 1e-3 if model.nv <= 40 else 1e-4
    return Start(model, dt, q, v, tau, target, wrench * np.minimum(1, _share(model)) if pushed else None, settings)


@cache
def robot(name: str) -> Model:
    """Return that robot, without friction, damping and limits."""
    if name in TREES:
        model = TREES[name]()
    elif name in SHIPPED:
        model = engine.load(engine.find_robot(name))
    else:
        n = int(name.removeprefix("chain"))
        model = engine.chain(n, seed=n, prismatic=0.2)
    nothing, unlimited = np.zeros(model.nv), np.full(model.nv, np.inf)
    return dataclasses.replace(
        model, friction=nothing, damping=nothing, lower=-unlimited, upper=unlimited, velocity_limit=unlimited,
        effort_limit=unlimited,
    )  # fmt: skip


def own_numbers(model: Model, batch: int, rng: np.random.Generator, friction: bool = True) -> engine.Parameters:
    """Parameters in which every robot has masses, a gravity and, unless stated otherwise, a friction of its own."""
    parameters = engine.Parameters(model, batch)
    scale = rng.uniform(0.5, 2, (batch, 1))
    parameters.mass *= scale
    parameters.first_moment *= scale[..., None]
    parameters.inertia *= scale[..., None, None]
    parameters.gravity[:] = rng.uniform(-10, 10, (batch, 3))
    if friction:
        parameters.friction *= rng.uniform(0, 2, parameters.friction.shape)
    return parameters


def carried(model: Model) -> np.ndarray:
    """(nv,): the mass that each coordinate moves, kg."""
    mass = model.mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        if model.parent[i] >= 0:
            mass[model.parent[i]] += mass[i]
    load = np.empty(model.nv)
    for joint in reversed(model.joints):
        load[joint.v] = mass[joint.bodies.start]
    return load


def held_back(model: Model, load: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> Model:
    """Return the robot with damping, friction and limits that act on some joints at any time; q is within them."""
    acts, scalar = model.constrained, model.q_of_v >= 0
    here = q[:, np.where(scalar, model.q_of_v, 0)]
    return dataclasses.replace(
        model,
        friction=np.where(acts, 0.3 * load * rng.random(model.nv), 0),
        damping=np.where(acts, 0.01 * np.minimum(1, load), 0),
        lower=np.where(scalar, here.min(0) - 0.01, -np.inf),
        upper=np.where(scalar, here.max(0) + 0.01, np.inf),
        velocity_limit=np.where(acts, 2.0, np.inf),
        effort_limit=np.where(acts, 3 * load, np.inf),
    )


def _gathered(model: Model, rng: np.random.Generator) -> np.ndarray:
    """States around the neutral one, which long chains leave slowly."""
    q = np.tile(model.neutral(), (BATCH, 1))
    scalar = model.q_of_v[model.q_of_v >= 0]
    q[:, scalar] += rng.uniform(-0.2, 0.2, (BATCH, len(scalar)))
    return q


def _share(model: Model) -> np.ndarray:
    """(links, 1): the mass of the body that carries each link, kg; 0 for those on the world."""
    return np.where(model.link_body >= 0, model.mass[model.link_body], 0)[:, None]


def _mimicking() -> Model:
    """A tree, two of whose joints follow others."""
    text = engine.to_urdf(engine.tree(9, seed=1))
    for follower, leader in (("joint3", "joint2"), ("joint8", "joint5")):
        line = f'<joint name="{follower}" type="continuous">'
        assert line in text
        text = text.replace(line, f'{line}<mimic joint="{leader}" multiplier="-0.7" offset="0.1"/>')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mimic.urdf"
        path.write_text(text)
        return engine.load(path)


def _without_mass(model: Model, body: int) -> Model:
    """Return the robot with one massless body."""
    there = np.arange(len(model.parent)) != body
    return dataclasses.replace(
        model, mass=model.mass * there, first_moment=model.first_moment * there[:, None],
        inertia=model.inertia * there[:, None, None],
    )  # fmt: skip
