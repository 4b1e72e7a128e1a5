"""Branching robots stepped on the GPU by DCA-ABA: the motion of ABIA on the CPU, for any inputs."""

import dataclasses

import numpy as np
import pytest
from cuda_steps import assert_limits_hold, assert_steps_alike, pair
from held_trees import a_tree, free, held, states

import engine
from engine.cuda.runtime import device
from engine.cuda.trees import dca
from tests.shaped_trees import SHAPES, shaped

pytestmark = pytest.mark.gpu

ACTING = ("nothing", "limits and friction", "wrenches", "gains")
TOLERANCE = {"float64": 1e-9, "float32": 1e-3}


def robot(model, acting, rng):
    """The robot on which something acts, and the settings that bring it about."""
    if acting == "nothing":
        return free(model), {"limits": False}
    if acting == "gains":
        damped = dataclasses.replace(free(model), damping=0.05 * model.constrained)
        return damped, {"kp": np.where(model.q_of_v >= 0, 20.0, 0), "kd": 1.0 * model.constrained}
    return held(model, rng), {"pushed": 2.0 * (acting == "wrenches")}


def assert_moves_alike(model, acting, integrator, rng, dtype="float64", steps=200):
    model, settings = robot(model, acting, rng)
    settings |= {"integrator": integrator, "dt": min(1e-3, 0.02 / len(model.parent))}
    assert_steps_alike(*pair(model, states(model, 2, rng), rng, "dca", dtype, **settings), steps, TOLERANCE[dtype])


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("n", [2, 3, 9, 33, 100, 300])
def test_random_trees_move_as_on_the_cpu(n, acting, integrator, chance):
    assert_moves_alike(a_tree(n, chance), acting, integrator, chance)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("shape", SHAPES)
def test_trees_of_all_shapes_move_as_on_the_cpu(shape, acting, integrator, chance):
    assert_moves_alike(shaped(shape, 70, prismatic=0.3, floating=True), acting, integrator, chance)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_shipped_robots_move_as_on_the_cpu(name, acting, integrator, chance):
    assert_moves_alike(engine.load(engine.ROBOTS / f"{name}.urdf"), acting, integrator, chance)


@pytest.mark.parametrize("acting", ACTING)
def test_snakes_of_ball_joints_move_as_on_the_cpu(acting, chance):
    """Whose joints all lie on stretches; the first one is free."""
    model = engine.tree(60, seed=int(chance.integers(1 << 30)), branching=0, floating=True, spherical=0.5)
    assert_moves_alike(model, acting, "semi-implicit", chance)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
def test_single_precision_moves_nearly_so(acting, integrator, chance):
    assert_moves_alike(a_tree(30, chance), acting, integrator, chance, "float32", 100)


def test_a_large_tree_moves_as_on_the_cpu(chance):
    for model, steps in ((shaped("binary", 4096), 20), (held(engine.tree(1000, seed=3), chance), 10)):
        assert_steps_alike(*pair(model, states(model, 1, chance), chance, "dca", dt=1e-5), steps, 1e-9)


def test_limits_hold_where_block_pivoting_goes_round_in_circles(chance):
    """States from which some robots of the batch begin a descent."""
    model = engine.load(engine.ROBOTS / "humanoid.urdf")
    q = np.stack([model.random(chance) for _ in range(32)])
    v = np.clip(3 * chance.standard_normal((32, model.nv)), -model.velocity_limit, model.velocity_limit)
    snake = engine.load(engine.ROBOTS / "snake50.urdf", floating=True)
    seeded = np.random.default_rng(5)
    at_rest = np.stack([snake.random(seeded) for _ in range(16)]), np.zeros((16, snake.nv))
    for robots, state in ((model, (q, v)), (snake, at_rest)):
        assert_limits_hold(robots, state, "dca", (5,) + (25,) * 10)


@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_groups_of_any_size_move_alike(blocks, chance, monkeypatch):
    if blocks > 1 and device.properties()["major"] < 9:
        pytest.skip("this GPU has no clusters")
    monkeypatch.setattr(dca, "blocks", lambda *_: blocks)
    for integrator in engine.INTEGRATORS:
        model = held(a_tree(90, chance), chance)
        found = pair(model, states(model, 3, chance), chance, "dca", integrator=integrator, dt=2e-4)
        assert_steps_alike(*found, 20, 1e-9)


def wild(chance, integrator, **settings):
    """Three robots, of which the second diverges in some steps."""
    model = free(engine.tree(40, seed=2, spherical=0.3))
    q, v = states(model, 3, chance)
    v[1] *= 1e5
    given = {"algorithm": "dca", "device": "cuda", "integrator": integrator}
    return model, q, v, engine.Simulation(model, 3, 1e-3, q=q, v=v, **given, **settings), given


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_a_robot_that_diverges_stops_and_the_others_go_on(integrator, chance):
    model, q, v, simulation, given = wild(chance, integrator)

    def run():
        simulation.step(60)
        simulation.check()

    with pytest.raises(engine.Diverged, match="of robot 1"):
        run()
    assert 0 < simulation.steps < 60
    alone = engine.Simulation(model, 2, 1e-3, q=q[[0, 2]], v=v[[0, 2]], **given)
    alone.step(60)
    np.testing.assert_array_equal(simulation.q.get()[[0, 2]], alone.q.get())
    simulation.reset(q[0], v[0])
    simulation.step(60)
    simulation.check()


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_a_robot_that_diverges_may_rest_where_it_was(integrator, chance):
    model, q, v, simulation, given = wild(chance, integrator, on_divergence="freeze")
    record = simulation.empty(3, 61, model.nq), simulation.empty(3, 61, model.nv)
    simulation.advance(60, record=record)
    simulation.check()
    assert simulation.diverged.get().tolist() == [False, True, False]
    alone = engine.Simulation(model, 1, 1e-3, q=q[1], v=v[1], **given)
    steps = 0
    while True:
        before = alone.q.get(), alone.v.get()
        try:
            alone.step()
            alone.check()
        except engine.Diverged:
            break
        steps += 1
    for mine, kept, last in zip((simulation.q, simulation.v), record, before, strict=True):
        np.testing.assert_array_equal(mine.get()[1], last[0])
        np.testing.assert_array_equal(kept.get()[1, steps:], np.repeat(last, 61 - steps, 0))
    simulation.step(10)
    np.testing.assert_array_equal(simulation.v.get()[1], before[1][0])
