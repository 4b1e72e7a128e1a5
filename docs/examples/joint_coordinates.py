"""Find a joint's places in q and v, and set it."""

import engine

model = engine.load(engine.find_robot("quadruped"))
q = model.neutral()
q[model.q_slice("FL_thigh_joint")] = 0.5
print(model.q_slice("FL_thigh_joint"), model.v_slice("FL_thigh_joint"))
# slice(8, 9, None) slice(7, 8, None)
