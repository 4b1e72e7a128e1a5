"""Contact with a height field: flat ones agree with a plane; valleys, slopes and steps."""

from functools import partial

import numpy as np
import pytest
from free_bodies import free_body

import engine
from engine import cli
from engine.model import Model

BOX, BALL = '<box size="0.2 0.2 0.2"/>', '<sphere radius="0.1"/>'
CYLINDER, CAPSULE = '<cylinder radius="0.1" length="0.3"/>', '<capsule radius="0.1" length="0.3"/>'


@pytest.fixture(scope="module")
def body(tmp_path_factory):
    return partial(free_body, tmp_path_factory)


def field(height, cell: float = 0.25, cells: int = 20) -> engine.HeightField:
    """The heights of a function of x and y, around the origin."""
    x = (np.arange(cells + 1) - cells / 2) * cell
    return engine.HeightField(height(*np.meshgrid(x, x)), cell)


@pytest.mark.parametrize(("rows", "columns"), [(2, 7), (9, 3), (5, 5)])
def test_half_a_turn_about_its_middle_turns_the_ground_about_the_worlds_z(rows, columns):
    """Without an origin the middle is at x = y = 0, however many rows and columns there are."""
    rng = np.random.default_rng([rows, columns])
    heights, places = rng.uniform(-1, 1, (rows, columns)), rng.uniform(-1, 1, (100, 2))
    turned = engine.HeightField(heights[::-1, ::-1], 0.3).height(-places)
    np.testing.assert_allclose(turned, engine.HeightField(heights, 0.3).height(places), rtol=0, atol=1e-12)


def simulated(model: Model, ground: engine.Plane | engine.HeightField, q=None, friction=0.8, **options):
    """A body put down on the ground."""
    scene = engine.Scene(ground=ground, friction=friction)
    q = engine.put_down(model, scene, model.neutral() if q is None else q)
    return engine.Simulation(model, q=q, scene=scene, algorithm="abia", **options)


def pose(x: float, y: float, turn=(0.0, 0.0, 0.0, 1.0)) -> np.ndarray:
    return np.array([x, y, 0.0, *np.array(turn) / np.linalg.norm(turn)])


@pytest.mark.parametrize("shape", [BOX, BALL, CYLINDER, CAPSULE])
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_a_plane_given_as_a_height_field_moves_a_body_as_the_plane_does(body, shape, tilt):
    """Up to where, on the slope, all corners of the box have landed at once, and rounding decides which rocks."""
    model, motions = body(shape), []
    start = pose(0.03, 0.05, (0.1, 0.2, 0.05, 1.0))
    for ground in (engine.slope(tilt), field(lambda x, _: -np.tan(tilt) * x)):
        simulation = simulated(model, ground, friction=0.5)
        simulation.q[:] = start
        simulation.q[0, 2] = 0.4
        states = []
        for _ in range(14 if tilt else 20):
            simulation.step(20)
            states.append(np.concatenate([simulation.q[0], simulation.v[0]]))
            assert simulation.contacts.residual[0] <= 1e-8
        motions.append(states)
    np.testing.assert_allclose(motions[1], motions[0], rtol=0, atol=1e-9)


def test_a_quadruped_stands_on_level_heights_as_on_the_plane():
    model, ends = engine.load(engine.ROBOTS / "quadruped.urdf"), []
    kp, kd = engine.holding_gains(model)
    for ground in (engine.Plane(), field(lambda x, _: 0 * x)):
        simulation = simulated(model, ground, dt=2e-3, integrator="implicit", kp=kp, kd=kd)
        simulation.step(500)
        assert simulation.contacts.number[0] == 4
        assert simulation.contacts.residual[0] <= 1e-8
        ends.append(np.concatenate([simulation.q[0], simulation.v[0]]))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-9)


def test_a_quadruped_stands_on_waves():
    model = engine.load(engine.ROBOTS / "quadruped.urdf")
    kp, kd = engine.holding_gains(model)
    ground = field(lambda x, y: 0.03 * np.sin(5 * x) * np.cos(4 * y), 0.1, 40)
    simulation = simulated(model, ground, dt=2e-3, integrator="implicit", kp=kp, kd=kd)
    for _ in range(100):
        simulation.step(20)
        assert simulation.contacts.residual[0] <= 1e-8
    assert np.abs(simulation.v).max() < 1e-3
    lift = simulation.contacts.impulse[0, : simulation.contacts.number[0], 2].sum() / simulation.dt
    assert lift == pytest.approx(model.mass.sum() * 9.81, rel=1e-3)


