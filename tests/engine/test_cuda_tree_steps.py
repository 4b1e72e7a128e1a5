"""Branching robots stepped on the GPU by DCA-ABA: the motion of ABIA on the CPU, for any inputs."""

import dataclasses

import numpy as np
import pytest

import engine
from engine.cuda.runtime import device
from engine.cuda.trees import dca
from engine.model import generate

pytestmark = pytest.mark.gpu

ACTING = ("nothing", "limits and friction", "wrenches", "gains")
TOLERANCE = {"float64": 1e-9, "float32": 1e-3}


def a_tree(n, rng):
    """A tree of random shape, with joints of all kinds."""
    floating = bool(rng.integers(2))
    return engine.tree(n, seed=int(rng.integers(1 << 30)), prismatic=0.3, floating=floating, spherical=0.3)


def free(model):
    """Return the robot without friction, damping and limits."""
    none, any_ = np.zeros(model.nv), np.full(model.nv, np.inf)
    return dataclasses.replace(model, friction=none, damping=none, effort_limit=any_, velocity_limit=any_)


def held(model, rng):
    """Return the robot with damping, friction and limits that act on some joints at any time."""
    rows, near = model.constrained, np.where(model.q_of_v >= 0, 0.3, np.inf)
    return dataclasses.replace(
        model, friction=2 * rng.random(model.nv) * rows, damping=0.05 * rows, lower=-near, upper=near,
        velocity_limit=np.where(rows, 1.0, np.inf), effort_limit=np.where(rows, 20.0, np.inf),
    )  # fmt: skip


def robot(model, acting, rng):
    """The robot on which something acts, and the settings that bring it about."""
    if acting == "nothing":
        return free(model), {"limits": False}
    if acting == "gains":
        damped = dataclasses.replace(free(model), damping=0.05 * model.constrained)
        return damped, {"kp": np.where(model.q_of_v >= 0, 20.0, 0), "kd": 1.0 * model.constrained}
    return held(model, rng), {}


def states(model, batch, rng):
    q, scalar = np.stack([model.random(rng) for _ in range(batch)]), model.q_of_v >= 0
    q[:, model.q_of_v[scalar]] = rng.uniform(-0.25, 0.25, (batch, scalar.sum()))
    v = rng.uniform(-0.3, 0.3, (batch, model.nv))
    v[rng.random(v.shape) < 0.2] = 0
    return q, v


def pair(model, batch, rng, dtype="float64", wrenches=False, **settings):
    """Return the robots on the CPU by ABIA and on the GPU by DCA-ABA, under equal forces."""
    q, v = states(model, batch, rng)
    host = engine.Simulation(model, batch, algorithm="abia", q=q, v=v, device="cpu", **settings)
    gpu = engine.Simulation(model, batch, algorithm="dca", q=q, v=v, device="cuda", dtype=dtype, **settings)
    tau, target = rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-0.2, 0.2, (batch, model.nv))
    pushed = rng.uniform(-2, 2, (batch, len(model.link_names), 6))
    for simulation in (host, gpu):
        simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
        if wrenches:
            simulation.wrench[:] = simulation.array(pushed)
    return host, gpu


def assert_alike(gpu, host, tolerance):
    for mine, theirs in ((gpu.q.get(), host.q), (gpu.v.get(), host.v)):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * (1 + np.abs(theirs).max()))


def assert_moves_alike(model, acting, integrator, rng, dtype="float64", steps=200):
    model, settings = robot(model, acting, rng)
    settings |= {"integrator": integrator, "wrenches": acting == "wrenches", "dt": min(1e-3, 0.02 / len(model.parent))}
    host, gpu = pair(model, 2, rng, dtype, **settings)
    for simulation in (host, gpu):
        simulation.step(steps)
        simulation.check()
    assert_alike(gpu, host, TOLERANCE[dtype])


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("n", [2, 3, 9, 33, 100, 300])
def test_random_trees_move_as_on_the_cpu(n, acting, integrator, chance):
    assert_moves_alike(a_tree(n, chance), acting, integrator, chance)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("shape", generate.SHAPES)
def test_trees_of_all_shapes_move_as_on_the_cpu(shape, acting, integrator, chance):
    assert_moves_alike(generate.shaped(shape, 70, prismatic=0.3, floating=True), acting, integrator, chance)


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
    for model, steps in ((generate.shaped("binary", 4096), 20), (held(engine.tree(1000, seed=3), chance), 10)):
        host, gpu = pair(model, 1, chance, dt=1e-5)
        for simulation in (host, gpu):
            simulation.step(steps)
            simulation.check()
        assert_alike(gpu, host, 1e-9)


