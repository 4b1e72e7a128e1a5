"""`Scene`: what there is to draw of a robot, free of OpenGL and Qt."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

import engine
from app.gl import levels, mesh, reader, skeleton
from app.gl.levels import Level
from app.gl.mesh import Mesh
from app.gl.reader import Answer, MeshReader, Refinement

PLAIN = (0.78, 0.80, 0.83, 1.0)
"""The colour of what no one gave a colour."""
PLACEHOLDER = 0.1
"""The size of what stands for a mesh that is not there, m."""
WAITING = mesh.cross(PLACEHOLDER, (120, 128, 140, 255))
MISSING = mesh.cross(PLACEHOLDER, (255, 120, 30, 255))


@dataclass(frozen=True)
class Instances:
    """Copies of meshes, those of one mesh side by side. I of them, of M meshes.

    =======  ==========  ==========================================================
    mesh     (I,)        index into the scene's meshes, never falling
    link     (I,)        the link that carries the copy
    local    (I, 4, 4)   pose · scale: the mesh's frame in the link's
    color    (I, 4)      RGBA in 0…1, times the mesh's own colour
    start    (M + 1,)    where the copies of each mesh start
    =======  ==========  ==========================================================
    """

    mesh: NDArray[np.int64]
    link: NDArray[np.int64]
    local: NDArray[np.float64]
    color: NDArray[np.float32]
    start: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Content:
    """What a scene holds at one moment: it does not change, so that it can be drawn in another thread.

    `levels` has for each mesh what can stand for it where it is small, from fine to coarse; those of files come later,
    with another content of the same `instances`.
    `hulls` (I, 26, 3) are points of each copy in its link's frame that reach as far as it does.
    """

    meshes: list[Mesh]
    levels: list[tuple[Level, ...]]
    instances: Instances
    hulls: NDArray[np.float64]

    def matrices(self, link_poses: ArrayLike) -> NDArray[np.float32]:
        """(I, 4, 4): where each copy stands in the world, for poses (links, 4, 4)."""
        return (np.asarray(link_poses, float)[self.instances.link] @ self.instances.local).astype(np.float32)

    def bounds(self, link_poses: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and upper corner, (3,) each, of all that is drawn; around the origin where that is nothing."""
        poses = np.asarray(link_poses, float)
        if not len(self.hulls):
            origins = poses[:, :3, 3] if len(poses) else np.zeros((1, 3))
            return origins.min(0) - PLACEHOLDER, origins.max(0) + PLACEHOLDER
        poses = poses[self.instances.link]
        points = self.hulls @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]
        return points.min((0, 1)), points.max((0, 1))

    @cached_property
    def spheres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A ball around each copy, in its link's frame: centers (I, 3) and radii (I,)."""
        centers = (self.hulls.min(1) + self.hulls.max(1)) / 2
        # The hull is of 26 directions: what lies between two of them reaches a little further.
        return centers, 1.1 * np.linalg.norm(self.hulls - centers[:, None], axis=2).max(1, initial=0.0)

    @cached_property
    def one_sided(self) -> NDArray[np.bool_]:
        """(M,): whether no copy of a mesh shows the back of any face."""
        instances = self.instances
        seen_through = (instances.color[:, 3] < 1.0) | (np.linalg.det(instances.local[:, :3, :3]) <= 0)
        two_sided = np.bincount(instances.mesh, seen_through, len(self.meshes)) > 0
        return ~two_sided & np.array([mesh.closed for mesh in self.meshes], bool)

    @cached_property
    def reach(self) -> float:
        """How far from its link's origin anything is drawn, m."""
        return float(np.linalg.norm(self.hulls, axis=2).max(initial=0.0))


