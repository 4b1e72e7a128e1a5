"""Energy and momentum change by the inputs, to the order of the integrator, and exactly with contact."""

import copy
import dataclasses

import numpy as np
import pytest

import engine
from engine import lie
from engine.model import FREE, WORLD
from engine.model.poses import body_poses
from engine.step_settings import DAMPING, KD, KP
from engine.validation import Array
from tests.differential.cases import Case
from tests.differential.laws import CHAINS, EIGHT, IMPLICIT, OWN_FIELD, PAIRS, PLAIN, PLANE, TREES, holds, of_robots

ORDER = {"semi-implicit": 1, "implicit": 1, "rk4": 4}
MANY = [pytest.param(4, id="some"), pytest.param(150, id="many", marks=pytest.mark.slow)]


def smooth(found: Case) -> Case:
    """The case without friction and limits, in which nothing touches."""
    robot, settings = copy.deepcopy(found.robot), dict(found.settings) | {"limits": False}
    for joint in robot["joints"]:
        if joint["dynamics"] is not None:
            joint["dynamics"]["friction"] = 0.0
        if joint["limit"] is not None:
            joint["limit"]["effort"] = 1e10
    if settings["parameters"] is not None:
        own = {k: x for k, x in settings["parameters"].items() if k not in ("friction", "effort_limit")}
        settings["parameters"] = own
    return dataclasses.replace(found, robot=robot, settings=settings, scene=None)


def models(found: Case) -> list[engine.Model]:
    parameters = found.parameters()
    return [found.model() if parameters is None else parameters.robot(k) for k in range(found.batch)]


def rates(model: engine.Model, simulation: engine.Simulation, k: int, q: Array, v: Array) -> Array:
    """(7,): how fast what acts changes the energy, and the momentum about the world's origin."""
    rows = simulation.settings.joints[k if len(simulation.settings.joints) > 1 else 0]
    ahead = np.where(model.q_of_v >= 0, simulation.target[k] - q[model.q_of_v], 0.0)
    power = (simulation.tau[k] + rows[KP] * ahead - rows[KD] * v - model.damping * v) @ v
    T, twist = engine.link_poses(model, q), engine.link_twists(model, q, v)
    force, moment = model.mass.sum() * model.gravity, np.zeros(3)
    moment = moment + np.cross(_first_moment(model, q), model.gravity)
    frames = body_poses(model, q[None])[0]
    for joint in model.joints:
        if joint.kind == "floating":  # its tau is a wrench on its body, from outside
            T_body = frames[joint.bodies.start]
            n, f = (T_body[:3, :3] @ x for x in np.split(simulation.tau[k, joint.v], 2))
            force, moment = force + f, moment + n + np.cross(T_body[:3, 3], f)
    if simulation.takes_wrenches:
        for link, body in enumerate(model.link_body.tolist()):
            n, f = (T[link, :3, :3] @ x for x in np.split(simulation.wrench[k, link], 2))
            if body != WORLD:
                power += n @ twist[link, :3] + f @ twist[link, 3:]
                force, moment = force + f, moment + n + np.cross(T[link, :3, 3], f)
    return np.array([power, *moment, *force])


def _first_moment(model: engine.Model, q: Array) -> Array:
    """Mass times the centre of mass, from the potential energy under three gravities."""
    still = np.zeros(model.nv)
    return np.array([-engine.energy(model.with_gravity(axis), q, still)[1] for axis in np.eye(3)])


def flies(model: engine.Model) -> bool:
    """Whether all that moves hangs on free joints, which all are on the world."""
    return bool(np.array_equal(model.kind == FREE, model.parent == WORLD))


