"""This machine's description, and machine code as callable functions.

Quickly compiled code is loaded beside optimised code, under the same names.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from engine.compile.entry import OWN, PYTHON
from engine.compile.optimizing import Style, compiled, features, target

__all__ = ["Style", "add_symbol", "address", "compiled", "describe"]


@cache
def describe() -> tuple[str, ...]:
    """What machine code depends on besides the kernels: the system, the processor and the layout of objects."""
    return (
        llvm.get_process_triple(), llvm.get_host_cpu_name(), features(),
        llvmlite.__version__, np.__version__, sys.version, str(object.__basicsize__),
    )  # fmt: skip


@cache
def _engine(_fast: bool) -> Any:
    """The loader of one kind of code; names that are not in it are looked up among the symbols of `add_symbol`."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target())
    for name in PYTHON:
        llvm.add_symbol(OWN + name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    for name, object_ in (("ndarray", np.ndarray), ("not_implemented", NotImplemented)):
        llvm.add_symbol(OWN + name, id(object_))
    return engine


def add_symbol(name: str, address_: int | None) -> None:
    """Define a name at an address for machine code that is loaded later."""
    llvm.add_symbol(name, address_)


def address(code: bytes, name: str, fast: bool = True) -> int:
    """The address of the function of that name in an object file, loaded as optimised code or beside it."""
    engine = _engine(fast)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(name))
