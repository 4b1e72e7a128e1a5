"""The building blocks against dense solves, against loops, and the parallel steps that the papers promise."""

from math import ceil, log2

import numpy as np
import pytest
from libraries import LIBRARIES, host

from engine.blocks import bidiagonal, symmetric, tridiagonal
from engine.blocks.scan import loop, scan

EPS = np.finfo(float).eps
ALL = [*range(1, 66), 127, 128, 129, 255, 256, 257, 511, 512, 513]
SOME = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 64, 65, 129, 513]


def intervals(n):
    """Maps that know which places they span; joining any but neighbours fails."""
    places = np.tile(np.arange(n), (2, 1))
    return places, places + 1


def join_intervals(left, right):
    assert np.array_equal(left[1], right[0])
    return left[0], right[1]


@pytest.mark.parametrize("sweep", [scan, loop])
@pytest.mark.parametrize("n", ALL)
def test_scan_joins_neighbours_in_their_order(sweep, n):
    start, end = sweep(join_intervals, intervals(n))
    assert np.array_equal(start, np.zeros((2, n)))
    assert np.array_equal(end, intervals(n)[1])
    start, end = sweep(join_intervals, intervals(n), reverse=True)
    assert np.array_equal(start, intervals(n)[0])
    assert np.array_equal(end, np.full((2, n), n))


def test_scan_takes_no_more_than_two_log_n_steps():
    for n in range(1, 514):
        for states_only in (False, True):
            steps, work = [], []

            def join(left, right, steps=steps, work=work):
                steps.append(1)
                work.append(left[0].shape[1])
                return right

            maps = (np.zeros((1, n)),)
            scan(join, maps, lambda m, s: join(s, m), lambda m: m) if states_only else scan(join, maps)
            assert len(steps) <= 2 * ceil(log2(n))
            assert sum(work) <= 2 * n


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", SOME)
def test_scan_of_products_is_that_of_the_loop(n, reverse, rng):
    A = np.linalg.qr(rng.standard_normal((2, n, 3, 3)))[0]

    def join(left, right):
        return (left[0] @ right[0],)

    assert np.abs(scan(join, (A,), reverse=reverse)[0] - loop(join, (A,), reverse=reverse)[0]).max() <= 20 * n * EPS


def bidiagonal_matrix(A):
    n, m = A.shape[:2]
    matrix = np.eye(n * m)
    for i in range(1, n):
        matrix[i * m : (i + 1) * m, (i - 1) * m : i * m] = -A[i]
    return matrix


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("columns", [None, 1, 4])
def test_bidiagonal_systems_are_solved(xp, columns, rng):
    xp = xp()
    for n in SOME[:-1]:
        A = np.linalg.qr(rng.standard_normal((3, n, 4, 4)))[0]
        b = rng.standard_normal((3, n, 4) if columns is None else (3, n, 4, columns))
        for solve, transposed in ((bidiagonal.solve, False), (bidiagonal.solve_transposed, True)):
            answers = [host(solve(xp.asarray(A), xp.asarray(b), sweep)) for sweep in (scan, loop)]
            for k in range(3):
                matrix = bidiagonal_matrix(A[k])
                expected = np.linalg.solve(matrix.T if transposed else matrix, b[k].reshape(n * 4, -1)).reshape(
                    b[k].shape
                )
                for answer in answers:
                    assert np.abs(answer[k] - expected).max() <= 50 * n * EPS * np.abs(expected).max()


def positive_definite(rng, batch, m, condition):
    Q = np.linalg.qr(rng.standard_normal((batch, m, m)))[0]
    return Q * np.logspace(0, -log2(condition) / log2(10), m)[:, None] @ np.swapaxes(Q, 1, 2)


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("condition", [1e0, 1e4, 1e8])
def test_small_symmetric_systems_are_solved(xp, condition, rng):
    xp = xp()
    for m in (1, 2, 5, 6, 12):
        D, x = positive_definite(rng, 50, m, condition), rng.standard_normal((50, m, 3))
        answer = host(symmetric.solve(xp.asarray(D), xp.asarray(D @ x)))
        assert np.abs(answer - x).max() <= 50 * m * EPS * condition