class Scene:
    """A model's visuals, or its skeleton where it has none, as unique meshes and the copies of them.

    `load` reads mesh files in a thread; what it has read enters the scene in `update`, on the thread that owns it.
    Until then, and for good where a file is missing or broken, a cross stands in its place. A mesh of several colours
    keeps them; one of a single colour takes the one the robot's file gives it.
    """

    def __init__(self, model: engine.Model):
        self.diagnostics: list[engine.Diagnostic] = []
        self._meshes: list[Mesh] = []
        self._levels: list[tuple[Level, ...]] = []
        shown = model.visuals or skeleton.visuals(model)
        self._visuals = [visual for visual in shown if visual.color is None or visual.color[3] > 0]
        self._read: queue.SimpleQueue[Answer | Refinement] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._reader: MeshReader | None = None
        self._loader: threading.Thread | None = None
        self._index_meshes()
        self._place()

    def _index_meshes(self) -> None:
        """Find the unique meshes, and put the visuals in their order."""
        shared: dict[str | mesh.Recipe, int] = {}
        index, scales = [], []
        for visual in self._visuals:
            key: str | mesh.Recipe = visual.mesh or "a mesh without a filename"
            scale: tuple[float, ...] = visual.size
            if visual.shape != "mesh":
                key, scale = mesh.recipe(visual.shape, visual.size, len(self._visuals))
            if key not in shared:
                shared[key] = len(self._meshes)
                self._meshes.append(WAITING if isinstance(key, str) else key.make())
                self._levels.append(() if isinstance(key, str) else levels.of_recipe(key))
            index.append(shared[key])
            scales.append(scale)
        self._files = {path: place for path, place in shared.items() if isinstance(path, str)}
        self._unread = len(self._files)
        order = np.argsort(index, kind="stable")
        self._visuals = [self._visuals[place] for place in order]
        self._mesh = np.asarray(index, np.int64)[order]
        self._scales = np.array(scales).reshape(-1, 3)[order]

    def _place(self) -> None:
        """Work out the copies anew, after meshes have changed."""
        count = len(self._visuals)
        local, color = np.empty((count, 4, 4)), np.empty((count, 4), np.float32)
        for k, visual in enumerate(self._visuals):
            drawn = self._meshes[self._mesh[k]]
            local[k] = visual.pose
            if drawn is not WAITING and drawn is not MISSING:
                local[k, :3, :3] *= self._scales[k]
            color[k] = (1.0, 1.0, 1.0, 1.0) if drawn.painted else (visual.color or drawn.color or PLAIN)
        start = np.searchsorted(self._mesh, np.arange(len(self._meshes) + 1))
        link = np.array([visual.link for visual in self._visuals], np.int64)
        hulls = np.array([each.hull for each in self._meshes]).reshape(-1, 26, 3)[self._mesh]
        hulls = hulls @ local[:, :3, :3].transpose(0, 2, 1) + local[:, None, :3, 3]
        instances = Instances(self._mesh, link, local, color, start)
        self.content = Content(list(self._meshes), list(self._levels), instances, hulls)

    @property
    def ready(self) -> bool:
        """Whether every mesh file has been read, or found wanting."""
        return self._unread == 0

    def load(self, on_read: Callable[[], None] | None = None, apart: bool = False, simplify: bool = False) -> None:
        """Start reading the mesh files in a thread; `on_read` is called there whenever there is something to update.

        With `apart` a process of its own reads them, so that no other thread has to wait; where it fails, the thread
        does. That process can `simplify` too: coarser levels follow, once all are read.
        """
        if self._files and self._loader is None:
            arguments = on_read or (lambda: None), apart, simplify
            self._loader = threading.Thread(target=self._load, args=arguments, name="mesh loader", daemon=True)
            self._loader.start()

    def _load(self, on_read: Callable[[], None], apart: bool, simplify: bool) -> None:
        unread = dict.fromkeys(self._files)
        for answer in self._answers(unread, apart, simplify):
            unread.pop(answer.path, None)
            self._read.put(answer)
            if self._stop.is_set():
                return
            on_read()

    def _answers(self, unread: Mapping[str, None], apart: bool, simplify: bool) -> Iterator[Answer | Refinement]:
        """What has become of each file; `unread` are those that have not been answered for."""
        if apart and not self._stop.is_set():
            with suppress(OSError):  # the system starts no process: the thread reads
                self._reader = MeshReader(unread, simplify)
            if self._reader is not None:
                if self._stop.is_set():  # since it was looked at before
                    self._reader.end()
                yield from self._reader.answers()
        for path in tuple(unread):
            if self._stop.is_set():
                return
            yield reader.read(path)

    def update(self) -> bool:
        """Take in what has come since the last time; whether any of it was a mesh, so that it can be seen."""
        read = refined = False
        while not self._read.empty():
            answer = self._read.get()
            refined = True
            index = self._files[answer.path]
            self._levels[index] = answer.levels
            if isinstance(answer, Answer):
                read = True
                self._unread -= 1
                self._meshes[index] = answer.mesh if isinstance(answer.mesh, Mesh) else self._miss(answer)
        if read:
            self._place()
        elif refined:
            self.content = replace(self.content, levels=list(self._levels))
        return read

    def _miss(self, answer: Answer) -> Mesh:
        """What stands for a mesh that could not be read, which is told."""
        if Path(answer.path).is_absolute():  # else `engine.load` did not find it, and has told with its line
            name = f"mesh {Path(answer.path).name}"
            cure = "put the mesh there or correct the filename; a cross is drawn in its place"
            self.diagnostics.append(engine.Diagnostic("warning", None, name, str(answer.mesh), cure))
        return MISSING

    def wait(self) -> None:
        """Wait until `load` has read everything, and take it in."""
        if self._loader is not None:
            self._loader.join()
        self.update()

    def close(self, wait: bool = True) -> None:
        """Stop reading, in a thread after the file that is being read; with `wait`, return when that has ended."""
        self._stop.set()
        if self._reader is not None:
            self._reader.end()
        if wait and self._loader is not None:
            self._loader.join()

    @property
    def meshes(self) -> list[Mesh]:
        return self.content.meshes

    @property
    def instances(self) -> Instances:
        return self.content.instances

    def matrices(self, link_poses: ArrayLike) -> NDArray[np.float32]:
        """As `Content.matrices`."""
        return self.content.matrices(link_poses)

    def bounds(self, link_poses: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As `Content.bounds`."""
        return self.content.bounds(link_poses)

    def ground(self, link_poses: ArrayLike) -> float:
        """How high the ground is under a robot in this pose, m: 0, or as low as what hangs below its root."""
        return min(0.0, float(self.bounds(link_poses)[0][2]))
