"""The law of one contact and of one joint row, number by number: projections, clamps and residuals."""

import numpy as np
import pytest

from engine.kernels.contact import problem
from engine.kernels.contact.cone_algebra import project_on_cone
from engine.kernels.joint_constraints import joint_law

FRICTIONS = (0.0, 0.3, 1.0, 2.5)


def project(z, mu):
    return project_on_cone(tuple(z), mu)


@pytest.mark.parametrize("mu", FRICTIONS)
def test_the_projection_is_the_nearest_point_of_the_cone(mu, rng):
    seen = set()
    for z in rng.uniform(-1, 1, (200, 3)):
        p = np.array(project(z, mu))
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


def rows(r, mu, g, law):
    """A problem with contacts of these 1/mobilities and frictions, and joint rows of these mobilities and laws."""
    p = problem.impulse_workspace(np.array([-1]), len(g), len(r)).problem
    p.r[: len(r)], p.mu[: len(mu)], p.g[: len(g)] = r, mu, g
    p.law[: len(g)] = np.reshape(law, (-1, 3))
    return p


def residual(p, impulse, u, joint_impulse=(), joint_u=(), most=1.0):
    """The residual of these impulses and velocities."""
    R = len(joint_u)
    p.impulse[:], p.u[:], p.joint_impulse[:R], p.joint_u[:R] = impulse, u, joint_impulse, joint_u
    return problem.residual(len(p.r), R, p, most)


def test_the_residual_is_the_distance_from_the_law_over_its_unit():
    p = rows([0.5], [0.5], [5.0], [1.0, -1.0, 2.0])
    nothing, still, apart = (
        [[0.0, 0, 0]],
        [-1.0],
        [[1.0, 0, 0]],
    )  # the joint moves on at its bound, against its friction
    assert residual(p, nothing, apart, still, [2.0]) == 0
    # an approach of 3 with no impulse lacks one: (3/2, 0, 0) away in λ, at r = 1/2
    assert residual(p, nothing, [[-3.0, 0, 0]], still, [2.0], 8.0) == pytest.approx(3 / 8)
    # a slide of 2 with an impulse that has no friction: λ − r(u + μ|u_t|n) = (1 − 1/2·1, −1/2·2, 0), beside (1, 0, 0)
    x = np.array(project((0.5, -1.0, 0.0), 0.5)) - [1, 0, 0]
    for slide in ([0.0, 2.0, 0], [0.0, 0, 2.0]):
        found = residual(p, [[1.0, 0, 0]], [slide], still, [2.0], 8.0)
        assert found == pytest.approx(2 * np.linalg.norm(x) / 8)
    # the joint's friction, 1 in λ, is 5 in u; at u = 2 its bound takes any force that holds it back
    for force, u, off in ((-1.0, 2.0, 0.0), (-3.0, 2.0, 0.0), (-0.5, 0.0, 0.0), (1.0, -0.5, 0.0), (0.0, -0.5, 0.5)):
        assert residual(p, nothing, apart, [force], [u], 8.0) == pytest.approx(off / 8, abs=1e-15)
    assert np.isnan(residual(p, [[np.nan, 0, 0]], apart, still, [2.0]))  # whatever follows it


def test_the_residual_of_many_rows_is_the_worst_of_each(rng):
    contacts, joints = 3, 2
    for worst in range(contacts + joints):
        r, mu, g = rng.uniform(0.2, 2, contacts), rng.uniform(0.2, 2, contacts), rng.uniform(0.5, 2, joints)
        law = np.stack([rng.uniform(0, 1, joints), rng.uniform(-1, 0, joints), rng.uniform(0, 1, joints)], 1)
        impulse, u = 0.1 * rng.uniform(-1, 1, (2, contacts, 3))
        joint_impulse, joint_u = 0.1 * rng.uniform(-1, 1, (2, joints))
        for each in (impulse, u) if worst < contacts else (joint_impulse, joint_u):
            each[worst % contacts] *= 90
        off = []
        for i in range(contacts):
            corrected = u[i] + [mu[i] * np.hypot(*u[i][1:]), 0, 0]
            off.append(np.linalg.norm(impulse[i] - project(impulse[i] - r[i] * corrected, mu[i])) / r[i])
        for j in range(joints):
            f, low, high = law[j]
            y = joint_u[j] - g[j] * joint_impulse[j]
            off.append(abs(joint_u[j] - np.clip(np.sign(y) * max(abs(y) - g[j] * f, 0), low, high)))
        found = residual(rows(r, mu, g, law), impulse, u, joint_impulse, joint_u, 3.0)
        assert found == pytest.approx(max(off) / 3)
