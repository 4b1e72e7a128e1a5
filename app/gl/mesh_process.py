"""Reading mesh files in a separate process, since mesh readers hold the interpreter's lock for long.

It sends each mesh, with crude levels that take milliseconds, and then, if requested, the levels of detail of meshes
that are not simple. `MeshReader` is such a process and the pipe from it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from app.gl import levels, meshfile
from app.gl.levels import Level
from app.gl.mesh import Mesh

SIMPLIFYING, SIMPLIFYING_FACE = 10.0, 1e-4
"""s of CPU time that a mesh's levels of detail may take, and s per face: some meshes take hours."""


@dataclass(frozen=True, eq=False)
class ReadMesh:
    """The result for a file: its mesh or the error, and the levels made so far."""

    path: str
    mesh: Mesh | meshfile.MeshError
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, eq=False)
class Refinement:
    """The levels of detail of a mesh that was sent before."""

    path: str
    levels: tuple[Level, ...]


def read(path: str) -> ReadMesh:
    """Return the mesh of a file. A relative path is one that `engine.load` did not find: it is never read."""
    if not Path(path).is_absolute():
        return ReadMesh(path, meshfile.MeshError(f"there is no file {path}"))
    try:
        return ReadMesh(path, meshfile.read(path))
    except meshfile.MeshError as error:
        return ReadMesh(path, error)


class MeshReader:
    """A process that reads files in order, and then, with `simplify`, makes their levels of detail."""

    def __init__(self, paths: Iterable[str], simplify: bool):
        context = multiprocessing.get_context("spawn")
        self._pipe, sender = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_send, args=(sender, tuple(paths), simplify), name="mesh reader", daemon=True
        )
        self._process.start()
        sender.close()  # so that the pipe ends when the process does

    def results(self) -> Iterator[ReadMesh | Refinement]:
        """Yield its results until it ends: by itself, by `end`, or killed by the system."""
        try:
            while True:
                yield self._pipe.recv()
        except (EOFError, OSError):
            return
        finally:
            self.end()
            self._process.join()
            self._pipe.close()

    def end(self) -> None:
        """Kill the process; callable from any thread."""
        self._process.kill()


def _send(pipe: Connection, paths: tuple[str, ...], simplify: bool) -> None:
    """Run the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the program, which then ends this process too
    fine: dict[str, Mesh] = {}
    for path in paths:
        result = read(path)
        mesh = result.mesh
        if isinstance(mesh, Mesh):
            _ = mesh.hull, mesh.closed, mesh.blocks  # computed here, and sent with the mesh
            if simplify and len(mesh.faces) > levels.SIMPLE:
                fine[path] = mesh
                result = ReadMesh(path, mesh, levels.crude_levels(mesh))
        pipe.send(result)
    for path in sorted(fine, key=lambda path: -len(fine[path].faces)):
        if hasattr(signal, "setitimer"):  # its signal ends the process; crude levels remain
            signal.setitimer(signal.ITIMER_PROF, SIMPLIFYING + SIMPLIFYING_FACE * len(fine[path].faces))
        pipe.send(Refinement(path, levels.coarser_levels(fine[path])))
