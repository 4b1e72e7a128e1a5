"""The values that count as real numbers, a subset of what NumPy converts to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

_KINDS = {
    "c": "complex numbers",
    "m": "spans of time",
    "M": "dates",
    "S": "text",
    "U": "text",
    "T": "text",
    "V": "records, not numbers",
}
"""Element types that NumPy would convert: by dropping imaginary parts, to days, to zeros."""

MAX_EFFORT = 1e12
"""The largest effort of a controller, N m or N, beyond every robot's; with more the state soon is no longer finite."""


def reals(value: ArrayLike, dtype: DTypeLike = float) -> NDArray[Any]:
    """Return `value` as an aligned, C-contiguous array of a number type; integers and booleans are numbers too.

    Raises TypeError or ValueError, with a short reason, for anything else: besides what NumPy refuses, complex numbers,
    dates, text, records, masked elements and integers beyond every float.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError("some of its elements are masked")
    array = np.asarray(value)
    if array.dtype.kind in _KINDS:
        raise TypeError(_KINDS[array.dtype.kind])
    try:
        return np.require(array, dtype, ("C", "A"))
    except OverflowError as error:
        raise ValueError(str(error)) from None


def efforts(tau: Any, nv: int) -> NDArray[np.float64]:
    """Return what a user's function `control` has returned as an array (nv,).

    Raises ValueError in one sentence unless it is as many finite numbers up to `MAX_EFFORT`.
    """
    expected = f"expected {nv} numbers, an effort per velocity"
    try:
        found, what = reals(tau), "nothing (None)" if tau is None else f"an array of shape {np.shape(tau)}"
    except (TypeError, ValueError) as error:
        raise ValueError(f"control returned {excerpt(tau)} ({error}); {expected}") from None
    if found.shape != (nv,):
        raise ValueError(f"control returned {what}; {expected}")
    if not np.all(np.isfinite(found)):
        at = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"control returned {found[at]} at [{at}]; every effort must be finite")
    if np.any(large := np.abs(found) > MAX_EFFORT):
        at = int(np.argmax(large))
        raise ValueError(f"control returned {found[at]:g} at [{at}]; expected an effort up to {MAX_EFFORT:g} N m or N")
    return np.ascontiguousarray(found)


def excerpt(value: object) -> str:
    """Return the beginning of a value's repr, on one line, for messages."""
    return " ".join(repr(value).split())[:80]
