"""Convert a session's ground and obstacles to JSON data and back; heights are compressed. Free of Qt."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import Any

import numpy as np

import engine

MAX_HEIGHTS = 1_000_000
"""The maximum number of heights in a session; larger height fields have a file of their own."""


def fits(scene: engine.Scene) -> bool:
    """Return whether a session can contain the scene."""
    return not isinstance(scene.ground, engine.HeightField) or scene.ground.heights.size <= MAX_HEIGHTS


def write(scene: engine.Scene) -> dict[str, Any] | None:
    """Return a scene as JSON data; None if it is too large for a session."""
    if not fits(scene):
        return None
    ground, text = scene.ground, None
    if isinstance(ground, engine.Plane):
        text = {"normal": list(ground.normal), "offset": ground.offset}
    elif ground is not None:
        packed = zlib.compress(np.ascontiguousarray(ground.heights, "<f8").tobytes())
        heights = base64.b64encode(packed).decode()
        text = {
            "heights": heights, "shape": list(ground.heights.shape), "cell": ground.cell, "origin": ground.origin,
            "rough": ground.rough,
        }  # fmt: skip
    obstacles = [
        {**vars(each), "size": list(each.size), "pose": np.asarray(each.pose, float).tolist()}
        for each in scene.obstacles
    ]
    return {
        "ground": text, "friction": scene.friction, "restitution": scene.restitution, "obstacles": obstacles,
        "self_collision": scene.self_collision,
    }  # fmt: skip


def read(text: dict[str, Any]) -> engine.Scene:
    """Parse a scene written by `write`. Raises ValueError, in a few words, for other data."""
    try:
        return engine.Scene(
            None if text["ground"] is None else _ground(text["ground"]),
            float(text["friction"]),
            float(text["restitution"]),
            tuple(engine.Obstacle(**each) for each in text["obstacles"]),
            bool(text["self_collision"]),
        )
    except KeyError as error:
        raise ValueError(f"the scene lacks {error}") from error
    except (TypeError, OSError, binascii.Error, zlib.error) as error:
        raise ValueError(f"the scene cannot be read: {error!s:.80}") from error


def _ground(text: dict[str, Any]) -> engine.Plane | engine.HeightField:
    if "heights" not in text:
        x, y, z = (float(part) for part in text["normal"])
        return engine.Plane((x, y, z), float(text["offset"]))
    rows, columns = (int(count) for count in text["shape"])
    if min(rows, columns) < 2 or rows * columns > MAX_HEIGHTS:
        raise ValueError(f"the scene has {rows} × {columns} heights; expected 2 × 2 to {MAX_HEIGHTS} of them")
    count = 8 * rows * columns
    raw = zlib.decompressobj().decompress(base64.b64decode(text["heights"], validate=True), count + 1)
    if len(raw) != count:
        raise ValueError(f"the scene does not have the {rows} × {columns} heights that it names")
    x, y, z = (float(part) for part in text["origin"])
    if not all(map(math.isfinite, (x, y, z))):
        raise ValueError("the scene's origin is not finite")
    heights = np.frombuffer(raw, "<f8").reshape(rows, columns)
    return engine.HeightField(heights, float(text["cell"]), (x, y, z), text.get("rough"))
