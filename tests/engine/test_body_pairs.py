"""Contacts between two moving bodies, by the inertias of the bodies: grips, immovable contacts, and too many pairs."""

from functools import partial

import numpy as np
import pytest
from touching_bodies import at, bodies, free

import engine
from engine.kernels.contact import workspace
from tests.bench.contact_bodies import BOX, link

G, MU, MASS = 9.81, 0.5, 0.5
PAD = '<box size="0.02 0.2 0.2"/>'
SELF = engine.Scene(ground=None, self_collision=True, friction=MU)


def slide(child: str, axis: str, xyz: str = "0 0 0", mimic: str = "", parent: str = "world") -> str:
    """The joint of a URDF by which a link slides, as another one does where it mimics that."""
    return (
        f'<joint name="{child}" type="prismatic"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        f'<axis xyz="{axis}"/><limit lower="-1" upper="1" effort="1e10" velocity="1e10"/>{mimic}</joint>'
    )


def gripper(folder, mimic: bool) -> engine.Model:
    """A free cube between two pads that slide towards each other, by one motor or by two."""
    follows = '<mimic joint="left"/>' if mimic else ""
    cube = '<joint name="cube" type="floating"><parent link="world"/><child link="cube"/></joint>'
    return bodies(
        folder, link("cube", BOX, mass=MASS, inertia=MASS * 0.04 / 6), cube, link("left", PAD, mass=0.1, inertia=1e-4),
        slide("left", "1 0 0", "-0.11 0 0"), link("right", PAD, mass=0.1, inertia=1e-4),
        slide("right", "-1 0 0", "0.11 0 0", follows),
    )  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 5e-3])
@pytest.mark.parametrize("share", [1.02, 1.5])
@pytest.mark.parametrize("mimic", [False, True])
def test_a_cube_between_two_fingers_stays_where_it_is(tmp_path, mimic, share, dt):
    """Normal forces of a symmetric grip are not unique; equal ones turn nothing."""
    model = gripper(tmp_path, mimic)
    algorithm = "jsiia" if mimic else "abia"
    simulation = engine.Simulation(model, scene=SELF, algorithm=algorithm, device="cpu", timed=False, dt=dt)
    force = share * MASS * G / (2 * MU)
    simulation.tau[0, model.v_slice("left")] = force * (2 if mimic else 1)
    if not mimic:
        simulation.tau[0, model.v_slice("right")] = force
    for _ in range(5):
        simulation.step(max(round(0.2 / dt), 40))
        found = simulation.contacts
        count, cube = found.number[0], model.link_names.index("cube")
        assert count == 8
        assert {cube} < {*found.link[0, :count], *found.other[0, :count]}
        normal = np.abs(found.impulse[0, :count] @ [1, 0, 0])
        np.testing.assert_allclose(normal, force * dt / 4, rtol=1e-8)
    where, motion = simulation.q[0, model.q_slice("cube")], simulation.v[0, model.v_slice("cube")]
    np.testing.assert_allclose(where[:3], 0, atol=1e-10)
    np.testing.assert_allclose(motion, 0, atol=1e-9)
    assert simulation.contacts.worst[0] <= 1e-9


def test_a_grip_too_weak_lets_a_cube_slide_by_what_it_lacks(tmp_path):
    model = gripper(tmp_path, mimic=True)
    simulation = engine.Simulation(model, scene=SELF, algorithm="jsiia", device="cpu", timed=False, dt=1e-3)
    simulation.tau[0, model.v_slice("left")] = 0.9 * MASS * G / MU
    simulation.step(100)
    np.testing.assert_allclose(simulation.v[0, model.v_slice("cube")], [0, 0, 0, 0, 0, -0.1 * G * 0.1], atol=1e-9)


@pytest.mark.parametrize("mimic", [False, True])
def test_bodies_that_nothing_moves_apart_are_left_out(tmp_path, mimic):
    """Two pads beside each other that one motor moves alike touch for ever; by a motor each one pushes the other."""
    follows = '<mimic joint="a"/>' if mimic else ""
    model = bodies(
        tmp_path, link("a", PAD), slide("a", "1 0 0"), link("b"), slide("b", "1 0 0", "0.02 0 0", follows),
        link("c", PAD), slide("c", "0 0 1", "0 0 0.5", parent="b"),
    ).with_gravity((0, 0, 0))  # fmt: skip
    q = model.neutral()
    q[model.q_slice("c")] = -0.45
    simulation = engine.Simulation(model, q=q, scene=SELF, algorithm="jsiia", device="cpu", timed=False, dt=1e-3)
    simulation.tau[0, model.v_slice("a")] = 6.0
    simulation.step(100)
    assert simulation.contacts.number[0] == (0 if mimic else 4)
    moves, across = simulation.v[0, model.v_slice("a")], simulation.v[0, model.v_slice("c")]
    np.testing.assert_allclose(moves, 0.1, rtol=1e-9)
    np.testing.assert_allclose(across, 0.0, atol=1e-12)


@pytest.mark.parametrize("most", [workspace.ALL_PAIRS, 3])
def test_a_row_of_balls_shares_a_push_unless_there_is_no_room_for_its_pairs(tmp_path, monkeypatch, most):
    """Five balls in a row on the ground, of which the first is pushed: four pairs, of ten that may touch."""
    monkeypatch.setattr(workspace, "contact_workspace", partial(workspace.contact_workspace, most_pairs=most))
    model = free(tmp_path, *['<sphere radius="0.1"/>'] * 5)
    q, scene = at(model, *[(0.2 * k, 0, 0.1) for k in range(5)]), engine.Scene(self_collision=True, friction=0.0)
    simulation = engine.Simulation(model, q=q, scene=scene, algorithm="abia", device="cpu", timed=False)
    simulation.v[0, 3] = 1.0
    simulation.step()
    if most < 4:  # without contacts, which is reported
        assert simulation.contacts.number[0] == 0
        assert np.isinf([simulation.contacts.residual[0], simulation.contacts.worst[0]]).all()
        np.testing.assert_allclose(simulation.v[0, 3::6], [1, 0, 0, 0, 0], atol=1e-12)
        return
    assert simulation.contacts.number[0] == 9
    assert simulation.contacts.residual[0] <= 1e-9
    np.testing.assert_allclose(simulation.v[0, 3::6], 0.2, rtol=1e-8)