def test_small_symmetric_systems_do_not_mind_their_units(rng):
    D, x = positive_definite(rng, 50, 6, 100), rng.standard_normal((50, 6, 1))
    units = np.array([1e6, 1, 1e-6, 1e3, 1, 1e-9])[:, None]
    answer = symmetric.solve(units * D * units.T, units * (D @ x)) * units
    assert np.abs(answer - x).max() <= 1e-12


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
def test_dense_symmetric_systems_are_solved(xp, n, rng):
    xp = xp()
    A, x = positive_definite(rng, 3, n, 1e4), rng.standard_normal((3, n, 2))
    answer = host(symmetric.solve_large(xp.asarray(A), xp.asarray(A @ x)))
    assert np.abs(answer - x).max() <= 1e4 * n * EPS


def tridiagonal_system(rng, n, m, condition):
    """D, U and the dense matrix: L Lᵀ of a random bi-diagonal L, raised to the condition number."""
    L = np.zeros((n * m, n * m))
    for i in range(n):
        L[i * m : (i + 1) * m, max(i - 1, 0) * m : (i + 1) * m] = rng.standard_normal((m, m * min(i + 1, 2)))
    A = L @ L.T
    A += np.linalg.norm(A, 2) / condition * np.eye(n * m)
    blocks = A.reshape(n, m, n, m)
    i = np.arange(n)
    return blocks[i, :, i], blocks[i[:-1], :, i[1:]], A


@pytest.mark.parametrize(
    ("n", "m", "condition"),
    [(n, 1 + n % 6, condition) for n in (*range(1, 34), 63, 64, 65, 129) for condition in (1e2, 1e5, 1e8)]
    + [(513, 2, 1e8)],
)
def test_tridiagonal_systems_are_solved(n, m, condition, rng):
    systems = [tridiagonal_system(rng, n, m, condition) for _ in range(1 if n == 513 else 2)]
    D, U = (np.stack([system[k] for system in systems]) for k in (0, 1))
    x = rng.standard_normal((len(systems), n * m, 3))
    R = np.stack([system[2] for system in systems]) @ x
    answer = tridiagonal.solve(D, U, R.reshape(-1, n, m, 3)).reshape(x.shape)
    assert np.linalg.norm(answer - x) <= 20 * EPS * condition * np.linalg.norm(x)
    one = tridiagonal.solve(D, U, R[..., 0].reshape(-1, n, m))
    assert np.linalg.norm(one.reshape(-1, n * m) - x[..., 0]) <= 20 * EPS * condition * np.linalg.norm(x)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_tridiagonal_systems_are_solved_on_every_library(xp, rng):
    xp = xp()
    for n in SOME[:-1]:
        D, U, A = (x[None] for x in tridiagonal_system(rng, n, 5, 1e3))
        x = rng.standard_normal((1, n * 5))
        answer = host(tridiagonal.solve(*(xp.asarray(y) for y in (D, U, (A @ x[..., None]).reshape(1, n, 5)))))
        assert np.abs(answer.reshape(x.shape) - x).max() <= 1e-10


def test_odd_even_elimination_takes_log_n_steps():
    for n in range(1, 514):
        elimination = tridiagonal.eliminate(np.full((1, n, 1, 1), 4.0), np.ones((1, n - 1, 1, 1)))
        assert len(elimination.steps) == ceil(log2(n))


@pytest.mark.parametrize("xp", LIBRARIES)
def test_blocks_answer_the_same_bits_wherever_a_system_stands(xp, rng):
    xp, n = xp(), 21
    D, U, _ = (np.stack(x) for x in zip(*(tridiagonal_system(rng, n, 5, 1e4) for _ in range(8)), strict=True))
    A, b = rng.standard_normal((8, n, 6, 6)), rng.standard_normal((8, n, 6))
    order = rng.permutation(8)

    def answers(rows):
        D_, U_, A_, b_ = (xp.asarray(np.ascontiguousarray(x[rows])) for x in (D, U, A, b))
        return [host(x) for x in (tridiagonal.solve(D_, U_, b_[..., :5]), bidiagonal.solve(A_, b_))]

    for first, again, moved in zip(answers(slice(None)), answers(slice(None)), answers(order), strict=True):
        assert np.array_equal(first, again)
        assert np.array_equal(first[order], moved)
