"""Arrays that count their floating-point operations, through NumPy's dispatch protocols.

An addition, multiplication, division, square root or trigonometric function is one operation. A product of matrices (r,
k) and (k, c) is r c (2k − 1), the solution of m equations with c right-hand sides by elimination 2m³/3 + 2m²c. Copies
count as none. The results are bit for bit those of plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.lie import Array

_FREE = {"equal", "greater", "greater_equal", "isfinite", "isnan", "less", "less_equal", "logical_and", "logical_not",
         "logical_or", "not_equal"}  # fmt: skip
"""NumPy's elementwise functions that return no floating-point numbers."""


class Counter:
    """The number of operations since its creation."""

    def __init__(self) -> None:
        self.operations = 0.0

    def counted(self, array: Array) -> Array:
        """Wrap an array so that this counter counts its operations, and those of its results."""
        view = array.view(_Counted)
        view.counter = self
        return view


class _Counted(np.ndarray[Any, Any]):
    counter: Counter | None = None

    def __array_finalize__(self, parent: object) -> None:
        self.counter = getattr(parent, "counter", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        counter = next(c for x in (*inputs, *out) if (c := getattr(x, "counter", None)) is not None)
        given = tuple(plain(x) for x in inputs)
        if out:
            kwargs["out"] = tuple(plain(x) for x in out)
        result = getattr(ufunc, method)(*given, **kwargs)
        counter.operations += _cost(ufunc, method, given, result)
        if out:
            return out[0]
        return counter.counted(np.asarray(result)) if isinstance(result, (np.ndarray, np.floating)) else result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        counter = self.counter
        if counter is not None and func is np.linalg.solve:
            m, k = args[1].shape[-2:]
            counter.operations += (args[1].size // (m * k)) * (2 * m**3 / 3 + 2 * m**2 * k)
        result = super().__array_function__(func, types, args, kwargs)
        # NumPy returns a plain array for some functions of several arrays.
        return result if counter is None or not isinstance(result, np.ndarray) else counter.counted(result)


def plain(x: Any) -> Any:
    """Return an array as a plain NumPy array; anything else unchanged."""
    return x.view(np.ndarray) if isinstance(x, _Counted) else x


def _cost(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], result: Any) -> int:
    size = int(np.size(result))
    if ufunc is np.matmul:
        return size * (2 * int(inputs[0].shape[-1]) - 1)
    if method == "reduce":
        return int(np.size(inputs[0])) - size if ufunc is np.add else 0
    return 0 if ufunc.__name__ in _FREE else size
