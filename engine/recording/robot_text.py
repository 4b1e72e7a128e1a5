"""The robot of a run that no file keeps, such as one that was generated: its URDF goes with the run, as text."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.model import Model
from engine.model.generate import urdf
from engine.recording.files import SavedRun

_URDF = "urdf"
_ROUNDED = ("home_rotation", "inertia")
"""The arrays of a model that its URDF gives but for rounding: angles, and inertias about centres of mass."""
_CLOSE = 1e-9  # of the largest number of such an array


def robot_as_text(model: Model) -> dict[str, Any]:
    """What the settings of a run say of a robot that no file keeps: no file, its URDF, and what that rounds."""
    return {"robot": "", _URDF: urdf(model)} | {name: getattr(model, name).tolist() for name in _ROUNDED}


def robot_of_text(saved: SavedRun, load: Callable[[str], Model]) -> Model | None:
    """The robot that a run has with it as text, to the bit; None where it has none. `load` reads a file.

    Raises what `load` does.
    """
    text = saved.settings.get(_URDF)
    if not isinstance(text, str) or not text:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{Path(saved.path).stem}.urdf"
        file.write_text(text, "utf-8")
        model = load(str(file))
    exact: dict[str, Any] = {name: _exact(saved.settings.get(name), getattr(model, name)) for name in _ROUNDED}
    return dataclasses.replace(model, source=None, **exact)


def _exact(told: Any, read: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that a file tells, if it is what was read but for rounding."""
    try:
        exact = np.array(told, read.dtype)
    except (TypeError, ValueError, OverflowError):
        return read
    same = exact.shape == read.shape and np.allclose(exact, read, rtol=0, atol=_CLOSE * np.abs(read).max(initial=1.0))
    return exact if same else read
