"""Simulate 100 000 robots on a GPU, with arrays that stay there."""

import cupy

import engine

model = engine.load(engine.find_robot("arm7"))
sim = engine.Simulation(model, 100_000, device="cuda", dtype="float32", kp=50.0, kd=2.0)
sim.target[:] = 0.3  # live arrays on the GPU: q, v, tau, target
sim.step(1000)  # one launch
sim.check()  # waits, and raises if a robot diverged
print(type(sim.q) is cupy.ndarray, sim.q.shape)
# True (100000, 7)
