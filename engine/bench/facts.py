"""What a figure can be traced by: the machine, the versions, the commit, the command, the GPU and its clocks."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from engine.cuda.runtime import device
from engine.selection import timings

PACKAGES = (
    "cupy-cuda12x",
    "cupy-cuda13x",
    "pin",
    "mujoco",
    "mujoco-mjx",
    "mujoco-warp",
    "warp-lang",
    "jax",
    "jaxsim",
)
CLOCKS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu", "power.draw", "pstate")
QUERY_SECONDS = 20


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "processor": timings.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def gathered() -> dict[str, Any]:
    """All of it; the GPU's part is null where there is none."""
    return {
        **machine(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "commit": _said("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "gpu": device.describe() | {"driver_version": _smi("driver_version")} if device.available() else None,
    }


def clocks() -> dict[str, str] | None:
    """The GPU's clocks in MHz, temperature in °C and power in W as they are now; they are read, never set."""
    answer = _smi(*CLOCKS)
    return answer and dict(zip(CLOCKS, map(str.strip, answer.split(",")), strict=True))


def _smi(*names: str) -> Any:
    return _said("nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "--id=0")


def _said(*words: str) -> str | None:
    """What a program prints; None where it is not there, or fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=QUERY_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
