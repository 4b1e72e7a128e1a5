"""`Scene`: what there is to draw of a robot, free of OpenGL and Qt."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

import engine
from app.gl import levels, mesh, meshfile, skeleton
from app.gl.levels import Level
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


@dataclass(frozen=True, eq=False)
class Content:
    """What a scene holds at one moment: it does not change, so that it can be drawn in another thread.

    `levels` has for each mesh what can stand for it where it is small, from fine to coarse; those of files come later.
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
        self.content = Content(list(self._meshes), self._levels, instances, hulls)

    @property
    def ready(self) -> bool:
        """Whether every mesh file has been read, or found wanting."""
        return self._unread == 0

    def load(self, on_read: Callable[[], None] | None = None, simplify: bool = False) -> None:
        """Start reading the mesh files in a thread; `on_read` is called there after each of them.

        With `simplify` their coarser levels follow, once all are read.
        """
        if self._files and self._loader is None:
            arguments = on_read or (lambda: None), simplify
            self._loader = threading.Thread(target=self._load, args=arguments, name="mesh loader", daemon=True)
            self._loader.start()

    def _load(self, on_read: Callable[[], None], simplify: bool) -> None:
        made: dict[str, Mesh] = {}
        for path in self._files:
            if self._stop.is_set():
                return
            try:
                made[path] = meshfile.read(path)
                self._read.put((path, made[path]))
            except meshfile.MeshError as fault:
                self._read.put((path, fault))
            if not self._stop.is_set():
                on_read()
        many = {path: each for path, each in made.items() if len(each.faces) > levels.SIMPLE}
        if simplify and many:
            self._simplify(many)

    def _simplify(self, made: dict[str, Mesh]) -> None:
        """Have the coarser levels made, the largest meshes first; what cannot be made is drawn as it is."""
        with levels.simplifier() as pool:
            order = sorted(made, key=lambda path: -len(made[path].faces))
            asked: dict[Future[tuple[Level, ...]], str] = {}
            for path in order:
                asked[pool.submit(levels.simplified, made[path])] = path
            try:
                for answer in as_completed(asked):
                    if self._stop.is_set():
                        break
                    self._levels[self._files[asked[answer]]] = answer.result()
            except BrokenProcessPool:  # the process was ended: pictures go on, slower
                return
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def update(self) -> bool:
        """Take in what has been read since the last time; whether that was anything."""
        changed = False
        while not self._read.empty():
            path, result = self._read.get()
            changed = True
            index = self._files[path]
            self._unread -= 1
            if isinstance(result, Mesh):
                self._meshes[index] = result
                continue
            self._meshes[index] = MISSING
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
