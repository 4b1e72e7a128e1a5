"""JSIIA on the GPU for any model: trees, free and ball joints, joints that mimic, robots in which nothing moves."""

import re

import numpy as np
import pytest
from mimics import mimics

import engine
from engine.bench.states import State, residual, state
from engine.cuda.rigid_body import joint_space
from engine.cuda.trees import jsiia
from engine.model import Model
from tests.shaped_trees import SHAPES, shaped

DTYPES = ("float64", "float32")
BOUND = {"float64": 1e-11, "float32": 1e-3}
MODELS = {
    "chain": engine.chain(9, seed=3, prismatic=0.4),
    "tree": engine.tree(12, seed=2, prismatic=0.3),
    "floating": engine.tree(14, seed=5, floating=True),
    "balls": engine.tree(30, seed=7, prismatic=0.2, floating=True, spherical=0.4),
    "ball": engine.chain(1, spherical=1.0),
    "snake": engine.tree(70, branching=0, floating=True),
    **{shape: shaped(shape, 40, prismatic=0.3, floating=shape == "legs") for shape in SHAPES},
    **{path.stem: engine.load(path) for path in sorted(engine.ROBOTS.glob("*.urdf"))},
    "arm7-floating": engine.load(engine.ROBOTS / "arm7.urdf", floating=True),
}

FOLLOWING = ("mimics1", "mimics2", "mimics3", "mimics4", "mimics-large")


@pytest.fixture
def robots(tmp_path):
    """All of them, with some whose joints mimic others."""
    small = [mimics(tmp_path, seed, floating=seed % 2 == 0) for seed in range(1, 5)]
    return MODELS | dict(zip(FOLLOWING, [*small, mimics(tmp_path, 9, 100)], strict=True))


@pytest.fixture
def still(tmp_path):
    path = tmp_path / "still.urdf"
    path.write_text('<robot name="still"><link name="base"/></robot>')
    return engine.load(path)


def pattern(model: Model) -> np.ndarray:
    """Which entries of GᵀMG and of its factor are not zero, found by eliminating numbers, the last velocity first."""
    M = engine.mass_matrix(model, model.random(np.random.default_rng(4)))
    found = np.abs(M) > 1e-12
    for k in range(model.nv - 1, -1, -1):
        before = found[k, :k]
        found[:k, :k] |= before[:, None] & before[None, :]
    return found


def path_of(parent: np.ndarray, k: int) -> list[int]:
    return [k, *(path_of(parent, int(parent[k])) if parent[k] >= 0 else [])]


def test_rows_hold_all_of_the_factor_and_without_mimic_joints_nothing_else(robots):
    for name, model in robots.items():
        rows, filled = joint_space.rows(model), pattern(model)
        assert rows.numbers == np.sum(rows.level + 1)
        for k in range(model.nv):
            path = path_of(rows.parent, k)
            assert len(path) == rows.level[k]
            assert set(np.flatnonzero(filled[k, : k + 1])) <= set(path), name
            if not model.has_mimic:
                bodies = path_of(joint_space.tree_velocities(model), k)
                assert path == bodies, name


@pytest.mark.parametrize("joints", [100, 127, 128, 129, 250, 256, 300])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_stands_in_constant_memory_fits(joints, dtype, tmp_path):
    """64 KiB, of which steps take 8 for what is known of the joints."""
    from engine.cuda.rigid_body import tree

    for model in (mimics(tmp_path, 1, joints, floating=True), engine.tree(joints, spherical=1.0)):
        tables = re.findall(
            r"__constant__ constexpr (int|double) \w+\[\] = {(.*)}", tree.preamble(model, dtype, True, 2)
        )
        sizes = [(8 if kind == "double" else 4) * (numbers.count(",") + 1) for kind, numbers in tables]
        assert tree.constant_bytes(model, dtype) + sum(sizes) + 8 * 1024 <= 64 * 1024


def test_tables_number_rows_depth_first_and_by_levels(robots):
    for name, model in robots.items():
        found = jsiia.tables(model)
        start, level, end, own = found.rows.T
        assert sorted(own) == list(range(model.nv)), name
        assert np.all(np.diff(level[found.by_level]) >= 0)
        assert len(found.entries) == joint_space.rows(model).numbers
        for p in range(model.nv):
            entries = found.entries[start[p] : start[p] + level[p] + 1]
            assert np.all(entries[:, 0] == p)
            assert entries[0, 1] == -1
            assert entries[-1, 1] == p
            beyond = [k for k in range(model.nv) if p in found.entries[start[k] : start[k] + level[k] + 1, 1]]
            assert beyond == list(range(p, end[p])), name


