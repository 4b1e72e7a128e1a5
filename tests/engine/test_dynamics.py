"""Forward and inverse dynamics compared with Pinocchio and each other, and their refusals."""

import dataclasses

import numpy as np
import pytest
from conftest import EXAMPLE_ROBOTS
from masses import alternating
from pinocchio_oracle import Oracle

import engine
from engine import lie

APART = 1e-9
"""Maximum relative difference from Pinocchio."""
LEFT = 1e-12
"""Maximum residual."""


def state(model, rng, batch=None):
    shape = (model.nv,) if batch is None else (batch, model.nv)
    return model.random(rng, batch), rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)


def residual(model, q, v, tau, a):
    """‖ID(q̈) − τ‖ / ‖τ_δ‖, the measure of design and papers."""
    tau_delta = tau - engine.bias(model, q, v)
    return np.linalg.norm(engine.inverse_dynamics(model, q, v, a) - tau) / np.linalg.norm(tau_delta)


@pytest.mark.sample(20)
@pytest.mark.usefixtures("each_form")
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", EXAMPLE_ROBOTS, ids=lambda path: path.stem)
def test_forward_dynamics_agrees_with_pinocchio(path, floating, rng):
    model = engine.load(path, floating=floating, mimic=False)
    if model.nv == 0:
        assert len(engine.forward_dynamics(model, [], [], [])) == 0
        return
    oracle = Oracle(path, model, floating)
    assert oracle.model.nv == model.nv
    for _ in range(3):
        q, v, tau = state(model, rng)
        expected = oracle.forward_dynamics(q, v, tau)
        answer = engine.forward_dynamics(model, q, v, tau)
        assert np.linalg.norm(answer - expected) <= APART * np.linalg.norm(expected)
        M = oracle.mass_matrix(q)
        assert np.abs(engine.mass_matrix(model, q) - M).max() <= 1e-12 * np.abs(M).max()
        inverse = oracle.inverse_mass_matrix(q)
        rounding = 1e-10 + 0.1 * np.linalg.cond(M) * np.finfo(float).eps
        assert np.abs(engine.inverse_mass_matrix(model, q) - inverse).max() <= rounding * np.abs(inverse).max()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 50, 200, 1000])
@pytest.mark.parametrize("kind", ["chain", "straight chain", "tree", "floating tree"])
def test_inverse_of_forward_is_identity(kind, n, rng):
    if kind == "chain":
        model = engine.chain(n, prismatic=0.3)
    elif kind == "straight chain":
        model = engine.chain(n, straight=True)
    else:
        model = engine.tree(n, prismatic=0.3, floating=kind == "floating tree")
    q, v, tau = state(model, rng)
    if n >= 100:
        v *= 0.01  # bias forces grow with the square of a length of n links
    if kind == "straight chain":
        q *= 0.05
    assert residual(model, q, v, tau, engine.forward_dynamics(model, q, v, tau, "abia", "cpu")) <= LEFT


CARRIED = """<robot name="carried"><link name="world"/>
<link name="arm">{inertial}</link><link name="body">{inertial}</link><link name="tail">{inertial}</link>
<joint name="turns" type="continuous"><origin xyz="0 0 1" rpy="0.3 0 0"/><parent link="world"/><child link="arm"/>
<axis xyz="0 1 0"/></joint>
<joint name="flies" type="floating"><origin xyz="0.2 0 0.5" rpy="0 0.4 0"/><parent link="arm"/><child link="body"/>
</joint>
<joint name="wags" type="continuous"><origin xyz="0 0.3 0"/><parent link="body"/><child link="tail"/><axis xyz="1 0 0"/>
</joint></robot>"""
INERTIAL = """<inertial><origin xyz="0.1 0.05 0.2"/><mass value="1.5"/>
<inertia ixx="0.3" ixy="0.01" ixz="0" iyy="0.2" iyz="0.02" izz="0.25"/></inertial>"""


@pytest.fixture
def carried(tmp_path):
    """A body that flies, its free joint counted from an arm that turns."""
    path = tmp_path / "carried.urdf"
    path.write_text(CARRIED.format(inertial=INERTIAL), "utf-8")
    return engine.load(path)


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.usefixtures("each_form")
def test_a_free_joint_may_be_carried_by_what_moves(carried, batch, rng):
    served = engine.algorithms(carried, "cpu")
    assert {"abia", "jsiia", "dca"} <= set(served)
    q, v, tau = state(carried, rng, batch)
    for algorithm in served:
        a = engine.forward_dynamics(carried, q, v, tau, algorithm, "cpu")
        for k in range(batch):
            assert residual(carried, q[k], v[k], tau[k], a[k]) < 1e-13, algorithm


@pytest.mark.usefixtures("each_form")
def test_a_free_joint_passes_no_force_to_its_carrier(carried, tmp_path, rng):
    """No force passes a free joint: the body and its tail fall as they would without the arm that they count from."""
    joint = CARRIED[CARRIED.index('<joint name="wags"') :]
    links = f'<link name="body">{INERTIAL}</link><link name="tail">{INERTIAL}</link>'
    path = tmp_path / "alone.urdf"
    path.write_text(f'<robot name="alone">{links}{joint}', "utf-8")
    model = engine.load(path, floating=True)
    q, v = carried.random(rng), rng.standard_normal(carried.nv)
    body = engine.link_poses(carried, q)[2]
    q_alone = [*body[:3, 3], *lie.quaternion_from_rotation(body[:3, :3]), q[-1]]
    omega, linear = engine.link_twists(carried, q, v)[2].reshape(2, 3) @ body[:3, :3]
    v_alone = [*omega, *linear, v[-1]]
    ends = []
    for robot, start in ((carried, (q, v)), (model, (q_alone, v_alone))):
        simulation = engine.Simulation(robot, 1, 1e-3, "rk4", "abia", q=start[0], v=start[1], device="cpu")
        simulation.step(300)
        ends.append(engine.link_poses(robot, simulation.q[0])[-2:])
    np.testing.assert_allclose(*ends, atol=1e-9)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("n", [1, 5, 8, 9, 40])
def test_the_inverse_mass_matrix_is_what_unit_forces_accelerate(n, floating, rng):
    model = engine.tree(n, prismatic=0.3, spherical=0.2, floating=floating).with_gravity((0, 0, 0))
    q, rest = model.random(rng, 3), np.zeros(model.nv)
    inverse = engine.inverse_mass_matrix(model, q)
    np.testing.assert_array_equal(inverse, np.swapaxes(inverse, 1, 2))
    np.testing.assert_array_equal(engine.inverse_mass_matrix(model, q[1]), inverse[1])
    for robot in range(3):
        alone = [engine.forward_dynamics(model, q[robot], rest, unit, "abia", "cpu") for unit in np.eye(model.nv)]
        as_told = (np.array(alone) + np.transpose(alone)) / 2  # by another text than the matrix: alike to rounding
        np.testing.assert_allclose(inverse[robot], as_told, rtol=0, atol=1e-12 * np.abs(as_told).max())
        np.testing.assert_allclose(
            inverse[robot] @ engine.mass_matrix(model, q[robot]), np.eye(model.nv), rtol=0, atol=1e-9
        )


def test_the_inverse_mass_matrix_of_mimic_joints_and_of_none(example_robots, rng):
    path = next(path for path in example_robots if path.stem == "panda")
    model = engine.load(path)
    assert model.has_mimic
    q = model.random(rng, 2)
    product = engine.inverse_mass_matrix(model, q) @ engine.mass_matrix(model, q)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(model.nv), product.shape), rtol=0, atol=1e-9)
    massless = dataclasses.replace(
        engine.chain(1), mass=np.zeros(1), first_moment=np.zeros((1, 3)), inertia=np.zeros((1, 3, 3))
    )
    with pytest.raises(ArithmeticError, match="the mass matrix has no inverse; a joint moves no inertia"):
        engine.inverse_mass_matrix(massless, [0.1])


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_extreme_mass_ratios_keep_the_residual(ratio, rng):
    model = alternating(20, ratio)
    q, v, tau = state(model, rng)
    assert residual(model, q, v, tau, engine.forward_dynamics(model, q, v, tau)) <= LEFT


def test_a_2000_link_chain_runs_in_linear_memory(rng):
    import tracemalloc

    peaks = []
    for n in (500, 2000):
        model = engine.chain(n)
        q, v, tau = state(model, rng)
        engine.forward_dynamics(model, q, v, tau)
        tracemalloc.start()
        fd = engine.ForwardDynamics(model)
        assert np.all(np.isfinite(fd(q, 0.01 * v, tau)))
        engine.Simulation(model, dt=1e-4).step(3)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 4.5 * peaks[0]


