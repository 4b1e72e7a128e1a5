"""Fixtures that all tests share, and the reasons for which some are skipped."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

# Window tests and offscreen pictures share one process, and PyOpenGL can look up contexts in one way only:
# both Qt's xcb platform and the surfaceless renderer go through EGL. Set before the first import of either.
if sys.platform.startswith("linux"):
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SEED = 20160501
UNREADABLE = {"ur3.urdf"}
"""Files of example-robot-data that are broken, and which Pinocchio does not read either."""


def _example_robots() -> list[Path]:
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())) for file in files if file.suffix == ".urdf" and file.name not in UNREADABLE)


EXAMPLE_ROBOTS = _example_robots()


@pytest.fixture(scope="session")
def example_robots() -> list[Path]:
    """Every URDF of example-robot-data that is sound, sorted by path. No such package, no test."""
    if not EXAMPLE_ROBOTS:
        pytest.skip("example-robot-data is not installed; it is part of the dev group (not on Windows)")
    return EXAMPLE_ROBOTS


@pytest.fixture(scope="session")
def shipped_robots() -> list[Path]:
    """Every URDF in robots/, sorted by name."""
    return sorted((ROOT / "robots").glob("*.urdf"))


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in every run, and for every test its own stream from the start."""
    return np.random.default_rng(SEED)


def _reason_against_gpu() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "needs a GPU: CuPy is not installed (extra cuda12 or cuda13)"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"needs a GPU: {error}"
    return None if count else "needs a GPU: CUDA finds no device"


def _reason_against_windows() -> str | None:
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen or not sys.platform.startswith("linux"):
        return None
    return "needs a screen: there is no display, and no Xvfb to make one (Debian package xvfb)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, and say why."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    with_window = [item for item in items if {"qapp", "qtbot"} & set(getattr(item, "fixturenames", ()))]
    for group, reason_against in ((on_gpu, _reason_against_gpu), (with_window, _reason_against_windows)):
        reason = reason_against() if group else None
        for item in group if reason else []:
            item.add_marker(pytest.mark.skip(reason=reason))
