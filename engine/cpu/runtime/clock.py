"""The time of day for compiled code, in nanoseconds, without the GIL."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numba import types

from engine.cpu.runtime.numba_kernels import inline

_int32: Any = types.int32
if sys.platform == "win32":
    _query: Any = types.ExternalFunction("QueryPerformanceCounter", _int32(types.voidptr))

    @inline
    def now(buffer):
        """Ticks of 100 ns, as Windows has counted them since version 10, in ns; `buffer` is two int64 of scratch."""
        _query(buffer.ctypes)
        return buffer[0] * 100

else:
    _clock_gettime: Any = types.ExternalFunction("clock_gettime", _int32(_int32, types.voidptr))
    _MONOTONIC = 6 if sys.platform == "darwin" else 1

    @inline
    def now(buffer):
        """Monotonic time in ns; `buffer` is two int64 of scratch."""
        _clock_gettime(_MONOTONIC, buffer.ctypes)
        return buffer[0] * 1_000_000_000 + buffer[1]


def buffer() -> np.ndarray:
    """The scratch that `now` wants."""
    return np.zeros(2, np.int64)
