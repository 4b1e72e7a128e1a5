"""Record a run, and export it as a file for main.py view, a table and arrays."""

import engine

sim = engine.Simulation(engine.load(engine.find_robot("arm7")))
recording = engine.Recording()
recording.begin(sim)
for _ in range(50):
    recording.note(sim)  # what acts on it from here
    sim.step(10)
    recording.add(sim)
run = engine.save_run("run.npz", recording, recording.runs[-1], {"robot": "arm7"})
engine.save_csv("run.csv", sim.model, run)
print(run.time.shape, run.q.shape, engine.read_run("run.npz").trajectory.tau.shape)
# (51,) (51, 7) (51, 7)
