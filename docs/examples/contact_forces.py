"""Ask for contact forces: where a robot touches, and how hard."""

import engine

box = engine.free_body("box", (0.2, 0.2, 0.2), mass=1.0)
scene = engine.Scene(friction=0.5)
sim = engine.Simulation(box, q=[0, 0, 0.1, 0, 0, 0, 1], scene=scene)
sim.step(100)
found = sim.contacts.of_robot(0)
for point, impulse in zip(found.point[0], found.impulse[0], strict=True):
    print((point.round(3) + 0).tolist(), f"{impulse[2] / sim.dt:.2f} N")
print(sim.contact_wrench[0, 0, 3:].round(2) + 0)  # the whole force on the link, N
# [-0.1, -0.1, 0.0] 2.45 N
# [0.1, 0.1, 0.0] 2.45 N
# [-0.1, 0.1, 0.0] 2.45 N
# [0.1, -0.1, 0.0] 2.45 N
# [0.   0.   9.81]
