"""Which GPU there is, or in one sentence why there is none; and whether its memory suffices."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import Any

EXTRA = 'install the extra that fits the driver, pip install "catena[cuda13]" or "catena[cuda12]"'
LEAST_CAPABILITY = (7, 0)
MIB = 1 << 20
MOST_ROBOTS = 1 << 30


class NoGpu(RuntimeError):
    """There is no GPU to work with; the message is one sentence that says why and what to do."""


@lru_cache(maxsize=1)
def why_not() -> str | None:
    """Why no GPU can be used, in words; None where one can."""
    if not installed():
        return f"CuPy is not installed; {EXTRA}"
    try:
        import cupy
    except Exception as error:  # of whatever kind: made for another NumPy, or half removed
        return f"CuPy cannot be imported ({_line(error)}); {EXTRA}"
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "CUDA finds no device; check that nvidia-smi lists one"
        driver, runtime = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
        if driver // 1000 < runtime // 1000:
            return (
                f"the NVIDIA driver serves CUDA {_version(driver)} and this CuPy was made for {_version(runtime)}; "
                f"update the driver, or {EXTRA}"
            )
        capability = _capability()
    except AttributeError as error:
        return f"CuPy is not whole ({_line(error)}); {EXTRA}"
    except Exception as error:  # CUDA's, its driver's, the loader's
        return f"CUDA cannot be used ({_line(error)}); check that nvidia-smi lists a device, and its driver's version"
    if capability < LEAST_CAPABILITY:
        least, found = (".".join(map(str, pair)) for pair in (LEAST_CAPABILITY, capability))
        return f"the GPU has compute capability {found} and at least {least} is needed; use device='cpu'"
    try:
        cupy.cuda.nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        return f"CUDA's compiler NVRTC cannot be loaded ({_line(error)}); install the CUDA toolkit or its NVRTC package"
    return None


def installed() -> bool:
    """Whether there is a CuPy to import."""
    return importlib.util.find_spec("cupy") is not None


def available() -> bool:
    """Whether a GPU can be used."""
    return why_not() is None


def count() -> int:
    """GPUs that can be used."""
    if not available():
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def require() -> None:
    """Raise NoGpu, with the reason, where no GPU can be used."""
    if reason := why_not():
        raise NoGpu(f"device 'cuda' cannot be used: {reason}")


def failed(error: BaseException) -> bool:
    """Whether an error says that a GPU, its driver or CuPy failed, or memory ran out; else it is a program's fault.

    What CuPy's compiler did not take is told by an error of ours, of which its own is the cause.
    """
    kinds = (*type(error).__mro__, *type(error.__cause__).__mro__)
    packages = {kind.__module__.partition(".")[0] for kind in kinds}
    return isinstance(error, MemoryError | NoGpu) or not packages.isdisjoint(("cupy", "cupy_backends"))


def driver() -> int:
    """The version of CUDA that the driver serves, which assembles what is written out for a robot."""
    import cupy

    return int(cupy.cuda.runtime.driverGetVersion())


def architecture() -> str:
    """What to compile for, such as "sm_90"."""
    return "sm_{}{}".format(*_capability())


@lru_cache(maxsize=1)
def properties() -> dict[str, Any]:
    """CUDA's own table of the device: `multiProcessorCount`, `sharedMemPerBlockOptin`, `totalGlobalMem`, …"""
    import cupy

    found: dict[str, Any] = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    return found


@lru_cache(maxsize=1)
def watched() -> bool:
    """Whether a watchdog ends kernels that take seconds, as it does on a GPU that also draws a desktop."""
    import cupy

    return bool(cupy.cuda.Device().attributes["KernelExecTimeout"])


def describe() -> dict[str, Any]:
    """The GPU, its memory in bytes, its highest clock in kHz, and the versions between it and us, for results."""
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
    """ValueError for more robots than kernels count."""
    if batch > MOST_ROBOTS:
        raise ValueError(f"a batch of {batch} robots is too large for one launch; expected at most {MOST_ROBOTS}")


def require_memory(needed: int, what: str) -> None:
    """MemoryError, before anything is launched, unless `needed` bytes are free; `what` says for what."""
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
