"""Frames: a simulation's state on the host for display, with the poses of the links, from either device."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine.model import Model, poses

ROBOTS = Path(__file__).parents[2] / "robots"
MODELS = {
    **{f"chain{n}": engine.chain(n, prismatic=0.3) for n in (1, 2, 33, 300, 1500)},
    "tree": engine.tree(60, seed=2, prismatic=0.3),
    "floating": engine.tree(14, seed=5, floating=True),
    "balls": engine.tree(14, seed=2, prismatic=0.3, spherical=0.4),
    **{name: engine.load(ROBOTS / f"{name}.urdf") for name in ("arm7", "quadruped", "humanoid")},
}


def random_states(model: Model, batch: int, rng: np.random.Generator) -> np.ndarray:
    return np.stack([model.random(rng) for _ in range(batch)])


def test_a_frame_on_the_cpu_is_the_state_with_poses_and_phases(rng):
    model = MODELS["quadruped"]
    simulation = engine.Simulation(model, 3, q=random_states(model, 3, rng), device="cpu")
    reader = simulation.frames(2)
    reader.begin()
    simulation.step(5)
    reader.request()
    assert reader.ready
    frame = reader.take()
    np.testing.assert_array_equal(frame.q, simulation.q)
    np.testing.assert_array_equal(frame.v, simulation.v)
    np.testing.assert_array_equal(frame.link_poses, engine.link_poses(model, simulation.q[:2]))
    assert frame.steps == 5
    assert dict(frame.phases) == simulation.phases
    assert 0 < frame.spent.steps < 60
    assert 0 < frame.spent.poses < 60
    assert frame.spent.copy == 0
    kept = frame.q.copy()
    simulation.step(3)
    np.testing.assert_array_equal(frame.q, kept)
    reader.request()
    assert np.isnan(reader.take().spent.steps), "nobody said when these steps began"
    with pytest.raises(RuntimeError, match="request"):
        reader.take()


def test_a_reader_of_more_robots_than_there_are_is_refused():
    with pytest.raises(ValueError, match="robots is 3 and the batch 2"):
        engine.Simulation(engine.chain(2), 2, device="cpu").frames(3)


@pytest.mark.parametrize("device", ["cpu", "cuda", "auto"])
@pytest.mark.parametrize("name", ["chain33", "tree", "humanoid"])
def test_listed_algorithms_step_and_others_are_refused(device, name):
    model = MODELS[name]
    names = engine.simulation_algorithms(model, device)
    assert names
    for algorithm in engine.SIMULATION_ALGORITHMS["cpu"]:
        reason = engine.simulation_refusal(algorithm, model, device)
        assert (reason is None) == (algorithm in names)
        if device == "cpu" and reason is not None:
            with pytest.raises(ValueError, match=r"step|support"):
                engine.Simulation(model, algorithm=algorithm, device=device)
        elif device == "cpu":
            assert engine.Simulation(model, algorithm=algorithm, device=device).algorithm == algorithm
    with pytest.raises(ValueError, match="device"):
        engine.simulation_algorithms(model, "tpu")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_the_gpu_puts_the_links_where_the_cpu_does(name, dtype, rng):
    import cupy

    from engine.cuda.rigid_body.poses import LinkPoses

    model = MODELS[name]
    for batch in (1, 7, 1000 if len(model.parent) < 100 else 9):
        q = random_states(model, batch, rng).astype(dtype)
        expected = poses.link_poses(model, q.astype(float))
        tolerance = 8 * np.finfo(dtype).eps * (1 + np.linalg.norm(model.home_position, axis=1).sum())
        out = cupy.full((batch, len(model.link_names), 4, 4), np.nan, dtype)
        LinkPoses(model, dtype, dtype)(cupy.asarray(q), out)
        np.testing.assert_allclose(out.get(), expected, atol=tolerance)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["arm7", "chain300", "humanoid"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_frame_of_the_gpu_is_the_state_after_its_steps(name, dtype, rng):
    model = MODELS[name]
    q = random_states(model, 3, rng)
    simulation = engine.Simulation(model, 3, dt=1e-4, q=q, device="cuda", dtype=dtype)
    reader = simulation.frames(2)
    simulation.step(1)
    for count in (40, 1):
        reader.begin()
        simulation.step(count)
        reader.request()
        steps = simulation.steps
        later = simulation.q.copy()
        frame = reader.take()
        np.testing.assert_array_equal(frame.q, later.get())
        np.testing.assert_array_equal(frame.v, simulation.v.get())
        expected = poses.link_poses(model, frame.q[:2].astype(float))
        np.testing.assert_allclose(frame.link_poses, expected, atol=4e-6 * (1 + np.abs(expected).max()))
        assert frame.steps == steps
        assert dict(frame.phases) == simulation.phases
        assert all(0 < seconds < 1 for seconds in frame.spent)
    q, v = simulation.state()
    np.testing.assert_array_equal(q, simulation.q.get().astype(float))
    np.testing.assert_array_equal(v, simulation.v.get().astype(float))


@pytest.mark.gpu
def test_many_long_chains_work_in_global_memory(rng):
    import cupy

    from engine.cuda.rigid_body.poses import LinkPoses

    model = engine.chain(3000)
    q = random_states(model, 40, rng)
    out = cupy.empty((40, 3001, 4, 4), np.float32)
    place = LinkPoses(model, "float64", "float32")
    assert place._workspace.size
    place(cupy.asarray(q), out)
    expected = poses.link_poses(model, q)
    np.testing.assert_allclose(out.get(), expected, atol=1e-6 * (1 + np.abs(expected).max()))
