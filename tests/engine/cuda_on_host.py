"""Kernels without shuffles, one thread per robot, compiled for the host to test them without a GPU.

`device` makes "cuda" a device of this machine: g++ compiles the actual sources, with `cuda_on_host.h` for GPU-only
features, NumPy replaces CuPy, and the threads of a launch run in turn.
"""

import ctypes
import hashlib
import itertools
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from engine.compile import machine, written_out
from engine.compile.with_loops import Exists, Given, Number, Number32, OfBatch, Own, RobotNumber, Table
from engine.cuda.runtime import compiler, device, header
from tests.engine.in_number_type import specialise_in

COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs g++, to compile kernels for the host")
_numbers = itertools.count()
SHIM = Path(__file__).with_name("cuda_on_host.h")
OPTIONS = ("-std=c++17", "-O0", "-w", "-fPIC", "-shared", f"-I{compiler.FOLDER}")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
KEPT = 7 * 24 * 3600  # s that compiled sources are kept for which no test asks
CHIP = {
    "major": 9, "minor": 0, "multiProcessorCount": 1, "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
}  # fmt: skip


class Array(np.ndarray):
    """A NumPy array with what CuPy's have besides."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self):
        return np.array(self)

    def set(self, values):
        self[...] = values


def _array(x, dtype=None, order=None):
    return np.asarray(x, dtype, order=order).view(Array)


def _zeros(shape, dtype=float):
    return np.zeros(shape, dtype).view(Array)


def _empty(shape, dtype=float):
    """Return an array of arbitrary numbers."""
    return np.full(shape, np.nan if np.issubdtype(dtype, np.floating) else 77, dtype).view(Array)


class _Symbol:
    def __init__(self, library, name: str):
        self._address = ctypes.addressof(ctypes.c_ubyte.in_dll(library, name))

    def copy_from_device(self, source, size: int) -> None:
        ctypes.memmove(self._address, source.ptr, size)

    def buffer(self, size: int):
        return (ctypes.c_ubyte * size).from_address(self._address)


class Kernel:
    """A compiled kernel: a call runs all threads."""

    def __init__(self, function):
        self._function = function

    def __call__(self, grid, block, args, _shared=0):
        values = [_value(x) for x in args]
        pointers = (ctypes.c_void_p * len(values))(*(x.ctypes.data for x in values))
        self._function(grid[0], block[0], pointers)


def _value(x) -> np.ndarray:
    return np.array([x.ctypes.data], np.uint64) if isinstance(x, np.ndarray) else np.array([x])


class WrittenOut:
    """A kernel that is written out for a robot, for this machine: a call works on one robot after the other."""

    def __init__(self, kernel, known, arguments, dtype):
        name = f"{kernel.__name__}_{next(_numbers)}"
        code = machine.compiled(written_out.text(kernel, known, arguments, dtype, name, gpu=False))
        one = {"real": np.ctypeslib.as_ctypes_type(dtype), "int64": ctypes.c_int64}
        types = [one.get(x, ctypes.c_void_p) for x in written_out.passed(arguments)]
        self._function = ctypes.CFUNCTYPE(None, *types, ctypes.c_int32)(machine.address(code, name))

    def __call__(self, _grid, _block, args):
        self._function(*(x.ctypes.data if isinstance(x, np.ndarray) else np.asarray(x).item() for x in args))


class WithLoops:
    """A kernel with its loops: a call works on one robot after the other, on copies of its own arrays."""

    def __init__(self, kernel, tree, layout, _registers):
        self._kernel, self._tree, self._layout = kernel, tree, layout

    def __call__(self, _grid, _block, args):
        *pieces, count = args
        for robot in range(int(count)):
            self._step(robot, dict(zip(("table", "own"), (pieces[:2], pieces[2:4]), strict=True)), pieces[4:])

    def _step(self, robot, pieces, given):
        arrays, at_launch = {}, iter(given)
        values = tuple(self._value(x, robot, pieces, at_launch, arrays) for x in self._tree)
        specialise_in(self._kernel, self._layout.real, *values)(*values)
        for own, array in arrays.values():
            if isinstance(own, Own):
                self._place(own, robot, pieces)[...] = array.ravel()

    def _place(self, x, robot, pieces):
        """The numbers of a table, or of a robot's own array."""
        start, whole = self._layout.offset[id(x)], int(x.numbers.dtype.kind in "iu")
        numbers = slice(start, start + x.numbers.size)
        if isinstance(x, Table):
            return pieces["table"][whole][numbers]
        group, place = divmod(robot, self._layout.robots_of_warp)
        return pieces["own"][whole][group, numbers, place]

    def _value(self, x, robot, pieces, given, arrays):
        if isinstance(x, tuple):
            items = tuple(self._value(item, robot, pieces, given, arrays) for item in x)
            return type(x)(*items) if hasattr(x, "_fields") else items
        if isinstance(x, Table | Own):
            if id(x) not in arrays:
                kind = np.int64 if x.numbers.dtype.kind in "iu" else self._layout.real
                numbers = np.array(self._place(x, robot, pieces), kind).view(np.ndarray)
                arrays[id(x)] = x, numbers.reshape(x.numbers.shape)
            return arrays[id(x)][1]
        if isinstance(x, OfBatch | Given):
            array = next(given)
            if not isinstance(array, np.ndarray):
                return _nowhere(self._layout.real if x.dtype != "int64" else "int64")
            array = array.view(np.ndarray)
            array = array.view(np.int64) if array.dtype == np.uint64 else array
            return array[robot : robot + 1] if isinstance(x, OfBatch) else array.reshape(-1)
        if isinstance(x, Number | Number32):
            number = next(given)
            return int(number) if isinstance(x, Number32) or x.dtype == "int64" else float(number)
        return {RobotNumber: robot, Exists: True}.get(type(x), x)


