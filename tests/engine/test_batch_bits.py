"""A robot's motion has the same bits at any index of a batch, beside any others, on any number of threads."""

import numpy as np
import pytest
from metamorphic import standing
from test_symmetries import assert_near, drawn, end, scene_of

import engine


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", ["abia", "dca", "jsiia", "cfa", "contact"])
def test_no_bit_depends_on_place_company_or_threads(algorithm, integrator, rng):
    name = "quadruped" if algorithm == "contact" else "arm7"
    model, scene, batch = engine.load(engine.find_robot(name)), scene_of(name), 21
    given = {"algorithm": "abia" if scene else algorithm, "integrator": integrator}
    q = np.repeat(drawn(model, name, rng)[0][:1], batch, 0)
    scalar = model.q_of_v[model.q_of_v >= 0]
    q[:, scalar] += rng.uniform(-0.05, 0.05, (batch, len(scalar)))
    q, v, tau = standing(model, scene, q), rng.uniform(-0.5, 0.5, (batch, model.nv)), np.zeros((batch, model.nv))
    expected = end(model, scene, q, v, tau, steps=60, **given)
    order = rng.permutation(batch)
    others_q, others_v = q.copy(), v.copy()
    others_v[5:] *= -3.0
    shuffled_found = end(model, scene, q[order], v[order], tau, steps=60, **given)
    company_found = end(model, scene, others_q, others_v, tau, steps=60, **given)
    for k in range(2):
        np.testing.assert_array_equal(shuffled_found[k], expected[k][order])
        np.testing.assert_array_equal(company_found[k][:5], expected[k][:5])
        assert np.any(company_found[k][5:] != expected[k][5:])
    if algorithm != "dca":  # whose cuts of a chain depend on the number of threads
        for threads in (1, 3):
            found = end(model, scene, q, v, tau, steps=60, threads=threads, **given)
            for mine, yours in zip(found[:2], expected[:2], strict=True):
                np.testing.assert_array_equal(mine, yours)


def test_a_robot_alone_moves_like_one_in_a_batch_to_rounding(rng):
    """Batches of more than a few are worked on eight robots at a time, in which products round otherwise."""
    model = engine.load(engine.find_robot("arm7"))
    q, v = model.random(rng, 9), rng.uniform(-1, 1, (9, model.nv))
    together = end(model, None, q, v, 0.0)
    for robot in range(9):
        alone = end(model, None, q[robot : robot + 1], v[robot : robot + 1], 0.0)
        assert_near(alone, [x[robot : robot + 1] for x in together[:2]], 1e-11)
