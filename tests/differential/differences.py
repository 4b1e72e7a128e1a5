"""The differences between one step of a simulation and the reference, `engine.algorithms.step`.

The input is a `Case`; the result is a list of sentences, empty if both agree. Each robot's step is compared from the
state before it:

- contacts are those of the reference's exhaustive search;
- velocities without contact are the reference's; with contact the reported impulses, together with the joints'
  impulses from the momentum balance, obey the reference's law, and lead from its free velocity to the final one;
- coordinates follow from these velocities, and reported quantities from these impulses.

So a step is compared with the law, not with one of its solutions: with friction there may be several.
"""

import sys
from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq, nnls

import engine
from engine import lie
from engine.algorithms import contact_law, step
from engine.algorithms.motion import Motion, frame_of_link, motion
from engine.algorithms.step import ContactProblem, Inputs, StepSetup
from engine.algorithms.touching import Contact
from engine.lie import Array
from engine.scene.contact_tolerances import VELOCITY_FLOOR
from tests.differential.cases import Case
from tests.differential.matching import DOUBLE, SINGLE, Precision, seen, told_contacts


def differences(case: Case, device: str = "cpu", dtype: str = "float64", steps: int = 2) -> list[str]:
    """Return the differences of the kernels' first steps from the reference, as sentences."""
    simulation = case.simulation(device, dtype)
    exact = DOUBLE if dtype == "float64" else SINGLE
    found: list[str] = []
    for number in range(steps):
        before, inputs = simulation.state(), _inputs(simulation)
        try:
            simulation.step()
        except engine.Diverged:
            seen["diverged"] += 1
            return found
        after, touches = simulation.state(), simulation.contacts
        wrench = np.asarray(_host(simulation.contact_wrench), float)
        for robot in _looked_at(case, number):
            if _host(simulation.diverged)[robot] or np.max(np.abs(before[1][robot]), initial=0) > 1e4:
                continue
            told = None if touches is None else touches.on_host().of_robot(robot)
            given = Robot(case, robot, before[0][robot], before[1][robot], *(x[robot] for x in inputs[:2]),
                          None if inputs[2] is None else inputs[2][robot])  # fmt: skip
            where = f"step {number + 1}, robot {robot}: "
            found += [where + x for x in _of_robot(given, after[0][robot], after[1][robot], told, wrench[robot], exact)]
    return found + [f"after {steps} steps, {x}" for x in _told_of_state(case, simulation, exact)]


def _told_of_state(case: Case, simulation: engine.Simulation, exact: Precision) -> Iterator[str]:
    """Compare the links' poses and the robots' energies in the current state."""
    reader = simulation.frames(case.batch)
    reader.begin()
    reader.request()
    on_host = type(simulation.q) not in (np.ndarray, getattr(sys.modules.get("cupy"), "ndarray", None))
    frame, energies = reader.take(), [] if on_host else [_host(x) for x in simulation.energy()]
    diverged = _host(simulation.diverged)
    for robot in _looked_at(case, 1):
        if diverged[robot]:
            continue
        made = Robot(case, robot, *(np.asarray(x[robot], float) for x in simulation.state()), None, None, None)
        for link in range(len(made.model.link_body)):
            R, p = frame_of_link(made.model, made.at, link)
            size = 1 + float(np.max(np.abs(p)))
            told = np.asarray(frame.link_poses[robot, link], float)
            about = f"robot {robot}, {{}} of link {link}"
            yield from _compared(about.format("rotation"), told[:3, :3].ravel(), R.ravel(), SINGLE.place)
            yield from _compared(about.format("place"), told[:3, 3], p, SINGLE.place * size)  # frames are to be drawn
        M, _ = step.equations_of_motion(made.model, made.at)
        kinetic = made.v @ M @ made.v / 2
        potential = sum(
            -made.model.gravity @ (m * p + R @ h)
            for m, h, R, p in zip(made.model.mass, made.model.first_moment, made.at.R, made.at.p, strict=True)
        )
        weight = np.linalg.norm(made.model.gravity) * float(made.model.mass @ (1 + np.linalg.norm(made.at.p, axis=1)))
        for name, told, text, size in zip(
            ("kinetic", "potential"), energies, (kinetic, potential), (kinetic, weight), strict=False
        ):
            about = f"robot {robot}, {name} energy"
            yield from _compared(about, told[robot : robot + 1], np.array([text]), 1e2 * exact.place * size)


def served(case: Case, device: str, dtype: str) -> bool:
    """Whether a device takes the case; what it refuses it refuses in one sentence."""
    try:
        case.simulation(device, dtype)
    except ValueError:
        return False
    return True


def _inputs(simulation: engine.Simulation) -> tuple[Array, Array, Array | None]:
    wrench = np.array(_host(simulation.wrench), float) if simulation.takes_wrenches else None
    return np.array(_host(simulation.tau), float), np.array(_host(simulation.target), float), wrench


def _host(x: object) -> np.ndarray:
    return np.asarray(x.get() if hasattr(x, "get") else x)


def _looked_at(case: Case, number: int) -> list[int]:
    """The first robot, the last, and another one in each step."""
    return sorted({0, case.batch - 1, number % case.batch})


class Robot:
    """One robot of a case at the start of a step, as input of the reference."""

    def __init__(self, case: Case, robot: int, q: Array, v: Array, tau: Array, target: Array, wrench: Array | None):
        parameters = case.parameters()
        self.model = case.model() if parameters is None else parameters.robot(robot)
        own = case.settings
        kp, kd = (_gain(self.model, own[name], robot, name) for name in ("kp", "kd"))
        self.settings = StepSetup(own["dt"], own["integrator"], kp, kd, own["limits"], case.scene_object())
        self.algorithm = own["algorithm"]
        self.q, self.v, self.acting = q, v, Inputs(tau, target, wrench)
        self.at = motion(self.model, q, v)


def _gain(model: engine.Model, given: object, robot: int, name: str) -> Array:
    """(nv,): one robot's gains; a number applies to every joint that can have it."""
    if given is None:
        return np.zeros(model.nv)
    takes = model.q_of_v >= 0 if name == "kp" else model.constrained
    array = np.asarray(given, float)
    if array.ndim == 0:
        return np.where(takes, array, 0.0)
    return array[robot if len(array) > 1 else 0] if array.ndim == 2 else array


def _of_robot(
    robot: Robot, q: Array, v: Array, told: engine.scene.Contacts | None, wrench: Array, exact: Precision
) -> Iterator[str]:
    contacts, held = list[Contact](), list[Contact]()
    if robot.model.nv == 0:
        return
    if robot.settings.scene is not None:
        contacts, held, faults = told_contacts(robot, told, exact)
        yield from faults
        if faults:
            return
    seen["steps with contact" if contacts else "steps without"] += 1
    if contacts:
        yield from _under_contact(robot, q, v, contacts, told, wrench, exact)
    else:
        if np.any(wrench):
            yield f"nothing touches and the contacts' wrench is {np.max(np.abs(wrench))}"
        yield from _free(robot, q, v, held, exact)


def _tolerance(robot: Robot, M: Array, free: Array, v: Array, exact: Precision) -> Array:
    """(nv,): the rounding of velocities: that of what is added up, times the condition of the scaled mass matrix."""
    size = np.sqrt(np.diag(M))
    scaled = M / np.outer(size, size)
    energy = np.linalg.norm(size * (np.abs(v) + np.abs(free) + np.abs(robot.v)))
    gains = robot.settings.kp * 10, robot.settings.kd * robot.v
    _, bias = step.equations_of_motion(robot.model, robot.at, robot.acting.wrench)
    force = np.concatenate([robot.acting.tau, robot.model.friction, *gains, bias])
    pushed = robot.settings.dt * np.max(np.abs(force), initial=0.0) / np.min(size, initial=1e30)
    factor = 4000 if robot.algorithm == "cfa" else 200  # CFA's own refinement ends at a residual of some 1e-13
    return (
        factor * exact.rounding * np.linalg.cond(scaled) * (energy + pushed + 1e-3 * np.max(size, initial=0.0)) / size
    )


