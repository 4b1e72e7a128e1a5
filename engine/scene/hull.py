"""The corners of a mesh's convex hull."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def hull(path: str) -> NDArray[np.floating]:
    """The corners (k, 3) of the convex hull of the mesh in a file, in its own units.

    Raises ValueError with one sentence where there is no such file, or nothing with a volume in it.
    """
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as fault:
        raise ValueError(
            f"the collision mesh {path} cannot be read ({fault.strerror}); robots touch by its hull"
        ) from fault
    return _hull(path, changed)


@lru_cache(maxsize=256)
def _hull(path: str, _changed: int) -> NDArray[np.floating]:
    import trimesh
    from scipy.spatial import ConvexHull, QhullError

    try:
        mesh: Any = trimesh.load(path, force="mesh", process=False)
        corners = np.array(mesh.vertices, np.float64)
    except Exception as fault:  # readers of a dozen formats, with their own faults each
        raise ValueError(f"the collision mesh {path} cannot be read: {fault}") from fault
    if len(corners) < 4 or not np.all(np.isfinite(corners)):
        raise ValueError(
            f"the collision mesh {path} has {len(corners)} corners, or some that are not finite; give it a volume"
        )
    try:
        return np.ascontiguousarray(corners[ConvexHull(corners).vertices])
    except QhullError as fault:
        raise ValueError(f"the collision mesh {path} is flat; a mesh that touches needs a volume") from fault
