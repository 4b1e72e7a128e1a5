"""How Numba compiles what shares work between threads: once, kept on disk (`cache`), without the GIL.

All other kernels are compiled by `engine.compile`, and are called from these as if they were Numba's.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit, typeof
from numba.core import compiler, serialize, sigutils, types
from numba.core.caching import _Cache
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from engine import files
from engine.compile import Function, cache
from engine.process import OnePerProcess

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


_by_numba: dict[Function, Any] = {}


def _numba_type(function: Function) -> Any:
    """What Numba's kernels call a kernel of `engine.compile` as: the same text, compiled by Numba."""
    if function not in _by_numba:
        _by_numba[function] = (inline if function.inlined else kernel)(function.function)
    return types.Dispatcher(_by_numba[function])


Function._numba_type_ = property(_numba_type)  # type: ignore[attr-defined]

_compiling = OnePerProcess(threading.Lock)


class Store(_Cache):
    """What Numba asks for and hands over the machine code of one function, by the types of its arguments."""

    def __init__(self, function: Callable[..., Any], context: Any):
        self._function, self._context = function, context

    @property
    def cache_path(self) -> str:
        """The folder that entries are written to."""
        return str(files.cache_folder())

    def name(self, sig: Any) -> str:
        """The file of the code for a signature."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        versions = (numba.__version__, llvmlite.__version__, np.__version__)
        settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
        key = (self._function.__module__, self._function.__qualname__, cells, str(sig), versions, settings)
        digest = hashlib.sha256(repr((key, self._context.codegen().magic_tuple())).encode())
        return f"{self._function.__name__}-{digest.hexdigest()[:24]}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, loaded; None where there is none."""
        target_context.refresh()
        content = cache.read(self.name(sig))
        try:
            return None if content is None else compiler.CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # of whatever kind: what cannot be loaded is compiled anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code for the next time, where there is room to."""
        cache.write(self.name(sig), serialize.dumps(data._reduce()))

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """What is outdated goes with its folder."""


def specialise(dispatcher: Any, *examples: Any) -> Any:
    """A kernel compiled for arguments like these and no others: any other call is a TypeError, at once."""
    signature = tuple(typeof(example) for example in examples)
    with _compiling():
        if signature not in dispatcher.overloads:
            dispatcher.disable_compile(False)
            dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher
