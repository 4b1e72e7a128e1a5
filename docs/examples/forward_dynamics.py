"""Compute forward dynamics: the accelerations that torques give, of one state or of a batch."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"))
q = model.random(np.random.default_rng(0), batch=4096)  # a batch stands first
v = tau = np.zeros((4096, model.nv))
fd = engine.ForwardDynamics(model, batch=4096)  # owns its buffers
a = fd(q, v, tau)
print(a.shape, np.allclose(a[0], engine.forward_dynamics(model, q[0], v[0], tau[0])))
# (4096, 7) True
