"""External wrenches on the GPU: the forces that they are at the joints, and the motion that they bring about."""

from pathlib import Path

import numpy as np
import pytest
from held_trees import free

import engine
from engine.cuda import dynamics
from engine.model import Model, poses
from engine.model.joints import BODY_JOINTS

pytestmark = pytest.mark.gpu

ROBOTS = Path(__file__).parents[2] / "robots"
MODELS = {
    **{f"chain{n}": engine.chain(n, prismatic=0.2) for n in (1, 9, 128, 300)},
    "tree": engine.tree(60, seed=2, prismatic=0.3),
    "floating": engine.tree(14, seed=5, floating=True),
    "balls": engine.tree(14, seed=2, prismatic=0.3, spherical=0.4),
    **{name: engine.load(ROBOTS / f"{name}.urdf") for name in ("arm7", "scara", "quadruped", "humanoid")},
}


def link_motions(model: Model, q: np.ndarray) -> np.ndarray:
    """J (batch, links, 6, nv): the links' twists in their own frames, from their poses alone.

    A joint is a screw in the world: its body's axis, seen from there. What it carries moves by it.
    """
    bodies, links = poses.body_poses(model, q), poses.link_poses(model, q)
    J = np.zeros((len(q), len(model.link_names), 6, model.nv))
    for joint, start in enumerate(model.v_start):
        R, p = bodies[:, joint, :3, :3], bodies[:, joint, :3, 3]
        for column, axis in enumerate(BODY_JOINTS[int(model.kind[joint])].columns, start):
            turn = R[:, :, axis] if axis < 3 else np.zeros_like(p)
            slide = np.zeros_like(p) if axis < 3 else R[:, :, axis - 3]
            for link in carried(model, joint):
                own, arm = links[:, link, :3, :3], links[:, link, :3, 3] - p
                J[:, link, :3, column] = (np.swapaxes(own, 1, 2) @ turn[..., None])[..., 0]
                at_link = slide + np.cross(turn, arm)
                J[:, link, 3:, column] = (np.swapaxes(own, 1, 2) @ at_link[..., None])[..., 0]
    return J


def carried(model: Model, body: int) -> list[int]:
    """The links on a body and on all beyond it."""
    links = []
    for link, here in enumerate(model.link_body):
        while here > body:
            here = model.parent[here]
        if here == body:
            links.append(link)
    return links


