"""Profile a frame of the window's simulation thread on a GPU, without a window.

    python -m tests.app.worker_on_gpu [SECONDS]

plays robots for SECONDS each, polls for snapshots as the window does, and prints medians: achieved speed, snapshots a
second, one step and its phases, and what a snapshot took on host and device. Then batches, frame by frame.
"""

import sys
import time

import numpy as np

import engine
from app.simulation.messages import Configured, Settings
from app.workbench import Workbench

LOOK = 1 / 60  # s between two looks, as in the window
PATIENCE = 120.0  # s, for kernels that are compiled


def microseconds(samples: list[dict[str, float]]) -> str:
    """The medians of each name."""
    names = dict.fromkeys(name for sample in samples for name in sample)
    medians = {name: float(np.median([sample.get(name, 0.0) for sample in samples])) for name in names}
    return ", ".join(f"{name} {1e6 * seconds:.1f}" for name, seconds in medians.items())


def look(bench: Workbench, until: float) -> list[tuple]:
    """Snapshots up to a time, each as (factor, phases, spent, q)."""
    seen = []
    while time.perf_counter() < until:
        for event in bench.poll():
            if isinstance(event, Configured) and event.refusal:
                print("  refused:", event.refusal)
        if (frame := bench.frame()) is not None:
            seen.append((frame.factor, dict(frame.phases), dict(frame.spent), frame.q.copy(), frame.link_poses.copy()))
        time.sleep(LOOK)
    return seen


def play(model: engine.Model, device: str, seconds: float, speed: float = 1.0) -> None:
    """Play one robot on one device."""
    bench = Workbench()
    bench.configuring.take_settings(Settings(device=device, automatic=True))
    bench.open(model)
    began = time.perf_counter()
    while (
        bench.robot.model is None
        or (device == "cuda" and bench.computation.device != "cuda")
        or bench.computation.compiling
    ):
        for event in bench.poll():
            if isinstance(event, Configured) and event.refusal:
                print("  refused:", event.refusal)
        assert time.perf_counter() < began + PATIENCE, (bench.computation.device, bench.computation.compiling)
        time.sleep(LOOK)
    made = time.perf_counter() - began
    bench.joints.set_held(False)
    look(bench, time.perf_counter() + 0.3)
    while bench.computation.preparing or bench.computation.compiling:
        look(bench, time.perf_counter() + 0.1)
    bench.set_speed(speed)
    bench.play()
    look(bench, time.perf_counter() + 1.0)
    seen = look(bench, time.perf_counter() + seconds)
    bench.pause()
    by, settings = bench.computation, bench.robot.settings
    where = f"{by.device}, {by.algorithm}, {settings.integrator}, dt {settings.dt:g}"
    print(f"{model.name} on {where}, asked {speed:g} x; ready after {made:.1f} s; {bench.computation.why}")
    factors = [factor for factor, *_ in seen if np.isfinite(factor)]
    print(f"  achieved {np.median(factors):.3f} x, {len(seen) / seconds:.0f} snapshots/s")
    print("  a step, us:", microseconds([phases for _, phases, *_ in seen if phases]))
    print("  a snapshot, us:", microseconds([spent for _, _, spent, *_ in seen]))
    if seen:
        *_, q, poses = seen[-1]
        print("  poses differ from the CPU's by", float(np.abs(engine.link_poses(model, q) - poses).max()))
    bench.close()


def batch(model: engine.Model, robots: int, steps: int, dtype: str) -> None:
    """Profile a batch: `steps` steps and a frame with the links of all robots, repeatedly."""
    simulation = engine.Simulation(model, robots, device="cuda", dtype=dtype)
    reader = simulation.frames(robots)
    rows = []
    for _ in range(30):
        began = time.perf_counter()
        reader.begin()
        simulation.step(steps)
        reader.request()
        launched = time.perf_counter() - began
        frame = reader.take()
        whole = time.perf_counter() - began
        rows.append({"host": launched, **frame.spent._asdict(), "whole": whole})
    size = frame.link_poses.nbytes + frame.q.nbytes + frame.v.nbytes
    print(f"{robots} x {model.name}, {dtype}, {simulation.algorithm}, {steps} steps a frame, {size / 1e6:.2f} MB")
    print("  us:", microseconds(rows[5:]))


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    print(engine.why_no_gpu() or "a GPU is there")
    arm, chain = engine.load(engine.find_robot("arm7")), engine.chain(500)
    for model, device, speed in ((arm, "cpu", 1.0), (arm, "cuda", 1.0), (arm, "cuda", 10.0), (chain, "cpu", 1.0),
                                 (chain, "cuda", 1.0), (chain, "auto", 1.0)):  # fmt: skip
        play(model, device, seconds, speed)
    for model, robots, dtype in ((engine.chain(200), 100, "float64"), (arm, 1000, "float64"), (arm, 10000, "float32")):
        batch(model, robots, 16, dtype)


if __name__ == "__main__":
    main()
