"""The articulated-body recursion for arbitrary inertias, compared with the reference's dense systems."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import engine
from engine import lie
from engine.algorithms.motion import Motion, equations_of_motion, motion, point_jacobian
from engine.kernels import spatial, world
from engine.kernels.bodies import NV
from engine.kernels.contact import loaded_bodies, mimics, newton, problem_rows, recursion, workspace
from engine.kernels.contact.body_pairs import add_contact, body_pairs
from engine.kernels.contact.problem import ImpulseWorkspace, impulse_workspace
from engine.kernels.contact.recursion_workspace import TO_PARENT
from engine.kernels.limbs import limbs
from engine.kernels.world import Bodies
from engine.lie import Array
from engine.model import FREE, SPHERICAL, WORLD, generate, layout
from engine.scene import Scene
from tests.shaped_trees import shaped


def _with_free_joints(n: int, seed: int) -> engine.Model:
    """A tree of which some bodies, none of them a root, hang from others by free joints."""
    text = engine.to_urdf(generate.tree(n, seed, prismatic=0.2, spherical=0.5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "loose.urdf")
        path.write_text(text.replace('"spherical"', '"floating"', 4), encoding="utf-8")
        model = engine.load(str(path))
    assert {FREE, SPHERICAL} <= set(model.kind[1:][model.parent[1:] != WORLD].tolist())
    return model


def _with_mimics(joints: str) -> engine.Model:
    """A robot of rods: of each its name, parent and kind of joint, and of one that mimics the leader and multiplier."""
    text, links = '<robot name="{}"><link name="world"/>', []
    for name, parent, kind, *mimic in map(str.split, joints.split(";")):
        links.append(name)
        text += (
            f'<link name="{name}"><inertial><origin xyz="0.1 0.02 0.05"/><mass value="0.7"/><inertia ixx="0.01" '
            'iyy="0.02" izz="0.03" ixy="0.001" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j_{name}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{name}"/><origin xyz="0.2 0.05 0.1" rpy="0.3 0.2 {len(links)}"/>'
            '<axis xyz="0.6 0 0.8"/><limit lower="-1" upper="1" effort="9" velocity="9"/>'
        )
        text += f'<mimic joint="j_{mimic[0]}" multiplier="{mimic[1]}" offset="0.1"/></joint>' if mimic else "</joint>"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mimics.urdf")
        path.write_text((text + "</robot>").format("mimics" + "-".join(links)), encoding="utf-8")
        model = engine.load(path)
    assert model.has_mimic
    return model


MIMICS = [
    _with_mimics("a world floating;b a revolute;c b revolute;d b revolute c -1;e a prismatic;f e revolute"),
    _with_mimics("a world revolute;b a revolute;c b revolute b 0.5;d c prismatic b 2;e b revolute b -1;f c revolute"),
    _with_mimics("a world prismatic;b world prismatic a -1;c a revolute;d b revolute"),
    _with_mimics("a world revolute;b a revolute;c a revolute b 1.5;d b revolute b -1;e c revolute b -2;f e spherical"),
    _with_mimics(
        "a world floating;b a revolute;c b prismatic;d c revolute b 2;e d revolute c -1;f e revolute b 1;g f revolute"
    ),
    _with_mimics(
        "a world revolute;b a revolute;c a revolute b -1;d a revolute;e a prismatic d 0.5;f d revolute;g e revolute"
    ),
    _with_mimics(
        "a world revolute;b world revolute a -1;c world prismatic;d world revolute c 2;e b revolute;f d revolute e -1"
    ),
    _with_mimics(
        "a world revolute;b a spherical;c b revolute a 2;d c revolute;e d spherical;f e revolute d -1;g f revolute"
    ),
    _with_mimics(
        "a world floating;b a revolute;c b floating;d c revolute b 0.5;e d spherical;f e revolute b -1;g e prismatic;"
        "h d revolute g 2"
    ),
]
ROBOTS = [
    *(generate.tree(n, seed, prismatic=0.3, spherical=0.3) for n, seed in ((1, 0), (7, 1), (25, 2), (60, 3))),
    generate.tree(9, 4, floating=True),
    shaped("star", 12, 6, prismatic=0.2, floating=True, spherical=0.3),
    _with_free_joints(20, 2),
    engine.load(engine.find_robot("quadruped")),
    *MIMICS,
]
R_SCALE, WEIGHT, GONE = 1.7, 0.1, 0.3
"""The multiple of r and ε of a Newton step, and how much of the one before is gone."""
OPEN, STICKS, SLIPS = range(3)
without_mimics = pytest.mark.parametrize("model", ROBOTS[: -len(MIMICS)], ids=lambda model: model.name)
every_robot = pytest.mark.parametrize("model", ROBOTS, ids=lambda model: model.name)


class Robot(NamedTuple):
    """A robot of n bodies with C contacts, and rows of all joints that can have any: by the texts, and for the kernels.

    M, with d on its diagonal, and h; J (3 C, nv) of the contacts, each in its own frame; `rows` are the joints'.
    """

    at: Motion
    M: Array
    h: Array
    d: Array
    J: Array
    rows: Array
    topology: np.ndarray
    bodies: Bodies
    work: ImpulseWorkspace


def _robot(
    model: engine.Model, chance: np.random.Generator, on_a_plane: bool = False, pairs: int = 0, few: bool = False
) -> Robot:
    """One that is factorised; with `few`, its contacts are at two bodies, and three joints have rows at most."""
    n, packed, rows = len(model.parent), layout.pack(model), _joint_rows(model)
    q, v, d = model.random(chance), chance.normal(size=model.nv), np.zeros(model.nv)
    wrench = chance.normal(size=(n, 6)) * (np.arange(n) % 2)[:, None]
    d[rows] = chance.uniform(0, 2, len(rows))
    loaded = chance.permutation(n)[:2] if few else np.arange(n)
    rows = np.sort(chance.permutation(rows)[: 3 if few else None])
    at, bodies = motion(model, q, v), world.bodies(n)
    M, h = equations_of_motion(model, at)
    for i in range(n):
        h -= at.J[i].T @ lie.Ad(*lie.inverse(at.R[i], at.p[i])).T @ wrench[i]
    tree_q, tree_v = model.coupling.expand_q(q), model.coupling.expand_v(v)
    apart = limbs(model.parent, np.zeros(n, np.bool_))
    world.compute_bodies(tree_q, tree_v, wrench, packed.topology, packed.constants, apart, bodies)
    meet = [tuple(chance.permutation(n)[:2].tolist()) for _ in range(pairs if n > 1 else 0)]
    touching = [(int(body), WORLD) for body in chance.choice(loaded, size=3 * n)]
    for k, pair in enumerate(meet):  # one to four contacts each, in any order
        touching += [pair] * (k % 4 + 1)
    touching = [touching[k] for k in chance.permutation(len(touching))]
    room_of_pairs = body_pairs(n, model.nv, len(meet)) if meet else ()
    found, jacobians = impulse_workspace(model.parent, model.nv, len(touching), mimics.mimics(model), room_of_pairs), []
    p = found.problem
    p.head[:], p.joint[: len(rows)], p.rhs[rows], plane = -1, rows, 1.0, _turned(chance)
    for k, (body, other) in enumerate(touching):
        x, frame = at.p[body] + chance.normal(size=3), plane if on_a_plane else _turned(chance)
        p.arm[k], p.frame[k] = x - at.p[body], frame.ravel()
        jacobians.append(frame @ point_jacobian(model, at, body, x))
        if other == WORLD:
            p.next_contact[k], p.head[body] = p.head[body], k
        else:
            assert add_contact(k, body, other, tuple(x), bodies, p, found.tree.pairs)
            jacobians[-1] -= frame @ point_jacobian(model, at, other, x)
    topology = mimics.topology(model)
    recursion.factorise(np.zeros(model.nv), d, topology, bodies, found.tree)
    loaded_bodies.leave_out_unloaded(topology, bodies, p, found.tree)
    return Robot(at, M + np.diag(d), h, d, np.concatenate(jacobians), rows, topology, bodies, found)


def _turned(chance: np.random.Generator) -> Array:
    """Three unit vectors, perpendicular to each other."""
    return np.linalg.qr(chance.normal(size=(3, 3)))[0]


def _joint_rows(model: engine.Model) -> np.ndarray:
    """The velocities that may have rows, dampers and gains: all but those of free joints."""
    free = [j for i in np.flatnonzero(model.kind == FREE) for j in range(model.v_start[i], model.v_start[i] + 6)]
    return np.setdiff1d(np.arange(model.nv), model.coupling.v_index[free])


def _twists(robot: Robot, dv: Array) -> Array:
    """(n, 6): the twists of all bodies about their own origins, along the world's axes."""
    twists = robot.at.J @ dv
    return np.concatenate([twists[:, :3], twists[:, 3:] + np.cross(twists[:, :3], robot.at.p)], 1)


def _same(found: Array, expected: Array, within: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=within * np.abs(expected).max(initial=1e-300))


def _draw_impulses(robot: Robot, chance: np.random.Generator) -> None:
    """Impulses and velocities of contacts, of which one in three is open, sticks and slips, and of joints."""
    p, C, R = robot.work.problem, len(robot.J) // 3, len(robot.rows)
    p.mu[:], p.r[:], p.impulse[:] = chance.uniform(0.1, 1, C), chance.uniform(0.5, 2, C), chance.normal(size=(C, 3))
    p.mu[3 * np.arange(C // 9) + SLIPS] = 0.0  # a third of those that slip have no friction
    z = chance.normal(size=(C, 3))
    z[:, 0] = np.where(np.arange(C) % 3 == OPEN, -1, 1) * (0.1 + np.abs(z[:, 0]))
    slip = np.where(np.arange(C) % 3 == SLIPS, 2.0, 0.5) * p.mu * np.abs(z[:, 0])
    z[:, 1:] *= np.where(p.mu > 0, slip, 1.0)[:, None] / np.linalg.norm(z[:, 1:], axis=1, keepdims=True)
    p.u[:] = (p.impulse - z) / (R_SCALE * p.r[:, None])
    p.g[:R], p.joint_impulse[:R], p.joint_u[:R] = chance.uniform(0.5, 2, R), *chance.normal(size=(2, R))
    p.law[:R] = np.stack([chance.uniform(0, 1, R), -chance.uniform(0, 1, R), chance.uniform(0, 1, R)], 1)


def _loaded(model: engine.Model, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Which bodies (n,) and which velocities (nv,) Newton's steps are about."""
    bodies = robot.work.tree.loaded[:, TO_PARENT] != loaded_bodies.LEFT_OUT
    velocities = np.zeros(model.nv, bool)
    for i in np.flatnonzero(bodies):
        start = robot.topology[i, 3]
        velocities[start : start + NV[model.kind[i]]] = True
    return bodies, velocities


def _completed(robot: Robot, x: Array, loaded: np.ndarray) -> Array:
    """x with those velocities of the others that nothing but the loaded ones makes."""
    x, M = x.copy(), robot.M
    x[~loaded] = -np.linalg.solve(M[np.ix_(~loaded, ~loaded)], M[np.ix_(~loaded, loaded)] @ x[loaded])
    return x


@pytest.mark.parametrize("few", [False, True], ids=["all loaded", "few loaded"])
@pytest.mark.parametrize("pairs", [0, 1, 5])
@every_robot
def test_newtons_step_solves_the_dense_system(model, pairs, few, chance):
    """(M + d + JᵀΩJ) δv = Jᵀ(s + λ) − (M + d) v, v what earlier steps have made of the velocities."""
    robot = _robot(model, chance, pairs=pairs, few=few)
    p, tree, R = robot.work.problem, robot.work.tree, len(robot.rows)
    bodies, loaded = _loaded(model, robot)
    assert few or loaded[_joint_rows(model)].all()
    _draw_impulses(robot, chance)
    p.total[:], p.dv[:] = (_completed(robot, x, loaded) for x in chance.normal(size=(2, model.nv)))
    tree.moved[:], tree.step[:] = _twists(robot, p.total), _twists(robot, p.dv)
    before = p.total + GONE * p.dv
    newton.direction(len(p.mu), R, GONE, R_SCALE, WEIGHT, robot.d, robot.topology, robot.bodies, robot.work)
    A, right = _system(robot)
    right -= robot.M @ before
    for k, omega in enumerate(p.Omega.reshape(-1, 3, 3)):
        assert np.array_equal(omega, omega.T) == (k % 3 != SLIPS or p.mu[k] == 0)
    dv = np.linalg.solve(A, right)
    _same(dv, _completed(robot, dv, loaded))
    _same(p.dv[loaded], dv[loaded])
    _same(p.total[loaded], before[loaded], 1e-12)
    _same(tree.moved[bodies], _twists(robot, before)[bodies], 1e-12)
    _same(tree.step[bodies], _twists(robot, dv)[bodies])
    du = (robot.J @ dv).reshape(-1, 3)
    _same(p.motion, du)
    _same(p.change, p.s - (p.Omega.reshape(-1, 3, 3) @ p.motion[:, :, None])[:, :, 0], 1e-10)
    _same(p.joint_motion[:R], p.dv[robot.rows], 1e-12)
    _same(p.joint_change[:R], p.joint_s[:R] - p.joint_omega[:R] * p.dv[robot.rows], 1e-12)


@pytest.mark.parametrize("pairs", [0, 4])
@every_robot
def test_a_stiff_step_is_solved_to_rounding(model, pairs, chance):
    """Without friction all contacts with a plane push along one normal: what they leave free is lost beside them.

    Woodbury's formula, by which pairs of bodies come in, keeps fewer digits of a matrix that is stiff itself.
    """
    robot = _robot(model, chance, on_a_plane=True, pairs=pairs)
    p, R = robot.work.problem, len(robot.rows)
    _draw_impulses(robot, chance)
    p.mu[:], p.impulse[:, 0], p.u[:, 0] = 0.0, np.abs(p.impulse[:, 0]), -np.abs(p.u[:, 0])
    newton.direction(len(p.mu), R, 0.0, R_SCALE, 1e-6, robot.d, robot.topology, robot.bodies, robot.work)
    A, right = _system(robot)
    dv = _completed(robot, p.dv, _loaded(model, robot)[1])
    most = np.abs(A).max() * np.abs(dv).max() + np.abs(right).max()
    assert np.abs(A @ dv - right).max() <= (1e-8 if pairs else 1e-11) * most


def _system(robot: Robot) -> tuple[Array, Array]:
    """M + d + JᵀΩJ, and Jᵀ(s + λ)."""
    p, R, A, right = robot.work.problem, len(robot.rows), robot.M.copy(), np.zeros(len(robot.M))
    for k, (omega, s, impulse) in enumerate(zip(p.Omega.reshape(-1, 3, 3), p.s, p.impulse, strict=True)):
        J = robot.J[3 * k : 3 * k + 3]
        A, right = A + J.T @ omega @ J, right + J.T @ (s + impulse)
    A[robot.rows, robot.rows] += p.joint_omega[:R]
    right[robot.rows] += p.joint_s[:R] + p.joint_impulse[:R]
    return A, right


@pytest.mark.parametrize("few", [False, True], ids=["all loaded", "few loaded"])
@pytest.mark.parametrize("pairs", [0, 4])
@every_robot
def test_accelerations_and_what_impulses_do_are_those_of_the_dense_system(model, pairs, few, chance):
    robot = _robot(model, chance, pairs=pairs, few=few)
    p, tree, R = robot.work.problem, robot.work.tree, len(robot.rows)
    tau, out = chance.normal(size=model.nv), np.zeros(model.nv)
    recursion.factorise(tau, robot.d, robot.topology, robot.bodies, tree)
    recursion.accelerations(model.gravity, robot.topology, robot.bodies, tree, out)
    _same(out, np.linalg.solve(robot.M, tau - robot.h))
    loaded_bodies.leave_out_unloaded(robot.topology, robot.bodies, p, tree)
    _draw_impulses(robot, chance)
    p.free[:], p.joint_free[:R], push = chance.normal(size=p.free.shape), chance.normal(size=R), np.zeros(model.nv)
    push[robot.rows] = p.joint_impulse[:R]
    expected = np.linalg.solve(robot.M, robot.J.T @ p.impulse.ravel() + push)
    last = p.dv, p.change, p.motion, p.joint_change[:R], p.joint_motion[:R], tree.step
    for x in last:
        x[:] = 1.0
    newton.respond(len(robot.J) // 3, R, robot.topology, robot.bodies, robot.work)
    _same(p.total[: model.nv], expected)
    _same(tree.moved, _twists(robot, expected))
    _same(p.u, p.free + (robot.J @ expected).reshape(-1, 3))
    _same(p.joint_u[:R], p.joint_free[:R] + expected[robot.rows])
    assert not any(x.any() for x in last)


@without_mimics
def test_mobilities_are_those_of_the_inverse_mass_matrix(model, chance):
    robot = _robot(model, chance)
    tree, inverse = robot.work.tree, np.linalg.inv(robot.M)
    found = {WORLD: (spatial.ZERO6, spatial.ZERO9, spatial.ZERO6)}
    own = np.zeros(model.nv)
    recursion.factorise(np.zeros(model.nv), robot.d, robot.topology, robot.bodies, tree)
    for i, parent in enumerate(model.parent.tolist()):
        above = found[parent]
        if parent != WORLD:
            above = recursion.shifted_mobility(tuple(robot.bodies.arm[i]), *above)
        found[i] = recursion.mobility_of(i, *above, robot.topology, robot.bodies, tree, own)
        x, start = robot.at.p[i] + chance.normal(size=3), model.v_start[i]
        J = point_jacobian(model, robot.at, i, x)
        _same(np.reshape(recursion.mobility_at(*found[i], tuple(x - robot.at.p[i])), (3, 3)), J @ inverse @ J.T)
        if model.kind[i] != FREE:
            end = start + NV[model.kind[i]]
            _same(own[start:end], np.diag(inverse)[start:end])


@pytest.mark.parametrize("pairs", [0, 4])
@every_robot
def test_rows_have_their_mobility_and_their_velocity(model, pairs, chance):
    robot = _robot(model, chance, pairs=pairs)
    p, C, R = robot.work.problem, len(robot.J) // 3, len(robot.rows)
    ground = workspace.contact_workspace(model, Scene())._replace(bodies=robot.bodies, solver=robot.work)
    ground.free[:] = chance.normal(size=model.nv)
    problem_rows._mobilities(R, robot.topology, ground)
    between = np.zeros(C, bool)
    if robot.work.tree.pairs:
        problem_rows._pair_rows(C, robot.d, robot.topology, ground)
        between[:] = ~np.isin(np.arange(C), _of_one_body(robot))
        assert between.sum() >= pairs
    G = robot.J @ np.linalg.solve(robot.M, robot.J.T)
    r = np.array([3 / np.trace(G[k : k + 3, k : k + 3]) for k in range(0, 3 * C, 3)])
    np.testing.assert_allclose(p.r[between], r[between], rtol=1e-7)
    if model.has_mimic:  # about those: they are scales alone
        assert np.all((p.r / r > 0.03) & (p.r / r < 3))
        assert np.all(p.g[:R] > 0)
    else:
        np.testing.assert_allclose(p.r, r, rtol=1e-9)
        np.testing.assert_allclose(p.g[:R], np.diag(np.linalg.inv(robot.M))[robot.rows], rtol=1e-9)
    _same(p.free, (robot.J @ ground.free).reshape(-1, 3), 1e-10)
    np.testing.assert_array_equal(p.normal_velocity, p.free[:, 0])


def _of_one_body(robot: Robot) -> list[int]:
    """The contacts of bodies with what stands still."""
    p, found = robot.work.problem, []
    for k in p.head.tolist():
        while k >= 0:
            found.append(k)
            k = int(p.next_contact[k])
    return found
