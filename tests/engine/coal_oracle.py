"""Signed distances of convex shapes by coal."""

import functools
from typing import Any

import numpy as np
import pytest

from engine.scene.shapes import Solid


@functools.lru_cache(maxsize=512)
def _geometry(kind: str, size: tuple[float, ...], corners: bytes) -> Any:
    coal = pytest.importorskip("coal", reason="coal is not installed; it is part of the dev group (not on Windows)")
    if kind == "hull":
        points = coal.StdVec_Vec3s()
        points.extend(list(np.frombuffer(corners).reshape(-1, 3)))
        return coal.Convex.convexHull(points, True, "Qt")
    return {"sphere": coal.Sphere, "capsule": coal.Capsule, "box": coal.Box, "cylinder": coal.Cylinder}[kind](*size)


def geometry(solid: Solid) -> Any:
    """coal's shape."""
    corners = b"" if solid.vertices is None else np.ascontiguousarray(solid.vertices, float).tobytes()
    return _geometry(solid.kind, tuple(map(float, solid.size)), corners)


def distance(a: Solid, b: Solid, poses: Any, tolerance: float = 1e-10) -> tuple[float, np.ndarray]:
    """The signed distance of two solids at two poses (rotation, position), and the normal from b to a."""
    import coal

    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance, request.epa_tolerance = tolerance, tolerance
    request.gjk_max_iterations, request.epa_max_iterations = 1000, 1000
    where = [coal.Transform3s(R, p) for R, p in poses]
    found = coal.distance(geometry(a), where[0], geometry(b), where[1], request, result)
    return float(found), -np.asarray(result.normal)