def test_a_ball_rolls_into_a_valley_and_rests_on_both_its_sides(body):
    """Between planes of slope ±0.5 a ball of 0.1 m rests with its centre 0.1/cos(atan 0.5) above the bottom."""
    simulation = simulated(body(BALL), field(lambda x, _: 0.5 * np.abs(x)), pose(0.6, 0.03))
    residuals = []
    for _ in range(200):
        simulation.step(50)
        residuals.append(simulation.contacts.residual[0])
    assert np.abs(simulation.v).max() < 1e-6
    assert simulation.contacts.number[0] == 2
    assert simulation.q[0, 0] == pytest.approx(0, abs=1e-6)
    assert simulation.q[0, 2] == pytest.approx(0.1 * np.sqrt(1.25), abs=1e-6)
    assert max(residuals) <= 1e-8


def test_a_ball_rests_on_three_triangles_of_a_pit(body):
    slopes = 0.3 * np.array([[1, 1], [-2, 1], [1, -2]])
    simulation = simulated(body(BALL), field(lambda x, y: np.max([a * x + b * y for a, b in slopes], 0)))
    normals = np.column_stack([-slopes, np.ones(3)])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    simulation.q[0, :3] = np.linalg.solve(normals, np.full(3, 0.1))
    start = simulation.q.copy()
    simulation.step(1000)
    assert simulation.contacts.number[0] == 3
    assert simulation.contacts.states(0) == ("stick",) * 3
    assert np.abs(simulation.q - start).max() < 1e-8
    assert simulation.contacts.residual[0] <= 1e-8


@pytest.mark.parametrize("way", [(1.0, 0.0), (0.6, 0.8)])
def test_a_slope_of_triangles_holds_a_box_below_the_angle_of_friction_only(body, way):
    mu, speeds = 0.5, []
    for steep in (mu * (1 - 1e-3), mu * 1.1):
        ground = field(lambda x, y, s=steep: -s * (way[0] * x + way[1] * y))
        tilt, axis = np.arctan(steep), np.array([-way[1], way[0], 0.0])
        q = pose(0, 0, (*(np.sin(tilt / 2) * axis), np.cos(tilt / 2)))
        simulation = simulated(body(BOX), ground, q, mu)
        simulation.step(200)
        start = simulation.q.copy()
        simulation.step(500)
        speeds.append(np.abs(simulation.q - start).max())
    assert speeds[0] < 1e-9
    assert speeds[1] > 1e-3


def steps(x, _y):
    return np.where(x > 0, 0.06, 0.0)


def test_a_ball_is_stopped_by_a_step_that_it_does_not_climb(body):
    """The riser is one cell of 0.02 m, so steep that a slow ball comes back from it."""
    simulation = simulated(body(BALL), field(steps, 0.02, 60), pose(-0.3, 0.003), friction=0.5)
    simulation.v[0, 3] = 0.4
    heights = []
    for _ in range(100):
        simulation.step(20)
        heights.append(simulation.q[0, 2])
        assert simulation.contacts.residual[0] <= 1e-8
    assert max(heights) < 0.12
    assert simulation.q[0, 0] < 0


def test_a_box_stands_on_a_step(body):
    simulation = simulated(body(BOX), field(steps, 0.02, 60), pose(0.2, 0.0))
    simulation.step(500)
    assert simulation.q[0, 2] == pytest.approx(0.16, abs=1e-6)
    assert np.abs(simulation.v).max() < 1e-8


