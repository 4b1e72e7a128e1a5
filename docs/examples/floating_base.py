"""Have a robot float, and place it with a random posture."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"), floating=True)
q = model.random(np.random.default_rng(0))  # uniform within the limits
q[:7] = 0, 0, 1, 0, 0, 0, 1  # position, and unit quaternion x, y, z, w
print(model.nq, model.nv, np.round(engine.link_poses(model, q)[0, :3, 3], 3))
# 14 13 [0. 0. 1.]
