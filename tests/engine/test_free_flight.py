"""Free joints in flight: conservation of momentum by Euler's steps, its order, and agreement with contact steps."""

from functools import cache

import numpy as np
import pytest

import engine
from engine import lie
from engine.device_arrays import to_host
from engine.model import Model
from engine.model.poses import body_poses

EULER = ("semi-implicit", "implicit")
BODY = """<robot name="body"><link name="body"><inertial><origin xyz="{centre}"/><mass value="2"/>
<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""
BALL, BRICK = (1.0, 1.0, 1.0), (1.0, 1.5, 2.0)
"""Moments of inertia, kg m²."""
ON_GPU = pytest.param("cuda", marks=pytest.mark.gpu)


@pytest.fixture
def body(tmp_path):
    """A free body of 2 kg with such moments of inertia about its centre of mass, and where that is."""

    def make(moments=BRICK, centre="0 0 0", gravity=(0.0, 0.0, 0.0)) -> Model:
        path = tmp_path / "body.urdf"
        path.write_text(BODY.format(centre=centre, **dict(zip(("ixx", "iyy", "izz"), moments, strict=True))), "utf-8")
        return engine.load(path, floating=True).with_gravity(gravity)

    return make


def host(x) -> np.ndarray:
    return np.array(to_host(x), np.float64)


def momentum(simulation, robot: int = 0) -> np.ndarray:
    return engine.momentum(simulation.model, host(simulation.q)[robot], host(simulation.v)[robot])


def centre_of_mass(model: Model, q: np.ndarray) -> np.ndarray:
    T = body_poses(model, q[None])[0]
    first = T[:, :3, 3] * model.mass[:, None] + (T[:, :3, :3] @ model.first_moment[..., None])[..., 0]
    return first.sum(0) / model.mass.sum()


def about_centre(simulation) -> np.ndarray:
    """The angular momentum about the centre of mass."""
    whole = momentum(simulation)
    return whole[:3] - np.cross(centre_of_mass(simulation.model, host(simulation.q)[0]), whole[3:])


@cache
def quadruped(gravity: float = 0.0) -> Model:
    return engine.load(engine.find_robot("quadruped")).with_gravity((0, 0, gravity))


def tumbling(dt: float, integrator: str, gravity: float = 0.0, algorithm: str = "abia", **device):
    """A quadruped that turns about an edge of its own and kicks."""
    model = quadruped(gravity)
    v = 3 * np.sin(7.0 * np.arange(model.nv))
    v[:6] = 3, -4, 6, 1, 2, 0.5
    options = {"integrator": integrator, "algorithm": algorithm, "device": "cpu"} | device
    return engine.Simulation(model, dt=dt, q=model.neutral(), v=v, **options)


def kept(integrator: str, dt: float, **options) -> tuple[float, float]:
    """By how much linear and angular momentum of the tumbling quadruped change at most in a second, relative."""
    simulation = tumbling(dt, integrator, **options)
    start, turns = momentum(simulation)[3:], about_centre(simulation)
    linear = angular = 0.0
    for _ in range(20):
        simulation.step(round(0.05 / dt))
        linear = max(linear, float(np.linalg.norm(momentum(simulation)[3:] - start)))
        angular = max(angular, float(np.linalg.norm(about_centre(simulation) - turns)))
    return linear / float(np.linalg.norm(start)), angular / float(np.linalg.norm(turns))


@pytest.mark.sample(8)
@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize(("moments", "fastest"), [(BALL, 200.0), (BRICK, 3.0)])
@pytest.mark.parametrize("batch", [2, 20])
@pytest.mark.parametrize(
    ("device", "dtype"),
    [("cpu", "float64"), *(pytest.param("cuda", x, marks=pytest.mark.gpu) for x in ("float64", "float32"))],
)
def test_a_spinning_body_keeps_its_linear_momentum_to_rounding(
    body, integrator, batch, moments, fastest, device, dtype, rng
):
    """However fast it turns: a ball up to a third of a radian a step."""
    model, steps = body(moments), 2000
    q, v = model.random(rng, batch), rng.standard_normal((batch, 6))
    v[:, :3] *= np.linspace(1, fastest, batch)[:, None]
    for algorithm in engine.simulation_algorithms(model, device):
        simulation = engine.Simulation(model, batch, 1e-3, integrator, algorithm, q=q, v=v, device=device, dtype=dtype)
        simulation.step(steps)
        for k in range(batch):
            before = engine.momentum(model, q[k], v[k])[3:]
            change = np.linalg.norm(momentum(simulation, k)[3:] - before) / np.linalg.norm(before)
            assert change <= steps * np.finfo(dtype).eps, (algorithm, k)


@pytest.mark.parametrize("integrator", EULER)
def test_a_body_off_its_frames_origin_keeps_its_momentum_within_a_bound(body, integrator):
    """The origin's way is cut into straight pieces, so that momentum swings by m ω² |c| dt, and does not grow."""
    model = body(BALL, centre="0.3 0 0")
    for dt in (1e-3, 5e-4):
        simulation = engine.Simulation(model, dt=dt, integrator=integrator, v=[0, 0, 10, 1, 0, 0], device="cpu")
        start = momentum(simulation)[3:]
        swings = []
        for _ in range(20):
            simulation.step(round(1.001 / dt))
            swings.append(np.linalg.norm(momentum(simulation)[3:] - start))
        assert 0.2 < max(swings) / (2 * 10**2 * 0.3 * dt) < 1.001