def test_beyond_the_border_the_ground_goes_on_at_the_borders_heights(body):
    ground = engine.HeightField([[0.0, 0.1], [0.0, 0.1]], 1.0, (0.0, 0.0, 1.0))
    for x, height in ((-7.0, 1.0), (8.0, 1.1), (0.5, 1.05)):
        simulation = simulated(body(BALL), ground, pose(x, 30.0))
        gap = simulation.q[0, 2] - height
        assert gap == pytest.approx(0.1 * (np.sqrt(1.01) if x == 0.5 else 1.0), abs=1e-12)
        simulation.step(1)
        assert simulation.contacts.gap[0, 0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("shape", [BOX, BALL, CYLINDER, CAPSULE])
def test_a_body_is_put_down_so_that_it_just_touches(body, shape, rng):
    model, ground = body(shape), field(lambda x, y: 0.3 * np.sin(9 * x) * np.cos(8 * y), 0.07, 40)
    for _ in range(20):
        start = pose(*rng.uniform(-1, 1, 2), rng.standard_normal(4))
        simulation = simulated(model, ground, start, dt=1e-6)
        simulation.step()
        number = simulation.contacts.number[0]
        least = simulation.contacts.gap[0, :number].min() if number else 1.0
        assert least > -2e-3 if shape == CYLINDER else abs(least) < 1e-9


def test_a_ball_touches_the_ground_where_it_is_nearest(body, rng):
    """Against places all over the ground."""
    heights = rng.uniform(-0.1, 0.1, (30, 30))
    ground = engine.HeightField(heights, 0.1)
    x = np.stack(np.meshgrid(*(np.linspace(-0.6, 0.6, 1201),) * 2), -1).reshape(-1, 2)
    surface = np.column_stack([x, ground.height(x)])
    for _ in range(20):
        simulation = simulated(body(BALL), ground, pose(*rng.uniform(-0.4, 0.4, 2)), dt=1e-6)
        simulation.q[0, 2] += rng.uniform(-0.02, 0.0005)
        centre = simulation.q[0, :3].copy()
        simulation.step()
        nearest = np.linalg.norm(surface - centre, axis=1).min() - 0.1
        assert simulation.contacts.gap[0, : simulation.contacts.number[0]].min() == pytest.approx(nearest, abs=5e-5)


@pytest.mark.parametrize(
    ("heights", "cell", "origin", "text"),
    [
        ([[0, 0], [0, np.nan]], 1, None, r"heights\[1, 1\] is nan"), ([[0, 0], [np.inf, 0]], 1, None, "finite"),
        ([[0, 0]], 1, None, "at least"), ([0, 0], 1, None, "at least"), ([["a", "b"], ["c", "d"]], 1, None, "numbers"),
        (np.zeros((2, 2)), 0, None, "cell"), (np.zeros((2, 2)), np.nan, None, "cell"),
        (np.zeros((2, 2)), 1, (0, 0), "origin"), (np.zeros((2, 2)), 1, (0, 0, np.nan), "origin"),
    ],
)  # fmt: skip
def test_heights_that_are_none_are_refused(heights, cell, origin, text):
    with pytest.raises(ValueError, match=text):
        engine.HeightField(heights, cell, origin)


def test_a_height_field_never_changes():
    heights = np.zeros((3, 3))
    ground = engine.HeightField(heights, 1.0)
    heights[:] = 1.0
    assert not ground.heights.any()
    with pytest.raises(ValueError, match="read-only"):
        ground.heights[0, 0] = 1.0


def test_run_puts_a_robot_on_terrain(tmp_path, capsys):
    np.save(tmp_path / "hills.npy", 0.05 * np.random.default_rng(0).random((20, 20)))
    robot, out = str(engine.ROBOTS / "quadruped.urdf"), str(tmp_path / "run.npz")
    call = ["run", robot, "--seconds", "0.1", "--hold", "--terrain", str(tmp_path / "hills.npy")]
    assert cli.main([*call, "--cell", "0.2", "--out", out, "--json"]) == 0
    assert "hills.npy" in str(np.load(out)["settings"])
    capsys.readouterr()
    np.save(tmp_path / "holes.npy", np.full((3, 3), np.nan))
    (tmp_path / "empty.npy").write_bytes(b"")
    for more, text in (
        (["--slope", "3"], "--slope"), (["--no-ground"], "--no-ground"),
        (["--terrain", str(tmp_path / "holes.npy")], "nan"),
        (["--terrain", str(tmp_path / "none.npy")], "none.npy"),
        (["--terrain", str(tmp_path / "empty.npy")], "no array"),
        (["--controls", str(tmp_path / "empty.npy")], "not an .npy"),
    ):  # fmt: skip
        assert cli.main([*call, *more]) != 0
        assert text in capsys.readouterr().err
