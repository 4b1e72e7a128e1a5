"""The one function that turns a `.cu` file into kernels: NVRTC through CuPy, with the machine code kept on disk.

What a robot fixes at compile time is C++ text put before the source, the *preamble*. The number type and whatever else
a kernel is a template over stands in its name, `abia<double>`. Machine code lies in the user's cache folder under a
digest of all that it depends on, so that a changed source, robot, GPU or compiler makes a new file and nothing stale
is ever read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from engine import files
from engine.compile import Function, cache
from engine.compile import thread_per_robot as loops
from engine.compile import written_out as code
from engine.compile.known import described
from engine.compile.thread_per_robot import Layout
from engine.cuda.runtime import device, header

FOLDER = Path(__file__).parents[1]
REAL = {"float32": "float", "float64": "double"}
"""C++'s names of the number types."""
OPTIONS = ("--std=c++17", "-lineinfo", f"-I{FOLDER}")
_MAX_DYNAMIC_SHARED, _NON_PORTABLE_CLUSTER = 8, 14  # CU_FUNC_ATTRIBUTE_…
_EIGHT_BYTES = 2**64 - 1
_DEFAULT_SHARED = 40 * 1024  # bytes that need no leave; with what a kernel declares itself, 48 KiB do


class CompileError(RuntimeError):
    """A kernel that does not compile: the compiler's own words, with the file and line of the source."""


class Kernel:
    """One function of a module: ``kernel(grid, block, args, shared)`` launches it on CuPy's current stream."""

    def __init__(self, function: Any):
        self._function = function
        self._shared = _DEFAULT_SHARED

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], shared: int = 0) -> None:
        """`args` are CuPy arrays and NumPy scalars of the parameters' very types; `shared` is in bytes."""
        self.allow(shared)
        self._function(grid, block, args, shared_mem=shared)

    @property
    def pointer(self) -> int:
        """CUDA's handle."""
        return int(self._function.ptr)

    def allow(self, shared: int) -> None:
        """Let blocks have so many bytes of shared memory."""
        if shared <= self._shared:
            return
        from cupy.cuda import driver

        most = device.properties()["sharedMemPerBlockOptin"]
        if shared > most:
            raise ValueError(f"a block asks for {shared} bytes of shared memory and this GPU has {most}")
        driver.funcSetAttribute(self._function.ptr, _MAX_DYNAMIC_SHARED, shared)
        self._shared = shared

    def allow_large_clusters(self) -> None:
        """Let clusters be of more than eight blocks."""
        from cupy.cuda import driver

        driver.funcSetAttribute(self._function.ptr, _NON_PORTABLE_CLUSTER, 1)


class Launch:
    """A launch with all but its first arguments laid out once: ``launch(*arrays)`` costs the host a microsecond or two.

    The parameters behind the arrays are `rest`, CuPy arrays and NumPy scalars of the parameters' very types.
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
        """Other parameters behind the arrays, as many: what is the very object of before stays as it is."""
        for index, (old, new) in enumerate(zip(self._rest, rest, strict=True), self._arrays):
            if new is old:
                continue
            if isinstance(new, np.integer):
                self._pointers[index] = int(new) & _EIGHT_BYTES
            elif isinstance(new, np.generic):
                self._values[index, : new.itemsize] = np.frombuffer(new, np.uint8)
            else:
                self._pointers[index] = new.data.ptr
        self._rest = rest  # which keeps what they point to

    def __call__(self, *arrays: Any) -> None:
        pointers, index = self._pointers, 0
        for array in arrays:
            pointers[index] = array.data.ptr
            index += 1  # noqa: SIM113 (enumerate takes longer)
        self._launch(*self._fixed, self._stream().ptr, *self._last)


@dataclass(frozen=True)
class Module:
    """Compiled kernels, loaded for one user: its `__constant__` and `__device__` variables are that user's own."""

    module: Any
    lowered: dict[str, str]
    seconds: float
    """What compiling took, or reading from disk."""
    cached: bool
    """The machine code was on disk."""

    def function(self, name: str) -> Kernel:
        """The kernel of that name expression, one of those given to `load`."""
        return Kernel(self.module.get_function(self.lowered[name]))

    def symbol(self, name: str) -> Any:
        """Where a variable declared ``extern "C"`` lies, as a cupy.cuda.MemoryPointer."""
        from cupy.cuda import MemoryPointer, UnownedMemory

        return MemoryPointer(UnownedMemory(self.module.get_global_var(name), 0, self.module), 0)


