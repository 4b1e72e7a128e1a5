"""Compiles `.cu` files into kernels: NVRTC through CuPy, with machine code cached on disk.

A robot's compile-time constants are C++ text before the source, the *preamble*. The number type and other template
parameters are in a kernel's name, `abia<double>`. Machine code is in the user's cache folder under a digest of all that
it depends on, so that a changed source, robot, GPU or compiler gives a new file, and no stale code is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from engine import files
from engine.compile import Function, cache
from engine.compile import with_loops as loops
from engine.compile import written_out as code
from engine.compile.known import digest_of
from engine.compile.with_loops import Layout
from engine.cuda.runtime import assembler, device, header

FOLDER = Path(__file__).parents[1]
REAL = {"float32": "float", "float64": "double"}
"""C++'s names of the number types."""
OPTIONS = ("--std=c++17", "-lineinfo", f"-I{FOLDER}")
_MAX_DYNAMIC_SHARED, _NON_PORTABLE_CLUSTER = 8, 14  # CU_FUNC_ATTRIBUTE_…
_EIGHT_BYTES = 2**64 - 1
_DEFAULT_SHARED = 40 * 1024  # bytes without opt-in, with the kernel's static ones: 48 KiB


class CompileError(RuntimeError):
    """A kernel that does not compile: the compiler's message, with file and line of the source."""


class Kernel:
    """One function of a module: ``kernel(grid, block, args, shared)`` launches it on CuPy's current stream."""

    def __init__(self, function: Any):
        self._function = function
        self._shared = _DEFAULT_SHARED

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], shared: int = 0) -> None:
        """`args` are CuPy arrays and NumPy scalars of the parameters' exact types; `shared` is in bytes."""
        self.allow(shared)
        self._function(grid, block, args, shared_mem=shared)

    @property
    def pointer(self) -> int:
        """CUDA's handle."""
        return int(self._function.ptr)

    def allow(self, shared: int) -> None:
        """Allow blocks that much shared memory."""
        if shared <= self._shared:
            return
        from cupy.cuda import driver

        most = device.properties()["sharedMemPerBlockOptin"]
        if shared > most:
            raise ValueError(f"a block asks for {shared} bytes of shared memory and this GPU has {most}")
        driver.funcSetAttribute(self._function.ptr, _MAX_DYNAMIC_SHARED, shared)
        self._shared = shared

    def allow_large_clusters(self) -> None:
        """Allow clusters of more than eight blocks."""
        from cupy.cuda import driver

        driver.funcSetAttribute(self._function.ptr, _NON_PORTABLE_CLUSTER, 1)


