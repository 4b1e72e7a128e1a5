"""Read mesh files in a child process with limits on time and memory for each file.

One child reads all of a program's meshes in turn; it starts with the first, and ends after some idle time. The limits
for a file grow with its size (`engine.scene.mesh_child.bounds`). Binary STL files, with a known number of values, are
read in this process.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from engine.child_process import end_process
from engine.per_process import OnePerProcess
from engine.scene import binary_stl
from engine.scene.mesh_child import MEMORY_USED, bounds
from engine.scene.mesh_files import require_kind
from engine.scene.mesh_parts import MeshPart

_CHILD = """\
import sys, types
for name in ("engine", "engine.scene"):  # what these packages import is not needed here
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [sys.argv[1] + name[6:].replace(".", "/")]
from engine.scene.mesh_child import main
main()
"""
POLL_INTERVAL = 0.02
"""s between two checks of the child's CPU time."""
PATIENCE, WALL_SECONDS_PER_CPU_SECOND = 60.0, 10.0
"""Wall-clock limit for a file, s, and its addition per CPU second allowed."""


def read_mesh(path: str | os.PathLike[str]) -> list[MeshPart]:
    """Return the placed parts of a mesh file, with their materials' colours, in m.

    A COLLADA file's unit is applied, its "up" axis is not. Referenced files (materials, textures, buffers) are read
    only from its folder and the one above.

    Raises OSError if it cannot be read, and ValueError, in one sentence that does not name it, if it is no mesh, is
    incomplete, has values that are not finite, or exceeds the time or memory limit for its size.
    """
    path = Path(path)
    require_kind(path)
    if count := binary_stl.count(path):
        return [MeshPart(binary_stl.corners(path), np.arange(3 * count).reshape(-1, 3), None)]
    rows = reader().ask("parts", path)
    return [MeshPart(vertices, triangles, colors if len(colors) else None) for vertices, triangles, colors in rows]


def read_hulls(path: str | os.PathLike[str]) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return corners (k, 3) and edges (e, 2) of the convex hulls that represent a mesh file, in its own units.

    Raises OSError if it cannot be read, and ValueError, whose message continues the file's name.
    """
    return tuple((corners, edges) for corners, edges in reader().ask("hulls", Path(path)))


def mesh_being_read() -> Path | None:
    """The mesh file that is being read now, or whose convex hulls are computed; None if there is none.

    Small binary STL files, which are read at once, are never named.
    """
    return reader().file


class _Ended(Exception):
    """The child ended before it replied; the message is the reason."""


class MeshReader:
    """The child process and its pipes; one thread at a time sends requests."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        """The child; None until a file needs it."""
        self.file: Path | None = None
        """The file that is being read."""
        self._owner = os.getpid()
        atexit.register(self.end)

    def ask(self, what: str, path: Path) -> list[tuple[np.ndarray, ...]]:
        """Request a file's arrays, by rows. Raises OSError, or ValueError in one sentence."""
        path = path.absolute()
        path.open("rb").close()
        size = path.stat().st_size
        request = _line(what, path)
        of_hulls = "cannot be read: " if what == "hulls" else ""
        with self._asking:
            self.file = path
            try:
                reply = self._request(request, size) or self._request(request, size)  # it may have ended, being idle
            except _Ended as problem:
                self.end()
                raise ValueError(f"{of_hulls}{problem}") from None
            except BaseException:  # also Ctrl-C: a late reply would be misread as the next one
                self.end()
                raise
            finally:
                self.file = None
        header, arrays = reply or ({"refusal": "the process that reads meshes ended early"}, [])
        if header["refusal"] == MEMORY_USED:
            raise ValueError(of_hulls + _too_much("memory", size))
        if header["refusal"] is not None:
            raise ValueError(header["refusal"])
        columns = [
            np.split(joined, np.cumsum(lengths)[:-1]) for lengths, joined in zip(arrays[::2], arrays[1::2], strict=True)
        ]
        return list(zip(*columns, strict=True))

    def prepare(self, path: Path) -> None:
        """Start the child, and let it import what reads such a file, without waiting for it."""
        if not self._asking.acquire(blocking=False):  # it is reading
            return
        try:
            if self.process is None:
                self.process = _start()
                assert self.process.stdin is not None
                with suppress(BrokenPipeError):
                    self.process.stdin.write(_line("prepare", path.absolute()))
                    self.process.stdin.flush()
        finally:
            self._asking.release()

    def _request(self, request: bytes, size: int) -> tuple[dict[str, Any], list[np.ndarray]] | None:
        """Return the child's reply; None if it had ended before the request. Raises _Ended if it ends during it."""
        if self.process is not None and self.process.poll() is not None:
            self.end()
        if self.process is None:
            self.process = _start()
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with _Watch(process, PATIENCE + WALL_SECONDS_PER_CPU_SECOND * bounds(size)[0]) as watch:
            with suppress(BrokenPipeError):  # it has ended, which is handled below
                process.stdin.write(request)
                process.stdin.flush()
            while (line := process.stdout.readline())[:1].isdigit():
                watch.most = float(line)
            if line.endswith(b"\n"):
                header = json.loads(line)
                arrays = [_received(process.stdout, dtype, shape) for dtype, shape in header["arrays"]]
                if header["last"]:
                    self.end()
                return header, arrays
        code, wording = process.wait(), process.stderr.read()
        self.end()
        if code == 0:
            return None
        if -code in (getattr(signal, "SIGPROF", 0), getattr(signal, "SIGKILL", 0)):
            raise _Ended(_too_much("time", size))
        if -code == signal.SIGABRT and not wording.strip():  # of a library that cannot continue without memory
            raise _Ended(_too_much("memory", size))
        reason = wording.decode(errors="replace").strip().rpartition("\n")[2] or f"with {code}"
        raise _Ended(f"the process that reads it ended early ({reason})")

    def end(self) -> None:
        """End the process now; the next request starts another."""
        process, self.process = self.process, None
        if process is None or self._owner != os.getpid():
            return
        end_process(process, process.stdin, process.stdout, process.stderr)


class _Watch:
    """Within the context, end a process whose CPU time reaches `most`, or after the wall-clock limit."""

    def __init__(self, process: subprocess.Popen[bytes], patience: float):
        self._process, self._end, self.most = process, time.monotonic() + patience, float("inf")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch of the mesh reader", daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(POLL_INTERVAL):
            if time.monotonic() > self._end or _computed(self._process.pid) > self.most:
                self._process.kill()
                return


def _computed(pid: int) -> float:
    """Return the CPU seconds of another process, by Linux's clock id; 0 if unknown."""
    if sys.platform != "linux":
        return 0.0
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:  # it has ended
        return 0.0


reader = OnePerProcess(MeshReader)
"""Returns the reader of this process, which reads all of its meshes."""


def _line(what: str, path: Path) -> bytes:
    return json.dumps([what, os.fsencode(path).decode("latin-1")]).encode() + b"\n"


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-X", "utf8", "-c", _CHILD, str(Path(__file__).parents[1])]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )  # fmt: skip


def _received(stream: Any, dtype: str, shape: list[int]) -> np.ndarray:
    array = np.empty(shape, dtype)
    if array.nbytes and stream.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
        raise _Ended("the process that reads it ended early")
    return array


def _too_much(of_what: str, size: int) -> str:
    shown = f"{size / 2**20:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"
    return (
        f"it takes more {of_what} than a file of {shown} may; give a simpler mesh, or one that repeats and nests its "
        "parts less"
    )
