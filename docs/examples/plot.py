"""Plot a run with matplotlib."""

import matplotlib.pyplot as plt

import engine

model = engine.load(engine.find_robot("double_pendulum"))
run = engine.rollout(model, [2.0, 0.0], steps=5000, dt=1e-3, every=10)
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(run.time, run.q, label=model.coordinate_names)
axes.set(xlabel="time [s]", ylabel="q [rad]")
axes.legend()
figure.savefig("plot.png", dpi=80)