def defects(found: Case, dt: float, steps: int) -> tuple[Array, Array]:
    """(batch, 7): what is left of the changes without the work and the impulses; and how large these are."""
    simulation = found.simulation(dt=dt)
    kept = [simulation.state()]
    for _ in range(steps):
        simulation.step()
        kept.append(simulation.state())
    weights = np.full(steps + 1, dt)
    weights[[0, -1]] /= 2
    if simulation.integrator == "rk4":
        weights = np.tile([2.0, 4.0], steps // 2 + 1)[: steps + 1] * dt / 3
        weights[[0, -1]] = dt / 3
    left, size = np.zeros((found.batch, 7)), np.zeros((found.batch, 7))
    for k, model in enumerate(models(found)):
        given = np.array([rates(model, simulation, k, q[k], v[k]) for q, v in kept])
        ends = [np.array([sum(engine.energy(model, q[k], v[k])), *engine.momentum(model, q[k], v[k])])
                for q, v in (kept[0], kept[-1])]  # fmt: skip
        left[k] = ends[1] - ends[0] - weights @ given
        kinetic = [abs(engine.energy(model, q[k], v[k])[0]) for q, v in (kept[0], kept[-1])]
        size[k] = weights @ np.abs(given) + np.abs(ends[1] - ends[0])
        size[k, 0] += max(kinetic)
        size[k, 1:] += np.abs(ends[0][1:]).max()
        if not flies(model):
            left[k, 1:] = 0.0
    return left, size


def fastest(found: Case) -> float:
    """Return the largest rate, 1/s, of the robots' rotations, springs and dampers."""
    simulation, rate = found.simulation(), 5.0
    for k, model in enumerate(models(found)):
        rows = simulation.settings.joints[k if len(simulation.settings.joints) > 1 else 0]
        moves = np.diag(engine.inverse_mass_matrix(model, simulation.q[k])) * model.constrained
        damped, sprung = (moves * (rows[DAMPING] + rows[KD])).sum(), np.sqrt((moves * rows[KP]).sum())
        pushed = np.sqrt(np.abs(moves * simulation.tau[k]).sum())
        rate = max(rate, float(np.abs(simulation.v[k]).sum()), damped, sprung, pushed)
    return rate


def what_acts_changes_energy_and_momentum(found: Case) -> None:
    """Over the same time by steps of a half and a quarter: what is left falls by the integrator's order."""
    found = smooth(of_robots(found, [0, found.batch - 1] if found.batch > 1 else [0]))
    found.settings["dt"] = min(found.settings["dt"], 0.01 / fastest(found))
    dt, order = found.settings["dt"], ORDER[found.settings["integrator"]]
    try:
        (coarse, size), (middle, _), (fine, _) = (defects(found, dt / part, 4 * part) for part in (1, 2, 4))
    except engine.Diverged:
        return
    most = np.maximum(np.abs(coarse), np.abs(middle))
    allowed = np.maximum(most * (0.6 if order == 1 else 0.2), 3e-4 * size if order == 1 else 1e-6 * size)
    assert np.all(np.abs(fine) <= allowed + 1e-11), [x / (size + 1e-12) for x in (coarse, middle, fine)]


def in_first_frames(model: engine.Model, q: Array, after: Array, v: Array) -> Array:
    """v after a step, with free joints' linear velocities in the frames in which it began."""
    v = v.copy()
    for joint in model.joints:
        if joint.kind == "floating":
            turn = [lie.rotation_from_quaternion(x[joint.q][3:] / np.linalg.norm(x[joint.q][3:])) for x in (q, after)]
            v[joint.v.start + 3 : joint.v.stop] = turn[0].T @ turn[1] @ v[joint.v][3:]
    return v


def turned(model: engine.Model, v: Array) -> Array:
    """(nv,): how fast free joints' linear velocities change in frames that do not turn, if not in their own."""
    rate = np.zeros(model.nv)
    for joint in model.joints:
        if joint.kind == "floating":
            rate[joint.v.start + 3 : joint.v.stop] = np.cross(v[joint.v][:3], v[joint.v][3:])
    return rate


def along(model: engine.Model, q: Array, v: Array, time: float) -> Array:
    """Integrate velocities over a time."""
    moved = q.copy()
    scalar = model.q_of_v >= 0
    moved[model.q_of_v[scalar]] += time * v[scalar]
    for joint in model.joints:
        if joint.type.quaternion is not None and joint.leader is None:
            R, _ = lie.exp(np.concatenate([time * v[joint.v][:3], np.zeros(3)]))
            at = lie.rotation_from_quaternion(q[joint.q][-4:])
            moved[joint.q.stop - 4 : joint.q.stop] = lie.quaternion_from_rotation(at @ R)
            if joint.kind == "floating":
                moved[joint.q.start : joint.q.start + 3] += time * at @ v[joint.v][3:]
    return moved


def contacts_change_momentum(found: Case) -> None:
    """One step of a free robot: gravity, wrenches and reported contacts, exactly; at the initial pose."""
    simulation = found.simulation()
    q, v = simulation.state()
    dt = simulation.dt
    if simulation.contacts is None:
        return
    try:
        simulation.step()
    except engine.Diverged:
        return
    for k, model in enumerate(models(found)):
        if not flies(model) or simulation.diverged[k]:
            continue
        after = in_first_frames(model, q[k], simulation.q[k], simulation.v[k])
        given = dt * rates(model, simulation, k, q[k], v[k])[1:]
        e = 1e-5
        turning = [engine.momentum(model, along(model, q[k], v[k], side * e), v[k]) for side in (1, -1)]
        given = given - dt * (turning[0] - turning[1]) / (2 * e)
        given = given + dt * engine.momentum(model, q[k], turned(model, v[k]))
        pushed = np.zeros(6)
        touches = simulation.contacts.of_robot(k)
        moves = model.link_body != WORLD
        for x, impulse, *pair in zip(
            touches.point[0], touches.impulse[0], touches.link[0], touches.other[0], strict=True
        ):  # what pushes two links of the robot leaves its momentum, unless one of them is fixed to the world
            share = int(moves[pair[0]]) - int(pair[1] >= 0 and moves[pair[1]])
            pushed += share * np.concatenate([np.cross(x, impulse), impulse])
        T, total = engine.link_poses(model, q[k]), np.zeros(6)
        for link in np.flatnonzero(model.link_body != WORLD):
            n, f = (T[link, :3, :3] @ x for x in np.split(np.asarray(simulation.contact_wrench)[k, link], 2))
            total += dt * np.concatenate([n + np.cross(T[link, :3, 3], f), f])
        change = engine.momentum(model, q[k], after) - engine.momentum(model, q[k], v[k])
        size = 1e-9 + np.abs(change).max() + np.abs(given).max() + np.abs(touches.impulse).sum()
        size += float(model.mass.sum()) * np.abs(v[k]).max(initial=0) * (1 + np.abs(v[k]).max(initial=0) * dt)
        np.testing.assert_allclose(total, pushed, rtol=0, atol=1e-9 * size, err_msg="contact_wrench and impulses")
        np.testing.assert_allclose(change, given + pushed, rtol=0, atol=2e-7 * size, err_msg="momentum")


def what_touches_gives_no_energy(found: Case) -> None:
    """Contacts, friction and limits leave no more kinetic energy than there would be without them, at that pose."""
    touched, alone = found.simulation(), smooth(found).simulation()
    q, _ = touched.state()
    try:
        touched.step()
        alone.step()
    except engine.Diverged:
        return
    efforts = [x.settings.effort(q, found.state["v"], touched.tau, touched.target) for x in (touched, alone)]
    for k, model in enumerate(models(found)):
        if touched.diverged[k] or not np.array_equal(efforts[0][k], efforts[1][k]):
            continue
        after = [in_first_frames(model, q[k], x.q[k], x.v[k]) for x in (touched, alone)]
        energy = [engine.energy(model, q[k], v)[0] for v in after]
        if touched.integrator == "implicit":
            rows = touched.settings.joints[k if len(touched.settings.joints) > 1 else 0]
            share = touched.dt * (rows[DAMPING] + rows[KD] + touched.dt * rows[KP]) * model.constrained
            energy = [e + v @ (share * v) / 2 for e, v in zip(energy, after, strict=True)]
        left = 0.0 if touched.contacts is None else float(touched.contacts.residual[k])
        assert energy[0] <= energy[1] * (1 + 1e-7 + 10 * left) + 1e-10, f"robot {k}: {energy[0]} of {energy[1]} J"


@pytest.mark.parametrize("count", MANY)
def test_what_acts_changes_energy_and_momentum(count: int) -> None:
    families = (PLAIN, IMPLICIT, CHAINS, EIGHT._replace(eight=False, freezes=False), TREES)
    holds(what_acts_changes_energy_and_momentum, families, count // 2)


@pytest.mark.parametrize("count", MANY)
def test_contacts_change_momentum(count: int) -> None:
    holds(contacts_change_momentum, (PAIRS, PLANE), count)


@pytest.mark.parametrize("count", MANY)
def test_contacts_give_no_energy(count: int) -> None:
    holds(what_touches_gives_no_energy, (PAIRS, PLANE, OWN_FIELD), count)
