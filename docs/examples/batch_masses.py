"""Simulate a batch of 1000 robots with different masses."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm6"))
factor = np.linspace(1.0, 20.0, 1000)
p = engine.Parameters(model, batch=1000)  # masses, gravity, damping … of each robot
p.mass[:, -1] *= factor
p.first_moment[:, -1] *= factor[:, None]
p.inertia[:, -1] *= factor[:, None, None]
q = np.full(model.nq, 0.5)
sim = engine.Simulation(model, 1000, 1e-3, "implicit", q=q, kp=500.0, kd=50.0, parameters=p)
sim.step(1000)
print(engine.link_poses(model, sim.q)[[0, -1], -1, 2, 3].round(2), "m high")
# [1.03 0.97] m high
