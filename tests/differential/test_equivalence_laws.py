"""Equivalent robots and scenes give equivalent steps and results: moved, rotated, renamed, split, in other units."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

import engine
from engine.validation import Array
from tests.differential.cases import Case
from tests.differential.equivalences import Equivalence, moved, rotation, shuffled, split
from tests.differential.laws import CHAINS, FIELD, IMPLICIT, OWN_PAIRS, PAIRS, PLAIN, RK4, TREES, chances, holds
from tests.engine.metamorphic import in_units, mirrored, scaled, signs

MANY = [pytest.param(3, id="some"), pytest.param(100, id="many", marks=pytest.mark.slow)]
FAMILIES = (PLAIN, IMPLICIT, CHAINS, PAIRS, FIELD, OWN_PAIRS)
looked: Counter[str] = Counter()


def smooth_surfaces(found: Case) -> Case:
    """Without friction of surfaces, so that a step has one solution; where shapes meet, without restitution.

    How much of it there is jumps with the energy that it would give, which rounding decides where much touches.
    """
    if found.scene is None:
        return found
    scene = found.scene | {"friction": 0.0}
    if found.scene["obstacles"] or found.scene["self_collision"]:
        scene["restitution"] = 0.0
    return dataclasses.replace(found, scene=scene)


def assert_alike(found: Case, other: Equivalence) -> None:
    """One step: state, contacts, wrenches by link, poses, energies and efforts are those of the first case, moved."""
    one, two = found.simulation(), other.case.simulation()
    R, p, model = other.R, other.p, found.model()
    links = [two.model.link_names.index(other.links[name]) for name in model.link_names]
    condition = [_condition(model, q) for q in one.q]
    potential = one.energy()[1], two.energy()[1]
    messages = [_stepped(each) for each in (one, two)]
    if messages != [None, None]:
        assert None not in messages
        return
    for k in range(found.batch):
        own = model.mass if found.parameters() is None else found.parameters().mass[k]
        g = two.model.gravity if other.case.parameters() is None else other.case.parameters().gravity[k]
        apart = potential[1][k] - potential[0][k] + own.sum() * (g @ p)
        assert abs(apart) < 1e-9 * (1 + np.abs([x[k] for x in potential]).max()), "potential energy"
        if one.diverged[k] or two.diverged[k]:
            continue
        if found.scene is not None and not _touch_alike(one, two, k, other):
            looked["other places"] += 1
            continue
        if one.contacts is not None and max(each.contacts.residual[k] for each in (one, two)) > 1e-8:
            looked["not solved"] += 1
            continue
        looked["alike"] += 1
        size = 1 + max(np.abs(np.array(x)[k]).max(initial=0) for x in (one.v, found.state["v"]))
        near = (1e-8 if found.scene is None else 1e-5) + 1e-13 * condition[k]
        assert_near(two.v[k][other.v], one.v[k], near * size, "v")
        moved = near * size + _taken_back(one, k)
        assert_near(two.q[k], other.pose(one.q[k]), moved, "q")
        strong = 1 + np.abs(one.effort[k]).max(initial=0)
        assert_near(two.effort[k][other.v], one.effort[k], near * size * strong, "effort")
        if (
            one.contacts is not None
            and one.contacts.number[k] == 1
            and two.contacts.link[k, 0] in links
            and (two.contacts.other[k, 0] < 0 or two.contacts.other[k, 0] in links)
        ):
            looked["single contacts"] += 1
            pushes = [np.asarray(each.contact_wrench)[k] for each in (one, two)]
            assert_near(pushes[1][links], pushes[0], near * (1 + np.abs(pushes[0]).max()) * 10, "contact_wrench")
        poses = [engine.link_poses(each.model, each.q[k]) for each in (one, two)]
        assert_near(poses[1][links][:, :3, :3], R @ poses[0][:, :3, :3], 10 * moved, "rotations")
        assert_near(poses[1][links][:, :3, 3], poses[0][:, :3, 3] @ R.T + p, 10 * moved, "positions")
        energies = [each.energy()[0][k] for each in (one, two)]
        assert_near(energies[1], energies[0], near * size * (1 + energies[0]), "kinetic energy")


def _taken_back(simulation: engine.Simulation, k: int) -> float:
    """By how much coordinates may differ where several shapes overlap: what takes them back ends after eight rounds."""
    reported = None if simulation.contacts is None else simulation.contacts.of_robot(k)
    return 0.0 if reported is None or reported.number[0] < 2 else float(np.max(-reported.gap, initial=0.0))


def _stepped(simulation: engine.Simulation) -> str | None:
    try:
        simulation.step()
    except engine.Diverged as end:
        return str(end)
    return None


def _condition(model: engine.Model, q: Array) -> float:
    M = engine.mass_matrix(model, q)
    size = np.sqrt(np.diag(M))
    return float(np.linalg.cond(M / np.outer(size, size))) if model.nv else 1.0


def _touch_alike(one: engine.Simulation, two: engine.Simulation, k: int, other: Equivalence) -> bool:
    """Whether the same places touch; where shapes have several that are as good the choice may be another."""
    if one.contacts is None:
        return two.contacts is None
    a, b = (each.contacts.of_robot(k) for each in (one, two))
    if a.number[0] != b.number[0]:
        return False
    moved = a.point[0] @ other.R.T + other.p
    near = np.linalg.norm(moved[:, None] - b.point[0][None], axis=-1) + np.linalg.norm(
        (a.normal[0] @ other.R.T)[:, None] - b.normal[0][None], axis=-1
    )
    return bool(a.number[0] == 0 or near.min(1).max() < 1e-6)


def assert_near(found: Array, expected: Array, near: float, what: str) -> None:
    if what == "q" and np.shape(found):  # a quaternion and its negative are one rotation
        expected = np.where(np.abs(found - expected) <= np.abs(found + expected), expected, -np.asarray(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=near, err_msg=what)


def turning_and_moving_changes_nothing(found: Case) -> None:
    rng, found = chances(found, 6), smooth_surfaces(found)
    field = found.scene is not None and found.scene["ground"] is not None and found.scene["ground"]["kind"] == "field"
    R = np.diag([-1.0, -1.0, 1.0]) if field else rotation(rng, bool(rng.random() < 0.3))
    assert_alike(found, moved(found, R, np.round(rng.uniform(-1, 1, 3), 3)))


def names_and_order_change_nothing(found: Case) -> None:
    found = smooth_surfaces(found)
    if (other := shuffled(found, chances(found, 7))) is not None:
        assert_alike(found, other)


def fixed_joints_change_nothing(found: Case) -> None:
    found = smooth_surfaces(found)
    assert_alike(found, split(found, chances(found, 8)))


def the_mirror_shows_the_same(found: Case) -> None:
    """Without contact; gains, limits, friction, efforts and wrenches included."""
    if found.settings["parameters"] is not None or found.model().has_mimic:
        return
    model, one = found.model(), found.simulation()
    by_q, by_v = signs(model)
    settings = {key: x for key, x in found.settings.items() if key != "parameters"}
    two = engine.Simulation(
        mirrored(model), found.batch, q=one.q * by_q, v=one.v * by_v, device="cpu", timed=False, **settings
    )
    two.tau[:], two.target[:] = one.tau * by_v, one.target * by_v
    if one.takes_wrenches:
        two.wrench[:] = one.wrench * [1.0, -1.0, -1.0, -1.0, 1.0, 1.0]
    condition = max(_condition(model, q) for q in one.q)
    if _stepped(one) is None:
        assert _stepped(two) is None
        near = (1e-9 + 1e-13 * condition) * (1 + np.abs(one.v).max(initial=0))
        assert_near(two.v * by_v, one.v, near, "v")
        assert_near(two.q * by_q, one.q, near, "q")


def units_change_nothing(found: Case) -> None:
    """Powers of two, where nothing touches: nothing but rounding."""
    if found.settings["parameters"] is not None or found.model().has_mimic:
        return
    model, one = found.model(), found.simulation()
    for length, mass, time in ((4.0, 1.0, 1.0), (1.0, 1024.0, 1.0), (0.5, 8.0, 2.0)):
        by_q, by_v = in_units(model, length, time)
        by_tau = mass * length**2 / time**3 / by_v
        settings = {key: x for key, x in found.settings.items() if key != "parameters"}
        for name, unit in (("kp", by_tau / (by_v * time)), ("kd", by_tau / by_v)):
            if settings[name] is not None:
                settings[name] = getattr(one.settings, name) * unit
        settings["dt"] *= time
        two = engine.Simulation(
            scaled(model, length, mass, time), found.batch, q=np.array(found.state["q"]) * by_q,
            v=np.array(found.state["v"]) * by_v, device="cpu", timed=False, **settings,
        )  # fmt: skip
        two.tau[:], two.target[:] = one.tau * by_tau, np.array(found.state["target"]) * by_v * time
        if one.takes_wrenches:
            force = mass * length / time**2
            two.wrench[:] = one.wrench * np.repeat([force * length, force], 3)
        three = found.simulation()
        if _stepped(three) is None:
            assert _stepped(two) is None
            near = 1e-12 * (1 + max(_condition(model, q) for q in one.q)) * (1 + np.abs(three.v).max(initial=0))
            assert_near(two.v / by_v, three.v, near, "v")
            assert_near(two.q / by_q, three.q, near, "q")


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(
    "law", [turning_and_moving_changes_nothing, names_and_order_change_nothing, fixed_joints_change_nothing]
)
def test_equivalent_cases_agree(law, count: int) -> None:
    looked.clear()
    holds(law, FAMILIES, count)
    assert looked["alike"] > 5 * looked["other places"]


@pytest.mark.parametrize("count", MANY)
def test_the_mirror_shows_the_same(count: int) -> None:
    holds(the_mirror_shows_the_same, (PLAIN, CHAINS, TREES, RK4), 2 * count)


@pytest.mark.parametrize("count", MANY)
def test_units_change_nothing(count: int) -> None:
    holds(units_change_nothing, (PLAIN, CHAINS, TREES, RK4), 4 * count)