def _nowhere(dtype):
    """An array without an address: NumPy's own has one even if it is empty."""
    array = np.zeros(1, dtype)[:0]
    ctypes.c_void_p.from_address(id(array) + object.__basicsize__).value = None
    return array


class Launch:
    """`compiler.Launch` of such a kernel."""

    def __init__(self, kernel, grid, block, _arrays, rest, *_):
        self._kernel, self._grid, self._block, self._rest = kernel, grid, block, rest

    def change(self, rest):
        self._rest = rest

    def __call__(self, *arrays):
        self._kernel((self._grid,), (self._block,), (*arrays, *self._rest))


class Module:
    """Sources compiled for the host."""

    def __init__(self, library, names):
        self._library, self._names = library, list(names)

    def function(self, name: str) -> Kernel:
        return Kernel(self._library[f"launch{self._names.index(name)}"])

    def symbol(self, name: str) -> _Symbol:
        return _Symbol(self._library, name)


def text(source: str, kernels, preamble: str) -> str:
    """The C++ text of kernels for the host."""
    if "[] = {}" in preamble:
        raise ValueError("NVRTC takes no array without an entry, as g++ and nvcc do")
    lanes = "LANES" if "constexpr int LANES" in preamble else "1"
    launches = "\n".join(
        f'extern "C" void launch{k}(int grid, int block, void** x) {{ launch(&{name}, grid, block, x, {lanes}); }}'
        for k, name in enumerate(kernels)
    )
    place = (compiler.FOLDER / source).as_posix()
    return f'#include "{SHIM.as_posix()}"\n{header.text()}\n{preamble}\n#include "{place}"\n{launches}\n'


def whole(text: str) -> str:
    """A text with all that it includes of ours."""
    parts, ahead, at_hand = [], [text], set()
    while ahead:
        parts.append(ahead.pop())
        for name in INCLUDE.findall(parts[-1]):
            if name not in at_hand and (path := compiler.FOLDER / name).exists():
                at_hand.add(name)
                ahead.append(path.read_text("utf-8"))
    return "\n".join(parts)


