"""Read binary STL files: a header and fixed-size triangles, which NumPy reads directly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_COORDINATE = 1e15
"""Limit on coordinates, larger than any mesh in any unit; beyond it products overflow."""
_HEADER = 84
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def count(path: str | Path) -> int:
    """Return the number of triangles of a complete binary STL, judged by its length; 0 for any other file."""
    path = Path(path)
    size = path.stat().st_size
    if path.suffix.lower() != ".stl" or size < _HEADER or (size - _HEADER) % _TRIANGLE.itemsize:
        return 0
    with path.open("rb") as file:
        header = file.read(_HEADER)
    triangles = int.from_bytes(header[-4:], "little")
    return triangles if _HEADER + triangles * _TRIANGLE.itemsize == size else 0


def corners(path: str | Path) -> NDArray[np.float64]:
    """Return the corners (3t, 3) of its triangles. Raises ValueError if one is not finite, or too far away."""
    with Path(path).open("rb") as file:
        file.seek(_HEADER, os.SEEK_SET)
        triangles: Any = np.fromfile(file, _TRIANGLE)
    vertices = triangles["corners"].reshape(-1, 3).astype(np.float64)
    require_finite(vertices)
    return np.asarray(vertices)


def require_finite(vertices: NDArray[np.floating]) -> None:
    """Raise ValueError if a vertex is not finite, or too far away."""
    if not np.all(np.abs(vertices) < MAX_COORDINATE):
        raise ValueError("it has vertices that are not finite, or too far away to compute with")
