"""Steps by a thread a robot, compiled for the host: the threads of a block move the states of their robots together."""

from __future__ import annotations

import cuda_on_host as on_host
import numpy as np
import pytest
from cuda_on_host import compiled_for_host, cuda_on_host, needs_compiler  # noqa: F401  (fixtures)

import engine
from engine.cuda.runtime import device

pytestmark = needs_compiler


@pytest.mark.parametrize("shared", [0, 233472], ids=["slots in global memory", "slots in shared memory"])
@pytest.mark.parametrize(("name", "batch"), [("quadruped", 1), ("quadruped", 70), ("arm7", 33)])
@pytest.mark.usefixtures("cuda_on_host")
def test_every_robot_has_its_own_state(name, batch, shared, monkeypatch, rng):
    """Of one robot, of blocks that are not full, and of two blocks; 19 coordinates are no whole number of tiles."""
    monkeypatch.setattr(device, "properties", lambda: on_host.CHIP | {"sharedMemPerMultiprocessor": shared})
    model = engine.load(engine.find_robot(name))
    q, v = model.random(rng, batch), rng.uniform(-0.3, 0.3, (batch, model.nv))
    tau, target = rng.uniform(-1, 1, v.shape), rng.uniform(-1, 1, v.shape)
    gains = np.where(model.q_of_v >= 0, 2.0, 0.0)
    here, there = (
        engine.Simulation(model, batch, q=q, v=v, kp=gains, algorithm="abia", device=where, dtype=dtype)
        for where, dtype in (("cpu", "float64"), ("cuda", "float32" if shared else "float64"))
    )
    for simulation in (here, there):
        simulation.tau[:], simulation.target[:] = tau, target
        for steps in (3, 2):
            simulation.step(steps)
    assert there._stepper._shape.kernel.endswith(f"{str(bool(shared)).lower()}>")
    for ours, theirs in ((there.q, here.q), (there.v, here.v)):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-4 if shared else 1e-11)
