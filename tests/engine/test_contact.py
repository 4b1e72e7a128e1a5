"""Contact with the ground: closed forms, the law itself, and standing robots."""

import re
from functools import partial

import numpy as np
import pytest
from free_bodies import BODY, free_body, simulated, thrown

import engine
from engine.kernels.contact import contact_step, workspace
from engine.kernels.joint_rows import JointRows
from engine.model import Model
from engine.step_settings import StepSettings
from tests.bench import contact_cases

G = 9.81


@pytest.fixture(scope="module")
def body(tmp_path_factory):
    return partial(free_body, tmp_path_factory)


def test_redundant_corners_share_a_load(body):
    simulation = simulated(body(), engine.Scene(), 0.1)
    simulation.step(500)
    found = simulation.contacts
    assert found.number[0] == 4
    assert found.residual[0] <= 1e-8
    np.testing.assert_allclose(found.impulse[0, :4, 2].sum(), 2 * G * 1e-3, rtol=1e-6)
    np.testing.assert_allclose(simulation.contact_wrench[0, 0, 3:], [0, 0, 2 * G], atol=1e-4)
    assert found.states(0) == ("stick",) * 4


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("mu", [0.3, 0.8])
def test_a_ramp_just_below_the_angle_of_friction_holds_a_box(body, mu, integrator):
    tilt = np.arctan(mu * (1 - 1e-3))
    scene = engine.Scene(ground=engine.slope(tilt), friction=mu)
    simulation = simulated(body(), scene, 0.1, tilt, integrator=integrator)
    simulation.step(200)
    start = simulation.q.copy()
    simulation.step(4000)
    assert np.abs(simulation.q - start).max() < 1e-9


def test_thrown_boxes_obey_the_law_until_they_rest(body):
    rng, model, batch = np.random.default_rng(4), body('<box size="0.3 0.2 0.1"/>'), 30
    q, v = thrown(rng, model, batch)
    q[:, 2] += 0.2
    simulation = engine.Simulation(model, batch, q=q, v=v, scene=engine.Scene(), algorithm="abia")
    residuals = []
    for _ in range(3000):
        simulation.step()
        residuals.append(simulation.contacts.residual)
    assert np.mean(np.array(residuals) <= 1e-8) >= 0.999
    assert np.max(residuals) <= 1e-4
    assert np.abs(simulation.v).max() < 1e-6


@pytest.mark.parametrize("shape", ['<cylinder radius="0.1" length="0.2"/>', '<capsule radius="0.1" length="0.2"/>'])
def test_round_shapes_come_to_rest(body, shape):
    model = body(shape)
    simulation = simulated(model, engine.Scene(), 0.25)
    simulation.step(4000)
    assert np.abs(simulation.v).max() < 1e-6
    assert abs(simulation.q[0, 2] - (0.1 if "cylinder" in shape else 0.2)) < 1e-6


def quadruped() -> Model:
    return engine.load(engine.ROBOTS / "quadruped.urdf")


def standing(model: Model, batch: int = 1, **options) -> engine.Simulation:
    """The quadruped on its feet, held by gains."""
    kp, kd = engine.holding_gains(model, integrator=options.get("integrator", "implicit"))
    q = engine.put_down(model, engine.Scene(), model.neutral())
    options = {"dt": 2e-3, "integrator": "implicit", "algorithm": "abia", "scene": engine.Scene()} | options
    return engine.Simulation(model, batch, q=q, kp=kp, kd=kd, **options)


@pytest.mark.parametrize(("integrator", "dt"), [("implicit", 2e-3), ("semi-implicit", 1e-3), ("rk4", 1e-3)])
def test_a_quadruped_stands_still(integrator, dt):
    simulation = standing(quadruped(), integrator=integrator, dt=dt)
    simulation.step(round(4 / dt))
    start = simulation.q.copy()
    for _ in range(50):
        simulation.step(50)
        assert simulation.contacts.residual[0] <= 1e-8
    assert simulation.contacts.number[0] == 4
    assert np.abs(simulation.q - start).max() < 1e-7
    weight = simulation.contacts.impulse[0, :4].sum(0) / simulation.dt
    np.testing.assert_allclose(weight, [0, 0, quadruped().mass.sum() * G], atol=1e-5 * quadruped().mass.sum() * G)


def test_a_humanoid_stands_on_its_feet_by_gains_alone():
    simulation = standing(engine.load(engine.ROBOTS / "humanoid.urdf"), dt=1e-3)
    simulation.step(2000)
    start = simulation.q.copy()
    simulation.step(3000)
    assert np.abs(simulation.q - start).max() < 1e-6
    assert simulation.contacts.number[0] == 8
    assert simulation.contacts.residual[0] <= 1e-8


def test_a_snake_lies_on_the_ground():
    model = engine.load(engine.ROBOTS / "snake50.urdf", floating=True)
    simulation = standing(model, dt=1e-3)
    residuals = []
    for _ in range(60):
        simulation.step(5)
        residuals.append(simulation.contacts.residual[0])
    assert np.all(np.isfinite(simulation.q))
    assert max(residuals) <= 1e-3


@pytest.mark.parametrize("name", ["talos_reduced.urdf", "anymal.urdf"])
def test_real_robots_stand_on_their_meshes(name, example_robots):
    model = engine.load(next(path for path in example_robots if path.name == name), floating=True)
    simulation = standing(model, dt=1e-3)
    for _ in range(20):
        simulation.step(50)
        assert simulation.contacts.residual[0] <= 1e-8
    lift = simulation.contacts.impulse[0, : simulation.contacts.number[0], 2].sum() / simulation.dt
    assert lift == pytest.approx(model.mass.sum() * G, rel=0.05)


def test_a_robot_with_more_possible_contacts_than_are_solved_by_rows_falls_onto_itself(example_robots):
    name = "g1_29dof_with_hand_rev_1_0.urdf"
    model = engine.load(next(path for path in example_robots if path.name == name), floating=True)
    scene = engine.Scene(ground=engine.Plane(), self_collision=True)
    q = engine.put_down(model, scene, model.neutral())
    simulation = engine.Simulation(model, q=q, scene=scene, dt=2e-3, device="cpu")
    residuals, own = [], 0
    for _ in range(300):
        simulation.step()
        touches = simulation.contacts
        residuals.append(touches.residual[0])
        own += int((touches.other[0, : touches.number[0]] >= 0).sum())
    assert np.mean(np.array(residuals) <= 1e-8) >= 0.99
    assert own > 100


def test_a_mesh_touches_by_its_hull(tmp_path):
    import trimesh

    for name, mesh in (("ball", trimesh.creation.icosphere(2, 0.1)), ("flat", trimesh.Trimesh(np.eye(3), [[0, 1, 2]]))):
        mesh.export(tmp_path / f"{name}.stl")
        (tmp_path / f"{name}.urdf").write_text(BODY.format(shape=f'<mesh filename="{name}.stl"/>'))
    model = engine.load(tmp_path / "ball.urdf", floating=True)
    simulation = simulated(model, engine.Scene(), 0.2)
    simulation.step(3000)
    assert np.abs(simulation.v).max() < 1e-4
    assert 0.09 < simulation.q[0, 2] < 0.1 + 1e-6
    flat = engine.load(tmp_path / "flat.urdf", floating=True)
    with pytest.raises(ValueError, match="volume"):
        engine.Simulation(flat, scene=engine.Scene())
    (tmp_path / "ball.stl").unlink()
    with pytest.raises(ValueError, match="cannot be read"):
        engine.Simulation(model, scene=engine.Scene())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "cpu", "dtype": "float32"}, "dtype is 'float32'; the CPU simulates in 'float64'"),
        ({"scene": engine.Plane()}, "scene is a Plane; expected an engine.Scene"),
    ],
)
def test_a_scene_is_refused_in_one_sentence_where_robots_cannot_touch_it(options, sentence):
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)):
        engine.Simulation(quadruped(), **{"scene": engine.Scene(), **options})


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("end", ["lower", "upper"])
@pytest.mark.parametrize("deep", [2e-3, 2e-2])
def test_overlap_correction_moves_no_joint_past_its_limit(integrator, end, deep):
    model, scene = engine.load(engine.find_robot("quadruped")), engine.Scene()
    scalar = model.q_of_v >= 0
    limits, where = getattr(model, end)[scalar], model.q_of_v[scalar]
    q = model.neutral()
    q[where] = limits
    q = engine.put_down(model, scene, q)
    q[2] -= deep
    simulation = engine.Simulation(model, dt=1e-3, q=q, scene=scene, integrator=integrator, device="cpu")
    for _ in range(300):
        simulation.step()
        now = simulation.q[0, where]
        assert np.all(now <= model.upper[scalar] + 1e-9)
        assert np.all(now >= model.lower[scalar] - 1e-9)
    assert simulation.contacts.gap[0, : simulation.contacts.number[0]].min() > -1e-6


