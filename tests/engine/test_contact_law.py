"""The law of one contact and of one joint row, number by number: projections, clamps, residuals, exact solutions."""

import numpy as np
import pytest

from engine.cpu.constraints.contact_law import System, one_contact, project, residual, size_of
from engine.kernels.joint_constraints import joint_law

FRICTIONS = (0.0, 0.3, 1.0, 2.5)


@pytest.mark.parametrize("mu", FRICTIONS)
def test_the_projection_is_the_nearest_point_of_the_cone(mu, rng):
    seen = set()
    for z in rng.uniform(-1, 1, (200, 3)):
        p = np.array(project(tuple(z), mu))
        rest = z - p
        assert np.hypot(p[1], p[2]) <= mu * p[0] + 1e-15
        assert abs(rest @ p) < 1e-15
        assert -rest[0] >= mu * np.hypot(rest[1], rest[2]) - 1e-15, "what is left lies in the polar cone"
        seen.add("itself" if not rest.any() else "nothing" if not p.any() else "side")
    assert seen == {"itself", "nothing", "side"} - ({"itself"} if mu == 0 else set())


def test_a_point_on_the_edge_of_either_cone_is_told_from_its_inside():
    assert project((2.0, 1.0, 0.0), 0.5) == (2.0, 1.0, 0.0)
    assert project((-1.0, 2.0, 0.0), 0.5) == (0.0, 0.0, 0.0)
    assert project((0.0, 2.0, 0.0), 0.5) == pytest.approx((0.8, 0.4, 0.0))
    assert project((1.0, 0.0, 3.0), 1.0) == (2.0, 0.0, 2.0)


def test_a_joint_row_is_soft_within_its_friction_and_clamped():
    for y, value in ((0.75, 0.25), (0.5, 0.0), (0.25, 0.0), (-0.5, 0.0), (-0.75, -0.25), (3.0, 1.0), (-9.0, -2.0)):
        assert joint_law(y, 0.5, -2.0, 1.0) == value


def system(G, b, mu=(), joints=()):
    return System(G, np.array(b, float), np.array(mu, float), np.array(joints, float).reshape(-1, 3))


def test_the_residual_is_the_distance_from_the_law_over_the_greatest_bias():
    G = np.diag([1.0, 2.0, 3.0, 5.0])
    assert size_of(G, 0) == 2.0
    assert size_of(np.diag([0, 0, 0, 1.0, 2.0, 6.0]), 3) == 3.0
    apart = system(G, [1.0, 0, 0, -8.0], [0.5], [[1.0, -1.0, 2.0]])
    still = np.array([0, 0, 0, -1.0])  # the joint moves on at its bound, against its friction
    assert residual(apart, 1, 1, still, np.array([1.0, 0, 0, 2.0])) == 0
    # an approach of 3 with no impulse lacks one: (3/2, 0, 0) away in λ, at r = 1/2
    assert residual(apart, 1, 1, still, np.array([-3.0, 0, 0, 2.0])) == pytest.approx(3 / 8)
    # a slide of 2 with an impulse that has no friction: λ − r(u + μ|u_t|n) = (1 − 1/2·1, −1/2·2, 0), beside (1, 0, 0)
    x = np.array(project((0.5, -1.0, 0.0), 0.5)) - [1, 0, 0]
    slid = residual(apart, 1, 1, np.array([1.0, 0, 0, -1.0]), np.array([0, 2.0, 0, 2.0]))
    assert slid == pytest.approx(2 * np.linalg.norm(x) / 8)
    across = residual(apart, 1, 1, np.array([1.0, 0, 0, -1.0]), np.array([0, 0, 2.0, 2.0]))
    assert across == pytest.approx(slid)
    # the joint's friction, 1 in λ, is 5 in u; at u = 2 its bound takes any force that holds it back
    for force, u, off in ((-1.0, 2.0, 0.0), (-3.0, 2.0, 0.0), (-0.5, 0.0, 0.0), (1.0, -0.5, 0.0), (0.0, -0.5, 0.5)):
        assert residual(apart, 1, 1, np.array([0, 0, 0, force]), np.array([1.0, 0, 0, u])) == pytest.approx(off / 8)
    assert residual(system(G, [0.0, 0, 0, 0], [0.5]), 1, 0, np.zeros(4), np.zeros(4)) == 0


