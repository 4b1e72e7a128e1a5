"""Checks of public arguments: lists, other number types, strided arrays, one state or a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.device_arrays import on_device
from engine.model import Model
from engine.real_numbers import excerpt, reals

Array = NDArray[np.floating]


def as_batch(name: str, value: ArrayLike, width: int, meaning: str, dtype: str = "float64") -> tuple[Array, bool]:
    """Return `value` as a contiguous (batch, width) array, and whether it was one state of shape (width,).

    Raises ValueError or TypeError with one sentence that names the argument, what was given and what was expected.
    """
    shapes = f"({width},) or (batch, {width})"
    array = _numbers(name, value, shapes, meaning, dtype)
    if array.ndim not in (1, 2) or array.shape[-1] != width or array.shape[0] == 0 < width:
        raise ValueError(f"{name} has shape {np.shape(value)}; expected {shapes}, {meaning}")
    _require_finite(name, array)
    single = array.ndim == 1
    return (array[None] if single else array), single


def _numbers(name: str, value: ArrayLike, shapes: str, meaning: str, dtype: str) -> Array:
    """Return `value` as a contiguous array of a number type; TypeError for no numbers, or rows of different lengths."""
    try:
        return np.atleast_1d(reals(value, dtype))
    except (TypeError, ValueError) as error:
        _require_host(name, value, meaning)
        raise TypeError(f"{name} is {meaning}: numbers of shape {shapes}; got {excerpt(value)} ({error})") from None


def _require_host(name: str, value: ArrayLike, meaning: str) -> None:
    """Raise TypeError for an array in a GPU's memory, which its library does not copy to the host by itself."""
    if on_device(value):
        raise TypeError(
            f"{name} is in a GPU's memory; expected {meaning}, in the host's: copy it with .get()"
        ) from None


def _require_finite(name: str, array: Array) -> None:
    """Raise ValueError that names the first number which is not finite."""
    if not np.all(np.isfinite(array)):
        where = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(where)} is {array[where]}; every number must be finite")


def vector(name: str, value: ArrayLike, width: int, meaning: str) -> Array:
    """Return `value` as a contiguous array (width,) of finite numbers.

    Else raises ValueError with one sentence, or TypeError for an array in a GPU's memory.
    """
    try:
        array = reals(value)
    except (TypeError, ValueError) as error:
        _require_host(name, value, meaning)
        raise ValueError(f"{name} is {meaning}; got {excerpt(value)} ({error})") from None
    if array.shape != (width,) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} is {meaning}; got {excerpt(value)}")
    return array


def states(model: Model, dtype: str = "float64", **values: ArrayLike) -> tuple[list[Array], bool]:
    """Check the named arguments against the model and broadcast them to one batch size.

    `q` is (nq,) or (batch, nq), any other name (nv,) or (batch, nv). Single rows among them serve a whole batch.
    Returns the arrays, in the order of the names, and whether all were one state.
    """
    arrays, singles = [], []
    for name, value in values.items():
        if name == "q":
            array, single = as_batch(name, value, model.nq, f"the {model.nq} coordinates of {model.name}", dtype)
            _require_rotations(model, array)
        else:
            array, single = as_batch(
                name, value, model.nv, f"one number for each of the {model.nv} velocities of {model.name}", dtype
            )
        arrays.append(array)
        singles.append(single)
    sizes = {len(array) for array, single in zip(arrays, singles, strict=True) if not single}
    if len(sizes) > 1:
        listed = ", ".join(f"{name} {len(array)}" for name, array in zip(values, arrays, strict=True))
        raise ValueError(f"the batch sizes differ ({listed}); give all arguments the same number of rows")
    if sizes:
        batch = sizes.pop()
        arrays = [np.ascontiguousarray(np.broadcast_to(array, (batch, array.shape[1]))) for array in arrays]
    return arrays, all(singles)


def wrenches(model: Model, value: ArrayLike) -> tuple[Array, bool]:
    """Return wrenches on the links as a contiguous (batch, links, 6) array, and whether they were of one state."""
    links = len(model.link_names)
    shapes = f"({links}, 6) or (batch, {links}, 6)"
    meaning = f"a wrench (n, f) for each of the {links} links of {model.name}"
    array = _numbers("external", value, shapes, meaning, "float64")
    if array.ndim not in (2, 3) or array.shape[-2:] != (links, 6) or len(array) == 0:
        raise ValueError(f"external has shape {np.shape(value)}; expected {shapes}, {meaning}")
    _require_finite("external", array)
    return array.reshape(-1, links, 6), array.ndim == 2


MIN_QUATERNION, MAX_QUATERNION = 1e-9, 1e9
"""The largest entry of accepted quaternions; squares of others under- or overflow, at least in single precision."""


def _require_rotations(model: Model, q: Array) -> None:
    """Raise ValueError where the quaternion of a joint is no rotation: zero, or nearly so, or nearly infinite."""
    for name, quaternion in model.quaternions:
        largest = np.max(np.abs(q[:, quaternion]), 1)
        if not np.all((largest >= MIN_QUATERNION) & (largest <= MAX_QUATERNION)):
            worst = largest[np.argmax((largest < MIN_QUATERNION) | (largest > MAX_QUATERNION))]
            size = "zero" if worst == 0 else f"of length {worst:.1g}"
            raise ValueError(f"the quaternion of joint {name!r} in q is {size}; expected x, y, z, w of length 1")


MIN_STEP = 1e-12
"""s; no robot moves in less, and such runs would not end."""
MAX_STEPS = 10**12
"""The most of one call: they take days."""


def integer(name: str, value: int, least: int, most: int | None = None) -> int:
    """Return `value` as an int of at least `least` and at most `most`; ValueError with one sentence if it is not."""
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of {least} or more")
    if most is not None and value > most:
        raise ValueError(f"{name} is {value:.3g}; expected at most {most:.3g}, which take days")
    return int(value)


def indices(name: str, value: ArrayLike, count: int) -> NDArray[np.int64]:
    """Return the indices that a mask (count,) or indices below `count` select; else raise a one-sentence ValueError."""
    array = np.asarray(value)
    if array.dtype == bool and array.shape == (count,):
        return np.flatnonzero(array)
    whole_ones = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
    if not whole_ones or np.any(array < 0) or np.any(array >= count) or len(np.unique(array)) < len(array):
        raise ValueError(
            f"{name} is {excerpt(value)}; expected a mask ({count},), or numbers from 0 to {count - 1}, each once"
        )
    return array.astype(np.int64)


def time_step(value: float) -> float:
    """Return a time step in s as a float; ValueError with one sentence if it is invalid."""
    number = isinstance(value, int | float | np.floating | np.integer)
    if not (number and MIN_STEP <= value < np.inf):
        raise ValueError(
            f"dt is {value!r}; expected a positive number of seconds, {MIN_STEP:g} or more, for example 1e-3"
        )
    return float(value)


def result(out: Array | None, shape: tuple[int, ...], dtype: str) -> Array:
    """Return `out` if a result of that shape and type fits it, a new array if it is None."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}; expected a {dtype} array of shape {shape}")
    if out.shape != shape or out.dtype != dtype or not (out.flags.carray and out.dtype.isnative):
        raise ValueError(
            f"out has shape {out.shape} and type {out.dtype}; "
            f"expected a contiguous, aligned, writeable {dtype} array of shape {shape}"
        )
    return out


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return the choice equal to `value`, also as NumPy's text or type, else raise ValueError naming the choices."""
    text = value.name if isinstance(value, np.dtype) else value
    for choice in choices:
        if isinstance(text, str) and text == choice:
            return choice
    raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}")
