"""Find where links are, and the Jacobian of the hand along the world's axes."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"))
q, hand = np.full(model.nv, 0.3), model.link_names.index("hand")
twists = [engine.link_twists(model, q, unit)[hand] for unit in np.eye(model.nv)]
J = np.stack(twists, axis=1)
print(np.round(engine.link_poses(model, q)[hand, :3, 3], 3), J.shape)
print(np.round(J[3:, 1], 3))  # how the second joint moves the hand
# [0.328 0.288 0.647] (6, 7)
# [ 0.3    0.093 -0.398]
