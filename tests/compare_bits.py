"""Compare trajectories and results before and after a change that must not alter a bit.

python tests/compare_bits.py record before.npz [--device cuda]      (with PYTHONPATH at the version to record)
python tests/compare_bits.py compare before.npz after.npz
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

STEPS = 200


def real_robots() -> list[Path]:
    """Return some robots of example-robot-data, if installed."""
    try:
        from example_robot_data.path import EXAMPLE_ROBOT_DATA_MODEL_DIR
    except ImportError:
        return []
    folder = Path(EXAMPLE_ROBOT_DATA_MODEL_DIR)
    names = ("panda_description/urdf/panda.urdf", "anymal_b_simple_description/robots/anymal.urdf")
    return [folder / name for name in names if (folder / name).exists()]


def robots() -> Iterator[tuple[str, object]]:
    import engine
    from engine.files import ROBOTS

    for path in (*sorted(ROBOTS.glob("*.urdf")), *real_robots()):
        yield path.stem, engine.load(path, mimic=False)
    yield "floating arm", engine.load(ROBOTS / "arm7.urdf", floating=True)
    yield "chain of 80", engine.chain(80, prismatic=0.2)


def record(device: str) -> dict[str, np.ndarray]:
    """Every run by its name: q and v after `STEPS` steps with limits, friction and gains on; and forward dynamics."""
    import engine

    found: dict[str, np.ndarray] = {}
    for name, model in robots():
        for batch in (1, 100):
            rng = np.random.default_rng(batch)
            q, v = model.random(rng, batch), rng.uniform(-1, 1, (batch, model.nv))
            tau = rng.uniform(-1, 1, (batch, model.nv))
            for dtype in ("float64", "float32") if device == "cuda" else ("float64",):
                key = f"{name}, {batch} in {dtype}"
                for integrator in engine.INTEGRATORS:
                    sim = engine.Simulation(
                        model, batch, 1e-3, integrator, "abia", q=q, v=v, device=device, dtype=dtype, kp=2.0, kd=0.1
                    )
                    try:
                        sim.step(STEPS)
                        sim.check()
                    except engine.Diverged:
                        found[f"{key}, {integrator}: diverged"] = np.array(sim.steps)
                    for part in ("q", "v"):
                        found[f"{key}, {integrator}: {part}"] = _host(getattr(sim, part))
                for algorithm in engine.algorithms(model, device):
                    fd = engine.ForwardDynamics(model, batch, algorithm, device, dtype)
                    given = (_on(device, x, dtype) for x in (q, v, tau))
                    found[f"{key}, {algorithm}"] = _host(fd(*given))
    return found


def _on(device: str, x: np.ndarray, dtype: str) -> object:
    if device == "cpu":
        return x
    import cupy

    return cupy.asarray(x, dtype)


def _host(x) -> np.ndarray:
    return x.get() if hasattr(x, "get") else np.array(x)


def compare(before: Path, after: Path) -> int:
    """Prints what differs, and by how much; the exit status."""
    one, two = np.load(before), np.load(after)
    different = []
    for name in sorted(set(one.files) | set(two.files)):
        if name not in one or name not in two:
            different.append(f"{name}: only {'after' if name in two else 'before'}")
        elif one[name].tobytes() != two[name].tobytes():
            scale = np.abs(one[name]).max() or 1.0
            different.append(f"{name}: {np.abs(one[name] - two[name]).max() / scale:.2g} relative")
    print("\n".join(different))
    print(f"{len(one.files)} arrays before, {len(two.files)} after: {len(different)} differ")
    return int(bool(different))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    args = parser.parse_args()
    if args.command == "compare":
        return compare(args.before, args.after)
    found = record(args.device)
    np.savez(args.file, **found)
    print(f"{len(found)} arrays in {args.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
