"""Apply torques that are known beforehand, and keep every tenth state."""

import numpy as np

import engine

model = engine.load(engine.find_robot("pendulum"))
controls = np.sin(np.linspace(0, 6, 1000))[:, None]  # (steps, nv)
run = engine.rollout(model, model.neutral(), controls=controls, dt=1e-3, every=10)
print(run.time.shape, run.q.shape, run.q[-1].round(3))
# (101,) (101, 1) [-2.953]
