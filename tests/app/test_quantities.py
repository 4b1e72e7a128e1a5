"""What can be plotted, against the engine's own answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from app.acting.coordinates import coordinates
from app.plotting.catalogue import catalogue
from app.plotting.probe import Probe
from app.plotting.quantities import Evaluation, Quantity, States
from app.simulation.messages import Settings
from app.simulation.running import for_new, running_of

_INERTIA = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'


def mimic_robot(folder):
    """`follower` stands at −2 q + 0.25 of `leader`."""
    text = f"""<robot name="mimic"><link name="base"/><link name="a">{_INERTIA}</link><link name="b">{_INERTIA}</link>
    <joint name="leader" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
    <joint name="follower" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
      <origin xyz="0 0 1"/><mimic joint="leader" multiplier="-2" offset="0.25"/>
      <limit lower="-9" upper="9" effort="9" velocity="9"/></joint></robot>"""
    path = folder / "mimic.urdf"
    path.write_text(text)
    return engine.load(path)


def named(model, label):
    return next(each for each in catalogue(model) if each.label == label)


def states(model, rng, count=4):
    q, v = model.random(rng, count), rng.uniform(-1, 1, (count, model.nv))
    return States(np.arange(count, dtype=float), q, v, rng.uniform(-1, 1, (count, model.nv)))


def sampled(model, settings, labels, steps):
    """The values of these quantities after so many steps of a simulation, by their labels."""
    running, probe = running_of(model, settings), Probe()
    quantities = [named(model, label) for label in labels]
    probe.begin(quantities, running)
    for _ in range(steps):
        running.advance(1)
        probe.after(running, 1)
    probe.flush(running)
    values = np.concatenate([block.values for block in probe.take()])
    return running, dict(zip(labels, values.T, strict=True))


@pytest.mark.parametrize("name", ["arm7", "scara", "quadruped", "snake50"])
def test_everything_has_a_name_of_its_own_and_a_number(name, rng):
    model = engine.load(engine.find_robot(name))
    all_ = catalogue(model)
    assert len({each.key for each in all_}) == len({each.label for each in all_}) == len(all_)
    simple = [
        each for each in all_ if "contact" not in each.kind and each.kind not in ("torque", "force", "target", "error")
    ]
    evaluation = Evaluation(model, coordinates(model), states(model, rng))
    for each in simple:
        value = evaluation.value(each)
        assert value.shape == (4,)
        assert np.all(np.isfinite(value))


def test_numbers_are_the_engines(rng):
    model = engine.load(engine.find_robot("quadruped"))
    x = states(model, rng)
    evaluation = Evaluation(model, coordinates(model), x)

    def value(label):
        return evaluation.value(named(model, label))

    kinetic, potential = engine.energy(model, x.q, x.v)
    np.testing.assert_array_equal(value("total energy"), kinetic + potential)
    momentum, twists = engine.momentum(model, x.q, x.v), engine.link_twists(model, x.q, x.v)
    np.testing.assert_array_equal(value("momentum z"), momentum[:, 5])
    np.testing.assert_array_equal(value("|angular momentum|"), np.linalg.norm(momentum[:, :3], axis=1))
    link = model.link_names.index("FL_foot") if "FL_foot" in model.link_names else len(model.link_names) - 1
    name = model.link_names[link]
    np.testing.assert_array_equal(value(f"{name} velocity x"), twists[:, link, 3])
    np.testing.assert_array_equal(value(f"{name} angular velocity y"), twists[:, link, 1])
    np.testing.assert_array_equal(value(f"{name} position z"), engine.link_poses(model, x.q)[:, link, 2, 3])
    joint = model.joint("FL_hip_joint")
    np.testing.assert_array_equal(value("FL_hip_joint position"), x.q[:, joint.q.start])
    np.testing.assert_array_equal(value("FL_hip_joint velocity"), x.v[:, joint.v.start])
    np.testing.assert_array_equal(value("FL_hip_joint acceleration"), x.rate[:, joint.v.start])


def test_a_joint_that_mimics_moves_with_its_leader(rng, tmp_path):
    model = mimic_robot(tmp_path)
    x = states(model, rng)
    evaluation = Evaluation(model, coordinates(model), x)
    position, velocity = (evaluation.value(named(model, f"follower {kind}")) for kind in ("position", "velocity"))
    np.testing.assert_allclose(position, -2 * x.q[:, 0] + 0.25)
    np.testing.assert_allclose(velocity, -2 * x.v[:, 0])
    assert not [each for each in catalogue(model) if each.label == "follower torque"]


def test_a_turn_is_not_taken_out_of_a_curve():
    model = engine.load(engine.find_robot("pendulum"))
    x = States(np.zeros(3), np.array([[0.0], [math.pi + 0.1], [7.0]]), np.zeros((3, 1)), np.zeros((3, 1)))
    (joint,) = model.joint_names
    value = Evaluation(model, coordinates(model), x).value(named(model, f"{joint} position"))
    np.testing.assert_array_equal(value, x.q[:, 0])


def test_torque_target_and_error_are_those_of_the_drive():
    model = engine.load(engine.find_robot("arm7"))
    labels = ["joint2 torque", "joint2 target", "joint2 error", "joint2 acceleration", "joint2 velocity"]
    held = for_new(model, Settings(automatic=True))
    running, value = sampled(model, held, labels, 20)
    assert value["joint2 torque"][-1] == running.simulation.effort[0, 1] != 0
    np.testing.assert_array_equal(value["joint2 target"], 0.0)
    assert value["joint2 error"][-1] == -running.simulation.q[0, 1] != 0
    rate = np.diff(value["joint2 velocity"]) / (running.simulation.dt * 20 / (len(value["joint2 velocity"]) - 1))
    np.testing.assert_allclose(value["joint2 acceleration"][1:], rate, rtol=1e-9)
    assert np.isnan(value["joint2 acceleration"][0])
    _, value = sampled(model, Settings(held=False), labels, 5)
    assert np.all(np.isnan(value["joint2 target"]))
    assert np.all(value["joint2 torque"] == 0)


def test_what_stands_is_carried_by_its_contacts():
    model = engine.load(engine.find_robot("quadruped"))
    feet = sorted({model.link_names[each.link] for each in model.collisions})
    labels = ["contact force z", "|contact force|", "contacts", "contact residual"]
    labels += [f"{foot} contact force z" for foot in feet]
    _, value = sampled(model, for_new(model, Settings(automatic=True)), labels, 400)
    weight = float(np.sum(model.mass)) * 9.81
    assert value["contact force z"][-1] == pytest.approx(weight, rel=0.02)
    assert value["contacts"][-1] >= 4
    assert 0 <= value["contact residual"][-1] < 1e-6
    assert sum(value[f"{foot} contact force z"][-1] for foot in feet) == pytest.approx(value["contact force z"][-1])
    _, value = sampled(model, Settings(ground=False), labels, 5)
    assert np.all(np.isnan(value["contact force z"]))


def test_words_find_what_is_looked_for():
    model = engine.load(engine.find_robot("arm7"))
    all_ = catalogue(model)
    assert [each.label for each in all_.found("joint4 torque")] == ["joint4 torque"]
    assert [each.label for each in all_.found("EFFORT 4")] == ["joint4 torque"]
    assert {each.kind for each in all_.found("energy")} == {
        "kinetic energy", "potential energy", "total energy", "energy drift",
    }  # fmt: skip
    assert {each.unit.si for each in all_.found("joint3 °/s")} == {"rad/s", "rad/s²"}
    assert len(all_.found("no such thing")) == 0
    assert len(all_.found("  ")) == len(all_)


def test_a_long_chain_is_listed_and_searched_at_once():
    """Its 18 000 quantities are made only when they are asked for."""
    made = []

    class Counted(Quantity):
        def __init__(self, *values, **others):
            made.append(values)
            super().__init__(*values, **others)

    chain = engine.chain(1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.plotting.catalogue.Quantity", Counted)
        all_ = catalogue(chain)
        assert len(all_) > 18_000
        found = all_.found("joint500 position")
        assert len(made) == 0
        assert [each.label for each in found] == ["joint500 position", "joint500 error"]
        assert all_.named("joint/joint500/position/") == found[0]
        assert len(made) < 5
    assert all_.named("joint/joint500/no such kind/") is all_.named("") is None


def test_a_key_finds_each_quantity_again():
    all_ = catalogue(engine.load(engine.find_robot("quadruped")))
    assert [all_.named(each.key) for each in all_] == list(all_)
