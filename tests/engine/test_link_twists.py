"""Twists of links, compared with Pinocchio, and with finite differences of poses."""

import numpy as np
import pinocchio as pin
import pytest
from conftest import EXAMPLE_ROBOTS
from mimics import mimics
from pinocchio_oracle import Oracle

import engine


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", EXAMPLE_ROBOTS[::3], ids=lambda path: path.stem)
def test_twists_agree_with_pinocchio(path, floating, rng):
    model = engine.load(path, floating=floating, mimic=False)
    oracle = Oracle(path, model, floating)
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv)
    pin.forwardKinematics(oracle.model, oracle.data, oracle.q(q), v[oracle.order])
    twists = engine.link_twists(model, q, v)
    for name, twist in zip(model.link_names, twists, strict=True):
        frame = oracle.model.getFrameId(name, pin.FrameType.BODY)
        theirs = pin.getFrameVelocity(oracle.model, oracle.data, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(twist, [*theirs.angular, *theirs.linear], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["tree", "mimic"])
def test_twists_are_how_poses_change(kind, rng, tmp_path):
    """Central differences over steps of 1e-6 s from v and from −v; a batch gives what its states give."""
    if kind == "tree":
        model = engine.tree(15, seed=5, floating=True, prismatic=0.3, spherical=0.3)
    else:
        model = mimics(tmp_path, 3, floating=True)
    q, v, h = model.random(rng, 3), rng.uniform(-1, 1, (3, model.nv)), 1e-6
    twists = engine.link_twists(model, q, v)
    for k in range(3):
        np.testing.assert_allclose(engine.link_twists(model, q[k], v[k]), twists[k], rtol=1e-13, atol=1e-14)
    still = model.with_gravity((0, 0, 0))

    def moved(v):
        simulation = engine.Simulation(still, 3, dt=h, q=q, v=v, algorithm="jsiia", limits=False)
        simulation.step(1)
        return engine.link_poses(model, simulation.q)

    rate = (moved(v) - moved(-v)) / (2 * h)
    np.testing.assert_allclose(rate[..., :3, 3], twists[..., 3:], atol=2e-5)
    turning = rate[..., :3, :3] @ np.swapaxes(engine.link_poses(model, q)[..., :3, :3], -1, -2)
    omega = np.stack([turning[..., 2, 1], turning[..., 0, 2], turning[..., 1, 0]], -1)
    np.testing.assert_allclose(omega, twists[..., :3], atol=2e-5)


def test_links_of_the_world_stand_still(rng, arm7):
    twists = engine.link_twists(arm7, arm7.random(rng), rng.uniform(-1, 1, arm7.nv))
    assert not twists[0].any()
    assert np.linalg.norm(twists[-1]) > 0.1
