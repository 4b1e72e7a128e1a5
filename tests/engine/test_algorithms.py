"""The texts of the algorithms: against inverse dynamics, each other, the compiled ones and Pinocchio."""

import dataclasses
from functools import partial
from math import ceil, log2

import numpy as np
import pytest
from chain_cases import SHAPES, case
from libraries import LIBRARIES, HostReads, host

import engine
from engine.algorithms import abia, abia_hybrid, cfa, dca, inverse, jsiia
from engine.algorithms.chain import Chain
from engine.bench.states import State, residual, state
from tests.bench import accuracy

TEXTS = {
    "abia": abia.forward_dynamics,
    "abia-hybrid": abia_hybrid.forward_dynamics,
    "jsiia": jsiia.forward_dynamics,
    "cfa": cfa.forward_dynamics,
    "dca": dca.forward_dynamics,
    "dca, chunks of 5": partial(dca.forward_dynamics, chunk=5),
    "dca, one chunk": partial(dca.forward_dynamics, chunk=1 << 30),
}
LENGTHS = [
    n if n < 10 or min(abs(n - (1 << power)) for power in range(8)) < 2 else pytest.param(n, marks=pytest.mark.slow)
    for n in [*range(1, 65), 127, 128, 129]
]
"""Sizes around powers of two, where scans are split differently; all are in the slow tests."""
TOLERANCE = 1e-11


def run(text, model, at, xp=np, dtype="float64"):
    chain = Chain.of(model, xp, dtype)
    return host(text(chain, *(xp.asarray(x.astype(dtype)) for x in at)))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("n", LENGTHS)
def test_every_algorithm_inverts_inverse_dynamics(name, n):
    for shape, batch in zip(SHAPES, (3, 1, 64 if n in (7, 16, 31) else 2, 1), strict=True):
        model, at = case(n, shape, batch)
        qdd = run(TEXTS[name], model, at)
        assert qdd.shape == (batch, n)
        assert residual(model, at, qdd).max() <= TOLERANCE, shape


LONG = [
    *((name, n, batch) for name in TEXTS if "jsiia" not in name for n, batch in ((1000, 3), (4096, 1))),
    ("jsiia", 2048, 1),
]


@pytest.mark.parametrize(
    ("name", "n", "batch", "shape"),
    [
        pytest.param(*each, shape, marks=() if each[1] <= 1000 or shape == "mixed" else pytest.mark.slow)
        for each in LONG
        for shape in SHAPES
    ],
)
def test_long_chains_keep_the_residual(name, shape, n, batch):
    model, at = case(n, shape, batch)
    assert residual(model, at, run(TEXTS[name], model, at)).max() <= TOLERANCE


@pytest.mark.slow
def test_jsiia_keeps_the_residual_of_the_longest_chain():
    model, at = case(4096, "straight, mixed", 1)
    assert residual(model, at, run(jsiia.forward_dynamics, model, at)).max() <= TOLERANCE


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "n", "batch"),
    [(name, n, batch) for name in TEXTS if "unit" not in name for n, batch in ((129, 64), (1000, 64), (4096, 1))]
    + [(name, 4096, 64) for name in ("abia", "abia-hybrid", "cfa", "dca")],
)
def test_long_chains_keep_the_residual_on_the_gpu(name, shape, n, batch):
    import cupy

    model, at = case(n, shape, batch)
    assert residual(model, at, run(TEXTS[name], model, at, cupy)).max() <= TOLERANCE


