"""The provenance of measurements: machine, versions, commit, command, GPU and its clocks."""

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

PACKAGES = ("cupy-cuda12x", "cupy-cuda13x", "pin", "mujoco", "mujoco-mjx", "mujoco-warp", "warp-lang", "jax", "jaxsim")
CLOCKS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu", "power.draw", "pstate")
QUERY_SECONDS = 20


def machine() -> dict[str, Any]:
    """Describe the machine."""
    return {
        "processor": timings.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def collect() -> dict[str, Any]:
    """Return all facts; the GPU's are null without one."""
    return {
        **machine(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "commit": _wording("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "gpu": device.describe() | {"driver_version": _smi("driver_version")} if device.available() else None,
    }


def in_words(gpu: bool = False) -> str:
    """Describe the machine for a figure: the GPU if used, and the processor."""
    hardware = machine()
    words = f"{hardware['processor']}, {hardware['cores']} cores"
    return f"{device.describe()['name']}; {words}" if gpu else words


def clocks() -> dict[str, str] | None:
    """Return the GPU's current clocks in MHz, temperature in °C and power in W; nothing is set."""
    result = _smi(*CLOCKS)
    return result and dict(zip(CLOCKS, map(str.strip, result.split(",")), strict=True))


def _smi(*names: str) -> Any:
    return _wording("nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "--id=0")


def _wording(*words: str) -> str | None:
    """Return a program's output; None if it is missing, or fails."""
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
