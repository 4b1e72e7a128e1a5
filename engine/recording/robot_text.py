"""The robot stored in a run's settings, for robots without a file, such as generated ones.

A generated robot is stored as URDF text; a composed one as its parts, each by its file or as text.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine import files
from engine.model import Model, ModelError
from engine.model.composition import Part, compose
from engine.model.urdf_text import urdf
from engine.recording.files import SavedRun

_URDF, _PARTS = "urdf", "parts"
_ROUNDED = ("home_rotation", "inertia")
"""Model arrays that a URDF reproduces only up to rounding: angles, and inertias about centres of mass."""
_CLOSE = 1e-9  # relative to the largest number of such an array
MAX_PARTS = 1000
"""Maximum number of parts in a file."""
_OPTIONS: dict[str, type] = {"floating": bool, "mimic": bool, "package_dirs": list, "srdf": str, "xacro_args": dict}


def robot_as_text(model: Model) -> dict[str, Any]:
    """Return the settings for a robot without a file: its parts, or its URDF and the arrays that a URDF rounds.

    Parts that were read from files are stored by path, so the files must be kept.
    """
    if model.parts:
        return {"robot": "", _PARTS: [_part_as_text(part) for part in model.parts]}
    return {"robot": "", _URDF: urdf(model)} | {name: getattr(model, name).tolist() for name in _ROUNDED}


def _part_as_text(part: Part) -> dict[str, Any]:
    model = part.model
    robot = robot_as_text(model) if model.source is None else {"robot": model.source}
    stored = {"prefix": part.prefix, "pose": np.asarray(part.pose).tolist(), "options": dict(model.options)}
    return robot | stored


def robot_of_text(saved: SavedRun, load: Callable[..., Model]) -> Model | None:
    """Return the robot stored in a run as text or as parts, exact to the bit; None without one.

    `load` reads a file, as `engine.load` does with the same options. Raises its exceptions, and ValueError with one
    sentence for invalid parts.
    """
    name, stored = Path(saved.path).name, saved.settings.get(_PARTS)
    if not isinstance(stored, list) or not stored:
        return _of_urdf(saved.settings, Path(saved.path).stem, load)
    return compose(*parts_of_text(stored, name, load))


def parts_of_text(stored: list[dict[str, Any]], name: str, load: Callable[..., Model]) -> tuple[Part, ...]:
    """The parts that a file of that name has named, as `robot_as_text` has written them under "parts".

    `load` is as for `robot_of_text`, whose errors are raised.
    """
    try:
        if len(stored) > MAX_PARTS:
            raise ValueError(f"there are {len(stored)}, and at most {MAX_PARTS} are read")
        parts = tuple(_part_of_text(each, name, load) for each in stored)
        compose(*parts)
    except ModelError:
        raise
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"the parts of its robot in {name} are invalid ({problem})") from None
    return parts


def _part_of_text(stored: dict[str, Any], name: str, load: Callable[..., Model]) -> Part:
    given: dict[str, Any] = dict(stored["options"])
    options: dict[str, Any] = {"floating": False}
    options |= {key: given[key] for key, kind in _OPTIONS.items() if isinstance(given.get(key), kind)}
    if srdf := options.get("srdf"):
        files.refuse_endless(srdf)
    model = _of_urdf(stored, name, load, **options)
    if model is None:
        files.refuse_endless(stored["robot"])
        model = load(str(files.find_robot(stored["robot"])), **options)
    prefix = stored["prefix"]
    return Part(model, stored["pose"], prefix if isinstance(prefix, str) else "")


def _of_urdf(stored: dict[str, Any], name: str, load: Callable[..., Model], **options: Any) -> Model | None:
    """Return the robot stored as URDF; None without one."""
    text = stored.get(_URDF)
    if not isinstance(text, str) or not text:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.urdf"
        file.write_text(text, "utf-8")
        model = load(str(file), **options)
    exact: dict[str, Any] = {array: _exact(stored.get(array), getattr(model, array)) for array in _ROUNDED}
    return dataclasses.replace(model, source=None, **exact)


def _exact(stored: Any, read: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array of the file if it equals the one read from URDF up to rounding."""
    try:
        exact = np.array(stored, read.dtype)
    except (TypeError, ValueError, OverflowError):
        return read
    same = exact.shape == read.shape and np.allclose(exact, read, rtol=0, atol=_CLOSE * np.abs(read).max(initial=1.0))
    return exact if same else read
