"""Arrays between the host and the GPU, for callers that do not import CuPy."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from engine.cuda.runtime import device
from engine.device_arrays import on_device
from engine.model import Model


def to_device(x: Any, dtype: str | None = None) -> Any:
    """Return x as a contiguous CuPy array, without a copy where it is one or its memory is already on the GPU."""
    import cupy

    if not isinstance(x, cupy.ndarray) and on_device(x):
        x = cupy.from_dlpack(x)
    return cupy.asarray(x, dtype, order="C")


def wait() -> None:
    """Wait until all work on CuPy's current stream is done."""
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def empty(shape: tuple[int, ...], dtype: str) -> Any:
    """Return an uninitialised CuPy array. Raises MemoryError, with the bytes needed and free, where it does not fit."""
    import cupy

    try:
        return cupy.empty(shape, dtype)
    except MemoryError:
        device.require_memory(prod(shape) * np.dtype(dtype).itemsize, f"a {dtype} array of shape {shape}")
        raise


def zeros_like(x: Any) -> Any:
    """Return a CuPy array of zeros with the shape and number type of x, which is on the GPU."""
    import cupy

    return cupy.zeros_like(to_device(x))


def sums_by_link(touches: Any, shape: tuple[int, int, int], dtype: str, dt: float) -> Any:
    """Return a CuPy array (batch, links, 6): the wrenches of `touches`, if any, over dt, summed by link."""
    import cupy

    total = cupy.zeros(shape, dtype)
    if touches is None:
        return total
    robots = cupy.arange(shape[0])
    on_others = touches.other_wrench.strides[-1] != 0  # else it is a broadcast zero
    # one contact of each robot at a time, so that no entry is added to twice at once
    for place in range(touches.link.shape[1]):
        acts = (place < touches.number)[:, None]
        total[robots, touches.link[:, place]] += cupy.where(acts, touches.wrench[:, place] / dt, 0)
        if on_others:
            other = touches.other[:, place]
            acts = acts & (other >= 0)[:, None]
            total[robots, other * (other >= 0)] += cupy.where(acts, touches.other_wrench[:, place] / dt, 0)
    return total


def are_kernel_arrays(model: Model, dtype: np.dtype[Any], q: Any, v: Any, tau: Any, out: Any) -> bool:
    """Return whether the arrays are contiguous CuPy arrays of a batch, which kernels take directly."""
    kind = _array_type()
    if not (type(q) is type(v) is type(tau) is type(out) is kind):
        return False
    rows, columns = q.shape if q.ndim == 2 else (0, 0)
    return (
        rows > 0
        and columns == model.nq
        and v.shape == tau.shape == out.shape == (rows, model.nv)
        and q.dtype == v.dtype == tau.dtype == out.dtype == dtype
        and q.flags.c_contiguous
        and v.flags.c_contiguous
        and tau.flags.c_contiguous
        and out.flags.c_contiguous
    )


@lru_cache(maxsize=1)
def _array_type() -> Any:
    import cupy

    return cupy.ndarray


def states(model: Model, dtype: str, **values: Any) -> tuple[list[Any], bool]:
    """`validation.states` for arrays in the GPU's memory, as contiguous CuPy arrays; their values are not read.

    Single rows among them serve a whole batch. Raises TypeError where one is on the host.
    """
    converted = []
    for name, value in values.items():
        if not on_device(value):
            kind = f"{type(value).__module__}.{type(value).__name__}"
            raise TypeError(f"{name} is a {kind} and q is on the GPU; give all arrays on one side")
        array, width = to_device(value, dtype), model.nq if name == "q" else model.nv
        if array.ndim not in (1, 2) or array.shape[-1] != width or array.shape[0] == 0 < width:
            raise ValueError(f"{name} has shape {array.shape}; expected ({width},) or (batch, {width})")
        converted.append(array)
    rows = {len(array) for array in converted if array.ndim == 2}
    if len(rows) > 1:
        listed = ", ".join(f"{name} {array.shape}" for name, array in zip(values, converted, strict=True))
        raise ValueError(f"the batch sizes differ ({listed}); give all arguments the same number of rows")
    batch = max(rows, default=1)
    return [array if array.ndim == 2 else _repeated(array, batch) for array in converted], not rows


def wrenches(model: Model, dtype: str, external: Any, batch: int) -> Any:
    """Return `external`, (links, 6) or (batch, links, 6) on the GPU, as a contiguous CuPy array (1 or batch, links, 6).

    Raises TypeError for arrays on the host, ValueError for other shapes.
    """
    if not on_device(external):
        kind = f"{type(external).__module__}.{type(external).__name__}"
        raise TypeError(f"external is a {kind} and q is on the GPU; give all arrays on one side")
    array, one = to_device(external, dtype), (len(model.link_names), 6)
    if array.shape not in (one, (batch, *one)):
        raise ValueError(f"external has shape {array.shape}; expected {one} or {(batch, *one)}, a wrench for each link")
    return array.reshape(-1, *one)


def _repeated(row: Any, batch: int) -> Any:
    import cupy

    return cupy.ascontiguousarray(cupy.broadcast_to(row, (batch, len(row))))


def result(out: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """`validation.result` on the GPU."""
    if out is None:
        return empty(shape, dtype)
    if not on_device(out) or out.shape != shape or str(out.dtype) != dtype or not out.flags.c_contiguous:
        raise ValueError(
            f"out is a {type(out).__name__} of shape {np.shape(out)} and type {getattr(out, 'dtype', 'none')}; "
            f"expected a contiguous {dtype} CuPy array of shape {shape}"
        )
    return out
