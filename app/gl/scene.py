"""`Scene`: what there is to draw of a robot, free of OpenGL and Qt."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

import engine
from app.gl import mesh, meshfile, skeleton
from app.gl.mesh import Mesh

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


class Scene:
    """A model's visuals, or its skeleton where it has none, as unique meshes and the copies of them.

    `load` reads mesh files in a thread; what it has read enters the scene in `update`, on the thread that draws.
    Until then, and for good where a file is missing or broken, a cross stands in its place. A mesh of several colours
    keeps them; one of a single colour takes the one the robot's file gives it.
    """

    def __init__(self, model: engine.Model):
        self.diagnostics: list[engine.Diagnostic] = []
        self.meshes: list[Mesh] = []
        shown = model.visuals or skeleton.visuals(model)
        self._visuals = [visual for visual in shown if visual.color is None or visual.color[3] > 0]
        self._read: queue.SimpleQueue[tuple[str, Mesh | meshfile.MeshError]] = queue.SimpleQueue()
        self._stop = threading.Event()
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
                shared[key] = len(self.meshes)
                self.meshes.append(WAITING if isinstance(key, str) else key.make())
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
            drawn = self.meshes[self._mesh[k]]
            local[k] = visual.pose
            if drawn is not WAITING and drawn is not MISSING:
                local[k, :3, :3] *= self._scales[k]
            color[k] = (1.0, 1.0, 1.0, 1.0) if drawn.painted else (visual.color or drawn.color or PLAIN)
        start = np.searchsorted(self._mesh, np.arange(len(self.meshes) + 1))
        link = np.array([visual.link for visual in self._visuals], np.int64)
        self.instances = Instances(self._mesh, link, local, color, start)
        hulls = np.array([each.hull for each in self.meshes]).reshape(-1, 26, 3)[self._mesh]
        self._hulls = hulls @ local[:, :3, :3].transpose(0, 2, 1) + local[:, None, :3, 3]

    @property
    def ready(self) -> bool:
        """Whether every mesh file has been read, or found wanting."""
        return self._unread == 0

    def load(self, on_read: Callable[[], None] | None = None) -> None:
        """Start reading the mesh files in a thread; `on_read` is called there after each of them."""
        if self._files and self._loader is None:
            self._loader = threading.Thread(target=self._load, args=(on_read,), name="mesh loader", daemon=True)
            self._loader.start()

    def _load(self, on_read: Callable[[], None] | None) -> None:
        for path in self._files:
            if self._stop.is_set():
                return
            try:
                self._read.put((path, meshfile.read(path)))
            except meshfile.MeshError as fault:
                self._read.put((path, fault))
            if on_read is not None and not self._stop.is_set():
                on_read()

    def update(self) -> bool:
        """Take in what has been read since the last time; whether that was anything."""
        changed = False
        while not self._read.empty():
            path, result = self._read.get()
            changed = True
            self._unread -= 1
            if isinstance(result, Mesh):
                self.meshes[self._files[path]] = result
                continue
            self.meshes[self._files[path]] = MISSING
            if not Path(path).is_absolute():
                continue  # `engine.load` did not find it, and has told with its line
            cure = "put the mesh there or correct the filename; a cross is drawn in its place"
            self.diagnostics.append(engine.Diagnostic("warning", None, f"mesh {Path(path).name}", str(result), cure))
        if changed:
            self._place()
        return changed

    def wait(self) -> None:
        """Wait until `load` has read everything, and take it in."""
        if self._loader is not None:
            self._loader.join()
        self.update()

    def close(self, wait: bool = True) -> None:
        """Stop reading after the file that is being read; with `wait`, return when the thread has ended."""
        self._stop.set()
        if wait and self._loader is not None:
            self._loader.join()

    def matrices(self, link_poses: ArrayLike) -> NDArray[np.float32]:
        """(I, 4, 4): where each copy stands in the world, for poses (links, 4, 4)."""
        return (np.asarray(link_poses, float)[self.instances.link] @ self.instances.local).astype(np.float32)

    def bounds(self, link_poses: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and upper corner, (3,) each, of all that is drawn; around the origin where that is nothing."""
        poses = np.asarray(link_poses, float)
        if not self._visuals:
            origins = poses[:, :3, 3] if len(poses) else np.zeros((1, 3))
            return origins.min(0) - PLACEHOLDER, origins.max(0) + PLACEHOLDER
        poses = poses[self.instances.link]
        points = self._hulls @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]
        return points.min((0, 1)), points.max((0, 1))

    def ground(self, link_poses: ArrayLike) -> float:
        """How high the ground is under a robot in this pose, m: 0, or as low as what hangs below its root."""
        return min(0.0, float(self.bounds(link_poses)[0][2]))
