"""The robots that ship: they load without a word, and are of the size that they claim to be."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pytest

import engine
from engine import lie
from engine.files import ROBOTS


@dataclass(frozen=True)
class Expected:
    nq: int
    nv: int
    mass: tuple[float, float]
    """The least and most that a robot of its kind moves, kg."""
    height: tuple[float, float]
    """The least and most height of the highest point drawn, m."""
    floating: bool = False
    free_swinging: bool = False
    """Neither limits nor friction."""


EXPECTED = {
    "pendulum": Expected(1, 1, (1.0, 2.0), (1.2, 1.5), free_swinging=True),
    "double_pendulum": Expected(2, 2, (1.5, 2.5), (1.2, 1.5), free_swinging=True),
    "arm6": Expected(6, 6, (17.0, 21.0), (1.4, 1.7)),
    "arm7": Expected(7, 7, (15.0, 19.0), (0.6, 1.2)),
    "scara": Expected(4, 4, (15.0, 25.0), (0.5, 1.0)),
    "snake50": Expected(50, 50, (2.0, 4.0), (2.1, 2.5)),
    "quadruped": Expected(19, 18, (10.0, 14.0), (0.3, 0.5), floating=True),
    "humanoid": Expected(37, 36, (45.0, 80.0), (1.5, 1.75), floating=True),
}


@pytest.fixture(params=sorted(EXPECTED), scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(name):
    return engine.load(ROBOTS / f"{name}.urdf")


def numbers(element, attribute, default="0 0 0"):
    return np.array((default if element is None else element.get(attribute, default)).split(), float)


def volume_and_inertia(geometry):
    """A solid's volume, m³, and its inertia per mass about its centre, (3, 3) in m²."""
    shape = geometry[0]
    if shape.tag == "box":
        x, y, z = numbers(shape, "size")
        return x * y * z, np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12
    r = float(shape.get("radius"))
    if shape.tag == "sphere":
        return 4 / 3 * np.pi * r**3, 2 / 5 * r * r * np.eye(3)
    h = float(shape.get("length"))
    across = (3 * r * r + h * h) / 12
    return np.pi * r * r * h, np.diag([across, across, r * r / 2])


def inertia_of_shapes(link):
    """Centre of mass and inertia about it of a link whose mass is spread evenly over its shapes."""
    mass = float(link.find("inertial/mass").get("value"))
    volumes, centres, inertias = [], [], []
    for visual in link.iter("visual"):
        volume, inertia = volume_and_inertia(visual.find("geometry"))
        R = lie.rotation_from_rpy(numbers(visual.find("origin"), "rpy"))
        volumes.append(volume)
        centres.append(numbers(visual.find("origin"), "xyz"))
        inertias.append(R @ inertia @ R.T)
    masses = mass * np.array(volumes) / np.sum(volumes)
    centre = masses @ np.array(centres) / mass
    offset = lie.skew(np.array(centres) - centre)
    return centre, np.einsum("k,kij->ij", masses, np.array(inertias) - offset @ offset)


def corners(visual):
    """(8, 3): the corners of the box around a shape, in the shape's frame."""
    size = visual.size
    spans = {"box": size, "sphere": (2 * size[0],) * 3, "cylinder": (2 * size[0], 2 * size[0], size[-1])}
    return np.array(np.meshgrid(*[(-s / 2, s / 2) for s in spans[visual.shape]])).reshape(3, 8).T


def test_every_robot_that_ships_is_expected_here():
    assert {path.stem for path in ROBOTS.glob("*.urdf")} == set(EXPECTED)


def test_loads_with_nothing_to_complain_of(name, model):
    assert model.diagnostics == ()
    assert engine.check(ROBOTS / f"{name}.urdf") == []
    assert model.name == name


def test_shipped_robots_have_the_expected_coordinates_and_base(name, model):
    expected = EXPECTED[name]
    assert (model.nq, model.nv) == (expected.nq, expected.nv)
    assert (model.joints[0].kind == "floating") == expected.floating
    assert all(joint.kind != "floating" for joint in model.joints[1:])


def test_total_mass_is_that_of_its_kind(name, model):
    least, most = EXPECTED[name].mass
    assert least <= model.mass.sum() <= most


