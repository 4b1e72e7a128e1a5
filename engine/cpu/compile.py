"""How kernels are compiled: once, cached on disk, without the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from numba import njit, typeof
from numba.extending import intrinsic

# "contract" lets a·b + c become one fused instruction; nothing is reordered and NaN stays NaN.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
    "boundscheck": False,
}


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function, specialised and cached on disk at its first call."""
    return njit(cache=True, **_OPTIONS)(function)


def inline(function: Callable[..., Any]) -> Any:
    """A small function that becomes part of each kernel which calls it."""
    return njit(forceinline=True, **_OPTIONS)(function)


def instruction(define: Callable[..., Any]) -> Any:
    """A function for kernels in terms of LLVM's instructions: Numba's `intrinsic`."""
    return intrinsic(define)


_compiling = threading.Lock()


def _made_anew() -> None:
    global _compiling
    _compiling = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_made_anew)  # whoever held it stays behind


def specialise(dispatcher: Any, *examples: Any) -> Any:
    """A kernel compiled for arguments like these and no others: any other call is a TypeError, at once."""
    signature = tuple(typeof(example) for example in examples)
    with _compiling:
        if signature not in dispatcher.overloads:
            dispatcher.disable_compile(False)
            dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher
