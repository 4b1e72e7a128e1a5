"""A simulated GPU: simulations that claim to run on it, with delayed frames and failures on demand."""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np

import engine
from engine.frame import Frame, FrameReader, Spent


class OutOfMemoryError(MemoryError):
    """Stands in for CuPy's exception."""

    __module__ = "cupy.cuda.memory"


class CUDARuntimeError(RuntimeError):
    """Stands in for CuPy's exception."""

    __module__ = "cupy_backends.cuda.api.runtime"


class LateReader:
    """Frames of the CPU, there `PretendedGpu.lag` s after the steps that they wait for could be done."""

    def __init__(self, reader: FrameReader, simulation: PretendedGpu):
        self._reader, self._simulation, self._begun, self._due = reader, simulation, 0, 0.0
        self._steps = 0

    def begin(self) -> None:
        self._begun = self._simulation.steps

    def request(self) -> None:
        self._reader.begin()
        self._reader.request()
        self._steps = self._simulation.steps - self._begun
        self._due = time.perf_counter() + PretendedGpu.lag + PretendedGpu.cost * self._steps

    @property
    def ready(self) -> bool:
        return time.perf_counter() >= self._due

    def take(self) -> Frame:
        if PretendedGpu.fault_in_flight is not None:
            raise PretendedGpu.fault_in_flight
        time.sleep(max(0.0, self._due - time.perf_counter()))
        return self._reader.take()._replace(spent=Spent(PretendedGpu.cost * self._steps, 2e-5, 1e-5))


class OnGpu:
    """An array that stays on the pretended GPU until `get` is called, or it is asked for its number."""

    def __init__(self, host: np.ndarray):
        self._host = host
        self.ndim = host.ndim

    def __getitem__(self, key: object) -> OnGpu:
        return OnGpu(np.asarray(self._host[key]))

    def max(self) -> OnGpu:
        return OnGpu(self._host.max())

    def get(self) -> np.ndarray:
        return np.array(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise TypeError("an array of the GPU turned into NumPy's without get()")


class PretendedGpu(engine.Simulation):
    """Accept device "cuda", and "auto" for it; compute on the CPU."""

    lag, cost = 1e-3, 1e-5
    fault: Exception | None = None
    """The exception raised on creation."""
    fault_in_flight: Exception | None = None
    """The exception raised by the next frame."""
    launches: ClassVar[list[int]] = []
    """Steps of each launch on the pretended GPU."""

    def __init__(self, model: engine.Model, *args: object, device: str | None = None, **options: object):
        super().__init__(model, *args, device="cpu", **options)
        if device in ("cuda", "auto"):
            if PretendedGpu.fault is not None:
                raise PretendedGpu.fault
            self.device = "cuda"

    def array(self, x: object) -> np.ndarray:
        return np.ascontiguousarray(x, self.dtype)

    def step(self, n: int = 1) -> None:
        if self.device == "cuda":
            PretendedGpu.launches.append(n)
        super().step(n)

    @property
    def contacts(self) -> engine.Contacts | None:
        found = super().contacts
        return found if found is None or self.device == "cpu" else engine.Contacts(*map(OnGpu, found))

    def frames(self, robots: int = 1) -> FrameReader:
        reader = super().frames(robots)
        return LateReader(reader, self) if self.device == "cuda" else reader