def _free(robot: Robot, q: Array, v: Array, held: list[Contact], exact: Precision) -> Iterator[str]:
    """A step in which nothing touches, or what touches is held, which has one solution."""
    text = step.step_with_contacts(robot.model, robot.q, robot.v, robot.acting, robot.settings, held)
    if (left := contact_law.residual(text.problem.rows, text.problem.G, text.impulses)) > 1e-10:
        seen["not solved by the text"] += 1
        yield from ([f"the text does not solve this step: {left}"] if left > 1e-6 else [])
        return
    own = 10 * left * np.max(np.abs(text.problem.rows.b), initial=0.0)  # how well the text solves it
    limit = _tolerance(robot, text.problem.M, text.problem.free, text.v, exact) + own
    yield from _compared("v", v, text.v, limit)
    yield from _compared("q", q, text.q, _of_coordinates(robot, limit, text.q, exact))


def _of_coordinates(robot: Robot, limit: Array, q: Array, exact: Precision) -> float:
    return float(
        robot.settings.dt * np.max(limit, initial=0.0) + 20 * exact.rounding * (1 + np.max(np.abs(q), initial=0))
    )


def _compared(name: str, came: Array, expected: Array, limit: Array | float) -> Iterator[str]:
    off = np.abs(came - expected)
    if not np.all(off <= limit):
        k = int(np.argmax(off / np.maximum(limit, 1e-300)))
        most = float(np.broadcast_to(limit, off.shape)[k])
        yield f"{name}[{k}] is {came[k]!r}; the text has {expected[k]!r}, {off[k]:.1e} apart, rounding is {most:.1e}"


def _under_contact(
    robot: Robot, q: Array, v: Array, contacts: list[Contact], told: engine.scene.Contacts, wrench: Array,
    exact: Precision,
) -> Iterator[str]:  # fmt: skip
    """A step under contact: its impulses obey the law, and its velocity is what they give."""
    model, settings = robot.model, robot.settings
    ready = step.contact_problem(model, robot.q, robot.v, robot.acting, settings, contacts)
    if settings.dt * np.max(np.abs(v), initial=0.0) > 1:
        seen["spins too fast to tell by how much"] += 1
        return
    way = _way(model, robot.q, q, settings.dt)
    v_first = step.in_final_frames(model, v, way, -settings.dt)  # from the end's frames to the start's
    limit = _tolerance(robot, ready.M, ready.free, v_first, exact)
    order = [next(c for c, y in enumerate(contacts) if y is x) for x in ready.contacts]
    impulses, faults = _impulses(ready, told, order)
    yield from faults
    push = ready.M @ (v_first - ready.free) - ready.rows.J.T @ impulses
    rounding = np.abs(ready.M) @ limit + 50 * exact.rounding * np.abs(ready.rows.J.T) @ np.abs(impulses)
    elsewhere = np.setdiff1d(np.arange(model.nv), ready.joints)
    yield from _compared("the impulse that nothing gives", push[elsewhere], 0 * push[elsewhere], rounding[elsewhere])
    impulses[len(impulses) - len(ready.joints) :] = push[ready.joints]
    yield from _law(ready, settings, impulses, float(told.residual[0]), rounding, exact)
    yield from _coordinates(robot, ready, way - v_first, v_first, limit, exact)
    yield from _told(robot, ready, told, order, v_first, wrench, exact)


def _impulses(ready: ContactProblem, told: engine.scene.Contacts, order: list[int]) -> tuple[Array, list[str]]:
    """The contacts' impulses along their rows; and what is wrong with them."""
    impulses, faults = np.zeros(len(ready.rows.b)), []
    for i, (x, c) in enumerate(zip(ready.contacts, order, strict=True)):
        frame = np.stack([x.n, *step.tangents(x.n)])
        local, k = frame @ told.impulse[0, c], ready.normal[i]
        width = 3 if i < len(ready.rows.mu) else 1
        impulses[k : k + width] = local[:width]
        if width == 1 and np.max(np.abs(local[1:])) > 1e-6 * max(abs(local[0]), 1e-9):
            faults.append(f"a contact without friction of link {x.link} with {x.other} rubs: {local}")
    return impulses, faults


