"""Equivalent robots move alike on the ground; `tests/differential/test_equivalence_laws.py` has the laws elsewhere."""

import numpy as np
import pytest
from metamorphic import in_units, mirrored, scaled, signs, standing

import engine

STEPS, DT = 50, 1e-3  # after which feet that strike have not yet made neighbours of 1e-10 strangers
ON_GROUND = ("quadruped", "humanoid")


def scene_of(name: str) -> engine.Scene | None:
    return engine.Scene(friction=0.7) if name in ON_GROUND else None


def drawn(model: engine.Model, name: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """q and v of two robots that stand, hang or fall, and the torques that move them."""
    q = np.tile(model.neutral(), (2, 1))
    scalar = model.q_of_v[model.q_of_v >= 0]
    q[:, scalar] += rng.uniform(-0.1, 0.1, (2, len(scalar)))
    q[:, scalar] = np.clip(q[:, scalar], model.lower[model.q_of_v >= 0], model.upper[model.q_of_v >= 0])
    v = rng.uniform(-0.5, 0.5, (2, model.nv))
    return standing(model, scene_of(name), q), v, rng.uniform(-1, 1, v.shape) * model.constrained


def end(model: engine.Model, scene: engine.Scene | None, q, v, tau, dt: float = DT, steps: int = STEPS, **given):
    """q and v after some steps, and whether anything touched."""
    simulation = engine.Simulation(model, len(q), dt, q=q, v=v, scene=scene, device="cpu", **given)
    simulation.tau[:] = tau
    simulation.step(steps)
    touched = scene is not None and bool(np.any(simulation.contacts.number))
    return simulation.q.copy(), simulation.v.copy(), touched


def assert_near(found, expected, within: float) -> None:
    for mine, yours in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(mine, yours, rtol=0, atol=within * max(1.0, float(np.abs(yours).max())))


@pytest.mark.parametrize("name", ON_GROUND)
def test_other_units_change_nothing_on_the_ground(name, rng):
    """Contacts know lengths: what is less than 1e-8 m is no gap, which is 1e-5 m/s in a step of 1 ms."""
    model = engine.load(engine.find_robot(name))
    q, v, tau = drawn(model, name, rng)
    expected = end(model, scene_of(name), q, v, tau)
    for length, mass, time in ((4.0, 1.0, 1.0), (0.25, 1 / 64, 1.0), (1.0, 1024.0, 1.0), (4.0, 8.0, 2.0), (1, 1, 0.25)):
        by_q, by_v = in_units(model, length, time)
        other = scaled(model, length, mass, time)
        by_tau = mass * length**2 / time**3 / by_v
        found = end(other, scene_of(name), q * by_q, v * by_v, tau * by_tau, DT * time)
        assert_near((found[0] / by_q, found[1] / by_v), expected, 1e-9 if length == 1 else 1e-3)


@pytest.mark.parametrize("name", ON_GROUND)
def test_the_mirror_shows_the_same_motion_on_the_ground(name, rng):
    model = engine.load(engine.find_robot(name))
    by_q, by_v = signs(model)
    q, v, tau = drawn(model, name, rng)
    expected = end(model, scene_of(name), q, v, tau)
    found = end(mirrored(model), scene_of(name), q * by_q, v * by_v, tau * by_v)
    assert_near((found[0] * by_q, found[1] * by_v), expected, 1e-9)
