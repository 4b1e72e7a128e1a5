"""The format of run files: the arrays of a trajectory, its names and settings, and the limits of their sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from engine import array_files, files
from engine.model import Model
from engine.rollout import KEPT, Trajectory
from engine.validation import Array

FORMAT = 2
"""2 since obstacles have a friction and a colour, which older programs reject."""
FREE_SAMPLES, BYTES = 20_000, 16
"""States that any file may have, and the file's bytes per further state, about those of a moving robot."""
UNORDERED = "its times are not in order, or not as many as its states"


def refuse_newer(name: str, version: int) -> None:
    """Raise ValueError for a file of a newer format than this one."""
    if version > FORMAT:
        raise ValueError(f"{name} is of format {version}, and this Catena reads up to {FORMAT}; take a newer one")


def arrays_of(model: Model, trajectory: Trajectory, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of any run file, by their names; wrenches where there are any."""
    arrays = {name: getattr(trajectory, name) for name in ("time", *KEPT)}
    if trajectory.wrench_links:
        arrays |= {"wrench": trajectory.wrench, "wrench_links": np.array(trajectory.wrench_links)}
    return arrays | {
        "joint_names": np.array(model.joint_names),
        "coordinate_names": np.array(model.coordinate_names),
        "settings": np.array(json.dumps({**settings, "format": FORMAT})),
    }


def reading_settings(model: Model) -> dict[str, Any]:
    """Return the settings with which a robot's file or text gives this model, named like those of `main.py run`.

    Only those that differ from what is read without them; none for a composed robot, whose parts have their own.
    """
    how = {} if model.parts else model.options
    settings = {
        "floating": how.get("floating"), "no_mimic": not how.get("mimic", True),
        "package_dir": how.get("package_dirs"), "srdf": how.get("srdf"), "xacro_args": how.get("xacro_args"),
    }  # fmt: skip
    return {name: value for name, value in settings.items() if value}


def save_trajectory(
    path: str | Path,
    model: Model,
    trajectory: Trajectory,
    settings: dict[str, Any],
    controls: Array | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write a trajectory and all settings to run it again to an .npz file, atomically.

    The file holds the arrays of `Trajectory`, `joint_names`, `coordinate_names`, `settings` as JSON text and, where
    there are any, all `controls` (1, steps, nv). `more` are further arrays.
    """
    arrays = arrays_of(model, trajectory, settings) | ({} if controls is None else {"controls": controls[0]}) | {**more}
    with files.replacing(path) as file:
        array_files.write_archive(file, arrays, require_run)


def require_run(headers: Mapping[str, array_files.Header], size: int) -> None:
    """Raise ValueError unless arrays are a trajectory, with at most the states that a file of `size` bytes may have."""
    _, (time, _), *rest = (headers[name] for name in ("settings", "time", *KEPT))
    for name in ("time", *KEPT):
        if (dtype := headers[name][1]).kind != "f":
            raise ValueError(f"its {name} has numbers of type {dtype}, not of floating point")
    states = [shape for shape, _ in rest]
    samples = time[0] if len(time) == 1 else 0
    fits = all(len(x) in (2, 3) and len(x) == len(states[0]) and x[-2] == samples for x in states)
    if not samples or not fits:
        raise ValueError(UNORDERED)
    if samples > (limit := FREE_SAMPLES + size // BYTES):
        raise array_files.TooTight(
            f"it would have {samples} states, and a file of {size / 1e6:.1f} MB has at most {limit}"
        )
