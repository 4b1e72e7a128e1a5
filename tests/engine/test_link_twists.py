"""Twists of links, compared with Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from conftest import EXAMPLE_ROBOTS
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
