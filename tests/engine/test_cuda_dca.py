"""DCA-ABA on the GPU: every way to cut a chain, against the compiled inverse dynamics."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from masses import weighed

import engine
from engine.algorithms import dca as text
from engine.algorithms.chain import Chain
from engine.bench.states import State, residual, state
from engine.cuda.chains import dca

TOLERANCE = {"float64": 2e-12, "float32": 1e-3}
LENGTHS = (*range(1, 65), 127, 128, 129, 200, 513, 1000, 2049, 4096)
H200 = {"processors": 132, "most": 232448}


@pytest.mark.parametrize("n", [1, 4, 33, 200, 1000, 4096, 30000])
@pytest.mark.parametrize("batch", [1, 3, 100, 5000])
@pytest.mark.parametrize(("clusters", "most"), [(True, 232448), (False, 166912)])
def test_every_link_has_a_chunk_and_every_block_its_memory(n, batch, clusters, most):
    for size in (4, 8):
        cut = dca.cut(n, batch, size, 132, most, clusters)
        assert cut.longest(n) * cut.chunks * cut.blocks >= n
        assert cut.longest(n) <= dca.LANES
        assert cut.shared(n, size) <= most
        assert clusters or not cut.cluster
        assert cut.blocks <= 132
        assert not cut.cluster or cut.blocks <= dca.MAX_CLUSTER


def test_a_chain_beyond_the_gpu_is_refused():
    with pytest.raises(ValueError, match=r"a chain of 40000 links is too long for dca on this GPU.*use abia"):
        dca.cut(40000, 1, 8, **H200, clusters=True)
    with pytest.raises(ValueError, match="whose 84 multiprocessors hold 10080 links at most"):
        dca.cut(10081, 1, 8, 84, 101376, clusters=False)
    assert dca.cut(10080, 1, 8, 84, 101376, clusters=False).blocks == 84


def left(model: engine.Model, at: State, qdd: np.ndarray) -> float:
    """‖ID(q̈) − τ‖ / ‖τ_δ‖ over all robots: of one alone τ_δ may happen to vanish."""
    assert np.all(np.isfinite(qdd))
    missing = engine.inverse_dynamics(model, at.q, at.v, qdd.astype(float)) - at.tau
    return float(np.linalg.norm(missing) / np.linalg.norm(at.tau - engine.bias(model, at.q, at.v)))


def solved(model: engine.Model, at: State, dtype: str, cut: dca.Cut | None = None):
    import cupy

    kernels = dca.Dca(model, dtype)
    arguments = [cupy.asarray(x.astype(dtype)) for x in at]
    out = cupy.full(at.v.shape, np.nan, dtype)
    if cut is not None:
        original, dca.cut = dca.cut, lambda *_: cut
        try:
            kernels(*arguments, out)
        finally:
            dca.cut = original
    else:
        kernels(*arguments, out)
    return out.get()


def drawn(batch: int, chance: np.random.Generator) -> Iterator[tuple[engine.Model, State]]:
    """Chains of all lengths, crooked and straight, each with states of its own."""
    for n in LENGTHS:
        for straight in (False, True):
            model = engine.chain(n, straight=straight, prismatic=0.0 if straight else 1 / 3)
            yield model, state(model, chance, batch if n > 8 else max(batch, 8))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_residuals_are_the_texts(dtype, batch, chance):
    for model, at in drawn(batch, chance):
        assert left(model, at, solved(model, at, dtype)) <= TOLERANCE[dtype], (model.name, at.q.shape)


@pytest.mark.gpu
def test_a_first_block_close_to_singular_costs_no_digits():
    """In a join of this draw's robot 42 M's first block has the determinant -1e-3, and M the condition 18."""
    model, at = next(islice(drawn(64, np.random.default_rng(3559970314)), 2 * 57, None))
    assert model.nv == 58
    assert np.max(residual(model, at, solved(model, at, "float64"))) <= TOLERANCE["float64"]


@pytest.mark.gpu
@pytest.mark.parametrize("n", [58, 60])
def test_no_state_among_thousands_loses_digits(n, rng):
    model = engine.chain(n, prismatic=1 / 3)
    for _ in range(64):
        at = state(model, rng, 64)
        assert np.max(residual(model, at, solved(model, at, "float64"))) <= TOLERANCE["float64"]


@pytest.mark.gpu
def test_heavy_links_among_light_ones_cost_what_they_cost_the_text(rng):
    worst = np.zeros(2)
    for n in range(9, 65, 5):
        model = weighed(engine.chain(n, seed=n, prismatic=1 / 3), 1000.0 ** rng.integers(0, 2, n))
        at = state(model, rng, 64)
        chunk = dca.cut(n, 64, 8, **H200, clusters=True).longest(n)
        qdd = text.forward_dynamics(Chain.of(model), *at, chunk), solved(model, at, "float64")
        worst = np.maximum(worst, [np.max(residual(model, at, x)) for x in qdd])
    assert worst[1] <= 30 * worst[0]


@pytest.mark.gpu
@pytest.mark.parametrize("blocks", [1, 2, 8, 16, 40])
@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("chunks", [4, 8])
def test_every_cut_gives_the_same(blocks, cluster, chunks, chance):
    if cluster and not 1 < blocks <= 16:
        pytest.skip("a cluster has 2 to 16 blocks")
    for n in (1, 3, 57, 128):
        model = engine.chain(n, prismatic=1 / 3)
        at = state(model, chance, 3)
        qdd = solved(model, at, "float64", dca.Cut(blocks, cluster, chunks))
        assert left(model, at, qdd) <= TOLERANCE["float64"], n


@pytest.mark.gpu
def test_chains_longer_than_a_cluster_meet_in_global_memory(chance):
    model = engine.chain(10000)
    at = state(model, chance, 3)
    assert left(model, at, solved(model, at, "float64")) <= TOLERANCE["float64"]


@pytest.mark.gpu
def test_a_robot_gets_the_same_bits_again_and_anywhere_in_a_batch(chance):
    model = engine.chain(100)
    at = State(*(np.concatenate([x, x[::-1]]) for x in state(model, chance, 32)))
    first, again = (solved(model, at, "float64") for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:32], first[:31:-1])
