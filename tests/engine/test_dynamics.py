"""Forward and inverse dynamics compared with Pinocchio and each other, and their refusals."""

import dataclasses

import numpy as np
import pytest
from conftest import EXAMPLE_ROBOTS
from masses import alternating
from pinocchio_oracle import Oracle

import engine

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


@pytest.mark.written_out
def test_float32_is_served_and_close(rng):
    model = engine.chain(7)
    q, v, tau = state(model, rng, 50)
    exact = engine.forward_dynamics(model, q, v, tau)
    answer = engine.forward_dynamics(model, q, v, tau, dtype="float32")
    assert answer.dtype == np.float32
    assert np.linalg.norm(answer - exact) < 1e-4 * np.linalg.norm(exact)


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
