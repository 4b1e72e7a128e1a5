"""Compress the arrays of a frame: store equal rows once, and only the nonzero rows of sparse arrays."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.scene import Contacts

Array = NDArray[Any]
Packed = tuple[Array, Array]
"""The stored rows and their indices."""


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays agree in shape, type and every bit, including the sign of zero."""
    return a.shape == b.shape and a.dtype == b.dtype and bool(np.array_equal(_bits(a), _bits(b)))


def _bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")


def alike(x: Array) -> Array:
    """Copy x (batch, …); only its first row (1, …) if all rows have the same bits."""
    if len(x) > 1 and bool((_bits(x) == _bits(x[:1])).all()):
        return x[:1].copy()
    return np.array(x)


def shared(x: Array) -> list[Array]:
    """Return x[k] (batch, …) of x (n, batch, …), each `alike`; consecutive equal ones share an array.

    A recording of hours has few targets, which unshared would take as much memory as its states.
    """
    if not len(x):
        return []
    bits = _bits(x).reshape(len(x), -1)
    new = np.concatenate([[True], (bits[1:] != bits[:-1]).any(1)])
    starts = np.flatnonzero(new)
    rows = [alike(x[k]) for k in starts.tolist()]
    return [rows[k] for k in (np.cumsum(new) - 1).tolist()]


def pack(x: Array) -> Packed:
    """Return the rows of x (…, k) that have nonzero bits (m, k), and their indices (m,)."""
    flat = np.ascontiguousarray(x).reshape(-1, x.shape[-1]) if x.size else np.zeros((0, 1), x.dtype)
    rows = np.flatnonzero(_bits(flat).any(1))
    return flat[rows], rows.astype(np.int32)


def unpack(packed: Packed, shape: tuple[int, ...]) -> Array:
    """Return the array of that shape, the inverse of `pack`."""
    rows, numbers = packed
    x = np.zeros(shape, rows.dtype)
    if len(numbers):
        x.reshape(-1, shape[-1])[numbers] = rows
    return x


def pack_contacts(touches: Contacts | None) -> tuple[Array, ...] | None:
    """Return the valid contacts, robot by robot, as the fields of a `Contacts`; None without any."""
    touches = None if touches is None else touches.on_host()
    if touches is None or not touches.number.any():
        return None
    there = np.arange(touches.link.shape[1]) < touches.number[:, None]
    return tuple(np.array(x) if x.ndim == 1 else x[there] for x in touches)


def unpack_contacts(packed: tuple[Array, ...] | None) -> Contacts | None:
    """Return those contacts, with the capacity that the robot with the most needs."""
    if packed is None:
        return None
    number = packed[0]
    there = np.arange(int(number.max())) < number[:, None]
    fields = []
    for name, x in zip(Contacts._fields, packed, strict=True):
        if name in _OF_ROBOTS:
            fields.append(x)
            continue
        full = np.zeros((*there.shape, *x.shape[1:]), x.dtype)
        full[there] = x
        fields.append(full)
    return Contacts(*fields)


_OF_ROBOTS = ("number", "residual", "worst")


def bundle(arrays: Iterable[Array]) -> Bundle:
    """Concatenate small arrays into one block of memory, since each costs 128 bytes of overhead."""
    arrays = tuple(arrays)
    header = tuple((x.dtype.str, x.shape) for x in arrays)
    if len(_HEADERS) < _MAX_HEADERS:
        header = _HEADERS.setdefault(header, header)
    return b"".join(x.tobytes() for x in arrays), header


def bundle_packed(packed: Iterable[Packed]) -> Bundle | tuple[()]:
    """Concatenate packed arrays; None stays None."""
    arrays = [x for each in packed for x in each]
    return bundle(arrays) if arrays else ()


def bundle_contacts(packed: tuple[Array, ...] | None) -> Bundle | None:
    """Concatenate the result of `pack_contacts`."""
    return None if packed is None else bundle(packed)


def unbundle(bundled: Bundle) -> tuple[Array, ...]:
    """Return the arrays, read-only."""
    data, header = bundled
    arrays, offset = [], 0
    for dtype, shape in header:
        count = prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, offset).reshape(shape) if count else np.zeros(shape, dtype))
        offset += count * np.dtype(dtype).itemsize
    return tuple(arrays)


def size(*values: Any) -> int:
    """Return the bytes of arrays, numbers, and tuples of them."""
    total = 0
    for value in values:  # runs for each frame that is recorded or read
        total += value.nbytes + _OF_AN_ARRAY if isinstance(value, np.ndarray) else _size(value)
    return total


def _size(value: Any) -> int:
    if isinstance(value, tuple):
        return _OF_A_TUPLE + size(*value)
    if isinstance(value, bytes):
        return len(value) + _OF_A_NUMBER
    return value.nbytes + _OF_AN_ARRAY if isinstance(value, np.ndarray) else _OF_A_NUMBER


Header = tuple[tuple[str, tuple[int, ...]], ...]
"""Types and shapes."""
Bundle = tuple[bytes, Header]
_HEADERS: dict[Header, Header] = {}  # shared by many frames
_MAX_HEADERS = 1024
_OF_A_TUPLE, _OF_AN_ARRAY, _OF_A_NUMBER = 64, 128, 32
