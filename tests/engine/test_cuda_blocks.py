"""Bi-diagonal systems by kernels: against the text, the same bits in every run and place."""

import numpy as np
import pytest

from engine.blocks import bidiagonal

pytestmark = pytest.mark.gpu

EPS = np.finfo(float).eps
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64, 65, 127, 128, 129, 513, 1000, 1024, 1025, 4096]


def poisoned(shape, dtype="float64"):
    import cupy

    return cupy.full(shape, np.nan, dtype)


def maps(rng, batch, n):
    """Blocks whose products neither grow nor vanish: rotations, and some that lose a rank."""
    A = np.linalg.qr(rng.standard_normal((batch, n, 6, 6)))[0]
    A[:, ::3, 0] = 0
    return A


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize("n", LENGTHS)
def test_bidiagonal_systems_are_solved(n, batch, chance):
    import cupy

    from engine.cuda.chains.block_solvers import Bidiagonal

    if batch * n > 2**16:
        pytest.skip("the text would take minutes")
    for columns, transposed in ((1, False), (1, True), (3, False), (9, True)):
        A, b = maps(chance, batch, n), chance.standard_normal((batch, n, 6, columns))
        text = bidiagonal.solve_transposed if transposed else bidiagonal.solve
        expected, out = text(A, b), poisoned(b.shape)
        solve = Bidiagonal(batch, n, columns, transposed=transposed)
        given = cupy.asarray(A), cupy.asarray(b)
        solve(*given, out)
        assert np.abs(out.get() - expected).max() <= 50 * n * EPS * np.abs(expected).max()
        for _ in range(2):  # the second time as a graph, if there is one
            again = poisoned(b.shape)
            solve(*given, again)
            assert cupy.array_equal(out, again)


def test_many_chains_are_gone_through_by_a_thread_each(chance):
    import cupy

    from engine.cuda.chains.block_solvers import Bidiagonal

    A, b = maps(chance, 20000, 10), chance.standard_normal((20000, 10, 6))
    for text, transposed in ((bidiagonal.solve, False), (bidiagonal.solve_transposed, True)):
        out = poisoned(b.shape)
        Bidiagonal(20000, 10, transposed=transposed)(cupy.asarray(A), cupy.asarray(b), out)
        assert np.abs(out.get() - text(A, b)).max() <= 1e-13


def test_bidiagonal_systems_are_solved_in_single_precision(chance):
    import cupy

    from engine.cuda.chains.block_solvers import Bidiagonal

    for n in (5, 200, 4096):
        A, b = maps(chance, 2, n), chance.standard_normal((2, n, 6))
        out = poisoned(b.shape, "float32")
        Bidiagonal(2, n, dtype="float32")(cupy.asarray(A, "float32"), cupy.asarray(b, "float32"), out)
        expected = bidiagonal.solve(A, b)
        assert np.abs(out.get() - expected).max() <= 3e-6 * n**0.5 * np.abs(expected).max()


@pytest.mark.parametrize("n", [21, 100])
def test_blocks_answer_the_same_bits_wherever_a_system_stands(n, chance):
    import cupy

    from engine.cuda.chains.block_solvers import Bidiagonal

    A, b = maps(chance, 8, n), chance.standard_normal((8, n, 6))
    order = chance.permutation(8)

    def answers(rows):
        out = poisoned((8, n, 6))
        Bidiagonal(8, n)(*(cupy.asarray(np.ascontiguousarray(x[rows])) for x in (A, b)), out)
        return out.get()

    first = answers(slice(None))
    assert np.array_equal(first, answers(slice(None)))
    assert np.array_equal(first[order], answers(order))
