"""Return to a checkpoint, and continue to the same bits."""

import numpy as np

import engine

sim = engine.Simulation(engine.load(engine.find_robot("arm7")))
sim.step(50)
kept = sim.checkpoint()
sim.step(50)
q = sim.q.copy()
sim.restore(kept)
sim.step(50)
print(np.array_equal(sim.q, q), sim.steps)
# True 100
