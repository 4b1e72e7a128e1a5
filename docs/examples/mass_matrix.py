"""Compute the mass matrix, its inverse, and the bias."""

import numpy as np

import engine

model = engine.load(engine.find_robot("double_pendulum"))
q, v = np.array([0.3, -0.5]), np.array([1.0, 2.0])
M = engine.mass_matrix(model, q)
a = np.linalg.solve(M, -engine.bias(model, q, v))
print(np.round(M, 4).tolist())
print(np.allclose(M @ engine.inverse_mass_matrix(model, q), np.eye(2)))
print(np.allclose(a, engine.forward_dynamics(model, q, v, np.zeros(2))))
# [[0.727, 0.256], [0.256, 0.125]]
# True
# True
