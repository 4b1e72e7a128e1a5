"""Ball joints on the GPU: the CPU's motion, with all inputs about their axes, and supporting algorithms."""

import dataclasses

import numpy as np
import pytest
from cuda_steps import assert_steps_alike, pair

import engine
from engine.model import Model

pytestmark = pytest.mark.gpu

MODELS = {
    "ball": engine.chain(1, spherical=1.0),
    "balls": engine.chain(6, seed=2, spherical=1.0),
    "mixed": engine.chain(9, seed=3, prismatic=0.3, spherical=0.4),
    "tree": engine.tree(14, seed=2, prismatic=0.3, spherical=0.4),
    "floating": engine.tree(10, seed=5, floating=True, spherical=0.5),
    "long": engine.tree(60, seed=6, spherical=0.5),
}


def constrained(model: Model, rng: np.random.Generator) -> Model:
    """Return the robot with friction, damping and limits that act on some axes at any time."""
    acts, scalar, load = model.constrained, model.q_of_v >= 0, model.mass.sum()
    return dataclasses.replace(
        model,
        friction=np.where(acts, 0.02 * load * rng.random(model.nv), 0),
        damping=np.where(acts, 0.01, 0),
        lower=np.where(scalar, -0.2, -np.inf),
        upper=np.where(scalar, 0.2, np.inf),
        velocity_limit=np.where(acts, 0.5, np.inf),
        effort_limit=np.where(acts, 3 * load, np.inf),
    )


def beside(
    model: Model, batch: int, rng: np.random.Generator, dtype: str = "float64", algorithm: str = "abia",
    **settings: object,
) -> tuple[engine.Simulation, engine.Simulation]:  # fmt: skip
    """Return the robots on the CPU and on the GPU, some of whose joints are at rest."""
    q, v = model.random(rng, batch), rng.uniform(-0.4, 0.4, (batch, model.nv))
    v[rng.random(v.shape) < 0.3] = 0
    return pair(model, (q, v), rng, algorithm, dtype, host=algorithm, **settings)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acted_on", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_they_move_as_on_the_cpu(name: str, acted_on: bool, integrator: str, chance: np.random.Generator) -> None:
    model = constrained(MODELS[name], chance) if acted_on else MODELS[name]
    dt = 1e-3 if model.nv < 60 else 1e-4
    for gains in ({}, {"kp": 2.0, "kd": 0.1}):
        assert_steps_alike(*beside(model, 5, chance, integrator=integrator, dt=dt, **gains), 20, 1e-9)


def test_single_precision_moves_nearly_so(chance: np.random.Generator) -> None:
    assert_steps_alike(*beside(MODELS["tree"], 5, chance, "float32"), 10, 1e-3)


def test_velocity_limits_hold_about_every_axis(chance: np.random.Generator) -> None:
    model = constrained(MODELS["tree"], chance)
    _, gpu = beside(model, 64, chance)
    gpu.tau[:] = gpu.array(50 * chance.uniform(-1, 1, (64, model.nv)))
    for _ in range(10):
        gpu.step(20)
        assert np.all(np.abs(gpu.v.get()) <= model.velocity_limit + 1e-9)
    for joint in (joint for joint in model.joints if joint.kind == "spherical"):
        np.testing.assert_allclose(np.linalg.norm(gpu.q.get()[:, joint.q], axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("algorithm", ["cfa", "abia-hybrid"])
def test_algorithms_on_chains_refuse_them(algorithm: str) -> None:
    model = MODELS["balls"]
    assert engine.algorithms(model, "cuda") == ("abia", "dca", "jsiia")
    with pytest.raises(ValueError, match="joint 'joint1' is a ball joint"):
        engine.ForwardDynamics(model, 1, algorithm, "cuda")
