"""Have the window show a script's simulation while it runs."""

import engine

sim = engine.Simulation(engine.load(engine.find_robot("arm7")))
link = engine.show(sim, window=False)  # for main.py connect; else a window opens
sim.step(1000)
link.close()
print(sim.time, link.frames > 0)
# 1.0 True
