"""q and v as text that Python reads, and back. Free of Qt."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting import saved_poses

Floats = NDArray[np.floating]
MAX_CHARACTERS = 10**6  # characters that are read
SHOWN = 40  # characters of a text that is quoted
_LIST = re.compile(r"\s*(?:q\s*=\s*)?(?:(?:np\.|numpy\.)?array\()?\s*\[([^\[\]]*)\]")


def text_of(q: Floats, v: Floats | None = None) -> str:
    """Return q as a list of numbers; with v, both as assignments."""
    return repr(q.tolist()) if v is None else f"q = {q.tolist()!r}\nv = {v.tolist()!r}\n"


def read_q(text: str, model: engine.Model) -> Floats:
    """Return q (nq,) from a list such as [0.1, 0.2], also after "q =" or in an array(…). Raises ValueError."""
    match = _LIST.match(text[:MAX_CHARACTERS])
    inside = match[1] if match else text[:MAX_CHARACTERS]
    quoted = repr(text.strip()[:SHOWN])
    try:
        q = np.array([float(word) for word in inside.replace(",", " ").split()])
    except ValueError:
        raise ValueError(f"the clipboard has {quoted}, which is not a list of numbers such as [0.1, 0.2]") from None
    if len(q) != model.nq:
        raise ValueError(f"the clipboard has {_numbers(len(q))}; q of {model.name} has {model.nq}")
    if not np.all(np.isfinite(q)):
        raise ValueError(f"q[{int(np.flatnonzero(~np.isfinite(q))[0])}] is not finite; q needs finite numbers")
    for name, quaternion in model.quaternions:
        if not np.any(q[quaternion]):
            raise ValueError(f"the quaternion of {name} is zero, which is not a rotation")
        q[quaternion] /= np.linalg.norm(q[quaternion])
    pose = saved_poses.pose_of(model, q)
    if why := saved_poses.misfit(model, pose):
        raise ValueError(f"q cannot be taken: {why}")
    return saved_poses.q_with_pose(model, pose, q)


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"
