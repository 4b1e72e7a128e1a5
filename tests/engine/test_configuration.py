"""Integration of coordinates, velocities between two configurations, and resets of some robots of a batch."""

from typing import Any

import numpy as np
import pytest
from mimics import mimics

import engine
from engine.algorithms.step import integrate
from engine.model import generate


def models() -> list[engine.Model]:
    """With a fixed base, a free one, and ball joints."""
    balls = generate.tree(7, 5, prismatic=0.3, spherical=0.4)
    return [engine.load("robots/arm7.urdf"), engine.load("robots/humanoid.urdf"), balls]


def states(model: engine.Model, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities, turns of less than half a circle."""
    v = rng.uniform(-1.5, 1.5, (count, model.nv))
    return engine.integrate(model, np.tile(model.neutral(), (count, 1)), rng.uniform(-1.5, 1.5, v.shape)), v


@pytest.mark.parametrize("which", range(3))
def test_coordinates_go_where_a_step_takes_them(which: int, rng: np.random.Generator) -> None:
    model = models()[which]
    q, v = states(model, 5, rng)
    after = engine.integrate(model, q, v, 0.3)
    for k in range(5):
        np.testing.assert_allclose(after[k], integrate(model, q[k], v[k], 0.3), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(engine.integrate(model, q[2], v[2], 0.3), after[2])


@pytest.mark.parametrize("which", range(3))
def test_a_difference_leads_from_one_to_the_other(which: int, rng: np.random.Generator) -> None:
    model = models()[which]
    q, v = states(model, 20, rng)
    other = engine.integrate(model, q, v)
    np.testing.assert_allclose(engine.difference(model, q, other), v, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(engine.difference(model, q[0], other[0]), engine.difference(model, q, other)[0])
    np.testing.assert_array_equal(engine.difference(model, q, q), 0)
    tiny = engine.difference(model, q, engine.integrate(model, q, 1e-9 * v))
    np.testing.assert_allclose(tiny, 1e-9 * v, rtol=0, atol=1e-15)


def test_a_difference_goes_the_shortest_way() -> None:
    free = engine.load("robots/quadruped.urdf")
    q = free.neutral()
    other = engine.integrate(free, q, np.r_[0, 0, 1.5 * np.pi, np.zeros(free.nv - 3)])
    np.testing.assert_allclose(engine.difference(free, q, other)[:3], [0, 0, -0.5 * np.pi], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"batch sizes differ \(q 2, other 3\)"):
        engine.difference(free, np.tile(q, (2, 1)), np.tile(q, (3, 1)))


def dropped(device: str = "cpu", batch: int = 6) -> engine.Simulation:
    """Robots that have come down to the ground, some of which diverge once their velocities are spoilt."""
    model = engine.load("robots/quadruped.urdf")
    q = np.tile(engine.put_down(model, engine.Scene(), model.neutral()), (batch, 1))
    q[:, 2] += 0.002 * np.arange(batch)
    return engine.Simulation(
        model, batch, 2e-3, "implicit", "abia", q=q, device=device, scene=engine.Scene(), on_divergence="freeze"
    )


def on_host(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else x.get()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_chosen_robots_begin_anew_and_the_others_go_on_to_the_same_bits(device: str) -> None:
    ours, others = dropped(device), dropped(device)
    for simulation in (ours, others):
        simulation.step(30)
        simulation.v[4, 0] = 1e15
        simulation.step(1)
    assert on_host(ours.diverged).tolist() == [False] * 4 + [True, False]
    begin = dropped(device)
    q, v = on_host(begin.q)[[1, 4]], np.full((2, ours.model.nv), 0.01)
    ours.reset(q, v, robots=[1, 4])
    assert not on_host(ours.diverged).any()
    assert ours.steps == 31
    assert ours.contacts is not None
    assert on_host(ours.contacts.number)[[1, 4]].tolist() == [0, 0]
    fresh = engine.Simulation(
        ours.model, 2, 2e-3, "implicit", "abia", q=q, v=v, device=device, scene=engine.Scene(), on_divergence="freeze"
    )
    for simulation in (ours, others, fresh):
        simulation.target[:] = 0
        simulation.step(25)
    np.testing.assert_array_equal(on_host(ours.q)[[1, 4]], on_host(fresh.q))
    np.testing.assert_array_equal(on_host(ours.q)[[0, 2, 3, 5]], on_host(others.q)[[0, 2, 3, 5]])


def test_a_mask_chooses_too_and_what_chooses_nothing_changes_nothing() -> None:
    simulation = dropped()
    simulation.step(5)
    before = simulation.q.copy()
    simulation.reset(robots=np.zeros(6, bool))
    simulation.reset(np.empty((0, simulation.model.nq)), np.empty((0, simulation.model.nv)), robots=[])
    np.testing.assert_array_equal(simulation.q, before)
    simulation.reset(robots=np.arange(6) == 3)
    np.testing.assert_array_equal(simulation.q[3], simulation.model.neutral())
    np.testing.assert_array_equal(np.delete(simulation.q, 3, 0), np.delete(before, 3, 0))
    for wrong in ([6], [-1], [1, 1], np.zeros(5, bool), 0.5):
        with pytest.raises(
            ValueError, match=r"robots is .*; expected a mask \(6,\), or numbers from 0 to 5, each once"
        ):
            simulation.reset(robots=wrong)
    with pytest.raises(ValueError, match="q has 3 rows; expected one state or 2, the robots to reset"):
        simulation.reset(before[:3], robots=[0, 1])


def test_a_recording_goes_on_where_robots_begin_anew() -> None:
    simulation = dropped()
    recording = engine.Recording()
    recording.begin(simulation)
    for _ in range(3):
        simulation.step(10)
        recording.add(simulation)
    simulation.reset(robots=[2])
    recording.add(simulation, begins=True)
    simulation.step(10)
    recording.add(simulation)
    run = recording.runs[-1]
    *_, (index, last) = recording.resimulate(run, run.first)
    assert index == run.last
    np.testing.assert_array_equal(last.q, simulation.q)
    np.testing.assert_array_equal(last.v, simulation.v)


@pytest.mark.parametrize("dt", [np.nan, np.inf])
def test_coordinates_are_not_moved_for_a_time_that_is_not_finite(dt: float) -> None:
    model = engine.load("robots/arm7.urdf")
    with pytest.raises(ValueError, match=r"dt is (nan|inf); expected a finite number of seconds"):
        engine.integrate(model, model.neutral(), np.zeros(model.nv), dt)


def test_a_joint_that_mimics_has_no_coordinate_of_its_own(tmp_path):
    model = mimics(tmp_path, 3)
    follower = next(joint for joint in model.joints if joint.leader is not None)
    with pytest.raises(KeyError, match=f"follows '{follower.leader}' and has no coordinate; ask for that one"):
        model.q_slice(follower.name)