@pytest.mark.parametrize("n", [1, 2, 7, 33, 129])
def test_algorithms_agree_with_the_compiled_ones_and_pinocchio(n, tmp_path):
    from pinocchio_oracle import Oracle

    model, at = case(n, "mixed", 1)
    path = tmp_path / "chain.urdf"
    path.write_text(engine.to_urdf(model))
    oracle = Oracle(path, model)
    expected = oracle.forward_dynamics(*(x[0] for x in at))
    answers = {name: run(text, model, at)[0] for name, text in TEXTS.items()}
    answers["compiled"] = engine.forward_dynamics(model, *at, algorithm="abia")[0]
    for name, answer in answers.items():
        assert np.linalg.norm(answer - expected) <= 1e-9 * np.linalg.norm(expected), name


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("name", TEXTS)
def test_every_library_gives_the_answer_and_nothing_is_copied_on_the_way(xp, name, monkeypatch):
    xp = xp()
    for n in (1, 2, 9, 40):
        model, at = case(n, "mixed", 3)
        chain, arguments = Chain.of(model, xp), [xp.asarray(x) for x in at]
        with HostReads(xp, monkeypatch) as reads:
            if name == "cfa":
                qdd, steps, _ = cfa.refined(chain, *arguments)
            else:
                qdd = TEXTS[name](chain, *arguments)
        allowed = {"abia-hybrid": 1, "cfa": steps + 1 if name == "cfa" else 0}.get(name, 0)
        assert reads.count == (0 if xp is np else allowed)
        assert type(qdd) is type(arguments[0])
        assert residual(model, at, host(qdd)).max() <= TOLERANCE


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("name", TEXTS)
def test_a_robot_gets_the_same_bits_again_and_anywhere_in_a_batch(xp, name, rng):
    xp = xp()
    for n, batch in ((5, 64), (40, 7)):
        model, at = case(n, "mixed", batch)
        first, again = (run(TEXTS[name], model, at, xp) for _ in range(2))
        assert np.array_equal(first, again)
        order = rng.permutation(batch)
        assert np.array_equal(first[order], run(TEXTS[name], model, [np.ascontiguousarray(x[order]) for x in at], xp))
        if xp is np:
            assert np.array_equal(first[3:4], run(TEXTS[name], model, [x[3:4] for x in at]))


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("name", TEXTS)
def test_single_precision_is_kept_and_accurate_to_its_digits(xp, name):
    xp = xp()
    for n in (1, 10, 50):
        for shape in SHAPES:
            model, at = case(n, shape, 2)
            at = State(*(x.astype(np.float32) for x in at))
            qdd = run(TEXTS[name], model, at, xp, "float32")
            assert qdd.dtype == np.float32
            assert residual(model, at, qdd).max() <= 1e-4


def test_inverse_dynamics_by_scans_is_the_recursion(rng):
    for n in (1, 2, 3, 50, 129, 1000):
        model, (q, v, _) = case(n, "mixed", 2)
        a = rng.uniform(-1, 1, q.shape)
        expected = engine.inverse_dynamics(model, q, v, a)
        answer = inverse.inverse_dynamics(Chain.of(model), q, v, a)
        assert np.linalg.norm(answer - expected) <= 1e-13 * np.linalg.norm(expected)


def test_the_mass_matrix_is_the_compiled_one():
    for n in (1, 2, 3, 50, 129):
        model, (q, _, _) = case(n, "mixed", 3)
        chain = Chain.of(model)
        M, expected = jsiia.mass_matrix(chain, chain.X(q)), engine.mass_matrix(model, q)
        assert np.array_equal(M, np.swapaxes(M, 1, 2))
        assert np.abs(M - expected).max() <= 1e-13 * np.abs(expected).max()


def test_one_chunk_is_the_aba_to_the_bit():
    for n in (1, 2, 30, 129):
        for shape in SHAPES:
            model, at = case(n, shape, 3)
            assert np.array_equal(run(TEXTS["dca, one chunk"], model, at), run(TEXTS["abia"], model, at))


def test_every_chunk_length_gives_the_answer():
    for n in (1, 2, 13, 32):
        model, at = case(n, "mixed", 2)
        for chunk in range(1, n + 2):
            qdd = run(partial(dca.forward_dynamics, chunk=chunk), model, at)
            assert residual(model, at, qdd).max() <= TOLERANCE, chunk


def test_the_scanned_aba_takes_two_log_n_joins(monkeypatch):
    steps = []
    for operation in ("join", "apply"):
        original = getattr(dca, operation)
        monkeypatch.setattr(dca, operation, lambda a, b, f=original: (steps.append(1), f(a, b))[1])
    for n in (1, 2, 3, 16, 17, 100, 128, 129):
        model, at = case(n, "mixed", 1)
        steps.clear()
        run(dca.forward_dynamics, model, at)
        assert len(steps) <= 2 * ceil(log2(n))
        steps.clear()
        run(partial(dca.forward_dynamics, chunk=8), model, at)
        assert len(steps) <= 2 * ceil(log2(ceil(n / 8)))