def test_every_moving_body_has_a_solid_inertia(model):
    assert np.all(model.mass > 0)
    assert np.all(np.linalg.eigvalsh(model.J) > 0)
    offset = lie.skew(model.first_moment / model.mass[:, None])
    principal = np.linalg.eigvalsh(model.inertia + model.mass[:, None, None] * offset @ offset)
    assert np.all(principal[:, 0] > 0)
    assert np.all(principal[:, 0] + principal[:, 1] > principal[:, 2])


def test_inertias_are_those_of_the_drawn_shapes(name):
    for link in ET.parse(ROBOTS / f"{name}.urdf").getroot().iter("link"):
        if link.find("inertial") is None:
            assert link.get("name") == "world"
            continue
        centre, inertia = inertia_of_shapes(link)
        given = {key: float(value) for key, value in link.find("inertial/inertia").items()}
        upper = [[given["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"]
        np.testing.assert_allclose(numbers(link.find("inertial/origin"), "xyz"), centre, atol=2e-5)
        np.testing.assert_allclose(upper, inertia, atol=1e-3 * np.trace(inertia))


def test_shipped_robots_have_finite_limits_unless_free_swinging(name, model):
    scalar = model.q_of_v >= 0
    if EXPECTED[name].free_swinging:
        assert not model.bounded.any()
        assert not model.damping.any()
        assert not model.friction.any()
        return
    assert np.all(np.isfinite(model.lower[scalar]) & np.isfinite(model.upper[scalar]))
    assert np.all(np.isfinite(model.effort_limit[scalar]) & np.isfinite(model.velocity_limit[scalar]))
    assert np.all((model.damping[scalar] > 0) & (model.friction[scalar] > 0))
    assert np.all((model.lower[scalar] <= 0) & (model.upper[scalar] >= 0))


def test_stands_on_the_ground_at_zero(name, model):
    poses = engine.link_poses(model, model.neutral())
    heights = []
    for visual in model.visuals:
        pose = poses[visual.link] @ visual.pose
        if visual.shape == "sphere":
            heights += [pose[2, 3] - visual.size[0], pose[2, 3] + visual.size[0]]
        else:
            heights += list(corners(visual) @ pose[2, :3] + pose[2, 3])
    least, most = EXPECTED[name].height
    assert abs(min(heights)) < 5e-3
    assert least <= max(heights) <= most


def test_joint_damping_is_mild_at_a_millisecond(model):
    """An explicit step is stable below 2; far below it, damping costs the default integrator no accuracy."""
    M = engine.mass_matrix(model, model.neutral())
    rate = np.abs(np.linalg.eigvals(np.linalg.solve(M, np.diag(model.damping)))).max()
    assert rate * 1e-3 < 0.5


def test_falls_freely_or_swings_when_let_go(model):
    a = engine.forward_dynamics(model, model.neutral(), np.zeros(model.nv), np.zeros(model.nv))
    assert np.all(np.isfinite(a))
    if model.joints[0].kind == "floating":
        np.testing.assert_allclose(a, [0, 0, 0, 0, 0, -9.81] + [0] * (model.nv - 6), atol=1e-9)
    else:
        assert np.abs(a).max() > 1


def test_pendulum_beats_seconds():
    """T = 2π √(M/k) of small swings about the hanging position, k the slope of gravity's torque."""
    model = engine.load(ROBOTS / "pendulum.urdf")
    hanging, step = np.array([-np.pi / 2]), 1e-5
    k = (engine.bias(model, hanging + step, [0.0]) - engine.bias(model, hanging - step, [0.0])) / (2 * step)
    period = 2 * np.pi * np.sqrt(engine.mass_matrix(model, hanging)[0, 0] / k[0])
    assert period == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize("robot", ["quadruped", "humanoid"])
def test_left_and_right_are_mirrored(robot):
    links = {link.get("name"): link for link in ET.parse(ROBOTS / f"{robot}.urdf").getroot().iter("link")}
    sides = {"quadruped": {"FL_": "FR_", "RL_": "RR_"}, "humanoid": {"left_": "right_"}}[robot]
    pairs = [
        (links[key], links[key.replace(left, right, 1)])
        for key in links
        for left, right in sides.items()
        if key.startswith(left)
    ]
    assert len(pairs) == {"quadruped": 8, "humanoid": 13}[robot]
    for left, right in pairs:
        assert left.find("inertial/mass").get("value") == right.find("inertial/mass").get("value")
        flipped = numbers(left.find("inertial/origin"), "xyz") * (1, -1, 1)
        np.testing.assert_allclose(numbers(right.find("inertial/origin"), "xyz"), flipped, atol=1e-5)
