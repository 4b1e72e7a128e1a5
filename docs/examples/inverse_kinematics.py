"""Find a posture in which the hand is at a place, by inverse kinematics."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"))
hand = model.link_names.index("hand")
target = 0.4, 0.1, 0.5  # or a pose (4, 4)
found = engine.inverse_kinematics(model, model.neutral(), hand, target)
print(found.reached, np.round(engine.link_poses(model, found.q)[hand, :3, 3], 3))
# True [0.4 0.1 0.5]