def _law(
    ready: ContactProblem, settings: StepSetup, impulses: Array, left: float, rounding: Array, exact: Precision
) -> Iterator[str]:
    """They obey the law at the largest restitution that gives no energy, as well as the residual says."""
    u_rounding = float(np.max(np.abs(ready.rows.J) @ np.linalg.solve(ready.M, np.diag(rounding)).sum(1), initial=0.0))
    results = []
    for share in (1.0, *_restitution_shares(ready, settings, impulses), 0.0):
        tried, springs = step.with_restitution(ready, settings, share)
        size = max(float(np.max(np.abs(tried.rows.b), initial=0.0)), VELOCITY_FLOOR)
        results.append((contact_law.residual(tried.rows, tried.G, impulses), share, tried, size))
        if not springs:
            break
    best = min(results, key=lambda x: x[0])
    residual, share, tried, size = best
    seen["laws"] += 1
    seen["springs"] += len(results) > 1
    seen["less restitution"] += share < 1 and len(results) > 1
    allowed = max(exact.residual, 1.01 * left) + 10 * u_rounding / size
    if residual > allowed:
        off = contact_law.distances(tried.rows, tried.G, impulses)
        yield (
            f"the impulses do not obey the law: residual {residual:.1e} of {size:.1e} m/s where {left:.1e} is told and "
            f"{allowed:.1e} allowed; row {int(np.argmax(off))} of {len(tried.rows.mu)} contacts that rub and "
            f"{len(tried.rows.joints)} others"
        )
        return
    gain, energy = step.energy_gain(tried, impulses), step.kinetic_energy(tried)
    if len(results) > 1 and gain > 1e-6 * energy and share > 0:
        yield f"the impulses add {gain / 2:.3e} J to {energy:.3e} J"
    if len(results) > 1 and 0 < share < 0.99:
        full, _ = step.with_restitution(ready, settings, min(2 * share, 1.0))
        solved = contact_law.solve(full.rows, full.G)
        known = contact_law.residual(full.rows, full.G, solved) <= 1e-9
        if known and step.energy_gain(full, solved) < -1e-6 * energy:
            yield f"restitution is taken {share} times though {min(2 * share, 1.0)} times adds no energy"


def _restitution_shares(ready: ContactProblem, settings: StepSetup, impulses: Array) -> Iterator[float]:
    """The share of the restitution with which the contact of the largest impulse rebounds, if it does."""
    whole, _ = step.with_restitution(ready, settings, 1.0)
    rebounding = ready.normal[(whole.c[ready.normal] < 0) & (impulses[ready.normal] > 0)]
    if len(rebounding):
        k = rebounding[np.argmax(impulses[rebounding])]
        velocity = float(ready.rows.J[k] @ step.velocity(ready, impulses))

        def excess(share: float) -> float:
            return velocity + float(step.with_restitution(ready, settings, share)[0].c[k])

        if excess(1.0) < 0 < excess(1e-9):
            yield float(brentq(excess, 1e-9, 1.0, xtol=1e-14))


def _way(model: engine.Model, before: Array, after: Array, dt: float) -> Array:
    """(nv,): the velocities by which coordinates went from one state to the next, in the first one's frames."""
    way = np.zeros(model.nv)
    scalar = model.q_of_v >= 0
    way[scalar] = (after - before)[model.q_of_v[scalar]] / dt
    for joint in model.joints:
        if joint.leader is None and joint.type.quaternion is not None:
            R, R_after = (lie.rotation_from_quaternion(x[joint.q][-4:]) for x in (before, after))
            way[joint.v.start : joint.v.start + 3] = lie.log(R.T @ R_after, np.zeros(3))[:3] / dt
            if joint.kind == "floating":
                way[joint.v.start + 3 : joint.v.stop] = R.T @ (after - before)[joint.q][:3] / dt
    return way


