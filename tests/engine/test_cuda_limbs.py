"""Steps of robots with even limbs, which a GPU keeps in registers: compared with the CPU's and other steps."""

import numpy as np
import pytest
from beside_cpu import SAME, alike, apart, assert_checkpoints_lead_on, beside, contacts_of, cuda, give, robot, tumbled  # noqa: F401 - a fixture
from cuda_on_host import compiled_for_host, cuda_on_host  # noqa: F401 - fixtures

import engine
from engine.cuda.constraints.contacts import PlaneContacts
from engine.device_arrays import to_host
from engine.step_settings import StepSettings


def quadrupeds(batch: int, dtype: str, **options):
    """On their feet, held by gains."""
    model, scene = robot("quadruped"), engine.Scene()
    kp, kd = engine.holding_gains(model)
    q = engine.put_down(model, scene, model.neutral())
    return beside(model, batch, dtype, **{"dt": 2e-3, "integrator": "implicit", "q": q, "kp": kp, "kd": kd} | options)


def each_step_alike(cpu: engine.Simulation, ours: engine.Simulation, steps: int, touches: int | None = None) -> None:
    """Step by step from the CPU's states, whose own residuals are up to the tolerance."""
    touching = 0
    for _ in range(steps):
        give((ours,), q=cpu.q, v=cpu.v)
        cpu.step()
        ours.step()
        alike(cpu, ours, SAME)
        touching += int(cpu.contacts.number.sum())
    assert touching > (steps if touches is None else touches)


def contacts(name: str, dtype: str = "float32") -> PlaneContacts:
    """Return the contacts of such robots."""
    model = robot(name)
    gains = np.zeros((1, model.nv))
    return PlaneContacts(
        StepSettings(model, 4, 2e-3, "implicit", "abia", dtype=dtype, kp=gains, kd=gains, scene=engine.Scene())
    )


@pytest.mark.parametrize(
    ("options", "even"),
    [({"name": "quadruped"}, True), ({"name": "quadruped", "dtype": "float64"}, True), ({"name": "humanoid"}, False)],
)
def test_robots_with_even_limbs_are_known(options, even):
    assert contacts(**options).even_limbs == even


@pytest.mark.usefixtures("cuda")
def test_a_robot_that_is_pushed_moves_as_on_the_cpu(rng):
    pair = quadrupeds(3, "float64")
    give(pair, v=0.3 * rng.standard_normal(pair[0].v.shape))
    each_step_alike(*pair, 100)


@pytest.mark.usefixtures("cuda")
def test_impulses_and_wrenches_are_told_as_on_the_cpu(rng):
    cpu, ours = quadrupeds(3, "float64")
    give((cpu, ours), v=0.3 * rng.standard_normal(cpu.v.shape))
    numbers = set()
    for _ in range(60):
        give((ours,), q=cpu.q, v=cpu.v)
        cpu.step()
        ours.step()
        for k in range(3):
            mine, theirs = contacts_of(ours, k), contacts_of(cpu, k)
            numbers.add(len(mine["link"]))
            for field in ("impulse", "wrench", "slip", "point", "gap", "link"):
                np.testing.assert_allclose(mine[field], theirs[field], atol=1e-7)
    assert len(numbers) > 2


@pytest.mark.usefixtures("cuda")
def test_robots_that_fall_fly_and_lie_on_trunk_and_knees_as_on_the_cpu(rng):
    none = np.zeros(robot("quadruped").nv)
    cpu, ours = quadrupeds(4, "float64", kp=none, kd=none)
    q, v = tumbled(robot("quadruped"), 4, rng)
    give((cpu, ours), q=q, v=v)
    numbers = set(cpu.contacts.number.tolist())
    for _ in range(6):
        each_step_alike(cpu, ours, 15, touches=0)
        numbers |= set(cpu.contacts.number.tolist())
        cpu.step(60)
    assert 0 in numbers
    assert max(numbers) > 4


@pytest.mark.usefixtures("cuda")
def test_an_overlap_of_feet_and_of_the_trunk_is_taken_back_as_on_the_cpu():
    cpu, ours = quadrupeds(2, "float64")
    q = cpu.q.copy()
    q[0, 2] -= 1e-3
    q[1, 2] = 0.041  # in the ground with the trunk, limbs stretched out
    q[1, 7:] = np.tile([0.0, -1.5, 0.0], 4)
    give((cpu, ours), q=q)
    each_step_alike(cpu, ours, 40)


BOX = '<box size="0.335 0.17 0.108"/>'


