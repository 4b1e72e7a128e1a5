"""Have a ball bounce on an obstacle."""

import engine

table = engine.Obstacle("box", (1.0, 1.0, 0.4), pose=(0.0, 0.0, 0.2))  # or a (4, 4) pose
scene = engine.Scene(obstacles=(table,), restitution=0.8)
ball = engine.free_body("sphere", (0.1,), mass=0.5)
run = engine.rollout(ball, [0, 0, 1.5, 0, 0, 0, 1], steps=1000, dt=1e-3, scene=scene)
print(f"{run.q[500:, 2].max() - 0.5:.2f} m after a fall of 1 m")
# 0.64 m after a fall of 1 m
