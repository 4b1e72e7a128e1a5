"""Compose an arm and a cube to grasp into one model, whose parts touch each other."""

import engine

arm = engine.load(engine.find_robot("arm7"))
cube = engine.free_body("box", (0.05, 0.05, 0.05), mass=0.1, name="cube")
both = engine.compose(arm, engine.Part(cube, pose=(0.4, 0.0, 0.3)))
kp, kd = engine.holding_gains(both)
sim = engine.Simulation(both, integrator="implicit", kp=kp, kd=kd, scene=engine.Scene())
sim.step(1000)
height = engine.link_poses(both, sim.q)[0, -1, 2, 3]
print(both.joint("cube/floating_base").v, f"{height:.3f} m high")
# slice(7, 13, None) 0.025 m high