@pytest.mark.usefixtures("cuda")
def test_a_trunk_touches_by_every_point_that_it_has(tmp_path, rng):
    """A capsule by two, where a box has eight."""
    text = engine.find_robot("quadruped").read_text()
    assert text.count(BOX) == 1
    path = tmp_path / "quadruped.urdf"
    path.write_text(text.replace(BOX, '<capsule radius="0.08" length="0.3"/>'))
    model = engine.load(path)
    pair = beside(model, 3, "float64", dt=2e-3, integrator="implicit")
    q, v = tumbled(model, 3, rng)
    give(pair, q=q, v=v)
    each_step_alike(*pair, 120)


@pytest.mark.usefixtures("cuda")
def test_a_trunk_that_is_all_in_the_ground_is_left_to_other_steps_and_comes_back_to_these():
    cpu, ours = quadrupeds(3, "float64")
    q = cpu.q.copy()
    q[0, 2] = -0.2  # by eight corners, of which no more than four are kept
    give((cpu, ours), q=q)
    each_step_alike(cpu, ours, 20)
    q[0, 2] = 1.0
    give((cpu, ours), q=q)
    each_step_alike(cpu, ours, 20)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("integrator", ["implicit", pytest.param("semi-implicit", marks=pytest.mark.slow_on_host)])
def test_wrenches_parameters_and_joint_friction_act(integrator, rng):
    model, batch = robot("quadruped"), 3
    parameters = engine.Parameters(model, batch)
    parameters.mass[:] *= 1 + 0.3 * rng.random(parameters.mass.shape)
    parameters.friction[:] *= rng.random(parameters.friction.shape)
    dt = 2e-3 if integrator == "implicit" else 2e-4
    pair = quadrupeds(batch, "float64", parameters=parameters, integrator=integrator, dt=dt)
    for simulation in pair:
        simulation.wrench[:] = simulation.array(np.random.default_rng(3).standard_normal(simulation.wrench.shape))
    each_step_alike(*pair, 100)


@pytest.mark.usefixtures("cuda")
def test_a_slope_that_it_slides_down(rng):
    scene = engine.Scene(ground=engine.slope(0.4), friction=0.05)
    pair = quadrupeds(2, "float64", scene=scene)
    q = engine.put_down(robot("quadruped"), scene, robot("quadruped").neutral())
    give(pair, q=np.tile(q, (2, 1)), v=0.1 * rng.standard_normal(pair[0].v.shape))
    each_step_alike(*pair, 100)
    assert pair[0].contacts.slip[0, : int(pair[0].contacts.number[0])].max() > 1e-3


@pytest.mark.usefixtures("cuda")
def test_a_push_and_standing_after_it_are_those_of_the_cpu_in_single_precision(rng):
    """A residual of up to 1e-4 is accepted, and velocities differ by a hundred times the sweeps' tolerance."""
    cpu, ours = quadrupeds(3, "float32")
    give((cpu, ours), v=0.3 * rng.standard_normal(cpu.v.shape))
    touching = 0
    for _ in range(200):
        give((ours,), q=cpu.q, v=cpu.v)
        cpu.step()
        ours.step()
        assert apart(ours.v, cpu.v) < 5e-3
        assert apart(ours.q, cpu.q) < 1e-5  # which is dt times as much
        touching += int(cpu.contacts.number.sum())
        assert float(to_host(ours.contacts.residual).max()) <= 1e-4
    assert touching > 200
    cpu.step(600)
    ours.step(600)
    assert float(to_host(ours.contacts.worst).max()) <= 1e-4
    assert cpu.contacts.number.tolist() == to_host(ours.contacts.number).tolist() == [4, 4, 4]
    assert apart(ours.q, cpu.q) < 1e-4
    assert apart(ours.v, cpu.v) < 5e-4


@pytest.mark.usefixtures("cuda")
def test_a_checkpoint_in_single_precision_leads_on_to_the_same_bits(rng):
    _, ours = quadrupeds(3, "float32")
    give((ours,), v=0.3 * rng.standard_normal(ours.v.shape))
    ours.step(33)
    assert_checkpoints_lead_on(ours, 1, 20, 19)


@pytest.mark.usefixtures("cuda")
def test_an_overlap_is_taken_back_in_single_precision():
    cpu, ours = quadrupeds(1, "float32")
    q = cpu.q.copy()
    q[:, 2] -= 1e-3
    give((cpu, ours), q=q)
    for _ in range(40):
        cpu.step()
        ours.step()
    assert apart(ours.q, cpu.q) < 1e-4
    assert to_host(ours.contacts.gap)[0, :4].min() > -1e-5
