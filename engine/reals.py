"""What counts as real numbers, of all that NumPy makes numbers of."""

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
"""What arrays hold that NumPy would turn into numbers: without imaginary parts, as counts of days, as zeros."""


def reals(value: ArrayLike, dtype: DTypeLike = float) -> NDArray[Any]:
    """`value` as an aligned array of a number type, contiguous by rows; whole numbers and booleans are numbers too.

    Raises TypeError or ValueError, with a few words why, for what holds no real numbers: besides what NumPy refuses,
    complex numbers, dates, text, records, masked elements and whole numbers beyond every float.
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


def shown(value: object) -> str:
    """The beginning of how Python writes a value, on one line, for what is said of it."""
    return " ".join(repr(value).split())[:80]
