"""The child process that reads mesh files, one after another, each with limits on time and memory.

It reads requests as lines of JSON. It replies with lines of CPU-time limits, a line of JSON that describes arrays, and
the arrays' bytes.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.scene import binary_stl, mesh_parts
from engine.scene.hull_faces import edges
from engine.scene.mesh_files import Budget, reason_of

SECONDS, SECONDS_PER_MB = 1.0, 0.8
"""CPU seconds for any file, and for each megabyte of it."""
MEMORY, MEMORY_PER_BYTE = 160 << 20, 40
"""Bytes of memory for reading, beside the process itself, and for each byte of the file."""
MEMORY_USED = "memory"
"""The reply if the memory limit is exceeded."""
IDLE_SECONDS = 30.0
"""s without a request after which the process ends."""
MAX_LEFTOVER_BYTES = 256 << 20
"""Bytes of memory left over from files, beyond which the process ends."""


class Limits:
    """The limits of this process for the current file, as far as the system supports them.

    `on_limit` is called with the CPU-time limit. The system's timer checks it only at its ticks, and on a
    busy machine can overrun it as much again.
    """

    def __init__(self, on_limit: Callable[[float], None] = lambda _: None) -> None:
        self._on_limit, self._began, self._size, self._left = on_limit, 0.0, 0, 0

    @staticmethod
    def size() -> int:
        """Return the size of this process's address space in bytes; 0 if the system does not report it."""
        with suppress(OSError):
            return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return 0

    def begin(self) -> None:
        """Start the limits for a file."""
        self._began, self._size = time.process_time(), self.size()
        self.grow(0)

    def grow(self, count: int) -> None:
        """Extend the limits by `count` bytes that were read."""
        seconds, memory = bounds(count)
        if hasattr(signal, "setitimer"):  # its signal ends the process in any state
            left = seconds - (time.process_time() - self._began)
            signal.setitimer(signal.ITIMER_PROF, max(left, 1e-3))
        self._on_limit(self._began + seconds)
        if self._size:
            _room(self._size + memory)

    def end(self) -> None:
        """End the limits of a file."""
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)
        if self._size:
            _room(None)
        self._left += self.size() - self._size

    @property
    def worn(self) -> bool:
        """Whether too much memory is left over from files."""
        return self._left > MAX_LEFTOVER_BYTES


def bounds(count: int) -> tuple[float, int]:
    """Return the limits for `count` bytes: seconds of CPU time and bytes of memory."""
    return SECONDS + SECONDS_PER_MB * count / 2**20, MEMORY + MEMORY_PER_BYTE * count


def _room(size: int | None) -> None:
    """Limit the address space; None restores the limit with which the process started."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if size is None else size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _close() -> None:
    """Forbid writing and starting processes, if the system supports it."""
    with suppress(ImportError):  # Windows
        import resource

        for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
            with suppress(ValueError, OSError):
                resource.setrlimit(kind, (0, 0))


def _prepare(path: str) -> None:
    """Import what reads such a file, outside its time limit."""
    names = ["scipy.spatial", "scipy.sparse.csgraph"]
    with suppress(OSError):
        if not binary_stl.count(path):
            names += ["trimesh", "PIL.Image"]
    if path.lower().endswith((".dae", ".zae")):
        names.append("collada")
    for name in names:
        import_module(name)


Rows = list[tuple[np.ndarray, ...]]
"""The arrays of a reply: each hull's corners and edges, or each part's vertices, triangles and colours, if any."""


def outcome(what: str, path: str, limits: Limits) -> tuple[Rows, str | None]:
    """Read a file within limits; return its arrays, or the reason for a failure in one sentence."""
    limits.begin()
    rows, refusal = Rows(), None
    try:
        rows = _read(what, path, Budget(limits.grow))
    except MemoryError:
        rows, refusal = Rows(), MEMORY_USED
    except Exception as problem:  # including colours and textures, which are checked on use
        refusal = reason_of(problem)
    finally:
        limits.end()
    return rows, refusal


def _read(what: str, path: str, budget: Budget) -> Rows:
    if what == "hulls":
        return [(hull, edges(hull)) for hull in mesh_parts.hulls(path, budget)]
    none, rows = np.zeros((0, 4), np.uint8), Rows()
    for part in mesh_parts.parts(path, budget):
        binary_stl.require_finite(part.vertices)  # after placing and scaling to m
        rows.append((*part[:2], none if part.colors is None else part.colors))
    return rows


def _reply(output: BinaryIO, rows: Rows, refusal: str | None, last: bool) -> None:
    """Send the arrays of a file: the lengths, then each column concatenated into one array."""
    arrays = list[np.ndarray]()
    for column in zip(*rows, strict=True):
        arrays += [np.array([len(x) for x in column], np.int64), np.concatenate(column)]
    header = {"arrays": [(x.dtype.str, x.shape) for x in arrays], "refusal": refusal, "last": last}
    output.write(json.dumps(header).encode() + b"\n")
    for x in arrays:
        output.write(x.data)
    output.flush()


def _serve(request: bytes, output: BinaryIO, limits: Limits) -> bool:
    """Handle one request; return whether the process can read another file. "prepare" has no reply."""
    what, name = json.loads(request)
    path = os.fsdecode(name.encode("latin-1"))
    _prepare(path)
    if what == "prepare":
        return True
    rows, refusal = outcome(what, path, limits)
    last = limits.worn or refusal == MEMORY_USED  # an interrupted read may leave objects behind
    _reply(output, rows, refusal, last)
    return not last


def main() -> None:
    """Handle requests until the parent ends or closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which ends this process
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    output = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def send_limit(seconds: float) -> None:
        output.write(b"%f\n" % seconds)
        output.flush()

    limits = Limits(send_limit)
    _close()
    with suppress(queue.Empty):
        while _serve(requests.get(timeout=IDLE_SECONDS), output, limits):
            pass
    sys.stdout.flush()
    os._exit(0)


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(1)
