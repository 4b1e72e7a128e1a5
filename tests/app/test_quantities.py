"""The quantities to plot agree with the engine's own results."""

import math

import numpy as np
import pytest

import engine
from app.acting.coordinates import coordinates
from app.plotting.catalogue import FOOT, catalogue
from app.plotting.probe import Probe
from app.plotting.quantities import Evaluation, Quantity, States, center_of_mass
from app.simulation.contacts import contact_forces
from app.simulation.messages import Settings
from app.simulation.running import for_new, running_of
from app.simulation.support import support_of


def named(model, label):
    return next(each for each in catalogue(model) if each.label == label)


def sampled(model, settings, labels, steps):
    """Return the values of these quantities after `steps` steps of a simulation, by label."""
    running, probe = running_of(model, settings), Probe()
    quantities = [named(model, label) for label in labels]
    probe.begin(quantities, running)
    for _ in range(steps):
        running.advance(1)
        probe.after_steps(running, 1)
    probe.flush(running)
    values = np.concatenate([block.values for block in probe.take()])
    return running, dict(zip(labels, values.T, strict=True))


def test_a_turn_is_not_taken_out_of_a_curve():
    model = engine.load(engine.find_robot("pendulum"))
    x = States(np.zeros(3), np.array([[0.0], [math.pi + 0.1], [7.0]]), np.zeros((3, 1)), np.zeros((3, 1)))
    (joint,) = model.joint_names
    value = Evaluation(model, coordinates(model), x).value(named(model, f"{joint} position"))
    np.testing.assert_array_equal(value, x.q[:, 0])


def test_torque_setpoint_and_error_are_those_of_the_drive(arm7):
    labels = ["joint2 torque", "joint2 position setpoint", "joint2 error", "joint2 acceleration", "joint2 velocity"]
    held = for_new(arm7, Settings(automatic=True))
    running, value = sampled(arm7, held, labels, 20)
    assert value["joint2 torque"][-1] == running.simulation.effort[0, 1] != 0
    np.testing.assert_array_equal(value["joint2 position setpoint"], 0.0)
    assert value["joint2 error"][-1] == -running.simulation.q[0, 1] != 0
    rate = np.diff(value["joint2 velocity"]) / (running.simulation.dt * 20 / (len(value["joint2 velocity"]) - 1))
    np.testing.assert_allclose(value["joint2 acceleration"][1:], rate, rtol=1e-9)
    assert np.isnan(value["joint2 acceleration"][0])
    _, value = sampled(arm7, Settings(held=False), labels, 5)
    assert np.all(np.isnan(value["joint2 position setpoint"]))
    assert np.all(value["joint2 torque"] == 0)


def test_what_stands_is_carried_by_its_contacts(quadruped):
    feet = sorted({quadruped.link_names[each.link] for each in quadruped.collisions})
    labels = ["contact force z", "|contact force|", "contacts", "contact residual", "support margin"]
    labels += [f"{foot} contact force z" for foot in feet]
    running, value = sampled(quadruped, for_new(quadruped, Settings(automatic=True)), labels, 400)
    center = center_of_mass(quadruped, engine.link_poses(quadruped, running.state()[1]))
    weight = float(np.sum(quadruped.mass)) * 9.81
    assert value["contact force z"][-1] == pytest.approx(weight, rel=0.02)
    assert value["contacts"][-1] >= 4
    assert 0 <= value["contact residual"][-1] < 1e-6
    support = support_of(quadruped, running.contact_forces().contacts, center, quadruped.gravity)
    assert value["support margin"][-1] == pytest.approx(support.margin) != 0
    assert sum(value[f"{foot} contact force z"][-1] for foot in feet) == pytest.approx(value["contact force z"][-1])
    _, value = sampled(quadruped, Settings(ground=False), labels, 5)
    assert np.all(np.isnan(value["contact force z"]))


@pytest.mark.parametrize(
    ("slope", "scene", "own", "table", "mu"),
    [(0.3, 0.4, None, None, 0.4), (0.3, 0.2, None, None, 0.2), (0.3, 0.8, 0.25, None, 0.25),
     (0.3, 0.1, 0.25, None, 0.1), (0.3, 0.8, 0.5, 0.35, 0.35), (0.3, 0.25, None, 0.6, 0.25)],
)  # fmt: skip
def test_a_block_slips_and_uses_friction_as_coulomb_has_it(slope, scene, own, table, mu):
    """It uses tan α/μ, or slips at the speed g (sin α − μ cos α) t; μ is the smaller of the two surfaces'."""
    down = 9.81 * np.array([math.sin(slope), 0.0, -math.cos(slope)])
    block = engine.free_body("box", (0.4, 0.4, 0.1), 2.0, "block", friction=own).with_gravity(down)
    tables = () if table is None else (engine.Obstacle("box", (4, 4, 0.2), (0, 0, -0.1), friction=table),)
    around = engine.Scene(ground=engine.Plane() if table is None else None, obstacles=tables, friction=scene)
    q = engine.put_down(block, engine.Scene(), block.neutral())
    simulation = engine.Simulation(block, q=q, scene=around, dt=1e-3)
    simulation.step(200)
    contact = contact_forces(simulation.contacts, around, simulation.dt, 0)
    q, v = simulation.state()
    x = States(np.zeros(1), q, v, v, contact=[contact])
    evaluation = Evaluation(block, coordinates(block), x)
    kinds = "in contact", "slip speed", "friction used"
    on, speed, used = (evaluation.value(named(block, f"block {kind}"))[0] for kind in kinds)
    slides = 9.81 * (math.sin(slope) - mu * math.cos(slope)) * simulation.time
    assert on == 1
    assert speed == pytest.approx(max(slides, 0.0), abs=1e-6)
    assert used == pytest.approx(min(math.tan(slope) / mu, 1.0), abs=1e-6)