def test_no_joint_passes_its_limit_by_what_a_search_left():
    """v⁺ that closes a joint's distance to its limit a millionth too fast, as impulses with a residual may give."""
    arm = engine.load(engine.find_robot("arm7"))
    none = np.zeros((1, arm.nv))
    of = StepSettings(arm, 1, 1e-3, "implicit", "abia", dtype="float64", timed=False, kp=none, kd=none)
    rows = JointRows(of.dt, of.has_limits, of.has_constraints, of.q_of_v, of.joints[0])
    q, v = arm.neutral(), np.zeros(arm.nv)
    q[1], free = arm.upper[1] - 1e-3, np.eye(arm.nv)[1] * (1 + 1e-6)
    contact = workspace.contact_workspace(arm, engine.Scene())
    contact.free[:] = free
    contact_step.integrate(q, v, rows, of.rotations, contact)
    assert (q[1], v[1]) == (arm.upper[1], free[1])


@pytest.mark.parametrize("friction", [-0.1, np.nan, np.inf, "rough", [1, 2], None])
def test_a_friction_that_is_none_is_refused(friction):
    with pytest.raises(ValueError, match="at least 0"):
        engine.Scene(friction=friction)


@pytest.mark.parametrize("restitution", [1.5, -0.1, np.nan, None])
def test_a_restitution_that_is_none_is_refused(restitution):
    with pytest.raises(ValueError, match="0 to 1"):
        engine.Scene(restitution=restitution)


def test_a_ground_that_is_none_is_refused():
    with pytest.raises(TypeError, match="ground is a float; expected an"):
        engine.Scene(ground=0.0)


@pytest.mark.parametrize("normal", [(0, 0, 0), (0, 1), "up", "abc", None, (0, 0, np.nan)])
def test_a_plane_needs_a_normal(normal):
    with pytest.raises(ValueError, match="three numbers"):
        engine.Plane(normal)


@pytest.mark.parametrize("offset", ["high", np.inf, None])
def test_a_plane_needs_an_offset(offset):
    with pytest.raises(ValueError, match="a number in m"):
        engine.Plane(offset=offset)


@pytest.mark.parametrize(
    ("robot", "robots", "share", "worst"),
    [("quadruped", 20, 99.9, 1e-6), ("quadruped", 140, 99.99, 1e-6), ("humanoid", 140, 99.99, 1e-4)],
)
def test_limp_robots_obey_the_law_as_they_fall_onto_their_joints_stops(robot, robots, share, worst):
    found = contact_cases.residuals(robot, "falling", robots=robots)
    assert found["share ≤ 1e-8, %"] >= share
    assert found["worst"] <= worst


def test_links_that_begin_inside_each_other_are_not_thrown_apart():
    model = engine.load(engine.find_robot("arm6"))
    q, scene = model.random(np.random.default_rng(45)), engine.Scene(self_collision=True)
    simulation = engine.Simulation(model, q=q, scene=scene, integrator="implicit", device="cpu")
    for _ in range(15):
        simulation.step()
        assert simulation.contacts.residual[0] <= 1e-5
        assert np.abs(simulation.v).max() <= 5
