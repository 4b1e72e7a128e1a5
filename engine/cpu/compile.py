"""How kernels are compiled: once, kept on disk (`cache`), without the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from numba import njit, typeof
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from engine.cpu.cache import Store

# "contract" lets a·b + c become one fused instruction; nothing is reordered and NaN stays NaN.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
    "boundscheck": False,
}


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function, specialised and cached on disk at its first call."""
    dispatcher = njit(**_OPTIONS)(function)
    dispatcher._cache = Store(function, dispatcher.targetctx)
    return dispatcher


def callback(signature: Any, function: Callable[..., Any]) -> Any:
    """A compiled function that has an address, cached on disk like a kernel."""
    compiled: Any = CFunc(function, sigutils.normalize_signature(signature), {}, {})
    compiled._cache = Store(function, compiled._targetdescr.target_context)
    compiled.compile()
    return compiled


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


def at_hand(dispatcher: Any, *examples: Any) -> bool:
    """Whether a kernel is compiled for arguments like these, in memory or on disk."""
    signature = tuple(typeof(example) for example in examples)
    return signature in dispatcher.overloads or dispatcher._cache.holds(signature)


def make(dispatcher: Any, *examples: Any) -> None:
    """Have a kernel at hand for arguments like these."""
    with _compiling:
        dispatcher.compile(tuple(typeof(example) for example in examples))


def specialise(dispatcher: Any, *examples: Any) -> Any:
    """A kernel compiled for arguments like these and no others: any other call is a TypeError, at once."""
    signature = tuple(typeof(example) for example in examples)
    with _compiling:
        if signature not in dispatcher.overloads:
            dispatcher.disable_compile(False)
            dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher
