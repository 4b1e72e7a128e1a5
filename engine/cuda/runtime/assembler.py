"""The driver's assembler: PTX to machine code, a module's functions on several threads."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

_THREADS = 8
"""Threads of the assembler on any machine, so that the code does not depend on its cores."""
_SPLIT_COMPILE, _INPUT_PTX = 34, 1  # CU_JIT_SPLIT_COMPILE, CU_JIT_INPUT_PTX
_UNKNOWN_OPTION = 1  # CUDA_ERROR_INVALID_VALUE, of older drivers


class AssemblyError(RuntimeError):
    """Assembly that the driver refuses."""


@cache
def _driver() -> Any:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def machine_code(assembly: str, name: str) -> bytes:
    """Assemble PTX for the current context's GPU. Raises AssemblyError.

    CuPy's own linker takes no options: this one uses CUDA's driver API through ctypes.
    """
    driver, state = _driver(), ctypes.c_void_p()
    options, values = (ctypes.c_int * 1)(_SPLIT_COMPILE), (ctypes.c_void_p * 1)(_THREADS)
    result = driver.cuLinkCreate_v2(1, options, values, ctypes.byref(state))
    if result == _UNKNOWN_OPTION:
        result = driver.cuLinkCreate_v2(0, None, None, ctypes.byref(state))
    _require(result, name)
    try:
        text, code, size = assembly.encode() + b"\0", ctypes.c_void_p(), ctypes.c_size_t()
        _require(driver.cuLinkAddData_v2(state, _INPUT_PTX, text, len(text), name.encode(), 0, None, None), name)
        _require(driver.cuLinkComplete(state, ctypes.byref(code), ctypes.byref(size)), name)
        return ctypes.string_at(code, size.value)
    finally:
        driver.cuLinkDestroy(state)


def _require(result: int, name: str) -> None:
    if result:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(result, ctypes.byref(text))
        raise AssemblyError(f"{name} is not assembled: {(text.value or b'unknown error').decode()}")
