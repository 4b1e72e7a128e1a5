"""Have a quadruped stand, held by gains."""

import engine

model = engine.load(engine.find_robot("quadruped"))
scene = engine.Scene(friction=0.8)
kp, kd = engine.holding_gains(model)
start = engine.put_down(model, scene, model.neutral())
sim = engine.Simulation(model, 1, 2e-3, "implicit", q=start, kp=kp, kd=kd, scene=scene)
sim.step(500)
print(set(sim.contacts.states(0)), sim.contacts.residual < engine.CONTACT_TOLERANCE)
# {'stick'} [ True]
