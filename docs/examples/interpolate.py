"""Go from one configuration to another, quaternions too."""

import numpy as np

import engine

model = engine.load(engine.find_robot("quadruped"))
start, end = model.random(np.random.default_rng(0), batch=2)
v = engine.difference(model, start, end)  # the velocities that lead there in 1 s
half = engine.integrate(model, start, v, 0.5)
print(v.shape, np.linalg.norm(half[3:7]).round(9))
print(np.allclose(engine.integrate(model, start, v), end))
# (18,) 1.0
# True
