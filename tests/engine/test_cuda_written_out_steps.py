"""Steps that are written out for the robot are those of the CPU, and as many at once as one after the other.

On device "cuda" of a GPU, or of the host, for which the very texts are compiled.
"""

import dataclasses

import numpy as np
import pytest
from beside_cpu import cuda, give  # noqa: F401 - a fixture
from cuda_on_host import compiled_for_host, cuda_on_host  # noqa: F401 - fixtures

import engine
from engine.compile import inline
from engine.cuda.stepping.written_out_stepper import WrittenOutStepper
from engine.device_arrays import to_host
from engine.kernels import free_steps, gains_and_damping
from engine.kernels.joint_constraints import BLOCK_PIVOTS
from engine.model import Model
from engine.step_settings import FRICTION

pytestmark = pytest.mark.usefixtures("cuda")
TOLERANCE = {"float64": 1e-9, "float32": 2e-4}


def rubbing(model: Model, rng: np.random.Generator) -> Model:
    """Friction, damping, limits and effort limits on every joint that may have them."""
    rows, near = model.constrained, np.where(model.q_of_v >= 0, 0.3, np.inf)
    most = np.where(rows, rng.uniform(1, 30, model.nv), np.inf)
    return dataclasses.replace(
        model, friction=rng.uniform(0, 2, model.nv) * rows, damping=rng.uniform(0, 0.5, model.nv) * rows, lower=-near,
        upper=near, velocity_limit=np.where(rows, 1.5, np.inf), effort_limit=most,
    )  # fmt: skip


def robots() -> dict[str, Model]:
    rng = np.random.default_rng(4)
    return {
        "arm7": engine.load(engine.find_robot("arm7")),
        "quadruped": engine.load(engine.find_robot("quadruped")),
        "chain": rubbing(engine.chain(6, prismatic=0.3), rng),
        "balls": rubbing(engine.tree(5, spherical=0.6, floating=True), rng),
    }


ROBOTS = robots()
BATCH, STEPS, DT = 6, 12, 2e-3


def begin(model: Model, device: str, dtype: str = "float64", **options) -> engine.Simulation:
    rng = np.random.default_rng(11)
    q, v = model.random(rng, batch=BATCH), rng.uniform(-1, 1, (BATCH, model.nv))
    scalar = model.q_of_v >= 0
    q[:, model.q_of_v[scalar]] *= 0.1
    v[::2, :] = 0.0  # at rest, where joints stick
    made = engine.Simulation(model, BATCH, DT, algorithm="abia", q=q, v=v, device=device, dtype=dtype, **options)
    give([made], tau=rng.uniform(-3, 3, (BATCH, model.nv)) * model.constrained)
    return made


def state(simulation: engine.Simulation) -> list[np.ndarray]:
    return [np.array(to_host(x), float) for x in (simulation.q, simulation.v)]


def gains(model: Model, integrator: str) -> dict[str, object]:
    return {"integrator": integrator, "kp": 20.0 * (model.q_of_v >= 0), "kd": 0.5 * model.constrained}


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("integrator", ["semi-implicit", "implicit"])
@pytest.mark.parametrize("name", ROBOTS)
def test_steps_are_those_of_the_cpu(name, integrator, dtype):
    model = ROBOTS[name]
    options = gains(model, integrator) if integrator == "implicit" else {}
    ours, theirs = begin(model, "cuda", dtype, **options), begin(model, "cpu", **options)
    assert isinstance(ours._stepper, WrittenOutStepper)
    if options:
        give([ours, theirs], target=np.full((BATCH, model.nv), 0.1))
    for simulation in (ours, theirs):
        simulation.step(STEPS)
    for found, expected in zip(state(ours), state(theirs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * (1 + np.abs(expected).max()))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ROBOTS)
