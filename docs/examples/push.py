"""Push a link for 0.1 s, and see how far it moves."""

import numpy as np

import engine

model = engine.load(engine.find_robot("arm7"))
kp, kd = engine.holding_gains(model)
sim = engine.Simulation(model, integrator="implicit", kp=kp, kd=kd)
before = engine.link_poses(model, sim.q)[0, -1, :3, 3]
sim.wrench[0, -1, 3:] = 50, 0, 0  # N, in the last link's frame; held until changed
sim.step(100)
after = engine.link_poses(model, sim.q)[0, -1, :3, 3]
print(f"{1e3 * np.linalg.norm(after - before):.1f} mm")
# 2.1 mm