@cache
def _compiler() -> str:
    words = [str(COMPILER), "--version"]
    version = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return "\n".join((version, platform.machine(), *OPTIONS))


def load(folder: Path, source: str, kernels, preamble: str = "") -> Module:
    """`compiler.load` for the host, into a folder in which each text with what it includes is compiled once."""
    written = text(source, kernels, preamble)
    key = f"{_compiler()}\n{whole(written)}"
    library = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.so"
    try:
        os.utime(library)
    except FileNotFoundError:
        with tempfile.TemporaryDirectory(dir=folder) as own:  # another process may want the same
            file, made = Path(own, "kernels.cpp"), Path(own, "kernels.so")
            file.write_text(written)
            command = [str(COMPILER), *OPTIONS, "-o", str(made), str(file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[-4000:]
            made.replace(library)
    return Module(ctypes.CDLL(str(library)), kernels)


def _ndarray(shape, dtype, memory):
    return (
        np.frombuffer(memory.buffer(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape).view(Array)
    )


def _cupy() -> ModuleType:
    class Stream:
        ptr = 0

        def synchronize(self) -> None:
            """All is done at once."""

    class Pinned(bytearray):
        @property
        def ptr(self):
            return ctypes.addressof(ctypes.c_ubyte.from_buffer(self))

    class Kind(type):
        def __instancecheck__(cls, x):
            return isinstance(x, Array)

    class Ndarray(metaclass=Kind):
        def __new__(cls, shape, dtype, memory):
            return _ndarray(shape, dtype, memory)

    cupy, stream = ModuleType("cupy"), Stream()
    cupy.asarray, cupy.ndarray = _array, Ndarray
    cupy.arange, cupy.where, cupy.zeros, cupy.empty = np.arange, np.where, _zeros, _empty
    cupy.broadcast_to, cupy.cross, cupy.concatenate = np.broadcast_to, np.cross, np.concatenate

    class Event:
        """All that was asked before it is done."""

        done = True

        def __init__(self, block: bool) -> None:
            pass

        def record(self) -> None:
            pass

        def synchronize(self) -> None:
            pass

    cupy.cuda = SimpleNamespace(
        get_current_stream=lambda: stream, alloc_pinned_memory=Pinned, Event=Event,
        get_elapsed_time=lambda *_: 0.0,
        runtime=SimpleNamespace(memcpyAsync=lambda to, source, size, *_: ctypes.memmove(to, source, size)),
    )  # fmt: skip
    return cupy


@pytest.fixture(scope="session")
def compiled_for_host(request, tmp_path_factory):
    """Return the folder of compiled sources, common to all tests and processes of a run, and to later runs."""
    if getattr(request.config, "cache", None):
        folder = request.config.cache.mkdir("host")
        for library in folder.glob("*.so"):
            with suppress(FileNotFoundError):  # another process may have been first
                if library.stat().st_mtime < time.time() - KEPT:
                    library.unlink()
        return folder
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "host"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def cuda_on_host(monkeypatch, compiled_for_host):
    """Device "cuda" is this machine's own processor."""
    monkeypatch.setitem(sys.modules, "cupy", _cupy())
    monkeypatch.setattr(device, "properties", lambda: CHIP)
    monkeypatch.setattr(device, "has_watchdog", lambda: False)
    for name in ("require", "require_memory", "require_count"):
        monkeypatch.setattr(device, name, lambda *_: None)
    monkeypatch.setattr(compiler, "load", lambda *given: load(compiled_for_host, *given))
    monkeypatch.setattr(compiler, "written_out", WrittenOut)
    monkeypatch.setattr(compiler, "with_loops", WithLoops)
    monkeypatch.setattr(compiler, "Launch", Launch)
