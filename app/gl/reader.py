"""Mesh files read in a process of its own, since their readers hold the interpreter's lock for long.

It sends each mesh with a coarse copy that takes milliseconds to make, and then, where they are asked for, the levels
of detail of those that are not simple. `MeshReader` is one such process and the pipe out of it.
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
"""s of computing that a mesh's levels of detail may take, and for each of its faces: some meshes take hours."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What became of a file: its mesh or why there is none, and the mesh's coarser levels as far as they are made."""

    path: str
    mesh: Mesh | meshfile.MeshError
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, eq=False)
class Refinement:
    """The levels of detail of a mesh that was sent before."""

    path: str
    levels: tuple[Level, ...]


def read(path: str) -> Answer:
    """The mesh of a file; of a name that `engine.load` did not find there is none, whatever lies in this folder."""
    if not Path(path).is_absolute():
        return Answer(path, meshfile.MeshError(f"there is no file {path}"))
    try:
        return Answer(path, meshfile.read(path))
    except meshfile.MeshError as fault:
        return Answer(path, fault)


class MeshReader:
    """A process that reads files, in their order; with `simplify` it makes their levels of detail after that."""

    def __init__(self, paths: Iterable[str], simplify: bool):
        context = multiprocessing.get_context("spawn")
        self._pipe, sender = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_send, args=(sender, tuple(paths), simplify), name="mesh reader", daemon=True
        )
        self._process.start()
        sender.close()  # so that the pipe ends when the process does

    def answers(self) -> Iterator[Answer | Refinement]:
        """What it sends, until it has ended: by itself, by `end`, or because the system ended it."""
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
        """End it now; from any thread."""
        self._process.kill()


def _send(pipe: Connection, paths: tuple[str, ...], simplify: bool) -> None:
    """What the process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which then ends this process too
    fine: dict[str, Mesh] = {}
    for path in paths:
        answer = read(path)
        mesh = answer.mesh
        if isinstance(mesh, Mesh):
            _ = mesh.hull, mesh.closed, mesh.blocks  # worked out here, and sent with it
            if simplify and len(mesh.faces) > levels.SIMPLE:
                fine[path] = mesh
                answer = Answer(path, mesh, levels.clustered(mesh))
        pipe.send(answer)
    for path in sorted(fine, key=lambda path: -len(fine[path].faces)):
        if hasattr(signal, "setitimer"):  # its signal ends the process, and crude levels stay
            signal.setitimer(signal.ITIMER_PROF, SIMPLIFYING + SIMPLIFYING_FACE * len(fine[path].faces))
        pipe.send(Refinement(path, levels.simplified(fine[path])))
