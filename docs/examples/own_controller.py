"""Control a robot by a law of one's own, with gravity compensation."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"))
sim, goal = engine.Simulation(model), np.full(model.nv, 0.4)
for _ in range(1000):
    q, v = sim.q[0], sim.v[0]
    wanted = 2500 * (goal - q) - 100 * v
    sim.tau[0] = engine.mass_matrix(model, q) @ wanted + engine.bias(model, q, v)
    sim.step()
print(f"{abs(sim.q - goal).max():.2f} rad")  # what joint friction leaves
# 0.02 rad
