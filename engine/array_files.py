"""Arrays in files of `numpy.save`, judged before they are believed: nothing is executed, all that is told is there."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from engine import files


def header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the array that begins here; its values come next.

    Raises ValueError where there is none, or one of Python's objects, which only pickle could read.
    """
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    except Exception as fault:  # a header is Python's text: its parser may raise whatever a tokenizer does
        raise ValueError("no array as numpy.save writes them") from fault
    if dtype.hasobject:
        raise ValueError("no array of numbers or text")
    if min(shape, default=0) < 0:
        raise ValueError(f"no array, since its shape is {shape}")
    return shape, dtype


def read(path: str | Path) -> NDArray[Any]:
    """The array of numbers in an .npy file.

    Raises OSError where it cannot be read, and ValueError with one sentence where it holds no such array, or not all of
    what its header tells of; before memory is taken for it.
    """
    with files.regular(path) as file:
        try:
            shape, dtype = header(file)
        except ValueError as fault:
            raise ValueError(f"it holds {fault}") from None
        if dtype.kind not in "biuf":
            raise ValueError(f"it holds values of type {dtype}, and no real numbers")
        told, there = prod(shape) * dtype.itemsize, os.fstat(file.fileno()).st_size - file.tell()
        if told > there:
            raise ValueError(f"it is not whole: {told} bytes of numbers are told of, and {there} are there")
        file.seek(0)
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array