def solved(kernels, at: State, dtype: str) -> np.ndarray:
    import cupy

    out = cupy.full(at.v.shape, np.nan, dtype)
    kernels(*(cupy.asarray(x, dtype, order="C") for x in at), out)
    return out.get()


def rounded(at: State, dtype: str) -> State:
    return State(*(x.astype(dtype).astype(np.float64) for x in at))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*MODELS, *FOLLOWING])
def test_accelerations_are_those_of_the_cpu(name, dtype, robots, rng):
    from engine.cuda.rigid_body.thread_per_robot import Jsiia

    model = robots[name]
    for make in (jsiia.BlockPerRobot, Jsiia) if model.nv <= 64 else (jsiia.BlockPerRobot,):
        at = rounded(state(model, rng, 33), dtype)
        qdd = solved(make(model, dtype), at, dtype)
        on_cpu = engine.forward_dynamics(model, *at, algorithm="jsiia", dtype=dtype)
        bound = max(BOUND[dtype], 20 * np.max(residual(model, at, on_cpu)))
        assert np.max(residual(model, at, qdd)) <= bound, make.__name__
        if dtype == "float64":
            np.testing.assert_allclose(qdd, on_cpu, rtol=1e-6, atol=1e-6, err_msg=make.__name__)


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [1, 2, 31, 33, 3000, 100_000])
def test_batches_of_any_size_are_served(batch, robots, rng):
    model = robots["mimics2"] if batch > 31 else robots["humanoid"]
    q, v, tau = model.random(rng, batch), rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-1, 1, (batch, model.nv))
    dynamics = engine.ForwardDynamics(model, batch, "jsiia", "cuda")
    qdd = dynamics(q, v, tau)
    some = rng.integers(0, batch, 20)
    expected = engine.forward_dynamics(model, q[some], v[some], tau[some], algorithm="jsiia")
    np.testing.assert_allclose(qdd[some], expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(dynamics(q[::-1].copy(), v[::-1].copy(), tau[::-1].copy()), qdd[::-1])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_chains_and_many_agree(dtype, rng):
    model, batch = MODELS["chain"], 20_000
    at = rounded(state(model, rng, batch), dtype)
    kernels = jsiia.Jsiia(model, dtype)
    many, few = solved(kernels, at, dtype), solved(kernels, State(*(x[:50] for x in at)), dtype)
    np.testing.assert_allclose(
        few, many[:50], rtol=1e-8 if dtype == "float64" else 1e-2, atol=1e-2 * (dtype != "float64")
    )
    assert np.max(residual(model, at, many)) <= 10 * BOUND[dtype]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["mimics1", "mimics2", "mimics-large", "humanoid"])
def test_the_other_functions_take_joints_that_mimic(name, robots, rng):
    import cupy

    model, batch = robots[name], 40
    q, v, a = model.random(rng, batch), *rng.uniform(-1, 1, (2, batch, model.nv))
    external = rng.uniform(-1, 1, (batch, len(model.link_names), 6))
    there = [cupy.asarray(x) for x in (q, v, a, external)]
    for found, expected in (
        (engine.inverse_dynamics(model, *there), engine.inverse_dynamics(model, q, v, a, external)),
        (engine.inverse_dynamics(model, *there[:3]), engine.inverse_dynamics(model, q, v, a)),
        (engine.mass_matrix(model, there[0]), engine.mass_matrix(model, q)),
        (
            engine.forward_dynamics(model, *there[:3], algorithm="jsiia", external=there[3]),
            engine.forward_dynamics(model, q, v, a, algorithm="jsiia", external=external),
        ),
    ):
        np.testing.assert_allclose(found.get(), expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()))


@pytest.mark.gpu
def test_a_robot_in_which_nothing_moves_is_served(still):
    for algorithm in ("jsiia", "auto"):
        assert engine.ForwardDynamics(still, 3, algorithm, "cuda")(*np.zeros((3, 3, 0))).shape == (3, 0)


@pytest.mark.gpu
def test_a_joint_that_moves_no_inertia_is_told_of():
    import dataclasses

    model = engine.tree(6, seed=1)
    hollow = dataclasses.replace(
        model, mass=0 * model.mass, first_moment=0 * model.first_moment, inertia=0 * model.inertia
    )
    for batch in (1, 5000):
        with pytest.raises(ArithmeticError, match="a joint moves no inertia"):
            engine.forward_dynamics(hollow, *np.zeros((3, batch, 6)), algorithm="jsiia", device="cuda")
