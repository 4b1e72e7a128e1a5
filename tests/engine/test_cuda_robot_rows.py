"""Steps by a thread a robot, compiled for the host: the threads of a block move the states of their robots together."""

import cuda_on_host as on_host
import numpy as np
import pytest
from cuda_on_host import compiled_for_host, cuda_on_host, needs_compiler  # noqa: F401  (fixtures)

import engine
from engine.cuda.runtime import device
from engine.cuda.stepping.robot_stepper import spread

pytestmark = needs_compiler


@pytest.mark.parametrize("shared", [0, 233472], ids=["slots in global memory", "slots in shared memory"])
@pytest.mark.parametrize(("name", "batch"), [("quadruped", 1), ("quadruped", 70), ("arm7", 33)])
@pytest.mark.usefixtures("cuda_on_host")
def test_every_robot_has_its_own_state(name, batch, shared, monkeypatch, rng):
    """One robot, partially filled blocks, and several blocks; rows have 7 and 19 numbers, and parts 8.

    Robots have parameters of their own, for which steps are not written out.
    """
    monkeypatch.setattr(device, "properties", lambda: on_host.CHIP | {"sharedMemPerMultiprocessor": shared})
    model = engine.load(engine.find_robot(name))
    q, v = model.random(rng, batch), rng.uniform(-0.3, 0.3, (batch, model.nv))
    tau, target = rng.uniform(-1, 1, v.shape), rng.uniform(-1, 1, v.shape)
    gains, own = np.where(model.q_of_v >= 0, 2.0, 0.0), engine.Parameters(model, batch)
    here, there = (
        engine.Simulation(model, batch, q=q, v=v, kp=gains, parameters=own, algorithm="abia", device=where, dtype=dtype)
        for where, dtype in (("cpu", "float64"), ("cuda", "float32" if shared else "float64"))
    )
    for simulation in (here, there):
        simulation.tau[:], simulation.target[:] = tau, target
        for steps in (3, 2):
            simulation.step(steps)
    assert there._stepper._shape.kernel.endswith(f"{str(bool(shared)).lower()}>")
    for ours, theirs in ((there.q, here.q), (there.v, here.v)):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-4 if shared else 1e-11)


@pytest.mark.parametrize(
    ("numbers", "found"),
    [(98, (64, 8, True)), (239, (32, 7, True)), (518, (64, 8, False))],
    ids=["a small robot", "seven blocks of 32 are more robots than three of 64", "too large"],
)
def test_as_many_robots_as_shared_memory_holds_share_a_multiprocessor(numbers, found, monkeypatch):
    chip = {"multiProcessorCount": 132, "sharedMemPerMultiprocessor": 233472}
    monkeypatch.setattr(device, "properties", lambda: chip)
    assert spread(4 * numbers, 4, 1 << 16) == found
    threads, blocks, in_shared = found
    assert not in_shared or blocks * (4 * numbers * (threads + 1) + 1024) <= chip["sharedMemPerMultiprocessor"]
