"""Arrays on the host or on a GPU, for callers that need not know which."""

from __future__ import annotations

from typing import Any

import numpy as np

_CUDA, _MANAGED = 2, 13  # DLPack's device types of such memory


def on_device(x: Any) -> bool:
    """Return whether x is an array in a GPU's memory, CuPy's or another library's with DLPack."""
    if isinstance(x, np.ndarray | list | tuple) or not hasattr(x, "__dlpack_device__"):
        return False
    return int(x.__dlpack_device__()[0]) in (_CUDA, _MANAGED)


def to_host(x: Any) -> np.ndarray:
    """Return x as a NumPy array; waits for the GPU."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.get())
