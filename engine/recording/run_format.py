"""The format of run files: the arrays of a trajectory, its names and settings, and the limits of their sizes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from engine import array_files, files
from engine.logged import named_numbers
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
    if trajectory.logged_names:
        arrays |= {"logged": trajectory.logged, "logged_names": np.array(trajectory.logged_names)}
    return arrays | {
        "joint_names": np.array(model.joint_names),
        "coordinate_names": np.array(model.coordinate_names),
        "settings": np.array(json.dumps({**settings, "format": FORMAT})),
    }


def wrenches_of(arrays: Mapping[str, Array]) -> tuple[Array | None, tuple[str, ...]]:
    """Return the external wrenches and their links, if the file has them."""
    if "wrench" not in arrays:
        return None, ()
    wrench, links = arrays["wrench"], arrays["wrench_links"]
    expected = *arrays["q"].shape[:-1], links.size, 6
    if wrench.dtype.kind != "f" or wrench.shape != expected or links.ndim != 1 or links.dtype.kind != "U":
        raise ValueError(f"its wrench has shape {wrench.shape} and type {wrench.dtype}; expected numbers {expected}")
    if not np.all(np.isfinite(wrench)):
        raise ValueError("its wrench has numbers that are not finite")
    return wrench, tuple(links.tolist())


def logged_of(arrays: Mapping[str, Array]) -> tuple[Array | None, tuple[str, ...]]:
    """Return the logged numbers (samples, names) and their names, if the file has them."""
    if "logged_names" not in arrays:
        return None, ()
    names = names_of(arrays)
    return require_logged("logged", arrays["logged"], len(arrays["time"]), names), names


def names_of(arrays: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the names of logged numbers. Raises ValueError for names that no program can log."""
    listed = arrays["logged_names"]
    if listed.ndim != 1 or listed.dtype.kind != "U":
        raise ValueError(f"its logged_names have shape {listed.shape} and type {listed.dtype}; expected a list of text")
    names = tuple(map(sys.intern, listed.tolist()))
    if len(named_numbers(dict.fromkeys(names, 0.0), set())) < len(names):
        raise ValueError("a name occurs twice in its logged_names")
    return names


def require_logged(name: str, values: Array, number: int, names: Sequence[str]) -> Array:
    """Return a table of logged numbers (number, names). Raises ValueError where it is none."""
    if values.shape != (number, len(names)) or values.dtype.kind != "f" or np.any(np.isinf(values)):
        raise ValueError(
            f"its {name} has shape {values.shape} and type {values.dtype}; expected numbers {(number, len(names))}"
        )
    return values


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