@pytest.mark.parametrize(
    "model", [engine.chain(9, prismatic=0.4), engine.tree(15, floating=True)], ids=lambda model: model.name
)
def test_algorithms_agree_and_so_do_their_matrices(model, rng):
    q, v, tau = state(model, rng, 20)
    a = engine.forward_dynamics(model, q, v, tau, algorithm="abia")
    b = engine.forward_dynamics(model, q, v, tau, algorithm="jsiia")
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(a).max())
    M, h = engine.mass_matrix(model, q), engine.bias(model, q, v)
    np.testing.assert_allclose((M @ a[..., None])[..., 0] + h, tau, atol=1e-10)
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))


@pytest.mark.written_out
def test_float32_is_served_and_close(rng):
    model = engine.chain(7)
    q, v, tau = state(model, rng, 50)
    exact = engine.forward_dynamics(model, q, v, tau)
    answer = engine.forward_dynamics(model, q, v, tau, dtype="float32")
    assert answer.dtype == np.float32
    assert np.linalg.norm(answer - exact) < 1e-4 * np.linalg.norm(exact)


def test_kinetic_energy_is_that_of_the_mass_matrix_and_power_balances(rng):
    model = engine.tree(12, floating=True, prismatic=0.3)
    q, v, _tau = state(model, rng)
    kinetic, _ = engine.energy(model, q, v)
    assert kinetic == pytest.approx(0.5 * v @ engine.mass_matrix(model, q) @ v, rel=1e-12)


def test_gravity_is_the_gradient_of_the_potential(rng):
    model = engine.tree(8, prismatic=0.3)
    q, h = model.random(rng), 1e-6
    gradient = [
        (engine.energy(model, q + h * e, 0 * q)[1] - engine.energy(model, q - h * e, 0 * q)[1]) / (2 * h)
        for e in np.eye(8)
    ]
    np.testing.assert_allclose(gradient, engine.bias(model, q, 0 * q), atol=1e-7)


def test_link_poses_follow_the_home_transforms(rng):
    model = engine.chain(5, prismatic=0.5)
    q = model.random(rng)
    pose, expected = np.eye(4), [np.eye(4)]
    for i in range(5):
        home, joint = np.eye(4), np.eye(4)
        home[:3, :3], home[:3, 3] = model.home_rotation[i], model.home_position[i]
        twist = np.zeros(6)
        twist[2 if model.joints[i].kind == "continuous" else 5] = q[i]
        joint[:3, :3], joint[:3, 3] = lie.exp(twist)
        pose = pose @ home @ joint
        expected.append(pose)
    np.testing.assert_allclose(engine.link_poses(model, q), expected, atol=1e-14)


def test_momentum_is_the_sum_over_links(rng):
    model = engine.tree(6, floating=True)
    q, v, _ = state(model, rng)
    h = 1e-6
    moved = q.copy()
    simulation = engine.Simulation(model.with_gravity((0, 0, 0)), dt=h, integrator="rk4", q=q, v=v)
    simulation.step(1)
    moved = simulation.q[0]
    before, after = (engine.link_poses(model, x)[1:] for x in (q, moved))
    centers = model.first_moment / model.mass[:, None]
    positions = [pose[:, :3, :3] @ centers[..., None] + pose[:, :3, 3:] for pose in (before, after)]
    linear = (model.mass[:, None] * (positions[1] - positions[0])[..., 0] / h).sum(0)
    np.testing.assert_allclose(engine.momentum(model, q, v)[3:], linear, atol=1e-4)