def joint_forces(model: Model, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Σ Jᵢᵀ wᵢ (batch, nv)."""
    return np.asarray(np.einsum("bliv,bli->bv", link_motions(model, q), np.broadcast_to(w, (len(q), *w.shape[-2:]))))


def wrenches(model: Model, batch: int, rng: np.random.Generator) -> np.ndarray:
    """Some on every link of every robot, links of the world included."""
    return rng.uniform(-3, 3, (batch, len(model.link_names), 6))


def moving(model: Model, batch: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return model.random(rng, batch), *(rng.uniform(-0.3, 0.3, (batch, model.nv)) for _ in range(2))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_wrenches_become_forces_at_the_joints(name: str, dtype: str, chance: np.random.Generator) -> None:
    import cupy

    model = MODELS[name]
    for batch in (1, 3, 70):
        q, _, tau = moving(model, batch, chance)
        w = wrenches(model, batch, chance)
        for given in (w, w[:1]):
            there = [cupy.asarray(x, dtype) for x in (q, tau, given)]
            expected = tau + joint_forces(model, q, given)
            scale = 1 + np.abs(expected).max()
            found = dynamics.with_external(model, *there).get()
            np.testing.assert_allclose(
                found / scale, expected / scale, rtol=0, atol=1e-13 if dtype == "float64" else 1e-5
            )


@pytest.mark.parametrize("name", MODELS)
def test_inverse_dynamics_takes_them(name: str, chance: np.random.Generator) -> None:
    import cupy

    model = MODELS[name]
    q, v, a = moving(model, 5, chance)
    w = wrenches(model, 5, chance)
    there = [cupy.asarray(x) for x in (q, v, a, w)]
    expected = engine.inverse_dynamics(model, q, v, a) - joint_forces(model, q, w)
    found = dynamics.inverse_dynamics(model, *there).get()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("name", ["chain9", "floating", "humanoid"])
def test_forward_dynamics_take_them_from_either_side(name: str, chance: np.random.Generator) -> None:
    import cupy

    model = MODELS[name]
    q, v, tau = moving(model, 5, chance)
    w = wrenches(model, 5, chance)
    expected = engine.forward_dynamics(model, q, v, tau, device="cpu", external=w)
    tolerance = 1e-9 * np.abs(expected).max()
    for algorithm in engine.algorithms(model, "cuda"):
        fd = engine.ForwardDynamics(model, 5, algorithm, "cuda")
        there = fd(*map(cupy.asarray, (q, v, tau)), external=cupy.asarray(w))
        np.testing.assert_allclose(there.get(), expected, rtol=0, atol=tolerance, err_msg=algorithm)
        np.testing.assert_allclose(fd(q, v, tau, external=w), expected, rtol=0, atol=tolerance, err_msg=algorithm)
        alone = fd(*(cupy.asarray(x[2]) for x in (q, v, tau)), external=cupy.asarray(w[2]))
        np.testing.assert_allclose(alone.get(), expected[2], rtol=0, atol=tolerance, err_msg=algorithm)


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize(
    ("name", "algorithm"), [("chain9", "abia"), ("chain9", "dca"), ("quadruped", "abia"), ("balls", "abia")]
)
def test_robots_pushed_on_the_gpu_go_as_on_the_cpu(
    name: str, algorithm: str, integrator: str, limits: bool, chance: np.random.Generator
) -> None:
    model = MODELS[name] if limits else free(MODELS[name])
    q, v, tau = moving(model, 3, chance)
    w = wrenches(model, 3, chance)
    pushed = [
        engine.Simulation(model, 3, 1e-3, integrator, way, limits=limits, q=q, v=v, device=device)
        for device, way in (("cpu", "abia"), ("cuda", algorithm))
    ]
    for simulation in pushed:
        simulation.step(5)  # a wrench may come in the middle of a run
        simulation.tau[:], simulation.wrench[:] = simulation.array(tau), simulation.array(w)
        simulation.step(20)
    here, there = pushed
    scale = 1 + np.abs(here.v).max()
    np.testing.assert_allclose(there.v.get() / scale, here.v / scale, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there.q.get(), here.q, rtol=0, atol=1e-9)


def test_single_precision_goes_nearly_so(chance: np.random.Generator) -> None:
    model = MODELS["arm7"]
    q, v, _ = moving(model, 3, chance)
    w = wrenches(model, 3, chance)
    here, there = (
        engine.Simulation(model, 3, q=q, v=v, algorithm="abia", device=device, dtype=dtype)
        for device, dtype in (("cpu", "float64"), ("cuda", "float32"))
    )
    for simulation in (here, there):
        simulation.wrench[:] = simulation.array(w)
        simulation.step(10)
    np.testing.assert_allclose(there.v.get(), here.v, rtol=0, atol=1e-3 * (1 + np.abs(here.v).max()))


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize(("name", "algorithm"), [("humanoid", "abia"), ("chain300", "dca")])
def test_wrenches_of_zero_change_no_bit(
    name: str, algorithm: str, integrator: str, chance: np.random.Generator
) -> None:
    """An array of zero wrenches gives the motion without the array."""
    model = MODELS[name]
    q, v, _ = moving(model, 3, chance)
    plain, asked = (engine.Simulation(model, 3, 1e-4, integrator, algorithm, q=q, v=v, device="cuda") for _ in range(2))
    assert not asked.wrench.get().any()
    for simulation in (plain, asked):
        simulation.step(20)
    np.testing.assert_array_equal(asked.q.get(), plain.q.get())
    np.testing.assert_array_equal(asked.v.get(), plain.v.get())
