"""Many robots on the GPU, a thread each: ABIA, inverse dynamics and mass matrices against the CPU's."""

from typing import Any

import numpy as np
import pytest

import engine
from engine.bench.states import State, residual
from engine.files import ROBOTS
from engine.model import Model

pytestmark = pytest.mark.gpu

MODELS = {
    **{f"chain{n}": engine.chain(n) for n in (1, 2, 10, 64, 127, 128, 129, 1000)},
    "prismatic": engine.chain(6, prismatic=1.0),
    "mixed": engine.chain(9, seed=3, prismatic=0.4),
    "mixed-long": engine.chain(150, seed=4, prismatic=0.4),
    "tree": engine.tree(12, seed=2, prismatic=0.3),
    "tree-long": engine.tree(300, seed=3, prismatic=0.3),
    "floating": engine.tree(14, seed=5, floating=True),
    "balls": engine.chain(5, spherical=1.0),
    "balls-long": engine.tree(70, seed=7, prismatic=0.2, floating=True, spherical=0.4),
    "floating-long": engine.tree(80, seed=6, prismatic=0.2, floating=True),
    **{path.stem: engine.load(path) for path in sorted(ROBOTS.glob("*.urdf"))},
    "arm7-floating": engine.load(ROBOTS / "arm7.urdf", floating=True),
}
BOUND = {"float64": 1e-12, "float32": 2e-4}


def state(model: Model, rng: np.random.Generator, batch: int) -> tuple[State, np.ndarray]:
    """A state and its accelerations, none of which is small: residuals are relative to the forces that make them."""
    q, a = model.random(rng, batch), rng.choice([-1, 1], (batch, model.nv)) * rng.uniform(0.5, 1, (batch, model.nv))
    v = rng.uniform(-1, 1, (batch, model.nv)) / np.sqrt(model.nv)
    return State(q, v, engine.inverse_dynamics(model, q, v, a)), a


def poisoned(shape: tuple[int, ...], dtype: str) -> Any:
    import cupy

    return cupy.full(shape, cupy.nan, dtype)


def to_device(dtype: str, *arrays: np.ndarray) -> list[Any]:
    import cupy

    return [cupy.asarray(x, dtype) for x in arrays]


def on_gpu(model: Model, dtype: str, at: State) -> np.ndarray:
    from engine.cuda.rigid_body.thread_per_robot import Abia

    out = poisoned(at.v.shape, dtype)
    Abia(model, dtype)(*to_device(dtype, *at), out)
    return out.get()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_forward_dynamics(name: str, dtype: str, chance: np.random.Generator) -> None:
    model = MODELS[name]
    for batch in (1, 3, 64) if model.nv > 64 else (1, 3, 64, 1000):
        at, _ = state(model, chance, batch)
        at = State(*(x.astype(dtype).astype(np.float64) for x in at))
        left = residual(model, at, on_gpu(model, dtype, at))
        on_cpu = residual(model, at, engine.forward_dynamics(model, *at, algorithm="abia", dtype=dtype))
        assert np.max(left) <= max(BOUND[dtype], 8 * np.max(on_cpu))


def test_chains_of_any_length(chance: np.random.Generator) -> None:
    for n in chance.choice(np.arange(3, 64), 4, replace=False):
        model = engine.chain(int(n), seed=int(n), prismatic=0.2)
        at, _ = state(model, chance, 5)
        assert np.max(residual(model, at, on_gpu(model, "float64", at))) <= BOUND["float64"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_inverse_dynamics_and_mass_matrix(name: str, dtype: str, chance: np.random.Generator) -> None:
    from engine.cuda.rigid_body.thread_per_robot import InverseDynamics, MassMatrix

    model, batch, bound = MODELS[name], 67, 2e3 * np.finfo(dtype).eps
    at, a = state(model, chance, batch)
    q, v, acceleration = to_device(dtype, at.q, at.v, a)
    tau = poisoned(at.v.shape, dtype)
    InverseDynamics(model, dtype)(q, v, acceleration, tau)
    np.testing.assert_allclose(tau.get(), at.tau, rtol=0, atol=bound * np.abs(at.tau).max())
    if model.nv <= 150:
        M = poisoned((batch, model.nv, model.nv), dtype)
        MassMatrix(model, dtype)(q, M)
        expected = engine.mass_matrix(model, at.q)
        np.testing.assert_allclose(M.get(), expected, rtol=0, atol=bound * np.abs(expected).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["chain10", "humanoid", "chain1000"])
def test_the_same_bits_in_every_run_and_place(name: str, dtype: str, chance: np.random.Generator) -> None:
    model = MODELS[name]
    at, _ = state(model, chance, 77)
    first, again = on_gpu(model, dtype, at), on_gpu(model, dtype, at)
    np.testing.assert_array_equal(first, again)
    backwards = on_gpu(model, dtype, State(*(x[::-1] for x in at)))
    np.testing.assert_array_equal(first, backwards[::-1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_few_robots_and_many_agree(dtype: str, chance: np.random.Generator) -> None:
    model, batch = MODELS["chain10"], 20000
    at, _ = state(model, chance, batch)
    many = on_gpu(model, dtype, at)
    few = on_gpu(model, dtype, State(*(x[:9] for x in at)))
    np.testing.assert_allclose(few, many[:9], rtol=1e-9 if dtype == "float64" else 1e-2)
    assert np.all(np.isfinite(many))


@pytest.mark.parametrize("angle", [0.0, np.pi, -1e-30, 3.7e4, -5.1e5])
def test_angles_of_any_size(angle: float) -> None:
    model = engine.chain(3)
    at = State(np.full((1, 3), angle), np.full((1, 3), 0.3), np.full((1, 3), 0.1))
    expected = engine.forward_dynamics(model, *at, algorithm="abia")
    np.testing.assert_allclose(on_gpu(model, "float64", at), expected, rtol=1e-10)


def test_nothing_is_allocated_after_the_first_call(chance: np.random.Generator) -> None:
    import cupy

    from engine.cuda.rigid_body.thread_per_robot import Abia

    for name in ("chain10", "chain1000"):
        model = MODELS[name]
        arrays = to_device("float64", *state(model, chance, 40)[0])
        out, forward = poisoned((40, model.nv), "float64"), Abia(model, "float64")
        forward(*arrays, out)
        used = cupy.get_default_memory_pool().total_bytes(), cupy.get_default_memory_pool().used_bytes()
        forward(*arrays, out)
        assert used == (cupy.get_default_memory_pool().total_bytes(), cupy.get_default_memory_pool().used_bytes())