def test_the_residual_of_many_rows_is_the_worst_of_each(rng):
    contacts, joints = 3, 2
    n = 3 * contacts + joints
    for worst in range(contacts + joints):
        root = rng.uniform(-1, 1, (n, n))
        G, b, mu = root @ root.T + np.eye(n), rng.uniform(-1, 1, n), rng.uniform(0.2, 2, contacts)
        rows = np.stack([rng.uniform(0, 1, joints), rng.uniform(-1, 0, joints), rng.uniform(0, 1, joints)], 1)
        scale = np.full(n, 0.1)
        scale[3 * worst : 3 * worst + 3] = 9.0
        if worst >= contacts:
            scale[:] = 0.1
            scale[3 * contacts + worst - contacts] = 9.0
        impulses, u = scale * rng.uniform(-1, 1, n), scale * rng.uniform(-1, 1, n)
        off = []
        for i in range(contacts):
            k = slice(3 * i, 3 * i + 3)
            r = 3 / np.trace(G[k, k])
            corrected = u[k] + [mu[i] * np.hypot(*u[k][1:]), 0, 0]
            off.append(np.linalg.norm(impulses[k] - project(tuple(impulses[k] - r * corrected), mu[i])) / r)
        for j in range(joints):
            k = 3 * contacts + j
            f, low, high = rows[j]
            y = u[k] - G[k, k] * impulses[k]
            off.append(abs(u[k] - np.clip(np.sign(y) * max(abs(y) - G[k, k] * f, 0), low, high)))
        assert residual(System(G, b, mu, rows), contacts, joints, impulses, u) == pytest.approx(max(off) / max(abs(b)))


def upper(D):
    return D[0, 0], D[0, 1], D[0, 2], D[1, 1], D[1, 2], D[2, 2]


@pytest.mark.parametrize("mu", FRICTIONS[1:])
def test_one_contact_obeys_signorini_and_coulomb(mu, rng):
    sticks = slides = 0
    for k in range(300):
        root = rng.uniform(-1, 1, (3, 3)) * np.where(k % 3 == 0, [1, 1, 1], [1, 10, 0.1])
        D, w = root @ root.T + 0.01 * np.eye(3), rng.uniform(-1, 1, 3) - [0.7, 0, 0]
        impulse = np.array(one_contact(upper(D), tuple(w), mu))
        if w[0] >= 0:
            assert not impulse.any()
            continue
        u, size = D @ impulse + w, np.hypot(impulse[1], impulse[2])
        assert size <= mu * impulse[0] * (1 + 1e-12)
        scale = np.linalg.norm(w) * np.linalg.cond(D) * 1e-14
        assert abs(u[0]) <= scale
        if np.hypot(u[1], u[2]) > scale:
            slides += 1
            assert size == pytest.approx(mu * impulse[0], rel=1e-9)
            np.testing.assert_allclose(impulse[1:] / size, -u[1:] / np.hypot(u[1], u[2]), atol=1e-7)
        else:
            sticks += 1
    assert min(slides, sticks) > 10


def test_a_contact_that_parts_or_only_touches_takes_no_impulse():
    D = upper(np.eye(3))
    assert one_contact(D, (0.0, 1.0, 0.0), 0.5) == (0.0, 0.0, 0.0)
    assert one_contact(D, (1e-300, 1.0, 0.0), 0.5) == (0.0, 0.0, 0.0)
    assert one_contact(D, (-1.0, 0.25, 0.0), 0.5) == pytest.approx((1.0, -0.25, 0.0))
    assert one_contact(D, (-1.0, 0.0, 2.0), 0.5) == pytest.approx((1.0, 0.0, -0.5))
    rigid = upper(np.outer([1.0, 1.0, 0.0], [1.0, 1.0, 0.0]))  # it cannot move along on its own
    assert one_contact(rigid, (-1.0, -1.0, 0.0), 0.5) == pytest.approx((1.0, 0.0, 0.0))
    assert np.all(np.isfinite(one_contact(rigid, (-1.0, 1.0, 0.5), 0.5)))