def load(source: str, kernels: Sequence[str], preamble: str = "") -> Module:
    """The kernels with these name expressions, such as "abia<double>", of a `.cu` file, named from `engine/cuda` on.

    Raises `device.NoGpu` without a GPU, and CompileError with file and line where the source is wrong.
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


def written_out(kernel: Function, known: tuple[Any, ...], arguments: tuple[int | str, ...], dtype: str) -> Kernel:
    """A kernel of `engine.kernels`, written out for what is known, a thread a robot: ``(*arguments, batch)``.

    The arguments are those of `engine.compile.written_out.text`. The machine code is kept on disk, under a digest of
    all that it depends on. Raises `device.NoGpu` without a GPU.
    """
    device.require()
    name = kernel.__name__
    facts = kernel.__module__, name, arguments, dtype, device.architecture(), device.driver(), code.versions()
    return _assembled(
        name, f"{name}-{described(facts, known)}",
        lambda: code.ptx(code.text(kernel, known, arguments, dtype, name, gpu=True), device.architecture()),
    )  # fmt: skip


def thread_per_robot(kernel: Function, tree: tuple[Any, ...], layout: Layout, registers: int) -> Kernel:
    """A kernel of `engine.kernels` with its loops kept, a thread a robot, for arguments that lie as `tree` says.

    Launches give what `engine.compile.thread_per_robot.text` says. The machine code is kept like that of `written_out`.
    """
    device.require()
    name, architecture = kernel.__name__, device.architecture()
    lies = layout.key(tree), layout.real, layout.threads, layout.together
    facts = kernel.__module__, name, lies, registers, architecture, device.driver(), code.versions()
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:24]
    return _assembled(
        name, f"{name}-{digest}", lambda: loops.ptx(loops.text(kernel, tree, layout, name), architecture, registers)
    )


def _assembled(name: str, kept: str, assembly: Callable[[], str]) -> Kernel:
    """The kernel of that name, read from disk, or assembled by the driver and kept there."""
    from cupy.cuda import function

    image = cache.read(kept)
    if image is None:
        state = function.LinkState()
        state.add_ptr_data(assembly().encode(), f"{name}.ptx")
        image = bytes(state.complete())
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

    digest = hashlib.sha256()
    headers = "".join(header.read_text("utf-8") for header in sorted(FOLDER.rglob("*.cuh")))
    facts = (device.architecture(), nvrtc.getVersion(), OPTIONS[:-1], tuple(kernels), headers, text)
    digest.update(repr(facts).encode())
    return f"{Path(source).stem}-{digest.hexdigest()[:24]}"


def _read(path: Path) -> tuple[bytes, dict[str, str]] | None:
    """The machine code and the names kept there; None where there is none, or a file that is not whole, or not ours."""
    try:
        head, _, code = files.kept(path).partition(b"\n")
        facts = json.loads(head)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or facts.get("sha256") != hashlib.sha256(code).hexdigest():
        return None
    lowered = facts.get("lowered")
    return (code, lowered) if isinstance(lowered, dict) else None


def _keep(path: Path, code: bytes, lowered: dict[str, str]) -> None:
    """Write it for the next time. Raises OSError."""
    head = json.dumps({"sha256": hashlib.sha256(code).hexdigest(), "lowered": lowered}).encode()
    with files.keeping(path) as file:
        file.write(head + b"\n" + code)