def test_a_raised_foot_has_no_slip(quadruped):
    kinds = "in contact", "slip speed", "friction used"
    labels = [f"FL_foot {kind}" for kind in kinds]
    standing, value = sampled(quadruped, for_new(quadruped, Settings(automatic=True)), labels, 100)
    on, speed, used = (value[label][-1] for label in labels)
    assert on == 1
    assert 0 <= speed < 1e-3
    assert 0 <= used < 1
    q = standing.state()[1].copy()
    q[2] += 0.1
    lifted = engine.Simulation(quadruped, q=q, scene=standing.simulation.scene)
    lifted.step(1)
    contact = contact_forces(lifted.contacts, lifted.scene, lifted.dt, 0)
    x = States(np.zeros(1), q[None], *2 * [np.zeros((1, quadruped.nv))], contact=[contact])
    evaluation = Evaluation(quadruped, coordinates(quadruped), x)
    values = [evaluation.value(named(quadruped, label)) for label in labels]
    np.testing.assert_array_equal(np.concatenate(values), [0, np.nan, np.nan])


@pytest.mark.parametrize("name", ["quadruped", "arm7"])
def test_a_group_of_feet_is_of_what_a_robot_stands_on(name):
    """Of a robot without legs it is of all links that can touch."""
    model = engine.load(engine.find_robot(name))
    feet = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    touching = [model.link_names[k] for k in sorted({each.link for each in model.collisions})]
    links = feet if name == "quadruped" else touching
    found = catalogue(model)
    assert [each.label for each in found.of_kinds(FOOT, ["slip speed"])] == [f"{each} slip speed" for each in links]
    if name == "quadruped":
        assert [each.label for each in found.found("foot slip")][:4] == [f"{each} slip speed" for each in feet]


def test_words_find_what_is_looked_for(arm7):
    all_ = catalogue(arm7)
    assert [each.label for each in all_.found("joint4 torque")] == ["joint4 torque"]
    assert [each.label for each in all_.found("EFFORT 4")] == ["joint4 torque"]
    assert {each.kind for each in all_.found("energy")} == {
        "kinetic energy", "potential energy", "total energy", "energy drift",
    }  # fmt: skip
    assert [each.label for each in all_.found("com")] == [f"centre of mass {part}" for part in "xyz"]
    assert {each.unit.si for each in all_.found("joint3 °/s")} == {"rad/s", "rad/s²"}
    assert [each.label for each in all_.found("joint3 target")] == ["joint3 position setpoint"]
    assert len(all_.found("no such thing")) == 0
    assert len(all_.found("  ")) == len(all_)


def test_a_body_beside_the_robot_is_found_by_the_name_of_its_rows(arm7):
    ball = engine.free_body("sphere", (0.1,), 1.0, "body")
    found = catalogue(engine.compose(engine.Part(arm7, prefix=""), engine.Part(ball, (1, 0, 0), "ball/")))
    (height,) = found.found("ball.z")
    assert (height.label, height.short, height.key) == (
        "ball.z position",
        "ball.z",
        "joint/ball/floating_base.z/position/",
    )
    assert list(found.found("ball/floating_base.z")) == [height]
    assert found.named(height.key) == height


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
        assert [each.label for each in found] == ["joint500 position", "joint500 position setpoint", "joint500 error"]
        assert all_.named("joint/joint500/position/") == found[0]
        assert len(made) < 6
    assert all_.named("joint/joint500/no such kind/") is all_.named("") is None


@pytest.mark.parametrize(
    ("kind", "limit"), [("velocity", "velocity"), ("torque", "effort"), ("acceleration", None), ("error", None)]
)
def test_limits_are_those_of_the_quantity(kind, limit):
    model = engine.load(engine.find_robot("arm7"))
    most = math.inf if limit is None else getattr(coordinates(model)[0], limit)
    assert catalogue(model).named(f"joint/joint1/{kind}/").limits == (-most, most)
