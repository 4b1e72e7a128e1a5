"""Make a height field, and drop balls on it."""

import numpy as np

import engine

x = np.linspace(0, 4 * np.pi, 41)
ground = engine.HeightField(0.1 * np.sin(x)[:, None] * np.cos(x)[None, :], cell=0.1)
ball = engine.free_body("sphere", (0.1,), mass=0.5)
q = np.array([[x, 0.1, 0.5, 0, 0, 0, 1] for x in (-0.9, 0.1, 1.1)])
sim = engine.Simulation(ball, batch=3, q=q, scene=engine.Scene(ground=ground))
sim.step(500)
print(sim.contacts.number, sim.q[:, :3].round(2).tolist())
# [1 1 1] [[-0.92, 0.25, 0.03], [0.11, -0.05, 0.09], [1.08, 0.25, 0.03]]