def test_limits_hold_where_block_pivoting_goes_round_in_circles(chance):
    """States from which some robots of the batch begin a descent."""
    model = engine.load(engine.ROBOTS / "humanoid.urdf")
    q = np.stack([model.random(chance) for _ in range(32)])
    v = np.clip(3 * chance.standard_normal((32, model.nv)), -model.velocity_limit, model.velocity_limit)
    snake = engine.load(engine.ROBOTS / "snake50.urdf", floating=True)
    seeded = np.random.default_rng(5)
    for robots, at, rates in (
        (model, q, v),
        (snake, np.stack([snake.random(seeded) for _ in range(16)]), np.zeros((16, snake.nv))),
    ):
        host = engine.Simulation(robots, len(at), algorithm="abia", q=at, v=rates, device="cpu")
        gpu = engine.Simulation(robots, len(at), algorithm="dca", q=at, v=rates, device="cuda")
        host.step(5)
        gpu.step(5)
        assert_alike(gpu, host, 1e-6)
        scalar = robots.q_of_v >= 0
        for _ in range(10):
            gpu.step(25)
            here = gpu.q.get()[:, robots.q_of_v[scalar]]
            assert np.all((here >= robots.lower[scalar] - 1e-9) & (here <= robots.upper[scalar] + 1e-9))
            assert np.all(np.abs(gpu.v.get()) <= robots.velocity_limit + 1e-9)


def test_every_robot_may_have_its_own_numbers(chance):
    model, batch = held(a_tree(40, chance), chance), 5
    parameters = engine.Parameters(model, batch)
    scale = chance.uniform(0.5, 2, (batch, 1))
    parameters.mass *= scale
    parameters.first_moment *= scale[..., None]
    parameters.inertia *= scale[..., None, None]
    parameters.gravity[:] = chance.uniform(-10, 10, (batch, 3))
    parameters.friction *= chance.uniform(0, 2, parameters.friction.shape)
    gains = {
        "kp": np.where(model.q_of_v >= 0, 2.0, np.zeros((batch, 1))),
        "kd": chance.random(batch)[:, None] * model.constrained,
    }
    for settings in ({"parameters": parameters}, gains, {"parameters": parameters, **gains, "integrator": "implicit"}):
        host, gpu = pair(model, batch, chance, **settings)
        host.step(20)
        gpu.step(20)
        gpu.check()
        assert_alike(gpu, host, 1e-9)


@pytest.mark.parametrize("rows", [1, 4])
def test_controls_are_followed_and_states_recorded(rows, chance):
    model = held(a_tree(25, chance), chance)
    q, v = states(model, 4, chance)
    controls = chance.uniform(-1, 1, (rows, 30, model.nv))
    host, gpu = (
        engine.Simulation(model, 4, q=q, v=v, algorithm=algorithm, device=where)
        for algorithm, where in (("abia", "cpu"), ("dca", "cuda"))
    )
    kept = [[simulation.empty(4, 11, size) for size in (model.nq, model.nv)] for simulation in (host, gpu)]
    for simulation, record in zip((host, gpu), kept, strict=True):
        simulation.advance(30, simulation.array(controls), 3, tuple(record))
    for mine, theirs in zip(kept[1], kept[0], strict=True):
        np.testing.assert_allclose(mine.get(), theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_groups_of_any_size_move_alike(blocks, chance, monkeypatch):
    if blocks > 1 and device.properties()["major"] < 9:
        pytest.skip("this GPU has no clusters")
    monkeypatch.setattr(dca, "blocks", lambda *_: blocks)
    for integrator in engine.INTEGRATORS:
        host, gpu = pair(held(a_tree(90, chance), chance), 3, chance, integrator=integrator, dt=2e-4)
        host.step(20)
        gpu.step(20)
        gpu.check()
        assert_alike(gpu, host, 1e-9)


def test_no_bit_depends_on_the_run_the_neighbours_or_the_watchdog(chance, monkeypatch):
    model = held(a_tree(120, chance), chance)
    q, v = states(model, 6, chance)

    def run(q, v):
        monkeypatch.setattr(dca, "blocks", lambda *_: 2)
        simulation = engine.Simulation(model, len(q), 1e-4, algorithm="dca", q=q, v=v, device="cuda")
        simulation.step(40)
        return np.concatenate([simulation.q.get(), simulation.v.get()], 1)

    whole = run(q, v)
    np.testing.assert_array_equal(run(q, v), whole)
    np.testing.assert_array_equal(run(q[4:5], v[4:5]), whole[4:5])
    monkeypatch.setattr(device, "watched", lambda: True)
    for steps in (1, 7, 39):
        monkeypatch.setattr("engine.cuda.stepping.stepper.launch_steps", lambda *_, steps=steps: steps)
        np.testing.assert_array_equal(run(q, v), whole)


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


def test_phases_are_timed(chance):
    simulation = engine.Simulation(free(a_tree(500, chance)), algorithm="dca", device="cuda", dt=1e-5)
    simulation.step(20)
    phases = simulation.phases
    assert tuple(phases) == engine.PHASES["cuda"]["dca"]
    assert all(phases[name] > 0 for name in ("kinematics", "inertia recursion", "acceleration", "integration"))
    assert 1e-6 < sum(phases.values()) < 1e-2
