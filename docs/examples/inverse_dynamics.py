"""Compute inverse dynamics: the torques that a motion needs, and those that hold an arm and a load of 1 kg."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"))
q, v, a = np.full(model.nv, 0.3), np.zeros(model.nv), np.ones(model.nv)
print(engine.inverse_dynamics(model, q, v, a)[1:4].round(2))
load = np.zeros((len(model.link_names), 6))  # wrenches (n, f) in the links' own frames
load[-1, 3:] = engine.link_poses(model, q)[-1, :3, :3].T @ [0, 0, -9.81]
print(engine.inverse_dynamics(model, q, v, 0 * a, external=load)[1:4].round(2))
# [-10.78  -2.2   21.55]
# [-15.11  -4.87  26.1 ]
