"""The contact solver in hard cases: redundant contacts, joints at limits, misleading initial impulses."""

import numpy as np
import pytest

from engine.cpu.constraints import contact_solver
from engine.cpu.constraints.contact_law import System, residual
from engine.cpu.constraints.contact_rounds import rounds, rounds_workspace
from engine.cpu.constraints.interior_point import interior_point
from engine.cpu.constraints.linear_systems import pivoted_cholesky
from tests.bench import contact_cases


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (7, 3), (24, 18), (30, 30)])
def test_pivoted_cholesky_finds_the_rank(n, rank, rng):
    J = rng.standard_normal((n, rank)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    A, H = J @ J.T, np.full((n + 2, n + 2), np.nan)
    assert pivoted_cholesky(A, H, np.zeros(n), n) == rank
    np.testing.assert_allclose(H[:n, :rank] @ H[:n, :rank].T, A, atol=1e-12 * np.abs(A).max())


def plate(rng, contacts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return G and b of a plate of 1 kg on `contacts` points: six velocities, three rows a point."""
    J = np.zeros((contacts, 3, 6))
    x, y = rng.uniform(-1, 1, (2, contacts))
    J[:, 0, 2] = J[:, 1, 0] = J[:, 2, 1] = 1.0
    J[:, 0, 3], J[:, 0, 4], J[:, 1, 5], J[:, 2, 5] = y, -x, -y, x
    J = J.reshape(-1, 6)
    G = J @ np.diag([1, 1, 1, 3, 3, 1.5]) @ J.T
    return G, J @ (np.array([0, 0, -1, 0, 0, 0]) + 0.3 * rng.standard_normal(6))


@pytest.mark.parametrize("contacts", [3, 8, 40])
def test_the_interior_point_needs_no_contact_to_be_independent(contacts, rng):
    work, steps = rounds_workspace(3 * contacts), []
    for _ in range(20):
        G, b = plate(rng, contacts)
        system = System(G, b, np.full(contacts, 0.5), np.zeros((1, 3)))
        steps.append(interior_point(system, contacts, 0, work, 1e-9, 40, 1e-4, 0.99, 1.0))
        least = contact_solver.solve(system, contacts, 0, work.impulses.copy(), work, 1e-9, np.zeros(3, np.int64))
        assert least <= 1e-9
    assert np.median(steps) <= 20


def test_an_iterate_that_is_no_number_is_never_the_best(rng):
    G, b = plate(rng, 4)
    system, work = System(G, b, np.full(4, 0.5), np.zeros((1, 3))), rounds_workspace(12)
    assert not residual(system, 4, 0, np.full(12, np.nan), np.full(12, np.nan)) < np.inf
    work.impulses[:] = np.nan  # as after a matrix without full rank
    assert rounds(system, 4, 0, work, 1e-9, 3, 1.0, np.zeros(3, np.int64)) == np.inf
    assert contact_solver.solve(system, 4, 0, np.full(12, np.nan), work, 1e-9, np.zeros(3, np.int64)) <= 1e-9
    assert np.isfinite(work.u).all()


def test_limp_quadrupeds_obey_the_law_as_they_fall_onto_their_joints_stops():
    found = contact_cases.residuals("quadruped", "falling")
    assert found["share ≤ 1e-8, %"] >= 99.9
    assert found["worst"] <= 1e-6