def _coordinates(
    robot: Robot, ready: ContactProblem, aside: Array, v: Array, limit: Array, exact: Precision
) -> Iterator[str]:
    """Coordinates go by v⁺; `aside` (nv,) is by what else: what overlaps is taken back, and nothing that does not."""
    dt = robot.settings.dt
    rounding = limit + 50 * exact.rounding * (1 + np.max(np.abs(robot.q), initial=0.0)) / dt
    text = step.coordinate_velocities(robot.model, robot.q, ready, v, robot.settings) - v
    if not np.any(text):
        yield from _compared("what moves coordinates beside v", aside, text, rounding)
        return
    seen["overlaps"] += 1
    size = np.sqrt(np.diag(ready.M))
    if np.linalg.norm(size * (aside - text)) <= 1e-6 * np.linalg.norm(size * text) + np.linalg.norm(size * rounding):
        return
    seen["overlaps taken back in another way than the text"] += 1
    rows, back = step.overlap(ready)
    push = nnls(size[:, None] * back, size * aside * dt)[0]
    total = np.linalg.norm(size * aside * dt)
    off = np.linalg.norm(size * (aside * dt - back @ push)) / total if total > 0 else 0.0
    limited = robot.settings.limits and bool(np.any(robot.model.bounded))
    if off > 1e-4 and not limited:
        yield f"what takes overlaps back is no push along the contacts' normals: {off:.1e} of it is something else"
    least = -np.min(rows.J @ aside * dt + rows.b)
    deepest = max(-x.gap for x in ready.contacts)
    G = rows.J @ back
    feasible = contact_law.residual(rows, G, contact_law.solve(rows, G)) <= 1e-9
    if least > 0.51 * deepest and feasible and not limited:
        yield f"of an overlap of {deepest:.2e} m {least:.2e} m are not taken back, or a gap is shut by that"


def _told(
    robot: Robot, ready: ContactProblem, told: engine.scene.Contacts, order: list[int], v: Array, wrench: Array,
    exact: Precision,
) -> Iterator[str]:  # fmt: skip
    """Check that slip, and the impulses on links in their own frames, follow from other reported quantities."""
    on_links, at = np.zeros_like(wrench), robot.at
    for i, (x, c) in enumerate(zip(ready.contacts, order, strict=True)):
        impulse = told.impulse[0, c]
        slip = np.linalg.norm((np.eye(3) - np.outer(x.n, x.n)) @ step.point_row(robot.model, at, x) @ v)
        if i < len(ready.rows.mu):
            off = abs(told.slip[0, c] - slip)
            loose = 10 * float(told.residual[0]) * np.max(np.abs(ready.rows.b))
            if off > 1e3 * exact.residual * (1 + slip) + exact.place + loose:
                yield f"the slip of link {x.link} on {x.other} is told as {told.slip[0, c]}; it is {slip}"
        for link, sign, own in ((x.link, 1.0, told.wrench[0, c]), (x.other, -1.0, told.other_wrench[0, c])):
            expected = _on_link(robot.model, at, link, x.x, sign * impulse) if link >= 0 else np.zeros(6)
            name = f"the impulse on link {link} of its contact with {x.other if sign > 0 else x.link}"
            yield from _compared(name, own, expected, 1e3 * exact.place * (1e-9 + np.linalg.norm(impulse)))
            if link >= 0:
                on_links[link] += expected / robot.settings.dt
    limit = 1e3 * exact.place * (1e-6 + np.max(np.abs(on_links), initial=0.0))
    yield from _compared("the contacts' wrench", wrench.reshape(-1), on_links.reshape(-1), limit)


def _on_link(model: engine.Model, at: Motion, link: int, x: Array, impulse: Array) -> Array:
    R, p = frame_of_link(model, at, link)
    return np.concatenate([R.T @ np.cross(x - p, impulse), R.T @ impulse])
