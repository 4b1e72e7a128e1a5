"""Forward dynamics on the GPU: one algorithm for one model, from CuPy arrays to CuPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from engine.cuda import device
from engine.model import Model

_KERNELS = {
    "abia": ("many", "Abia"),
    "dca": ("dca", "Dca"),
    "jsiia": ("jsiia", "Jsiia"),
    "cfa": ("cfa", "Cfa"),
    "abia-hybrid": ("hybrid", "HybridAbia"),
}


def kernels(model: Model, algorithm: str, dtype: str) -> Callable[[Any, Any, Any, Any], None]:
    """``(q, v, tau, out)`` of contiguous CuPy arrays (batch, nq) and (batch, nv): q̈ into `out`, without waiting.

    Raises `device.NoGpu` where there is no GPU.
    """
    device.require()
    module, name = _KERNELS[algorithm]
    make: Callable[[Model, str], Callable[[Any, Any, Any, Any], None]]
    make = getattr(import_module(f"engine.cuda.{module}"), name)
    return make(model, dtype)
