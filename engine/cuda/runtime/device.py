"""The GPU and its free memory, or one sentence that says why there is none."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import Any

EXTRA = 'install the extra that fits the driver, pip install "catena[cuda13]" or "catena[cuda12]"'
LEAST_CAPABILITY = (7, 0)
MIB = 1 << 20
MAX_ROBOTS = 1 << 30


class NoGpu(RuntimeError):
    """There is no GPU; the message is one sentence that says why and what to do."""


@lru_cache(maxsize=1)
def why_not() -> str | None:
    """Return the reason why no GPU can be used; None where one can."""
    if not installed():
        return f"CuPy is not installed; {EXTRA}"
    try:
        import cupy
    except Exception as error:  # of any kind: built for another NumPy, or partly removed
        return f"CuPy cannot be imported ({_line(error)}); {EXTRA}"
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "CUDA finds no device; check that nvidia-smi lists one"
        driver, runtime = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
        if driver // 1000 < runtime // 1000:
            return (
                f"the NVIDIA driver supports CUDA {_version(driver)} and this CuPy was built for {_version(runtime)}; "
                f"update the driver, or {EXTRA}"
            )
        capability = _capability()
    except AttributeError as error:
        return f"CuPy is not whole ({_line(error)}); {EXTRA}"
    except Exception as error:  # errors of CUDA, the driver, the loader
        return f"CUDA cannot be used ({_line(error)}); check that nvidia-smi lists a device, and its driver's version"
    if capability < LEAST_CAPABILITY:
        least, present = (".".join(map(str, pair)) for pair in (LEAST_CAPABILITY, capability))
        return f"the GPU has compute capability {present} and at least {least} is needed; use device='cpu'"
    try:
        cupy.cuda.nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        return f"CUDA's compiler NVRTC cannot be loaded ({_line(error)}); install the CUDA toolkit or its NVRTC package"
    return None


def installed() -> bool:
    """Return whether CuPy can be imported."""
    return importlib.util.find_spec("cupy") is not None


def available() -> bool:
    """Return whether a GPU can be used."""
    return why_not() is None


def count() -> int:
    """Return the number of usable GPUs."""
    if not available():
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def require() -> None:
    """Raise NoGpu, with the reason, where no GPU can be used."""
    if reason := why_not():
        raise NoGpu(f"device 'cuda' cannot be used: {reason}")


def gpu_failed(error: BaseException) -> bool:
    """Return whether an error is one of a GPU, its driver or CuPy, or lack of memory, rather than of a program.

    A source rejected by CuPy's compiler raises an error of ours, with its own as the cause.
    """
    kinds = (*type(error).__mro__, *type(error.__cause__).__mro__)
    packages = {kind.__module__.partition(".")[0] for kind in kinds}
    return isinstance(error, MemoryError | NoGpu) or not packages.isdisjoint(("cupy", "cupy_backends"))


def driver() -> int:
    """Return the CUDA version of the driver, which assembles kernels that are unrolled for a robot."""
    import cupy

    return int(cupy.cuda.runtime.driverGetVersion())


def architecture() -> str:
    """Return the architecture to compile for, such as "sm_90"."""
    return "sm_{}{}".format(*_capability())


@lru_cache(maxsize=1)
def properties() -> dict[str, Any]:
    """Return CUDA's table of the device: `multiProcessorCount`, `sharedMemPerBlockOptin`, `totalGlobalMem`, …"""
    import cupy

    attributes: dict[str, Any] = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    return attributes


@lru_cache(maxsize=1)
def has_watchdog() -> bool:
    """Return whether a watchdog ends kernels after some seconds, as on a GPU that also draws a desktop."""
    import cupy

    return bool(cupy.cuda.Device().attributes["KernelExecTimeout"])


def describe() -> dict[str, Any]:
    """Return the GPU, its memory in bytes, its highest clock in kHz, and software versions, for results."""
    import cupy

    runtime = cupy.cuda.runtime
    return {
        "name": properties()["name"].decode(),
        "capability": ".".join(map(str, _capability())),
        "multiprocessors": properties()["multiProcessorCount"],
        "clock": cupy.cuda.Device().attributes["ClockRate"],
        "memory": properties()["totalGlobalMem"],
        "driver": _version(runtime.driverGetVersion()),
        "cuda": _version(runtime.runtimeGetVersion()),
        "cupy": cupy.__version__,
    }


def require_count(batch: int) -> None:
    """Raise ValueError for more robots than kernels can index."""
    if batch > MAX_ROBOTS:
        raise ValueError(f"a batch of {batch} robots is too large for one launch; expected at most {MAX_ROBOTS}")


def require_memory(needed: int, what: str) -> None:
    """Raise MemoryError, before any launch, unless `needed` bytes are free; `what` names their use."""
    import cupy

    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    if needed > free:
        raise MemoryError(
            f"{what} needs {needed} bytes on the GPU ({needed / MIB:,.0f} MiB) and {free} are free "
            f"({free / MIB:,.0f} MiB); use a smaller batch, float32, or device='cpu'"
        )


def _capability() -> tuple[int, int]:
    return properties()["major"], properties()["minor"]


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
