"""CFA, JSIIA and hybrid ABIA as kernels: against inverse dynamics, the texts, and themselves in every run and place."""

import numpy as np
import pytest
from chain_cases import SHAPES

import engine
from engine.algorithms import abia_hybrid, cfa, jsiia
from engine.algorithms.chain import Chain
from engine.bench.states import residual, state
from engine.cpu.chains.chain_inertias import axial_inertias
from engine.model.layout import pack

pytestmark = pytest.mark.gpu

LENGTHS = [*range(1, 65), 127, 128, 129]
TOLERANCE = {"cfa": 1e-11, "jsiia": 1e-11, "abia-hybrid": 1e-11}
TEXTS = {"cfa": cfa, "jsiia": jsiia, "abia-hybrid": abia_hybrid}


def made(name, model, dtype="float64"):
    from engine.cuda.chains.abia_hybrid import AbiaHybrid
    from engine.cuda.chains.cfa import Cfa
    from engine.cuda.chains.jsiia import Jsiia

    if name == "abia-hybrid":
        topology, constants = pack(model, dtype)

        def recursion(q, U):
            axial_inertias(topology, constants, q, U)

        return AbiaHybrid(model, dtype, recursion)
    return {"cfa": Cfa, "jsiia": Jsiia}[name](model, dtype)


def run(forward, at, dtype="float64"):
    import cupy

    q, v, tau = (cupy.asarray(np.ascontiguousarray(x), dtype) for x in at)
    out = cupy.full(q.shape, np.nan, dtype)
    forward(q, v, tau, out)
    return out.get()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("n", LENGTHS)
def test_every_algorithm_inverts_inverse_dynamics(name, n, chance):
    for shape, batch in zip(SHAPES, (3, 1, 64 if n in (7, 16, 31, 64) else 2, 1), strict=True):
        model = engine.chain(n, seed=n, **SHAPES[shape])
        at = state(model, chance, batch)
        assert residual(model, at, run(made(name, model), at)).max() <= TOLERANCE[name], shape


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "n", "batch"),
    [
        *(("cfa", *size) for size in ((300, 64), (1000, 1), (1000, 3), (2048, 1), (4096, 1), (5000, 1))),
        *(("jsiia", *size) for size in ((200, 64), (512, 1), (513, 3), (1000, 1))),
        *(("abia-hybrid", *size) for size in ((200, 64), (1000, 1), (4096, 1))),
    ],
)
def test_long_chains_keep_the_residual(name, n, batch, shape, chance):
    model = engine.chain(n, seed=n, **SHAPES[shape])
    at = state(model, chance, batch)
    assert residual(model, at, run(made(name, model), at)).max() <= TOLERANCE[name]


@pytest.mark.parametrize("name", TEXTS)
def test_the_kernels_say_what_the_texts_say(name, chance):
    for n in (1, 6, 30, 70):
        model = engine.chain(n, seed=n, prismatic=0.3)
        at = state(model, chance, 5)
        expected = TEXTS[name].forward_dynamics(Chain.of(model), *at)
        answer = run(made(name, model), at)
        assert np.linalg.norm(answer - expected) <= 1e-8 * np.linalg.norm(expected)


@pytest.mark.parametrize(("name", "limit"), [("cfa", 1e-4), ("jsiia", 1e-3), ("abia-hybrid", 1e-3)])
def test_single_precision_keeps_its_own_residual(name, limit, chance):
    for n in (5, 7, 20, 50):
        model = engine.chain(n, seed=n, prismatic=0.3)
        at = state(model, chance, 9)
        assert residual(model, at, run(made(name, model, "float32"), at, "float32")).max() <= limit


def test_cfa_says_how_often_it_refined_and_what_is_left(chance):
    model = engine.chain(40, seed=1, straight=True)
    at = state(model, chance, 5)
    forward = made("cfa", model)
    qdd = run(forward, at)
    assert np.all(forward.residual.get() <= 1e-13)
    assert np.all((forward.steps.get() >= 1) & (forward.steps.get() <= 32))
    assert residual(model, at, qdd).max() <= 1e-12


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("n", "batch"), [(7, 300), (20, 40), (100, 12)])
def test_the_same_bits_in_every_run_and_wherever_a_robot_stands(name, n, batch, chance):
    model = engine.chain(n, seed=n, prismatic=0.3)
    at = state(model, chance, batch)
    order, forward = chance.permutation(batch), made(name, model)
    first, again = run(forward, at), run(forward, at)
    moved = run(forward, type(at)(*(x[order] for x in at)))
    assert np.array_equal(first, again)
    assert np.array_equal(first[order], moved)


@pytest.mark.parametrize("name", TEXTS)
def test_batches_may_change_their_size(name, chance):
    model = engine.chain(12, seed=3)
    forward = made(name, model)
    for batch in (2, 64, 1):
        at = state(model, chance, batch)
        assert residual(model, at, run(forward, at)).max() <= TOLERANCE[name]
