"""Reset some robots of a batch, while the others continue."""

import engine

model = engine.load(engine.find_robot("pendulum"))
sim = engine.Simulation(model, batch=4, q=[[0.1], [0.2], [0.3], [0.4]])
sim.step(100)
sim.reset(q=[1.0], robots=sim.q[:, 0] > 0.2)  # a mask (batch,), or numbers of robots
print(sim.q[:, 0].round(3), sim.time)
# [0.05  0.151 1.    1.   ] 0.1