def test_momentum_is_what_the_mass_matrix_gives_a_free_base(rng):
    """Its first six rows, as a wrench on the base body; about the world's origin."""
    model = engine.tree(25, floating=True, prismatic=0.3, spherical=0.3)
    q, v, _ = state(model, rng, 3)
    n, f = np.split((engine.mass_matrix(model, q)[:, :6] @ v[..., None])[..., 0], 2, -1)
    base = engine.link_poses(model, q)[:, 1]
    n, f = ((base[:, :3, :3] @ x[..., None])[..., 0] for x in (n, f))
    expected = np.concatenate([n + np.cross(base[:, :3, 3], f), f], -1)
    np.testing.assert_allclose(engine.momentum(model, q, v), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.written_out
def test_a_robot_gets_the_same_answer_wherever_it_stands_in_a_batch(rng):
    model = engine.tree(10, floating=True)
    q, v, tau = state(model, rng, 37)
    whole = engine.forward_dynamics(model, q, v, tau)
    np.testing.assert_array_equal(whole, engine.forward_dynamics(model, q, v, tau))
    order = rng.permutation(37)
    np.testing.assert_array_equal(whole[order], engine.forward_dynamics(model, q[order], v[order], tau[order]))


def test_large_angles_keep_their_accuracy(rng):
    model = engine.chain(4)
    q, v, tau = state(model, rng)
    near = engine.forward_dynamics(model, q, v, tau)
    for turns in (1000, 100_000, 1_000_000):
        far = engine.forward_dynamics(model, q + 2 * np.pi * turns, v, tau)
        assert np.linalg.norm(far - near) < 1e-15 * turns * 100 * np.linalg.norm(near)


def test_what_numpy_users_pass_is_taken(rng):
    model = engine.chain(3)
    q, v, tau = state(model, rng)
    fd = engine.ForwardDynamics(model)
    expected = fd(q, v, tau)
    np.testing.assert_array_equal(fd(list(q), tuple(v), tau), expected)
    np.testing.assert_array_equal(fd(np.repeat(q, 2)[::2], v, tau), expected)
    read_only = q.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(fd(read_only, v, tau), expected)
    np.testing.assert_allclose(fd(q.astype(np.float32), v, tau), expected, rtol=1e-4)
    assert fd(q[None], v, tau).shape == (1, 3)
    out = np.empty(3)
    assert fd(q, v, tau, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"q": np.zeros(4)}, ValueError, r"q has shape \(4,\); expected \(3,\) or \(batch, 3\)"),
        ({"v": np.zeros((2, 2))}, ValueError, r"v has shape \(2, 2\)"),
        ({"tau": [0, np.nan, 0]}, ValueError, r"tau\[0, 1\] is nan|tau\[1\] is nan"),
        ({"q": [0, np.inf, 0]}, ValueError, r"q\[1\] is inf"),
        ({"q": "abc"}, TypeError, "q is the 3 coordinates"),
        ({"q": np.zeros((4, 3)), "v": np.zeros((5, 3))}, ValueError, "batch sizes differ"),
        ({"algorithm": "magic"}, ValueError, "algorithm is 'magic'; expected one of"),
        ({"device": "tpu"}, ValueError, "device is 'tpu'; expected one of"),
        ({"dtype": "int8"}, ValueError, "dtype is 'int8'; expected one of"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(change, error, words):
    arguments = {"q": np.zeros(3), "v": np.zeros(3), "tau": np.zeros(3)} | change
    with pytest.raises(error, match=words) as caught:
        engine.forward_dynamics(engine.chain(3), **arguments)
    assert "\n" not in str(caught.value)


def test_out_of_the_wrong_kind_is_refused():
    fd = engine.ForwardDynamics(engine.chain(3))
    read_only = np.empty(3)
    read_only.flags.writeable = False
    for out in (np.empty(4), np.empty(3, np.float32), np.empty(6)[::2], read_only):
        with pytest.raises(ValueError, match="out has shape"):
            fd(np.zeros(3), np.zeros(3), np.zeros(3), out=out)
    with pytest.raises(TypeError, match="out is a list"):
        fd(np.zeros(3), np.zeros(3), np.zeros(3), out=[0.0, 0.0, 0.0])


def test_a_quaternion_that_is_no_rotation_is_refused():
    model = engine.tree(3, floating=True)
    with pytest.raises(ValueError, match="the quaternion of joint 'joint1' in q is zero"):
        engine.link_poses(model, np.zeros(model.nq))


def test_a_joint_that_moves_no_inertia_is_an_error_not_a_nan():
    model = engine.chain(2)
    empty = dataclasses.replace(
        model, mass=np.array([1, 0]), first_moment=np.zeros((2, 3)), inertia=model.inertia * [[[1]], [[0]]]
    )
    with pytest.raises(ArithmeticError, match="not finite"):
        engine.forward_dynamics(empty, [0.1, 0.2], [0, 0], [0, 1])
