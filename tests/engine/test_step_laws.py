"""One step against the law that defines it, written out: damping, effort, limits, friction, rotation, divergence."""

import numpy as np
import pytest

import engine
from engine import lie

I, DT = 2.0, 1e-3
"""kg m² about the axis, s."""
JOINT = """<robot name="wheel"><link name="a"/><link name="b"><inertial><mass value="3"/>
<inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="{effort}" velocity="{velocity}"/>
<dynamics damping="{damping}" friction="{friction}"/></joint></robot>"""


@pytest.fixture
def wheel(tmp_path):
    """A wheel about the vertical, whose joint has what is asked for."""

    def make(effort=1e9, velocity=1e9, damping=0.0, friction=0.0):
        path = tmp_path / "wheel.urdf"
        path.write_text(JOINT.format(effort=effort, velocity=velocity, damping=damping, friction=friction), "utf-8")
        return engine.load(path)

    return make


def stepped(model, q=0.0, v=0.0, tau=0.0, steps=1, **settings):
    """q and v after some steps."""
    simulation = engine.Simulation(model, dt=DT, q=[q], v=[v], algorithm="abia", device="cpu", **settings)
    simulation.tau[:] = tau
    simulation.step(steps)
    return simulation.q[0, 0], simulation.v[0, 0]


def test_implicit_damping_and_gains_are_those_at_the_end_of_the_step(wheel):
    d, kp, kd, target, v = 500.0, 3e4, 40.0, 0.3, 2.0
    _, after = stepped(wheel(damping=d), v=v, integrator="implicit")
    assert after == pytest.approx(v / (1 + DT * d / I), rel=1e-14)
    simulation = engine.Simulation(
        wheel(damping=d), dt=DT, v=[v], kp=[kp], kd=[kd], integrator="implicit", algorithm="abia", device="cpu"
    )
    simulation.target[:] = target
    simulation.step()
    expected = (I * v + DT * kp * target) / (I + DT * (d + kd) + DT**2 * kp)
    assert simulation.v[0, 0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("sign", [1, -1])
def test_effort_is_bounded_on_both_sides(wheel, integrator, sign):
    _, v = stepped(wheel(effort=7), tau=sign * 1e3, integrator=integrator)
    assert v == pytest.approx(sign * 7 * DT / I, rel=1e-13)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("way", [1e-4, 1e-7, 1e-10])
def test_a_joint_ends_its_step_at_its_limit_however_near_it_was(wheel, sign, way):
    q, v = stepped(wheel(), q=sign * (1 - way), v=sign)
    assert q == pytest.approx(sign, abs=2e-16)
    assert v == pytest.approx(sign * way / DT, rel=1e-5)
    assert stepped(wheel(velocity=0.25), v=sign)[1] == pytest.approx(sign * 0.25, rel=1e-15)


@pytest.mark.parametrize("sign", [1, -1])
def test_friction_holds_at_a_limit_what_it_holds_elsewhere(wheel, sign):
    model = wheel(friction=5.0)
    for q in (0.0, sign):
        for tau in (4.99, -4.99):
            assert stepped(model, q=q, tau=tau, steps=20) == (q, 0.0)
    _, v = stepped(model, q=sign, tau=-sign * 5.5)
    assert v == pytest.approx(-sign * 0.5 * DT / I, rel=1e-9)
    assert stepped(model, q=sign, tau=sign * 99.0, steps=20) == (sign, 0.0)


@pytest.mark.parametrize("integrator", ["semi-implicit", "implicit"])
def test_a_free_body_goes_straight_on_as_its_frame_turns(integrator, rng, tmp_path):
    path = tmp_path / "ball.urdf"
    path.write_text(
        '<robot name="ball"><link name="ball"><inertial><mass value="3"/><inertia ixx="2" ixy="0" ixz="0" iyy="2" '
        'iyz="0" izz="2"/></inertial></link></robot>',
        "utf-8",
    )
    model = engine.load(path, floating=True).with_gravity((0, 0, 0))
    q, v, dt = model.random(rng), rng.standard_normal(6), 0.05
    simulation = engine.Simulation(model, dt=dt, q=q, v=v, integrator=integrator, algorithm="abia", device="cpu")
    simulation.step()
    R, turn = lie.rotation_from_quaternion(q[3:]), lie.exp([*(dt * v[:3]), 0, 0, 0])[0]
    np.testing.assert_allclose(simulation.v[0], [*v[:3], *turn.T @ v[3:]], atol=1e-14)
    np.testing.assert_allclose(simulation.q[0, :3], q[:3] + dt * R @ v[3:], atol=1e-14)
    np.testing.assert_allclose(lie.rotation_from_quaternion(simulation.q[0, 3:]), R @ turn, atol=1e-14)


@pytest.mark.parametrize("robot", [0, 3, 7, 8, 18])
def test_divergence_is_found_in_any_robot_of_a_batch(wheel, robot):
    simulation = engine.Simulation(wheel(), 19, dt=DT, limits=False, algorithm="abia", device="cpu")
    simulation.step()
    simulation.v[robot] = 1e200
    with pytest.raises(engine.Diverged):
        simulation.step(3)
