"""Simulate a robot, and see that energy is kept where there is no friction."""

import engine

model = engine.load(engine.find_robot("double_pendulum"))
parameters = engine.Parameters(model, batch=1)
parameters.damping[:] = parameters.friction[:] = 0
q = [1.0, 0.5]
sim = engine.Simulation(model, dt=1e-3, integrator="rk4", q=q, parameters=parameters)
before = sum(sim.energy())
sim.step(1000)
print(sim.time, sim.q.round(3), abs(sum(sim.energy()) - before) < 1e-6)
# 1.0 [[-3.459 -4.02 ]] [ True]
