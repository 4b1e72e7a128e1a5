"""Arrays in `numpy.save` files, with bounds checked before use: nothing is executed, and sizes must match the file."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from engine import files

MAX_HEADER = 10_000
"""The most bytes of an array's header; no array of numbers or text needs more."""
FREE, RATIO = 32 << 20, 32
"""Bytes that an archive's arrays may take in any case, and per byte of its size: zeros compress 1000 to one."""
FREE_TEXT, RATIO_TEXT = 4 << 20, 4
"""The limits for arrays of text, which are parsed."""
Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""


class TooTight(ValueError):
    """An archive with more data than its size allows; `unpack` rewrites it uncompressed."""


def header(file: IO[bytes]) -> tuple[Header, int]:
    """Return the shape and type of the array that begins here, and the size of its header; its values follow.

    Raises ValueError where there is none, or one of Python objects, which only pickle could read.
    """
    try:
        version = np.lib.format.read_magic(file)
        length = file.read(2 if version == (1, 0) else 4)
        if (length_given := int.from_bytes(length, "little")) > MAX_HEADER:
            raise ValueError("its header is too long")
        beginning = io.BytesIO(length + file.read(length_given))
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(beginning)
    except Exception as problem:  # a header is Python source: its parser may raise any error of the tokenizer
        raise ValueError("no array as numpy.save writes them") from problem
    if dtype.hasobject:
        raise ValueError("no array of numbers or text")
    if min(shape, default=0) < 0:
        raise ValueError(f"no array, since its shape is {shape}")
    return (shape, dtype), np.lib.format.MAGIC_LEN + beginning.tell()


def read(path: str | Path) -> NDArray[Any]:
    """Return the array of numbers in an .npy file.

    Raises OSError where it cannot be read, and ValueError with one sentence where it holds no such array, or fewer
    values than its header says, before memory is allocated.
    """
    with files.regular(path) as file:
        try:
            (shape, dtype), start = header(file)
        except ValueError as problem:
            raise ValueError(f"it holds {problem}") from None
        if dtype.kind not in "biuf":
            raise ValueError(f"it holds values of type {dtype}, which are not real numbers")
        expected, available = prod(shape) * dtype.itemsize, os.fstat(file.fileno()).st_size - start
        if expected > available:
            raise ValueError(f"it is incomplete: its header says {expected} bytes of numbers, and it has {available}")
        file.seek(0)
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array


def read_archive(
    path: str | Path, names: Callable[[str], bool], judge: Callable[[Mapping[str, Header], int], None]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file with the given names; all sizes are checked before any is unpacked.

    `judge` may raise ValueError for the headers and the size of the file. Raises ValueError for arrays that are too
    large, and for unreadable files OSError, zipfile.BadZipFile, and errors of zlib and `numpy.load`.
    """
    with files.regular(path) as opened, zipfile.ZipFile(opened) as archive:
        size, headers = os.fstat(opened.fileno()).st_size, dict[str, Header]()
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if not names(name):
                continue
            with archive.open(info) as file:
                try:
                    headers[name], start = header(file)
                except ValueError as problem:
                    raise ValueError(f"its array {info.filename} is {problem}") from None
            if _bytes(*headers[name]) > info.file_size - start:
                raise ValueError(f"its array {info.filename} is not whole")
        require_fits(headers, size)
        judge(headers, size)
        opened.seek(0)
        with np.load(opened, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in headers}


def write_archive(
    file: IO[bytes], arrays: Mapping[str, Any], judge: Callable[[Mapping[str, Header], int], None]
) -> None:
    """Write an .npz file that `read_archive` accepts: compressed, or plain where it would compress too well."""
    start = file.tell() if file.seekable() else 0
    np.savez_compressed(file, **arrays)
    if not file.seekable():
        return
    made = {name: (array.shape, array.dtype) for name, array in ((name, np.asarray(x)) for name, x in arrays.items())}
    try:
        require_fits(made, file.tell() - start)
        judge(made, file.tell() - start)
    except ValueError:
        file.seek(start)
        np.savez(file, **arrays)
        file.truncate()


def unpack(path: str | Path, out: str | Path, most: int) -> None:
    """Write an archive uncompressed, in pieces, which `read_archive` accepts whatever its compression was.

    Raises OSError where it cannot be read or written, and ValueError where it is damaged or its arrays take more than
    `most` bytes.
    """
    try:
        with files.regular(path) as opened, zipfile.ZipFile(opened) as archive:
            if (unpacked := sum(info.file_size for info in archive.infolist())) > most:
                raise ValueError(f"its arrays take {unpacked / 2**30:.1f} GB, and at most {most / 2**30:.0f} are read")
            with files.replacing(out) as file, zipfile.ZipFile(file, "w") as plain:
                for info in archive.infolist():
                    with archive.open(info) as packed, plain.open(info.filename, "w", force_zip64=True) as target:
                        shutil.copyfileobj(packed, target, 1 << 20)
    except (EOFError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError) as problem:
        raise ValueError(f"{Path(path).name} cannot be unpacked: {problem}") from None


def require_fits(headers: Mapping[str, Header], size: int) -> None:
    """Raise ValueError where arrays take more than an archive of `size` bytes may hold, or have types that none may."""
    for what, kinds, most in (("arrays", "biufUS", FREE + RATIO * size), ("text", "US", FREE_TEXT + RATIO_TEXT * size)):
        if (needed := total(headers, kinds)) > most:
            raise TooTight(
                f"its {what} would take {needed / 1e6:.0f} MB, and of a file of {size / 1e6:.1f} MB at most "
                f"{most / 1e6:.0f} are unpacked"
            )
    for name, (shape, dtype) in headers.items():
        if dtype.kind not in "biufUS" or not dtype.itemsize:
            raise ValueError(f"its array {name} holds values of type {dtype}")
        if max(shape, default=0) * dtype.itemsize > FREE + RATIO * size:  # of an empty array, since another length is 0
            raise ValueError(f"its array {name} has the shape {shape}")


def total(headers: Mapping[str, Header], kinds: str = "biufUS") -> int:
    """Return the bytes that arrays take, of those whose type is of `kinds`."""
    return sum(_bytes(shape, dtype) for shape, dtype in headers.values() if dtype.kind in kinds)


def _bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return prod(shape) * dtype.itemsize
