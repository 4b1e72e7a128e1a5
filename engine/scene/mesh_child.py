"""What the process does that reads mesh files: one after another, each within bounds of time and memory.

It takes lines of JSON, and answers each by lines of what its clock may come to, a line of JSON that tells of arrays,
and their bytes.
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
from engine.scene.mesh_files import Budget, in_one_line

SECONDS, SECONDS_PER_MB = 1.0, 0.8
"""Of computing, for a file of any size, and for each megabyte of it."""
MEMORY, MEMORY_PER_BYTE = 160 << 20, 40
"""Bytes that reading may take beside the process itself, and for each byte of the file."""
MEMORY_USED = "memory"
"""What is answered where these bytes do not suffice."""
IDLE = 30.0
"""s after which the process ends that nobody asks for anything."""
WORN = 256 << 20
"""Bytes that may be left of files that were read, after which the process ends."""


class Limits:
    """The bounds of this process for the file that it reads, as far as the system knows such.

    `told` is called with what the process's clock of computing may come to: the system's timer looks at it with each of
    its ticks only, and on a busy machine overlooks as much again.
    """

    def __init__(self, told: Callable[[float], None] = lambda _: None) -> None:
        self._told, self._began, self._size, self._left = told, 0.0, 0, 0

    @staticmethod
    def size() -> int:
        """Bytes of this process's address space; 0 where the system does not tell."""
        with suppress(OSError):
            return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return 0

    def begin(self) -> None:
        """From here on a file is read."""
        self._began, self._size = time.process_time(), self.size()
        self.grow(0)

    def grow(self, count: int) -> None:
        """So many bytes of it have been read."""
        seconds, memory = bounds(count)
        if hasattr(signal, "setitimer"):  # its signal ends the process, whatever that does
            left = seconds - (time.process_time() - self._began)
            signal.setitimer(signal.ITIMER_PROF, max(left, 1e-3))
        self._told(self._began + seconds)
        if self._size:
            _room(self._size + memory)

    def end(self) -> None:
        """It is read."""
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)
        if self._size:
            _room(None)
        self._left += self.size() - self._size

    @property
    def worn(self) -> bool:
        """Whether more is left of files than should be."""
        return self._left > WORN


def bounds(count: int) -> tuple[float, int]:
    """Seconds of computing and bytes of memory that reading so many bytes may take."""
    return SECONDS + SECONDS_PER_MB * count / 2**20, MEMORY + MEMORY_PER_BYTE * count


def _room(size: int | None) -> None:
    """Bound the address space; None for no bound but that which the process was started with."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if size is None else size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _close() -> None:
    """From here on nothing is written and no process started, where the system has such limits."""
    with suppress(ImportError):  # Windows
        import resource

        for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
            with suppress(ValueError, OSError):
                resource.setrlimit(kind, (0, 0))


def _prepare(path: str) -> None:
    """Import what reads such a file, outside of its time."""
    names = ["scipy.spatial", "scipy.sparse.csgraph"]
    with suppress(OSError):
        if not binary_stl.count(path):
            names += ["trimesh", "PIL.Image"]
    if path.lower().endswith((".dae", ".zae")):
        names.append("collada")
    for name in names:
        import_module(name)


Rows = list[tuple[np.ndarray, ...]]
"""The arrays of an answer: of each hull its corners, or of each part vertices, triangles and colours, if any."""


def outcome(what: str, path: str, limits: Limits) -> tuple[Rows, str | None]:
    """What comes of a file, within limits, and why nothing does, in one sentence."""
    limits.begin()
    rows, refusal = Rows(), None
    try:
        rows = _read(what, path, Budget(limits.grow))
    except MemoryError:
        rows, refusal = Rows(), MEMORY_USED
    except Exception as fault:  # of colours and textures, too, which are judged as they are used
        refusal = in_one_line(fault)
    finally:
        limits.end()
    return rows, refusal


def _read(what: str, path: str, budget: Budget) -> Rows:
    if what == "hulls":
        return [(hull,) for hull in mesh_parts.hulls(path, budget)]
    none, rows = np.zeros((0, 4), np.uint8), Rows()
    for part in mesh_parts.parts(path, budget):
        binary_stl.require_finite(part.vertices)  # where they stand, and in m
        rows.append((*part[:2], none if part.colors is None else part.colors))
    return rows


def _answer(output: BinaryIO, rows: Rows, refusal: str | None, last: bool) -> None:
    """Send what came of a file, each column of arrays as one, after the lengths of those in it."""
    arrays = list[np.ndarray]()
    for column in zip(*rows, strict=True):
        arrays += [np.array([len(x) for x in column], np.int64), np.concatenate(column)]
    header = {"arrays": [(x.dtype.str, x.shape) for x in arrays], "refusal": refusal, "last": last}
    output.write(json.dumps(header).encode() + b"\n")
    for x in arrays:
        output.write(x.data)
    output.flush()


def _serve(request: bytes, output: BinaryIO, limits: Limits) -> bool:
    """Read one file and answer; whether the process is fit to read another."""
    what, name = json.loads(request)
    path = os.fsdecode(name.encode("latin-1"))
    _prepare(path)
    rows, refusal = outcome(what, path, limits)
    last = limits.worn or refusal == MEMORY_USED  # after which what was begun may lie about still
    _answer(output, rows, refusal, last)
    return not last


def main() -> None:
    """Serve until there are no more requests; the parent's end, however it comes, ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which then ends this process too
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    output = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def tell(seconds: float) -> None:
        output.write(b"%f\n" % seconds)
        output.flush()

    limits = Limits(tell)
    _close()
    with suppress(queue.Empty):
        while _serve(requests.get(timeout=IDLE), output, limits):
            pass
    sys.stdout.flush()
    os._exit(0)


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(1)
