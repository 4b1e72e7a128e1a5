"""Users' algorithms: a Python file with a function ``(model, q, v, tau) -> q̈``, batch first.

q is (batch, nq), v, tau and q̈ are (batch, nv), in the number type of the comparison. The arrays are read-only NumPy
arrays. A file whose ``DEVICES = ("cpu", "cuda")`` includes "cuda" is also called there, with CuPy arrays.
docs/own_algorithm.py is an example.
"""

from __future__ import annotations

import importlib.util
import linecache
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from engine import files

Function = Callable[[Any, Any, Any, Any], Any]


class FunctionName(NamedTuple):
    """The file and name of a user's function, from ``path.py:name``."""

    path: Path
    name: str


class Loaded(NamedTuple):
    """A user's function, and the devices that it supports."""

    function: Function
    devices: tuple[str, ...]


def parse(words: str) -> FunctionName | None:
    """Parse ``path.py:name``; None for any other text. Raises ValueError without a name."""
    path, colon, name = words.rpartition(":")
    if words.endswith(".py"):
        raise ValueError(f"algorithm {words!r} names no function; give it as {words}:name")
    return FunctionName(Path(path), name) if colon and path.endswith(".py") else None


def short_name(words: str) -> str:
    """Return ``file.py:name`` of a user's function, without its folders; any other name unchanged."""
    function = parse(words)
    return words if function is None else f"{function.path.name}:{function.name}"


def load(function_name: FunctionName) -> Loaded:
    """Load the function from its file. Exceptions of the file propagate; `error_text` describes them."""
    linecache.checkcache(str(function_name.path))
    module_name = f"own_algorithm_{function_name.path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, function_name.path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # where dataclasses and pickle look up a class's module
    source = files.content(function_name.path)
    exec(compile(source, str(function_name.path.resolve()), "exec"), module.__dict__)
    function = getattr(module, function_name.name, None)
    if not callable(function):
        functions = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        there = f"it has {', '.join(functions)}" if functions else "it has none"
        raise AttributeError(f"{function_name.path.name} has no function {function_name.name!r}; {there}")
    return Loaded(function, tuple(getattr(module, "DEVICES", ("cpu",))))


def error_text(error: BaseException, function_name: FunctionName | None) -> str:
    """Describe an exception; one from a user's file with its last line there."""
    wording = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if function_name is None:
        return wording
    file = str(function_name.path.resolve())
    if isinstance(error, SyntaxError) and error.filename == file:
        return (
            f"SyntaxError: {error.msg} ({function_name.path.name}, line {error.lineno}: {(error.text or '').strip()})"
        )
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{wording} ({function_name.path.name}, line {frames[-1].lineno}: {frames[-1].line})" if frames else wording
