"""Friction and restitution of links, from their files to their contacts."""

import numpy as np
import pytest

import engine

INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
BOUNCE = "<bounce><restitution_coefficient>0.2</restitution_coefficient></bounce>"
G = 9.81


@pytest.fixture
def load(tmp_path):
    """A free ball, with more in its link and beside it."""

    def load(inside: str = "", beside: str = "") -> engine.Model:
        path = tmp_path / "ball.urdf"
        path.write_text(f'<robot name="ball"><link name="ball">{INERTIAL}{BALL}{inside}</link>{beside}</robot>')
        return engine.load(path, floating=True)

    return load


def gazebo(text: str) -> str:
    return f'<gazebo reference="ball">{text}</gazebo>'


@pytest.mark.parametrize(
    ("inside", "beside", "expected"),
    [
        ("", "", (None, None)),
        ("", gazebo("<mu1>0.3</mu1><mu2>0.3</mu2><kp>1e6</kp>"), (0.3, None)),
        ("", gazebo('<mu1 value="500.0"/>'), (500.0, None)),
        ("", gazebo("<mu> 0.4 </mu>"), (0.4, None)),
        ("", gazebo("<surface><friction><ode><mu>0.6</mu></ode></friction></surface>"), (0.6, None)),
        ("", gazebo(f"<collision><surface>{BOUNCE}</surface></collision>"), (None, 0.2)),
        ('<contact><lateral_friction value="0.9"/><restitution value="0.5"/></contact>', "", (0.9, 0.5)),
        ('<contact><lateral_friction value="0.9"/></contact>', gazebo("<mu1>0.3</mu1>"), (0.9, None)),
        ("", gazebo("<material>Gazebo/Blue</material>") + gazebo("<mu1>0</mu1>"), (0.0, None)),
        ("", "<gazebo><mu1>0.3</mu1></gazebo>", (None, None)),
    ],
)  # fmt: skip
def test_what_a_file_says_of_a_link_is_read(load, inside, beside, expected):
    model = load(inside, beside)
    (shape,) = model.collisions
    assert (shape.friction, shape.restitution) == expected
    assert model.diagnostics == ()


@pytest.mark.parametrize(
    ("inside", "beside", "fault", "cure"),
    [
        ("", gazebo("<mu1>-0.5</mu1>"), "the coefficient of friction is -0.5; it is at least 0", "of the scene"),
        ("", gazebo("<mu1>much</mu1>"), "'much' is not a coefficient of friction", "of the scene"),
        ("", gazebo("<mu1/>"), "'' is not a coefficient of friction", "of the scene"),
        ('<contact><restitution value="1.5"/></contact>', "", "restitution is 1.5; it is 0 to 1", "of the scene"),
        ('<contact><restitution value="nan"/></contact>', "", "'nan' is not a coefficient of restitution", "the scene"),
        ("", gazebo("<mu1>0.5</mu1><mu2>0.1</mu2>"), "mu2 is 0.1 and mu1 0.5", "mu1 is used"),
        ("", '<gazebo reference="other"><mu1>0.3</mu1></gazebo>', "there is no link 'other'", "are not used"),
    ],
)
def test_an_invalid_surface_value_gives_one_warning_and_is_ignored(load, inside, beside, fault, cure):
    model = load(inside, beside)
    (reported,) = model.diagnostics
    assert reported.severity == "warning"
    assert fault in reported.problem
    assert cure in reported.fix
    (shape,) = model.collisions
    assert shape.restitution is None
    assert shape.friction == (0.5 if "mu2" in beside else None)


@pytest.mark.parametrize(("own", "scene", "expected"), [(0.1, 0.5, 0.1), (0.5, 0.1, 0.1), (None, 0.3, 0.3)])
def test_the_surface_that_grips_less_decides(load, own, scene, expected):
    model = load(beside="" if own is None else gazebo(f"<mu1>{own}</mu1>"))
    q = model.neutral()
    q[2] = 0.1
    simulation = engine.Simulation(model, q=q, scene=engine.Scene(friction=scene), algorithm="abia")
    simulation.v[0, 3] = 1.0
    simulation.step(20)
    assert simulation.contacts.states(0) == ("slip",)
    braked = (1 - np.linalg.norm(simulation.v[0, 3:6])) / simulation.time
    assert braked == pytest.approx(expected * G, rel=1e-3)


@pytest.mark.parametrize(("own", "scene", "expected"), [(0.5, 1.0, 0.5), (1.0, 0.5, 0.5), (0.5, 0.0, 0.0)])
def test_the_surface_that_springs_less_decides(load, own, scene, expected):
    model = load(f'<contact><restitution value="{own}"/></contact>')
    q = model.neutral()
    q[2] = 0.1001
    simulation = engine.Simulation(model, q=q, scene=engine.Scene(restitution=scene), algorithm="abia")
    simulation.v[0, 5] = -1.0
    simulation.step(1)
    assert simulation.v[0, 5] == pytest.approx(expected or -0.1, rel=0.02)  # else it closes the gap of 0.1 mm


SKATE = """<robot name="skate"><link name="board">{inertial}
<collision><origin xyz="0.2 0 -0.05"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<link name="pad">{pad}</link>
<joint name="j" type="fixed"><parent link="board"/><child link="pad"/></joint>
<gazebo reference="board"><mu1>{first}</mu1></gazebo><gazebo reference="pad"><mu1>{second}</mu1></gazebo></robot>"""
PADS = "".join(
    f'<collision><origin xyz="-0.2 {y} -0.05"/><geometry><sphere radius="0.05"/></geometry></collision>'
    for y in (-0.1, 0.1)
)


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.6), (0.6, 0.0), (0.0, 0.0)])
def test_shapes_with_and_without_friction_share_a_load(tmp_path, first, second):
    """A board on one ball in front and two behind, of which some slide freely: statics says how it is braked."""
    path = tmp_path / "skate.urdf"
    path.write_text(SKATE.format(inertial=INERTIAL, pad=PADS, first=first, second=second))
    model = engine.load(path, floating=True)
    q = model.neutral()
    q[2] = 0.1
    simulation = engine.Simulation(model, q=q, scene=engine.Scene(friction=1.0), algorithm="abia", dt=1e-4)
    simulation.v[0, 3] = 1.0
    simulation.step(1)
    found = simulation.contacts
    assert found.number[0] == 3
    assert found.residual[0] <= 1e-9
    link = found.link[0, :3]
    force = found.impulse[0, :3] / simulation.dt
    front, back = force[link == 0].sum(0), force[link == 1].sum(0)
    assert front[0] == pytest.approx(-first * front[2], abs=1e-6)
    assert back[0] == pytest.approx(-second * back[2], abs=1e-6)
    # Moments about the middle of the board, 0.1 m above the ground: what brakes below it presses its front.
    assert front[2] + back[2] == pytest.approx(2 * G, rel=1e-3)
    assert 0.2 * (front[2] - back[2]) == pytest.approx(-0.1 * (front[0] + back[0]), rel=1e-2, abs=1e-2)