@pytest.mark.parametrize("integrator", EULER)
def test_a_brick_gains_the_rotation_that_the_documentation_says(body, integrator):
    """Euler's step gives ½ dt² of what gyroscopic torques accelerate, squared and weighted; a ball has none."""
    model = body(BRICK)
    moments, changes = np.array(BRICK), []
    for dt in (2e-3, 1e-3):
        simulation = engine.Simulation(model, dt=dt, integrator=integrator, v=[3, -4, 8, 1, 2, 3], device="cpu")
        start, begin, gained = about_centre(simulation), sum(part[0] for part in simulation.energy()), 0.0
        for _ in range(round(1 / dt)):
            omega = simulation.v[0, :3].copy()
            gained += 0.5 * dt**2 * np.sum(np.cross(omega, moments * omega) ** 2 / moments)
            simulation.step()
        assert sum(part[0] for part in simulation.energy()) - begin == pytest.approx(gained, rel=1e-9)
        changes.append(np.linalg.norm(about_centre(simulation) - start) / np.linalg.norm(start))
    assert changes[0] < 6e-3
    assert changes[0] / changes[1] == pytest.approx(2, abs=0.3)
    ball = engine.Simulation(body(BALL), integrator=integrator, v=[3, -4, 8, 1, 2, 3], device="cpu")
    start = about_centre(ball)
    ball.step(1000)
    np.testing.assert_allclose(about_centre(ball), start, rtol=0, atol=1e-12)


@pytest.mark.parametrize("integrator", EULER)
def test_a_body_that_spins_falls_along_eulers_parabola(body, integrator, rng):
    model, dt, steps = body(gravity=(0.0, 0.0, -9.81)), 1e-3, 1000
    q, v = model.random(rng), np.array([10.0, -20, 15, 1, 2, 3])
    simulation = engine.Simulation(model, dt=dt, integrator=integrator, q=q, v=v, device="cpu")
    simulation.step(steps)
    velocity = lie.rotation_from_quaternion(q[3:]) @ v[3:]
    fallen = [0, 0, -9.81 * dt**2 * steps * (steps + 1) / 2]
    np.testing.assert_allclose(simulation.q[0, :3], q[:3] + velocity * dt * steps + fallen, rtol=0, atol=1e-12)
    now = lie.rotation_from_quaternion(simulation.q[0, 3:]) @ simulation.v[0, 3:]
    expected = velocity - np.array([0, 0, 9.81 * dt * steps])
    np.testing.assert_allclose(now, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("algorithm", ["abia", "jsiia", "dca"])
@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize("device", ["cpu", ON_GPU])
def test_a_tumbling_quadruped_keeps_its_momentum_to_the_order_of_the_step(integrator, algorithm, device):
    coarse, fine = (kept(integrator, dt, algorithm=algorithm, device=device) for dt in (2e-3, 1e-3))
    assert coarse[0] < 3e-3  # 3e-2 where the velocity is not turned
    assert coarse[1] < 1e-2
    assert coarse[0] / fine[0] == pytest.approx(2, abs=0.3)
    assert coarse[1] / fine[1] == pytest.approx(2, abs=0.3)


@pytest.mark.gpu
@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize("algorithm", ["abia", "jsiia", "dca"])
def test_a_tumbling_quadruped_keeps_it_in_single_precision(integrator, algorithm):
    linear, angular = kept(integrator, 1e-3, algorithm=algorithm, device="cuda", dtype="float32")
    assert linear < 1.5e-3
    assert angular < 5e-3


@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize("device", ["cpu", ON_GPU])
def test_the_centre_of_mass_of_a_quadruped_that_tumbles_falls_along_the_parabola(integrator, device):
    apart = []
    for dt in (2e-3, 1e-3):
        simulation, steps = tumbling(dt, integrator, -9.81, device=device), round(0.5 / dt)
        model = simulation.model
        start, velocity = centre_of_mass(model, host(simulation.q)[0]), momentum(simulation)[3:] / model.mass.sum()
        simulation.step(steps)
        expected = start + velocity * dt * steps + [0, 0, -9.81 * dt**2 * steps * (steps + 1) / 2]
        apart.append(np.linalg.norm(centre_of_mass(model, host(simulation.q)[0]) - expected))
    assert apart[0] < 2e-3  # m, of 2.5
    assert apart[0] / apart[1] == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize("device", ["cpu", ON_GPU])
def test_a_contact_that_does_not_press_changes_nothing(body, integrator, device, rng):
    """A body that spins past the ground within reach, by the step of contact, and far from any."""
    model = body()
    q = np.concatenate([[0, 0, 0.1005], model.random(rng)[3:]])
    v = np.concatenate([[10, -20, 15], lie.rotation_from_quaternion(q[3:]).T @ [1, 2, 0]])
    past, far = (
        engine.Simulation(model, integrator=integrator, algorithm="abia", q=q, v=v, device=device, scene=scene)
        for scene in (engine.Scene(), None)
    )
    for simulation in (past, far):
        simulation.step(300)
    assert past.contacts.states(0) == ("open",)
    for ours, theirs in ((past.q, far.q), (past.v, far.v)):
        np.testing.assert_allclose(host(ours), host(theirs), rtol=0, atol=1e-11)
