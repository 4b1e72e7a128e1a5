"""The robot of a run as its settings say it: what no file keeps, such as one that was generated, goes with the run.

A generated robot goes as its URDF, as text; a composed one as its parts, each by its file or as text.
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
from engine.model.generate import urdf
from engine.recording.files import SavedRun

_URDF, _PARTS = "urdf", "parts"
_ROUNDED = ("home_rotation", "inertia")
"""The arrays of a model that its URDF gives but for rounding: angles, and inertias about centres of mass."""
_CLOSE = 1e-9  # of the largest number of such an array
MOST_PARTS = 1000
"""That a file may ask for."""
_OPTIONS: dict[str, type] = {"floating": bool, "mimic": bool, "package_dirs": list, "srdf": str}


def robot_as_text(model: Model) -> dict[str, Any]:
    """What the settings of a run say of a robot that has no file of its own: its parts, or its URDF and what it rounds.

    Parts that were read from files are named by these files, which have to stay.
    """
    if model.parts:
        return {"robot": "", _PARTS: [_part_as_text(part) for part in model.parts]}
    return {"robot": "", _URDF: urdf(model)} | {name: getattr(model, name).tolist() for name in _ROUNDED}


def _part_as_text(part: Part) -> dict[str, Any]:
    model = part.model
    robot = robot_as_text(model) if model.source is None else {"robot": model.source}
    told = {"prefix": part.prefix, "pose": np.asarray(part.pose).tolist(), "options": dict(model.options)}
    return robot | told


def robot_of_text(saved: SavedRun, load: Callable[..., Model]) -> Model | None:
    """The robot that a run has with it as text or as parts, to the bit; None where it has none.

    `load` reads a file, as `engine.load` does with the same options. Raises what it does, and ValueError with one
    sentence for parts that cannot be.
    """
    name, told = Path(saved.path).name, saved.settings.get(_PARTS)
    if not isinstance(told, list) or not told:
        return _of_urdf(saved.settings, Path(saved.path).stem, load)
    return compose(*parts_of_text(told, name, load))


def parts_of_text(told: list[dict[str, Any]], name: str, load: Callable[..., Model]) -> tuple[Part, ...]:
    """The parts that a file of that name has `told` of, as `robot_as_text` has written them under "parts".

    `load` is as for `robot_of_text`, whose errors are raised.
    """
    try:
        if len(told) > MOST_PARTS:
            raise ValueError(f"there are {len(told)}, and at most {MOST_PARTS} are read")
        parts = tuple(_part_of_text(each, name, load) for each in told)
        compose(*parts)
    except ModelError:
        raise
    except (KeyError, TypeError, ValueError) as fault:
        raise ValueError(f"what {name} says of the parts of its robot is not whole ({fault})") from None
    return parts


def _part_of_text(told: dict[str, Any], name: str, load: Callable[..., Model]) -> Part:
    given: dict[str, Any] = dict(told["options"])
    options: dict[str, Any] = {"floating": False}
    options |= {key: given[key] for key, kind in _OPTIONS.items() if isinstance(given.get(key), kind)}
    if srdf := options.get("srdf"):
        files.refuse_endless(srdf)
    model = _of_urdf(told, name, load, **options)
    if model is None:
        files.refuse_endless(told["robot"])
        model = load(str(files.find_robot(told["robot"])), **options)
    prefix = told["prefix"]
    return Part(model, told["pose"], prefix if isinstance(prefix, str) else "")


def _of_urdf(told: dict[str, Any], name: str, load: Callable[..., Model], **options: Any) -> Model | None:
    """The robot whose URDF is there as text; None where none is."""
    text = told.get(_URDF)
    if not isinstance(text, str) or not text:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.urdf"
        file.write_text(text, "utf-8")
        model = load(str(file), **options)
    exact: dict[str, Any] = {array: _exact(told.get(array), getattr(model, array)) for array in _ROUNDED}
    return dataclasses.replace(model, source=None, **exact)


def _exact(told: Any, read: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that a file tells, if it is what was read but for rounding."""
    try:
        exact = np.array(told, read.dtype)
    except (TypeError, ValueError, OverflowError):
        return read
    same = exact.shape == read.shape and np.allclose(exact, read, rtol=0, atol=_CLOSE * np.abs(read).max(initial=1.0))
    return exact if same else read