def test_bits_do_not_depend_on_how_steps_are_launched_or_whether_they_are_timed(name):
    model = ROBOTS[name]
    at_once, one_by_one, timed = (begin(model, "cuda", timed=timed) for timed in (False, False, True))
    at_once.step(STEPS)
    timed.step(STEPS)
    for _ in range(STEPS):
        one_by_one.step()
    for other in (one_by_one, timed):
        for found, expected in zip(state(other), state(at_once), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert tuple(timed.phases) == ("acceleration", "integration")
    assert all(seconds > 0 for seconds in timed.phases.values())
    assert not any(at_once.phases.values())


@pytest.mark.parametrize("rows", [1, BATCH])
def test_wrenches_controls_and_recordings_are_the_cpus(rows, rng):
    model = ROBOTS["balls"]
    ours, theirs = begin(model, "cuda"), begin(model, "cpu")
    controls = rng.uniform(-2, 2, (rows, STEPS, model.nv)) * model.constrained
    give([ours, theirs], wrench=rng.uniform(-1, 1, (BATCH, len(model.link_names), 6)))
    recorded = []
    for simulation in (ours, theirs):
        q, v = (simulation.array(np.full((BATCH, 1 + STEPS // 5, width), np.nan)) for width in (model.nq, model.nv))
        simulation.advance(STEPS, simulation.array(controls), 5, (q, v))
        recorded.append([np.array(to_host(x), float) for x in (q, v)])
    for found, expected in zip([*state(ours), *recorded[0]], [*state(theirs), *recorded[1]], strict=True):
        assert np.all(np.isfinite(expected))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))


def test_a_friction_that_depends_on_the_velocity_is_written_out(monkeypatch):
    """f = F (1 + v²), which is not known before the robot moves; the model is no other test's, as its code is."""
    monkeypatch.setattr(gains_and_damping, "friction", _faster_is_more)
    monkeypatch.setattr(free_steps, "friction", _faster_is_more)
    model = dataclasses.replace(engine.chain(1, seed=77), friction=np.array([0.3]))
    simulation = engine.Simulation(model, 2, 1e-4, algorithm="abia", device="cuda", v=[[1.0], [2.0]])
    weight = engine.inverse_dynamics(model, model.neutral(), np.zeros(1), np.zeros(1))[0]
    give([simulation], tau=np.full((2, 1), weight))
    simulation.step()
    lost = np.array([[1.0], [2.0]]) - state(simulation)[1]
    inertia = float(engine.mass_matrix(model, model.neutral())[0, 0])
    np.testing.assert_allclose(lost[:, 0], 1e-4 / inertia * 0.3 * np.array([2.0, 5.0]), rtol=1e-9)


@inline
def _faster_is_more(joints, j, v):
    return joints[FRICTION, j] * (1.0 + v * v)


def test_robots_that_freeze_stay_and_the_others_go_on():
    model = engine.chain(5)
    simulation = begin(model, "cuda", on_divergence="freeze", limits=False)
    before, (_, v) = state(simulation), state(simulation)
    v[2] = 1e11
    simulation.reset(before[0], v)
    simulation.step(40)
    frozen = np.asarray(to_host(simulation.diverged))
    assert frozen.tolist() == [robot == 2 for robot in range(BATCH)]
    others = np.arange(BATCH) != 2
    alone = begin(model, "cuda", limits=False, on_divergence="freeze")
    v[2] = 0.0
    alone.reset(before[0], v)
    alone.step(40)
    for found, expected in zip(state(simulation), state(alone), strict=True):
        np.testing.assert_array_equal(found[others], expected[others])
    assert np.all(np.isfinite(state(simulation)[1]))


def test_where_joints_go_round_in_circles_a_descent_finds_what_the_cpu_finds(monkeypatch):
    """With no rounds of moving all joints at once, every robot descends from its second round on."""
    model = ROBOTS["chain"]
    expected = begin(model, "cpu")
    expected.step(STEPS)
    assert BLOCK_PIVOTS > 0
    monkeypatch.setattr(free_steps, "BLOCK_PIVOTS", 0)
    found = begin(model, "cuda")
    found.step(STEPS)
    for ours, theirs in zip(state(found), state(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
