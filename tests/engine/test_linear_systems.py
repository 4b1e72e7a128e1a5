"""The small dense solvers of contacts: pivots, ranks, singular systems."""

import numpy as np
import pytest

from engine.cpu.constraints.linear_systems import factorise, pivoted_cholesky, substitute


def solved(A, b, room=0):
    """x of A x = b, in arrays that have `room` more rows than are used; None where a pivot is zero."""
    n = len(A)
    space, right, pivots = np.full((n + room, n + room), 7.0), np.full(n + room, 9.0), np.zeros(n + room, np.int64)
    space[:n, :n], right[:n] = A, b
    if not factorise(space, pivots, n):
        return None
    substitute(space, pivots, n, right)
    assert np.all(right[n:] == 9.0)
    assert np.all(space[n:] == 7.0)
    return right[:n]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_the_solution_solves(n, rng):
    for room in (0, 2):
        A, x = rng.uniform(-1, 1, (n, n)), rng.uniform(-1, 1, n)
        np.testing.assert_allclose(solved(A, A @ x, room), x, rtol=1e-9)


def test_rows_come_in_the_order_of_their_greatest_entries():
    for A in ([[0.0, 1.0], [1.0, 0.0]], [[1e-20, 1.0], [1.0, 1.0]], [[0, 0, 2], [-4, 1, 0], [3, 5, 1.0]]):
        A = np.array(A)
        x = np.arange(1.0, len(A) + 1)
        np.testing.assert_allclose(solved(A, A @ x), x, rtol=1e-14)
    A, pivots = np.array([[1.0, 2.0, 3.0], [-4.0, 1.0, 0.0], [3.0, 9.0, 1.0]]), np.zeros(3, np.int64)
    whole = A.copy()
    assert factorise(A, pivots, 3)
    assert pivots.tolist() == [1, 2, 2]
    lower, upper = np.tril(A, -1) + np.eye(3), np.triu(A)
    np.testing.assert_allclose(lower @ upper, whole[[1, 2, 0]], rtol=1e-15, atol=1e-15)
    assert np.all(abs(np.tril(A, -1)) <= 1)


def test_what_has_no_pivot_is_told():
    assert solved(np.zeros((2, 2)), np.ones(2)) is None
    assert solved(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2)) is None
    assert solved(np.array([[np.nan, 1.0], [1.0, 1.0]]), np.ones(2)) is None


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_a_semidefinite_matrix_is_the_square_of_as_many_columns_as_its_rank(rank, rng):
    n = 6
    columns = rng.uniform(-1, 1, (n, rank))
    A, H, left = np.full((n + 1, n + 1), 3.0), np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    A[:n, :n] = columns @ columns.T
    assert pivoted_cholesky(A, H, left, n) == rank
    np.testing.assert_allclose(H[:n, :rank] @ H[:n, :rank].T, A[:n, :n], atol=1e-14)
    assert np.all(H[n] == 0)


def test_the_greatest_that_is_left_comes_next_and_rounding_counts_as_nothing():
    A, H, left = np.diag([1.0, 4.0, 2.0, 1e-15, 1e-13]), np.zeros((5, 5)), np.zeros(5)
    assert pivoted_cholesky(A, H, left, 5) == 4
    np.testing.assert_allclose(np.argmax(H[:, :4], 0), [1, 2, 0, 4])
    np.testing.assert_allclose(H[[1, 2, 0, 4], range(4)] ** 2, [4, 2, 1, 1e-13], rtol=1e-15)
