"""Freeze robots that diverge, instead of ending the run."""

import numpy as np

import engine

model = engine.load(engine.find_robot("pendulum"))
v = [[0.0], [1e300], [1.0]]
sim = engine.Simulation(model, batch=3, v=v, on_divergence="freeze", limits=False)
sim.step(10)
print(sim.diverged, np.isfinite(sim.q).all())
print(sim.divergence(1))
# [False  True False] True
# the simulation diverged at 0.001 s, first in pivot of robot 1; halve dt (it is 0.001 s)