class Launch:
    """A launch whose trailing arguments are packed once: ``launch(*arrays)`` costs the host a microsecond or two.

    The parameters after the arrays are `rest`, CuPy arrays and NumPy scalars of the parameters' exact types.
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: int,
        block: int,
        arrays: int,
        rest: tuple[Any, ...],
        shared: int = 0,
        together: bool = False,
    ):
        from cupy.cuda import driver, get_current_stream

        kernel.allow(shared)
        self._kernel, self._stream, self._arrays = kernel, get_current_stream, arrays
        self._values = np.zeros((arrays + len(rest), 8), np.uint8)  # no parameter is larger
        self._pointers = self._values.data.cast("B").cast("Q")
        self._rest: tuple[Any, ...] = (None,) * len(rest)
        self.change(rest)
        addresses = self._values.ctypes.data + 8 * np.arange(len(self._values), dtype=np.uint64)
        self._parameters = addresses
        self._fixed = (kernel.pointer, grid, 1, 1, block, 1, 1, shared)
        self._last = (addresses.ctypes.data,) if together else (addresses.ctypes.data, 0)
        self._launch = driver.launchCooperativeKernel if together else driver.launchKernel

    def change(self, rest: tuple[Any, ...]) -> None:
        """Replace the parameters after the arrays, as many; identical objects are not packed again."""
        for index, (old, new) in enumerate(zip(self._rest, rest, strict=True), self._arrays):
            if new is old:
                continue
            if isinstance(new, np.integer):
                self._pointers[index] = int(new) & _EIGHT_BYTES
            elif isinstance(new, np.generic):
                self._values[index, : new.itemsize] = np.frombuffer(new, np.uint8)
            else:
                self._pointers[index] = new.data.ptr
        self._rest = rest  # keeps their memory alive

    def __call__(self, *arrays: Any) -> None:
        pointers, index = self._pointers, 0
        for array in arrays:
            pointers[index] = array.data.ptr
            index += 1  # noqa: SIM113 (enumerate takes longer)
        self._launch(*self._fixed, self._stream().ptr, *self._last)


@dataclass(frozen=True)
class Module:
    """Compiled kernels, loaded for one user, whose `__constant__` and `__device__` variables are its own."""

    module: Any
    lowered: dict[str, str]
    seconds: float
    """Seconds to compile, or to read from disk."""
    cached: bool
    """Whether the machine code was on disk."""

    def function(self, name: str) -> Kernel:
        """Return the kernel of a name expression that was given to `load`."""
        return Kernel(self.module.get_function(self.lowered[name]))

    def symbol(self, name: str) -> Any:
        """Return the address of a variable declared ``extern "C"``, as a cupy.cuda.MemoryPointer."""
        from cupy.cuda import MemoryPointer, UnownedMemory

        return MemoryPointer(UnownedMemory(self.module.get_global_var(name), 0, self.module), 0)


def load(source: str, kernels: Sequence[str], preamble: str = "") -> Module:
    """Return kernels by name expressions, such as "abia<double>", from a `.cu` file, named relative to `engine/cuda`.

    Raises `device.NoGpu` without a GPU, and CompileError with file and line for an invalid source.
    """
    device.require()
    from cupy.cuda import function

    began = perf_counter()
    path, text = FOLDER / source, _text(source, preamble)
    name = _name(source, text, kernels)
    image = next(filter(None, (_read(folder / "kernels" / name) for folder in files.cache_folders())), None)
    cached = image is not None
    if image is None:
        image = _compile(path, text, kernels)
        with suppress(OSError):
            _keep(files.writable_cache("kernels") / name, *image)
    code, lowered = image
    module = function.Module()
    module.load(code)
    return Module(module, lowered, perf_counter() - began, cached)


def written_out(kernel: Function, known: tuple[Any, ...], arguments: tuple[Any, ...], dtype: str) -> Kernel:
    """Return a kernel of `engine.kernels`, unrolled for its constants, a thread a robot: ``(*arguments, batch)``.

    The arguments are those of `engine.compile.written_out.text`, of which launches take what `passed` there returns.
    The machine code is cached on disk under a digest of all that it depends on. Raises `device.NoGpu` without a GPU.
    """
    device.require()
    name = kernel.__name__
    facts = kernel.__module__, name, arguments, dtype, device.architecture(), device.driver(), code.versions()
    return _assembled(
        name, f"{name}-{digest_of(facts, known)}",
        lambda: code.ptx(code.text(kernel, known, arguments, dtype, name, gpu=True), device.architecture()),
    )  # fmt: skip


def with_loops(kernel: Function, tree: tuple[Any, ...], layout: Layout, registers: int) -> Kernel:
    """Return a kernel of `engine.kernels` with its loops, a thread a robot, for arguments with the layouts of `tree`.

    Launches take the arguments of `engine.compile.with_loops.text`. The machine code is cached like that of
    `written_out`.
    """
    device.require()
    name, architecture = kernel.__name__, device.architecture()
    lies = layout.key(tree), layout.real, layout.threads, layout.robots_of_warp
    facts = kernel.__module__, name, lies, registers, architecture, device.driver(), code.versions()
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:24]
    return _assembled(
        name, f"{name}-{digest}", lambda: loops.ptx(loops.text(kernel, tree, layout, name), architecture, registers)
    )


def _assembled(name: str, kept: str, assembly: Callable[[], str]) -> Kernel:
    """Return the named kernel, read from disk, or assembled by the driver and cached."""
    from cupy.cuda import function

    image = cache.read(kept)
    if image is None:
        image = assembler.machine_code(assembly(), name)
        cache.write(kept, image)
    module = function.Module()
    module.load(image)
    return Kernel(module.get_function(name))


def _text(source: str, preamble: str) -> str:
    path = FOLDER / source
    before = f"{header.text()}\n{preamble}"
    return f'#line 1 "preamble of {source}"\n{before}\n#line 1 "{path.as_posix()}"\n{path.read_text("utf-8")}'


def _compile(path: Path, text: str, kernels: Sequence[str]) -> tuple[bytes, dict[str, str]]:
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(text, path.name, [], [])
    try:
        for name in kernels:
            nvrtc.addNameExpression(program, name)
        try:
            nvrtc.compileProgram(program, (f"-arch={device.architecture()}", *OPTIONS))
        except nvrtc.NVRTCError as error:
            raise CompileError(f"{path.name} does not compile: {nvrtc.getProgramLog(program)}") from error
        return nvrtc.getCUBIN(program), {name: nvrtc.getLoweredName(program, name) for name in kernels}
    finally:
        nvrtc.destroyProgram(program)


def _name(source: str, text: str, kernels: Sequence[str]) -> str:
    from cupy.cuda import nvrtc

    digest = hashlib.sha256(text.encode()).hexdigest()
    facts = device.architecture(), nvrtc.getVersion(), OPTIONS[:-1], tuple(kernels), _headers(), digest
    return f"{Path(source).stem}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:24]}"


@lru_cache
def _headers() -> str:
    """Return a digest of all headers: reading them takes longer than loading a kernel."""
    content = "".join(header.read_text("utf-8") for header in sorted(FOLDER.rglob("*.cuh")))
    return hashlib.sha256(content.encode()).hexdigest()


def _read(path: Path) -> tuple[bytes, dict[str, str]] | None:
    """Return the cached machine code and names; None if there is no file, or one that is incomplete or not ours."""
    try:
        head, _, code = files.cached_content(path).partition(b"\n")
        facts = json.loads(head)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or facts.get("sha256") != hashlib.sha256(code).hexdigest():
        return None
    lowered = facts.get("lowered")
    return (code, lowered) if isinstance(lowered, dict) else None


def _keep(path: Path, code: bytes, lowered: dict[str, str]) -> None:
    """Write the machine code to the cache. Raises OSError."""
    head = json.dumps({"sha256": hashlib.sha256(code).hexdigest(), "lowered": lowered}).encode()
    with files.keeping(path) as file:
        file.write(head + b"\n" + code)
