"""Forward dynamics on the CPU are written out for a robot's shape: its tree, and which of its constants are 0 or ±1."""

import dataclasses

import numpy as np
import pytest

import engine
from engine.algorithms import abia
from engine.algorithms.chain import Chain
from engine.compile import machine
from engine.compile.known import digest_of
from engine.cpu.rigid_body.aba_batch import LOOP_UP_TO, MAX_BODIES
from engine.kernels.robot import constants, pattern, robot_of, with_constants
from engine.model import Model

pytestmark = pytest.mark.written_out


def state(model: Model, batch: int, rng: np.random.Generator, dtype: str) -> list[np.ndarray]:
    v, tau = rng.uniform(-1, 1, (2, batch, model.nv))
    return [x.astype(dtype) for x in (model.random(rng, batch=batch), v, tau)]


def heavier(model: Model) -> Model:
    """Return the model with other values for all its numbers."""
    return dataclasses.replace(
        model, mass=1.5 * model.mass, inertia=2.0 * model.inertia, first_moment=1.25 * model.first_moment
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "model",
    [engine.chain(5), engine.tree(6, prismatic=0.3, spherical=0.3, floating=True), engine.tree(41), engine.chain(1)],
    ids=["chain", "tree", "a larger one", "one body"],
)
def test_a_robot_has_the_same_bits_alone_and_in_any_batch(model, dtype, rng):
    at = state(model, 29, rng, dtype)
    fd = engine.ForwardDynamics(model, 29, "abia", "cpu", dtype, threads=2)
    together = fd(*at)
    alone = np.array([fd(*(x[k] for x in at)) for k in range(29)])
    np.testing.assert_array_equal(together, alone)
    for few in (1, LOOP_UP_TO, LOOP_UP_TO + 1, 8, 12):
        np.testing.assert_array_equal(fd(*(x[:few] for x in at)), together[:few])


def test_robots_of_one_shape_share_their_code(monkeypatch, rng):
    model, calls = engine.chain(6), []
    first = engine.ForwardDynamics(model, 1, "abia", "cpu")
    q, v, tau = (x[0] for x in state(model, 1, rng, "float64"))
    first(q, v, tau)
    original = machine.compiled
    monkeypatch.setattr(machine, "compiled", lambda *text: calls.append(text) or original(*text))
    other = heavier(model)
    found = engine.ForwardDynamics(other, 1, "abia", "cpu")(q, v, tau)
    assert not calls
    expected = abia.forward_dynamics(Chain.of(other, np, "float64"), q[None], v[None], tau[None])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert not np.allclose(found, first(q, v, tau))


def test_a_pattern_has_only_entries_that_are_zero_or_one(quadruped):
    robot = robot_of(quadruped)
    shape, numbers = pattern(robot), constants(robot, "float64")
    assert np.all(np.isnan(shape.bodies) | np.isin(shape.bodies, (0, 1, -1)))
    assert np.isnan(shape.bodies).any()
    made = with_constants.function(shape, numbers)
    np.testing.assert_array_equal(made.bodies, robot.bodies)
    np.testing.assert_array_equal(made.gravity, robot.gravity)
    assert digest_of(pattern(robot_of(heavier(engine.chain(4))))) == digest_of(pattern(robot_of(engine.chain(4))))
    assert digest_of(shape) != digest_of(pattern(robot_of(quadruped.with_gravity((0, 0, 0)))))


def test_larger_robots_keep_loops(monkeypatch, rng):
    monkeypatch.setattr("engine.cpu.rigid_body.aba_batch.specialise_for", lambda *_: pytest.fail("written out"))
    model = engine.chain(MAX_BODIES + 1)
    fd = engine.ForwardDynamics(model, 1, "abia", "cpu")
    assert np.all(np.isfinite(fd(*(x[0] for x in state(model, 1, rng, "float64")))))
