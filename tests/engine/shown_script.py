"""A script that shows its simulation, and says its own states at the end: shown_script.py ROBOT STEPS [HOW …]."""

import sys
import time

import numpy as np

import engine


def composed() -> engine.Model:
    box = engine.Part(engine.free_body("box", (0.1, 0.1, 0.1), 1.0), (0.5, 0, 0.3))
    return engine.compose(engine.load(engine.find_robot("arm7")), box)


MAKERS = {"composed": composed, "chain": lambda: engine.chain(12)}


def simulation_of(name: str, moon: bool = False, batch: int = 1) -> engine.Simulation:
    model = MAKERS[name]() if name in MAKERS else engine.load(engine.find_robot(name))
    scene = engine.Scene() if name in ("quadruped", "composed") else None
    q = None if scene is None else engine.put_down(model, scene, model.neutral())
    kp, kd = engine.holding_gains(model)
    own = engine.Parameters(model, 1)
    own.gravity[:] = (0, 0, -1.62)
    return engine.Simulation(
        model, batch, integrator="implicit", kp=kp, kd=kd, q=q, scene=scene, parameters=own if moon else None
    )


def main(name: str, steps: str, *how: str) -> None:
    batch = 5 if "batch" in how else 1
    simulation = simulation_of(name, "moon" in how, batch)
    link = engine.show(simulation, robot=batch - 1, window="window" in how)
    print(link.folder, flush=True)
    began, states = time.perf_counter(), {}
    for k in range(int(steps)):
        simulation.tau[:] = 0.1 if "steady" in how else 0.1 * np.sin(k / 50)
        simulation.step()
        states[simulation.steps] = simulation.state()
        if "forever" not in how and "fast" not in how:
            while time.perf_counter() < began + simulation.time:
                pass
        if "resets" in how and k == int(steps) // 2:
            simulation.reset()
        if "diverges" in how and k == int(steps) // 2:
            simulation.v[-1] = np.nan
    if "states" in how:
        path = link.folder.with_suffix(".npz")
        np.savez(path, **{f"{what}{k}": x for k, state in states.items() for what, x in zip("qv", state, strict=True)})
    print("done", flush=True)
    if "waits" in how:
        sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
