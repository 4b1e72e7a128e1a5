"""The time of a fresh process until its first result from the GPU, with empty and with full compilation caches."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.bench.peers.mujoco import mujoco_model
from engine.bench.peers.peer import Missing, require
from engine.model import generate

LINKS, BATCH = 10, 1024
PATIENCE = 180.0
CACHES = ("XDG_CACHE_HOME", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH", "NUMBA_CACHE_DIR", "WARP_CACHE_PATH")
"""The variables that set each library's cache folder."""
MUST, AIM = {"cold_s": 15.0, "warm_s": 2.0}, {"cold_s": 5.0, "warm_s": 0.5}

OURS = f"""
import numpy, engine
model = engine.chain({LINKS})
q, v, tau = numpy.random.default_rng().uniform(-1, 1, (3, {BATCH}, {LINKS}))
print(engine.ForwardDynamics(model, {BATCH}, "abia", "cuda")(q, v, tau)[0, 0], flush=True)
"""
THEIRS = f"""
import sys, mujoco, warp
warp.config.log_level = warp.LOG_WARNING
import mujoco_warp
theirs = mujoco.MjModel.from_binary_path(sys.argv[1])
model = mujoco_warp.put_model(theirs)
data = mujoco_warp.make_data(theirs, nworld={BATCH}, nconmax=0, njmax=0)
mujoco_warp.forward(model, data)
print(data.qacc.numpy()[0, 0], flush=True)
"""


def run(_seconds: float) -> dict[str, Any]:
    """Measure seconds from the start of a fresh process to its first result: with empty, then with full caches.

    The peer is MuJoCo Warp's `forward`, with its model read from a file.
    """
    with tempfile.TemporaryDirectory() as folder:
        row: dict[str, Any] = _cold_and_warm(OURS, folder)
    row["goal"] = {"quantity": "cold_s, warm_s", "must": [*MUST.values()], "aim": [*AIM.values()], "met": _verdict(row)}
    try:
        theirs = mujoco_model(generate.chain(LINKS))
        require("mujoco_warp", "MuJoCo Warp")
    except Missing as reason:
        return {**row, "peers": {"mujoco-warp": {"missing": str(reason)}}}
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "chain.mjb")
        mujoco.mj_saveModel(theirs, path, None)
        peer = _cold_and_warm(THEIRS, folder, path)
    ratios = {f"ratio_{name}": peer[f"{name}_s"] / row[f"{name}_s"] for name in ("cold", "warm")}
    return {**row, "peers": {"mujoco-warp": {**peer, **ratios}}}


def _verdict(row: dict[str, Any]) -> str:
    for name, bounds in (("aim", AIM), ("must", MUST)):
        if all(row[key] <= bound for key, bound in bounds.items()):
            return name
    return "nothing"


def _cold_and_warm(program: str, folder: str, *words: str) -> dict[str, float]:
    cold, *warm = (time_fresh_process(program, folder, *words) for _ in range(3))
    return {"cold_s": cold, "warm_s": min(warm)}


def time_fresh_process(program: str, folder: str, *words: str) -> float:
    """Return seconds until a fresh process prints a line. Raises RuntimeError with its last output if it fails."""
    root = str(Path(__file__).parents[3])
    paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    surroundings = {**os.environ, "PYTHONPATH": paths, **{name: str(Path(folder) / name) for name in CACHES}}
    start = perf_counter()
    done = subprocess.Popen(
        [sys.executable, "-c", program, *words], env=surroundings, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert done.stdout is not None
    wording = done.stdout.readline()
    elapsed = perf_counter() - start
    _, errors = done.communicate(timeout=PATIENCE)
    if done.returncode or not wording:
        raise RuntimeError(f"a fresh process failed: {errors.strip().splitlines()[-1:]}")
    return elapsed
