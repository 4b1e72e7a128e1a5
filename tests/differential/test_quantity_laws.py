"""The engine's quantities of random robots agree with `algorithms.motion`: sums over bodies, by definition."""

import numpy as np
import pytest

import engine
from engine import lie
from engine.algorithms import motion as by_definition
from engine.controller import Controller
from engine.model import WORLD
from engine.rollout import Recorder
from engine.validation import Array
from tests.differential.cases import Case, case
from tests.differential.laws import CHAINS, EIGHT, FIELD, IMPLICIT, OWN_FIELD, PLAIN, TREES, chances, holds, same_bits
from tests.shaped_trees import SHAPES, shaped

MANY = [pytest.param(8, id="some"), pytest.param(200, id="many", marks=pytest.mark.slow)]


def states(found: Case) -> tuple[engine.Model, Array, Array]:
    q, v = (np.array(found.state[name]).reshape(found.batch, -1) for name in "qv")
    return found.model(), q, v


def assert_near(found: Array, expected: Array, scale: float, what: str) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * max(scale, 1e-9), err_msg=what)


def kinematics_are_by_definition(found: Case) -> None:
    """Poses, twists, momentum and energy; of a batch, and of one."""
    model, q, v = states(found)
    poses, twists = engine.link_poses(model, q), engine.link_twists(model, q, v)
    momentum, energies = engine.momentum(model, q, v), engine.energy(model, q, v)
    for k in range(len(q)):
        at = by_definition.motion(model, q[k], v[k])
        size = 1 + float(np.abs(v[k]).max(initial=0))
        for link, body in enumerate(model.link_body.tolist()):
            R, p = by_definition.frame_of_link(model, at, link)
            assert_near(poses[k, link, :3, :3], R, 1, "rotation")
            assert_near(poses[k, link, :3, 3], p, 10, "position")
            assert np.array_equal(poses[k, link, 3], [0, 0, 0, 1])
            V = np.zeros(6) if body == WORLD else at.V[body]
            assert_near(twists[k, link], [*V[:3], *(V[3:] + np.cross(V[:3], p))], 100 * size, "twist")
        whole, kinetic, potential = np.zeros(6), 0.0, 0.0
        for body in range(len(model.parent)):
            own = lie.Ad(*lie.inverse(at.R[body], at.p[body]))
            h = own.T @ model.J[body] @ own @ at.V[body]
            whole, kinetic = whole + h, kinetic + at.V[body] @ h / 2
            potential -= model.gravity @ (model.mass[body] * at.p[body] + at.R[body] @ model.first_moment[body])
        weight = float(model.mass.sum()) * size**2 * 100
        assert_near(momentum[k], whole, weight, "momentum")
        assert_near(np.array([x[k] for x in energies]), np.array([kinetic, potential]), weight, "energy")
        np.testing.assert_allclose(engine.link_poses(model, q[k]), poses[k], rtol=0, atol=1e-12)
        np.testing.assert_allclose(engine.link_twists(model, q[k], v[k]), twists[k], rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(engine.momentum(model, q[k], v[k]), momentum[k], rtol=0, atol=1e-12 * weight)


def dynamics_are_by_definition(found: Case, device: str = "cpu") -> None:
    """The mass matrix and its inverse, bias, inverse and forward dynamics under wrenches, by every algorithm."""
    model, q, v = states(found)
    rng, links = chances(found), len(model.link_names)
    a = rng.standard_normal(v.shape)
    wrench = rng.standard_normal((len(q), links, 6)) * max(float(model.mass.sum()) / max(len(model.mass), 1), 1e-3)
    M, bias = engine.mass_matrix(model, q), engine.bias(model, q, v)
    tau, pushed = engine.inverse_dynamics(model, q, v, a), engine.inverse_dynamics(model, q, v, a, wrench)
    algorithms = [name for name in engine.algorithms(model, device) if "cpu" in device]
    given = {name: engine.forward_dynamics(model, q, v, tau, name, device) for name in algorithms}
    driven = {name: engine.forward_dynamics(model, q, v, pushed, name, device, external=wrench) for name in algorithms}
    inverse = engine.inverse_mass_matrix(model, q)
    for k in range(len(q)):
        at = by_definition.motion(model, q[k], v[k])
        exact, h = by_definition.equations_of_motion(model, at)
        _, under = by_definition.equations_of_motion(model, at, wrench[k])
        scale = float(np.abs(exact).max(initial=0)) * (1 + float(np.abs(v[k]).max(initial=0)) ** 2) * 100
        assert_near(M[k], exact, scale, "M")
        assert np.array_equal(M[k], M[k].T)
        assert_near(bias[k], h, scale, "bias")
        assert_near(tau[k], exact @ a[k] + h, scale * 10, "inverse dynamics")
        assert_near(pushed[k], exact @ a[k] + under, scale * 10, "inverse dynamics under wrenches")
        size = np.sqrt(np.diag(exact))
        condition = np.linalg.cond(exact / np.outer(size, size)) if model.nv else 1.0
        off = 1e-12 * condition * (scale + np.abs(tau[k]).max(initial=0)) / size.min(initial=np.inf)
        assert_inverse(inverse[k], exact, size, condition)
        for name in algorithms:
            for kind, answer in (("by", given), ("under wrenches by", driven)):
                assert np.all(np.abs(answer[name][k] - a[k]) * size <= off * size.max()), (kind, name)
        one = engine.forward_dynamics(model, q[k], v[k], pushed[k], external=wrench[k])
        assert np.all(np.abs(one - a[k]) * size <= off * size.max())
    _points_are_mobile(found, inverse)


def assert_inverse(inverse: Array, exact: Array, size: Array, condition: float) -> None:
    scaled = inverse * np.outer(size, size)
    expected = np.linalg.inv(exact / np.outer(size, size)) if len(size) else scaled
    assert_near(scaled, expected, 10 * condition**2, "the mass matrix's inverse")


def _points_are_mobile(found: Case, inverse: Array) -> None:
    model, q, v = states(found)
    rng = chances(found, 5)
    link, point = int(rng.integers(len(model.link_names))), rng.uniform(-0.3, 0.3, 3)
    at = by_definition.motion(model, q[0], v[0])
    R, p = by_definition.frame_of_link(model, at, link)
    J = by_definition.point_jacobian(model, at, int(model.link_body[link]), R @ point + p)
    expected = J @ inverse[0] @ J.T
    found_there = engine.point_mobility(model, q[0], link, point)
    np.testing.assert_allclose(found_there, expected, rtol=0, atol=1e-8 * np.abs(expected).max(initial=1e-3))


def rollouts_are_steps(found: Case) -> None:
    """`rollout` gives the states of a simulation that is stepped; from a state or a batch, of what is kept alone."""
    settings = {k: x for k, x in found.settings.items() if k not in ("parameters", "on_divergence")}
    parameters, scene, model = found.parameters(), found.scene_object(), found.model()
    rng, n, every = chances(found, 3), 6, 2
    controls = np.array(found.state["tau"])[:, None] * rng.uniform(0, 2, (found.batch, n, 1))
    q, v, target = (np.array(found.state[name]) for name in ("q", "v", "target"))
    given = {"parameters": parameters, "scene": scene, "device": "cpu", "target": target} | settings
    simulation = engine.Simulation(model, found.batch, q=q, v=v, **{k: x for k, x in given.items() if k != "target"})
    simulation.target[:] = target
    kept = [simulation.state()]
    try:
        for k in range(n):
            simulation.tau[:] = controls[:, k]
            simulation.step()
            kept.append(simulation.state())
    except engine.Diverged:
        return
    motion = engine.rollout(model, q, v, controls, every=every, **given)
    for x, y in zip((motion.q, motion.v), zip(*kept[::every], strict=True), strict=True):
        assert same_bits(np.array(x), np.stack(y, 1))
    assert same_bits(np.array(motion.tau), np.concatenate([controls[:, :1], controls[:, every - 1 :: every]], 1))
    np.testing.assert_allclose(motion.time, np.arange(len(motion.time)) * every * settings["dt"], rtol=1e-14)
    partly = engine.rollout(model, q, v, controls, every=every, keep=("v",), **given)
    assert partly.q is None
    assert partly.tau is None
    assert same_bits(np.array(partly.v), np.array(motion.v))
    held = engine.rollout(model, q, v, controls[0, 0], steps=n, every=n, **given)
    simulation.reset(q, v)
    simulation.target[:], simulation.tau[:] = target, controls[0, 0]
    simulation.step(n)
    assert same_bits(np.array(held.q)[:, -1], simulation.q)


@pytest.mark.parametrize("count", MANY)
def test_kinematics_are_by_definition(count: int) -> None:
    holds(kinematics_are_by_definition, (PLAIN, IMPLICIT), count)


@pytest.mark.parametrize("count", MANY)
def test_dynamics_are_by_definition(count: int) -> None:
    holds(dynamics_are_by_definition, (PLAIN, TREES, CHAINS), count // 2)


def test_a_mass_matrix_of_followers_is_symmetric() -> None:
    """To the bit: products with the coupling left a difference in this one."""
    dynamics_are_by_definition(case(4001, TREES))


@pytest.mark.parametrize("count", MANY)
def test_rollouts_are_steps(count: int) -> None:
    holds(rollouts_are_steps, (EIGHT, PLAIN, FIELD, OWN_FIELD), count // 4)


CONTROLLER = """
import numpy as np
{period}
def control(t, q, v):
    return 0.1 * np.sin(3 * t + np.arange(len(v))) - 0.02 * v * np.cos(q.sum())
"""


@pytest.mark.parametrize("period", ["", "PERIOD = 0.003"])
def test_controllers_are_asked_at_each_of_their_steps(period: str, tmp_path) -> None:
    """A run by a controller equals one with its outputs set by hand; a recorded run repeats it."""
    path, scope = tmp_path / "sway.py", {}
    path.write_text(CONTROLLER.format(period=period), "utf-8")
    exec(path.read_text(), scope)
    found = case(3 if period else 2, PLAIN)
    model, dt, n = found.model(), 1e-3, 12
    q, v = (np.array(found.state[name][0]) for name in "qv")
    with Controller(path, model) as controller:
        driven = engine.Simulation(model, dt=dt, q=q, v=v, algorithm="abia", device="cpu", timed=False)
        recorder = Recorder(driven, n, controller=controller)
        recorder.run(lambda _: None)
    other = engine.Simulation(model, dt=dt, q=q, v=v, algorithm="abia", device="cpu", timed=False)
    kept = recorder.trajectory()
    for k in range(n):
        if k % (3 if period else 1) == 0:
            tau = scope["control"](other.time, other.q[0], other.v[0])
        other.tau[0] = tau
        np.testing.assert_array_equal(recorder.controls[0, k], tau)
        other.step()
        np.testing.assert_array_equal(kept.q[k + 1], other.q[0])
        np.testing.assert_array_equal(kept.v[k + 1], other.v[0])


@pytest.mark.parametrize("shape", ["chain", "tree", *SHAPES])
def test_generated_robots_are_read_back(shape: str, tmp_path) -> None:
    """The URDF of a generated robot is that robot: every array, but for rounding, and every name."""
    kinds = {"prismatic": 0.3, "spherical": 0.2}
    for seed in range(4):
        n = 2 + 3 * seed
        if shape == "chain":
            model = engine.chain(n, seed, straight=seed == 1, **kinds)
        elif shape == "tree":
            model = engine.tree(n, seed, floating=bool(seed % 2), **kinds)
        else:
            model = shaped(shape, n, seed, floating=bool(seed % 2), **kinds)
        path = tmp_path / f"{seed}.urdf"
        path.write_text(engine.to_urdf(model), "utf-8")
        again = engine.load(path)
        assert (again.name, again.link_names, again.joints) == (model.name, model.link_names, model.joints)
        for name in ("parent", "kind", "link_body", "lower", "upper", "velocity_limit", "effort_limit"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
        for name in ("home_rotation", "home_position", "mass", "first_moment", "inertia", "link_rotation",
                     "link_position", "damping", "friction", "gravity"):  # fmt: skip
            np.testing.assert_allclose(getattr(again, name), getattr(model, name), atol=1e-13, err_msg=name)
        for x, y in zip(again.visuals, model.visuals, strict=True):
            assert (x.link, x.shape, x.size) == (y.link, y.shape, y.size)
            np.testing.assert_allclose(x.pose, y.pose, atol=1e-13)
