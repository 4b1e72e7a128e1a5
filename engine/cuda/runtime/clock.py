"""Times by the GPU's own clock: events around the work, since a host clock may stop too early."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np


def synchronize() -> None:
    """Wait until the GPU has done all its work."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()


def device_seconds(call: Callable[[], Any], inner: int = 1) -> float:
    """Return the seconds of one `call` on the GPU, from `inner` calls between two events; waits for the second."""
    import cupy

    start, end = _events()
    stream = cupy.cuda.get_current_stream()
    start.record(stream)
    for _ in range(inner):
        call()
    end.record(stream)
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3 / inner


def capture_graph(call: Callable[[], Any], inner: int = 1) -> Callable[[], None] | None:
    """Return `inner` calls as one CUDA graph, which the host cannot delay.

    None where they cannot be captured, since they wait for the GPU.
    """
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        call()  # allocates its memory
        stream.synchronize()
        stream.begin_capture()
        try:
            for _ in range(inner):
                call()
        except RuntimeError:  # CuPy's own and CUDA's
            _abandon(stream)
            return None
        graph = stream.end_capture()
    return lambda: graph.launch(cupy.cuda.get_current_stream())


def _abandon(stream: Any) -> None:
    """End a capture that failed."""
    with contextlib.suppress(RuntimeError):
        stream.end_capture()


def median_device_seconds(call: Callable[[], Any], inner: int = 1, rounds: int = 15) -> float:
    """Return the median of `device_seconds` over `rounds`, after three uncounted calls."""
    for _ in range(3):
        call()
    return float(np.median([device_seconds(call, inner) for _ in range(rounds)]))


@lru_cache(maxsize=1)
def _events() -> tuple[Any, Any]:
    import cupy

    return cupy.cuda.Event(), cupy.cuda.Event()
