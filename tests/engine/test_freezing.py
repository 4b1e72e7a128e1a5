"""Robots of a batch that diverge stay where they were, and the others go on as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.cuda.runtime import arrays

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
WILD = (3, 4, 12)
"""Robots that start so fast that they diverge; two of them share a block of eight."""
BATCH = 21


def start(model, batch=BATCH, wild=WILD):
    """q and v of a batch, whose wild robots diverge within some steps."""
    rng = np.random.default_rng(4)
    q = np.stack([model.random(rng) for _ in range(batch)])
    v = rng.uniform(-1, 1, (batch, model.nv))
    v[list(wild)] *= 3e3
    return q, v


def make(model, q, v, device, **given):
    return engine.Simulation(model, len(q), q=q, v=v, device=device, on_divergence="freeze", **given)


def state(simulation):
    return arrays.to_host(simulation.q).copy(), arrays.to_host(simulation.v).copy()


def last_finite(model, q, v, steps, device, **given):
    """The state of one robot before the step in which it diverges, and how many steps that took."""
    simulation = engine.Simulation(model, 1, q=q[None], v=v[None], device=device, **given)
    for step in range(steps):
        before = state(simulation)
        try:
            simulation.step()
            simulation.check()
        except engine.Diverged:
            return before, step
    raise AssertionError("it did not diverge")


CASES = [
    ("abia", "semi-implicit"), ("abia", "rk4"), ("abia", "implicit"), ("dca", "semi-implicit"), ("dca", "rk4"),
    ("cfa", "semi-implicit"), ("jsiia", "rk4"),
]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("algorithm", "integrator"), CASES)
def test_who_diverges_stays_where_it_was_and_no_bit_of_the_others_knows(device, algorithm, integrator):
    model = engine.chain(7, seed=2)
    q, v = start(model)
    given = {"integrator": integrator, "algorithm": algorithm}
    simulation = make(model, q, v, device, **given)
    for count in (1, 30, 29):
        simulation.step(count)
        simulation.check()
    wild = np.isin(np.arange(BATCH), WILD)
    assert arrays.to_host(simulation.diverged).tolist() == wild.tolist()
    assert simulation.time == pytest.approx(0.06)
    found = state(simulation)
    calm_v = v.copy()
    calm_v[wild] = 0.0
    calm = make(model, q, calm_v, device, **given)
    calm.step(60)
    assert not np.any(arrays.to_host(calm.diverged))
    for mine, yours in zip(found, state(calm), strict=True):
        np.testing.assert_array_equal(mine[~wild], yours[~wild])
    for k in WILD:
        (q_end, v_end), _ = last_finite(model, q[k], v[k], 60, device, **given)
        np.testing.assert_array_equal(found[0][k], q_end[0])
        np.testing.assert_array_equal(found[1][k], v_end[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("algorithm", ["abia", "dca", "jsiia"])
@pytest.mark.parametrize("every", [1, 4])
def test_a_record_goes_on_with_the_frozen_state(device, algorithm, every):
    model = engine.chain(5, seed=3)
    q, v = start(model)
    given = {"algorithm": algorithm}
    simulation = make(model, q, v, device, **given)
    samples = 1 + 40 // every
    record = simulation.empty(BATCH, samples, model.nq), simulation.empty(BATCH, samples, model.nv)
    simulation.advance(40, every=every, record=record)
    simulation.check()
    found = [arrays.to_host(x) for x in record]
    assert np.all(np.isfinite(found[0]))
    for k in WILD:
        (q_end, v_end), steps = last_finite(model, q[k], v[k], 40, device, **given)
        frozen = steps // every + 1
        np.testing.assert_array_equal(found[0][k, frozen:], np.repeat(q_end, samples - frozen, 0))
        np.testing.assert_array_equal(found[1][k, frozen:], np.repeat(v_end, samples - frozen, 0))
    again = simulation.empty(BATCH, samples, model.nq)
    simulation.advance(40, every=every, record=(again, None))
    simulation.check()
    rest = arrays.to_host(again)[list(WILD)]
    np.testing.assert_array_equal(rest, np.repeat(found[0][list(WILD), -1:], samples, 1))


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_of_robots_with_numbers_of_their_own_freezes_too(device):
    model = engine.load(engine.find_robot("quadruped"))
    parameters = engine.Parameters(model, BATCH)
    scale = np.linspace(0.8, 1.2, BATCH)
    parameters.mass *= scale[:, None]
    parameters.first_moment *= scale[:, None, None]
    parameters.inertia *= scale[:, None, None, None]
    q, v = start(model)
    simulation = make(model, q, v, device, parameters=parameters)
    simulation.step(100)
    simulation.check()
    assert np.flatnonzero(arrays.to_host(simulation.diverged)).tolist() == list(WILD)
    assert all(np.all(np.isfinite(x)) for x in state(simulation))


@pytest.mark.parametrize("device", DEVICES)
def test_a_reset_sets_all_free_and_where_all_are_frozen_time_goes_on(device):
    model = engine.chain(4, seed=2)
    q, v = start(model, 2, wild=(0, 1))
    simulation = make(model, q, v, device)
    simulation.step(200)
    simulation.check()
    assert np.all(arrays.to_host(simulation.diverged))
    before = state(simulation)
    simulation.step(10)
    np.testing.assert_array_equal(before, state(simulation))
    assert simulation.time == pytest.approx(0.21)
    simulation.reset(q, 0 * v)
    simulation.step(10)
    simulation.check()
    assert not np.any(arrays.to_host(simulation.diverged))


def test_without_it_the_first_divergence_ends_all_and_other_words_are_refused():
    model = engine.chain(4, seed=2)
    q, v = start(model)
    with pytest.raises(engine.Diverged, match="of robot 4"):
        engine.Simulation(model, BATCH, q=q, v=v).step(200)
    with pytest.raises(ValueError, match="on_divergence"):
        engine.Simulation(model, on_divergence="ignore")
