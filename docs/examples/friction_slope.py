"""Put a box on slopes: it sticks where μ is greater than the slope's tangent."""

import numpy as np

import engine

box = engine.free_body("box", (0.2, 0.2, 0.1), mass=1.0)
for degrees in (20, 30):
    scene = engine.Scene(ground=engine.slope(np.radians(degrees)), friction=0.5)
    start = engine.put_down(box, scene, box.neutral())
    sim = engine.Simulation(box, q=start, scene=scene)
    sim.step(500)
    print(degrees, sim.contacts.states(0)[0], f"{np.linalg.norm(sim.v[0, 3:]):.2f} m/s")
# 20 stick 0.00 m/s
# 30 slip 0.48 m/s