def test_joining_runs_is_associative():
    model, (q, v, tau) = case(3, "mixed", 2)
    chain = Chain.of(model)
    X = chain.X(q)
    _, c, b = inverse.velocities(chain, X, v)
    runs = dca.reduce(dca.Links(chain.S[None], chain.J[None], X, c, b, tau), 1)
    one, two, three = (tuple(part[:, i : i + 1] for part in runs) for i in range(3))
    for left, right in zip(dca.join(dca.join(one, two), three), dca.join(one, dca.join(two, three)), strict=True):
        assert np.abs(left - right).max() <= 1e-12 * max(1, np.abs(left).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_cfa_refines_until_its_own_residual_is_small_and_says_how_often(shape):
    model, at = case(1000, shape, 3)
    chain = Chain.of(model)
    plain, refined = cfa.refined(chain, *at, refinements=0), cfa.refined(chain, *at)
    assert plain.steps == 0 < refined.steps <= 32
    assert np.all(refined.residual <= 1e-13)
    assert np.all(refined.residual < plain.residual)
    assert np.allclose(plain.residual, residual(model, at, plain.qdd), rtol=1e-2)
    once = cfa.refined(chain, *at, refinements=1)
    assert once.steps == 1
    assert np.all(once.residual <= plain.residual)


def test_cfa_stops_where_no_digits_are_left():
    model, at = case(4096, "straight, mixed", 1)
    at = [x.astype(np.float32) for x in at]
    refined = cfa.refined(Chain.of(model, np, "float32"), *at)
    assert refined.steps <= 32
    assert np.all(np.isfinite(refined.qdd))
    assert np.all(refined.residual <= 1)


def test_jsiia_says_where_the_mass_matrix_has_no_factor(monkeypatch):
    model, at = case(9, "mixed", 1)
    monkeypatch.setattr(jsiia, "mass_matrix", lambda _chain, _X: -np.eye(9)[None])
    with pytest.raises(ArithmeticError, match=r"chain9: in float64 .* of 9 links is not positive definite; use abia"):
        run(TEXTS["jsiia"], model, at)


def massless(model, body):
    def without(values):
        values = values.copy()
        values[body] = 0
        return values

    return dataclasses.replace(
        model, mass=without(model.mass), first_moment=without(model.first_moment), inertia=without(model.inertia)
    )


def test_massless_links_are_served_or_refused_by_name():
    model = massless(engine.chain(12), 5)
    at = state(model, np.random.default_rng(0))
    for name in ("abia", "abia-hybrid", "jsiia", "dca, chunks of 5", "dca, one chunk"):
        assert residual(model, at, run(TEXTS[name], model, at)).max() <= TOLERANCE
    with pytest.raises(ValueError, match=r"cfa does not support chain12: link 'link6' has no mass.*; use abia"):
        run(TEXTS["cfa"], model, at)
    with pytest.raises(
        ValueError, match=r"dca .* chunks of 3: the last joint of a chunk, 'joint6', moves .*; use abia"
    ):
        run(partial(dca.forward_dynamics, chunk=3), model, at)


def test_what_is_no_chain_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"tree8: .* carries several branches; .* serial chains .*; use abia"):
        Chain.of(engine.tree(8, branching=0.9))
    with pytest.raises(ValueError, match=r"tree3: joint 'joint1' is free; .*; use abia"):
        Chain.of(engine.tree(3, branching=0, floating=True))
    text = engine.to_urdf(engine.chain(2)).replace(
        '<joint name="joint2" type="continuous">', '<joint name="joint2" type="continuous"><mimic joint="joint1"/>'
    )
    (tmp_path / "mimic.urdf").write_text(text)
    with pytest.raises(ValueError, match=r"joint 'joint2' mimics 'joint1'; .*; use jsiia"):
        Chain.of(engine.load(tmp_path / "mimic.urdf"))


def test_wrong_arguments_are_refused():
    model, (q, v, tau) = case(4, "random", 2)
    chain = Chain.of(model)
    for text in (*TEXTS.values(), inverse.inverse_dynamics):
        with pytest.raises(ValueError, match=r"v has shape \(2, 3\); expected \(batch, 4\), one row for each robot"):
            text(chain, q, v[:, :3], tau)
    with pytest.raises(ValueError, match=r"q has shape \(4,\)"):
        abia.forward_dynamics(chain, q[0], v[0], tau[0])
    with pytest.raises(ValueError, match="chunk is 0; expected how many links"):
        dca.forward_dynamics(chain, q, v, tau, chunk=0)


def test_accuracy_is_tabulated_by_algorithm_and_length():
    rows = accuracy.residuals(lengths=(4, 30), batch=2)
    assert {(row.algorithm, row.dtype, row.links) for row in rows} == {
        (name, dtype, n) for name in accuracy.TEXTS for dtype in ("float32", "float64") for n in (4, 30)
    }
    for row in rows:
        assert 0 <= row.residual <= (1e-12 if row.dtype == "float64" else 1e-4)
    table = accuracy.markdown(rows)
    assert table.count("\n") == 2 * (2 + len(accuracy.TEXTS)) + 1
    assert "| `cfa` |" in table
    assert "–" in accuracy.markdown([accuracy.Row("jsiia", "float32", 1000, False, float("inf"))])
