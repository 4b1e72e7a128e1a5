"""`Scene`: the drawable content of a robot, free of OpenGL and Qt."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

import engine
from app.file_signature import signature
from app.gl import levels, mesh, mesh_process, skeleton
from app.gl.levels import Level
from app.gl.mesh import Mesh
from app.gl.mesh_process import MeshReader, ReadMesh, Refinement

PLAIN = (0.78, 0.80, 0.83, 1.0)
"""The default colour."""
REACH = 20.0
"""The distance, in sizes of the robot, beyond which a free body is not fitted in the view with it."""
PLACEHOLDER = 0.1
"""The size of the placeholder for a missing mesh, m."""
HUGE, HUGE_RATIO = 10.0, 20.0
"""The size of a mesh, m and relative to the lengths between joints, from which it is reported."""
MISSING = mesh.cross(PLACEHOLDER, (255, 120, 30, 255))
COLLIDING = (0.10, 0.85, 0.45, 0.5)
"""The translucent colour of collision shapes."""
OUTLINE = (0.47, 0.50, 0.55, 1.0)
"""The colour of the bars shown for links whose meshes are missing or not yet read."""
THICK = 1.8
"""The thickness of these bars, relative to those of a skeleton, which replaces the whole robot."""


@dataclass(frozen=True)
class Instances:
    """Copies of meshes, sorted by mesh: I copies of M meshes.

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
    """The content of a scene at one time; it is immutable, so that another thread can draw it.

    `levels` has the coarser meshes for each mesh, from fine to coarse; those of files come later, in another content
    with the same `instances`. `hulls` (I, 26, 3) are extreme points of each copy in its link's frame.
    """

    meshes: list[Mesh]
    levels: list[tuple[Level, ...]]
    instances: Instances
    hulls: NDArray[np.float64]
    parts: tuple[int, int] | None = None
    """The first link of the ghost, and the first of other objects, if there are any:
    links before the first number are the robot's."""

    def matrices(self, link_poses: ArrayLike) -> NDArray[np.float32]:
        """(I, 4, 4): the pose of each copy in the world, for link poses (links, 4, 4)."""
        return (np.asarray(link_poses, float)[self.instances.link] @ self.instances.local).astype(np.float32)

    def mesh(self, index: int, level: int) -> Mesh:
        """Return a mesh, or its coarser level."""
        return self.levels[index][level - 1].mesh if level else self.meshes[index]

    def bounds(self, link_poses: ArrayLike, own: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and upper corner, (3,) each, of all that is drawn; around link origins if nothing is.

        Of links from number `own` on, what is `REACH` away from those before does not count.
        """
        poses = np.asarray(link_poses, float)
        if not len(self.hulls):
            origins = poses[:, :3, 3] if len(poses) else np.zeros((1, 3))
            return origins.min(0) - PLACEHOLDER, origins.max(0) + PLACEHOLDER
        points = self._points(poses)
        first = self.instances.link < (np.inf if own is None else own)
        if first.any() and not first.all():
            lower, upper = points[first].min((0, 1)), points[first].max((0, 1))
            reach = REACH * float(np.linalg.norm(upper - lower))
            points = points[first | ((points > lower - reach) & (points < upper + reach)).all((1, 2))]
        return points.min((0, 1)), points.max((0, 1))

    def of_links(self, link_poses: ArrayLike, links: ArrayLike) -> NDArray[np.float64]:
        """(n, k, 3): extreme points of each copy that these links carry; the links' origins if they carry none."""
        poses = np.asarray(link_poses, float)
        points = self._points(poses)[np.isin(self.instances.link, links)]
        return points if len(points) else poses[np.asarray(links), None, :3, 3]

    def _points(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """(I, 26, 3): extreme points of each copy in the world."""
        poses = poses[self.instances.link]
        points: NDArray[np.float64] = self.hulls @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]
        return points

    @cached_property
    def spheres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A ball around each copy, in its link's frame: centers (I, 3) and radii (I,)."""
        centers = (self.hulls.min(1) + self.hulls.max(1)) / 2
        # The hull has 26 directions: between two of them the mesh may extend a little further.
        return centers, 1.1 * np.linalg.norm(self.hulls - centers[:, None], axis=2).max(1, initial=0.0)

    @cached_property
    def see_through(self) -> bool:
        """Whether any copy is translucent."""
        return bool(np.any(self.instances.color[:, 3] < 1.0))

    @cached_property
    def one_sided(self) -> NDArray[np.bool_]:
        """(M,): whether no copy of a mesh shows the back of any face."""
        instances = self.instances
        seen_through = (instances.color[:, 3] < 1.0) | (np.linalg.det(instances.local[:, :3, :3]) <= 0)
        two_sided = np.bincount(instances.mesh, seen_through, len(self.meshes)) > 0
        return ~two_sided & np.array([mesh.closed for mesh in self.meshes], bool)

    @cached_property
    def reach(self) -> float:
        """The largest distance of anything drawn from its link's origin, m."""
        return float(np.linalg.norm(self.hulls, axis=2).max(initial=0.0))

    @cached_property
    def radii(self) -> NDArray[np.float64]:
        """(links,): half the diagonal of the box around each link's largest copy, m; infinite without copies."""
        instances = self.instances
        found = np.zeros(int(instances.link.max(initial=-1)) + 1)
        np.maximum.at(found, instances.link, np.linalg.norm(np.ptp(self.hulls, axis=1), axis=1) / 2)
        return np.where(found > 0, found, np.inf)


def without(content: Content, links: frozenset[int]) -> Content:
    """Return the content without the copies that these links carry."""
    instances = content.instances
    kept = ~np.isin(instances.link, list(links))
    left = Instances(
        instances.mesh[kept],
        instances.link[kept],
        instances.local[kept],
        instances.color[kept],
        np.searchsorted(instances.mesh[kept], np.arange(len(content.meshes) + 1)),
    )
    return replace(content, instances=left, hulls=content.hulls[kept])


def with_ghost(content: Content, links: int) -> Content:
    """Return the robot of `links` links twice, for twice the poses: first its own, then the ghost's."""
    instances = content.instances
    order = np.argsort(np.tile(instances.mesh, 2), kind="stable")  # the ghost's copies of a mesh after the robot's

    def both(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([x, y])[order]

    doubled = Instances(
        both(instances.mesh, instances.mesh),
        both(instances.link, instances.link + links),
        both(instances.local, instances.local),
        both(instances.color, instances.color),
        2 * instances.start,
    )
    return replace(content, instances=doubled, hulls=both(content.hulls, content.hulls), parts=(links, 2 * links))


class Shapes(Protocol):
    """A model, or another object with shapes to draw."""

    @property
    def visuals(self) -> tuple[engine.Visual, ...]: ...
    @property
    def collisions(self) -> tuple[engine.Collision, ...]: ...


class Scene:
    """The visuals of a model, or the skeleton of what has none, as unique meshes and copies of them.

    Its collision shapes can be shown too. `load` reads mesh files in a thread; they enter the scene in `update`, on the
    thread that owns it. Until then the skeleton's bars are shown for the link; they stay, with a cross, if a file is
    missing or broken. A mesh of several colours keeps them; one of a single colour takes the colour in the robot's
    file. Meshes that the scene `before` has read are drawn at once.
    """

    def __init__(self, model: Shapes, collisions: bool = False, before: Scene | None = None):
        self.diagnostics: list[engine.Diagnostic] = []
        shown = skeleton.shown(model) if isinstance(model, engine.Model) else model.visuals
        self._visuals = [visual for visual in shown if visual.color is None or visual.color[3] > 0]
        self._collisions = model.collisions
        bars = skeleton.visuals(model) if isinstance(model, engine.Model) and any(v.mesh for v in shown) else ()
        self._bars = [
            replace(bar, size=(THICK * bar.size[0], bar.size[1]), color=OUTLINE)
            for bar in bars
            if bar.shape == "cylinder"
        ]
        # Of each file that was read, or failed, and of each recipe.
        self._known: dict[str | mesh.Recipe, tuple[Mesh, tuple[Level, ...]]] = {}
        self._requested: set[str] = set()  # the files that a loader reads, or has read
        self._signatures: dict[str, tuple[int, int]] = {}  # of these files, from before they were read
        self._how: tuple[Callable[[], None], bool, bool] | None = None  # the arguments of `load`
        self._read: queue.SimpleQueue[ReadMesh | Refinement] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._readers: list[MeshReader] = []
        self._hidden: frozenset[int] = frozenset()
        self._loaders: list[threading.Thread] = []
        if before is not None:
            self._take_over(before)
        self.show_collisions(collisions)

    def _take_over(self, before: Scene) -> None:
        """Take the meshes of files that have not changed; they are reloaded only if their levels are not made yet."""
        done = not any(loader.is_alive() for loader in before._loaders)
        before.update()
        shapes: list[engine.Visual | engine.Collision] = [*self._visuals, *self._collisions]
        for path in {_file(shape) for shape in shapes if shape.shape == "mesh"}:
            known, seen = before._known.get(path), before._signatures.get(path)
            if known is not None and known[0] is not MISSING and signature(path) == seen:
                self._known[path] = known
                self._check_size(path, known[0])
                if done:
                    self._signatures[path] = seen
                    self._requested.add(path)

    def show_collisions(self, on: bool) -> None:
        """Show or hide the model's collision shapes; their files are read as specified in `load`."""
        self._all: list[engine.Visual | engine.Collision] = [*self._visuals, *(self._collisions if on else ())]
        self._files = dict.fromkeys(_file(shape) for shape in self._all if shape.shape == "mesh")
        self._index_meshes()
        self._place()
        self._start_reading()

    def hide(self, links: frozenset[int]) -> None:
        """Leave the shapes of these links out of `content`, and of no other."""
        self._hidden = links
        self._place()

    def _index_meshes(self) -> None:
        """Find the unique meshes of all shapes drawable so far, and sort the shapes by mesh."""
        self._shapes: list[engine.Visual | engine.Collision] = []
        bare = set()  # links with a mesh that is missing or not yet read
        for shape in self._all:
            known = shape.shape != "mesh" or _file(shape) in self._known
            if known:
                self._shapes.append(shape)
            there = known and (shape.shape != "mesh" or self._known[_file(shape)][0] is not MISSING)
            if isinstance(shape, engine.Visual) and not there:
                bare.add(shape.link)
        self._shapes += [bar for bar in self._bars if bar.link in bare]
        index, scales = [], []
        places: dict[str | mesh.Recipe, int] = {}
        recipes: dict[tuple[Any, ...], tuple[mesh.Recipe, tuple[float, ...]]] = {}  # many of a thousand links are alike
        for shape in self._shapes:
            key: str | mesh.Recipe = _file(shape)
            scale: tuple[float, ...] = shape.size
            if shape.shape != "mesh":
                size = shape.shape, shape.size
                if size not in recipes:
                    recipes[size] = mesh.recipe(*size, len(self._all))
                key, scale = recipes[size]
                if key not in self._known:
                    self._known[key] = key.make(), levels.of_recipe(key)
            index.append(places.setdefault(key, len(places)))
            scales.append(scale)
        self._meshes, self._levels = [self._known[key][0] for key in places], [self._known[key][1] for key in places]
        order = np.argsort(index, kind="stable")
        self._shapes = [self._shapes[place] for place in order]
        self._mesh = np.asarray(index, np.int64)[order]
        self._scales = np.array(scales).reshape(-1, 3)[order]

    def _place(self) -> None:
        """Compute the copies again, after meshes have changed."""
        local = np.array([shape.pose for shape in self._shapes], float).reshape(-1, 4, 4)
        there = np.array([drawn is not MISSING for drawn in self._meshes], bool)[self._mesh]
        local[there, :3, :3] *= self._scales[there][:, None]
        drawn = map(self._meshes.__getitem__, self._mesh.tolist())
        colors = [_color(*each) for each in zip(self._shapes, drawn, strict=True)]
        color = np.array(colors, np.float32).reshape(-1, 4)
        start = np.searchsorted(self._mesh, np.arange(len(self._meshes) + 1))
        link = np.array([shape.link for shape in self._shapes], np.int64)
        hulls = np.array([each.hull for each in self._meshes]).reshape(-1, 26, 3)[self._mesh]
        hulls = hulls @ local[:, :3, :3].transpose(0, 2, 1) + local[:, None, :3, 3]
        instances = Instances(self._mesh, link, local, color, start)
        content = Content(list(self._meshes), list(self._levels), instances, hulls)
        self.content = without(content, self._hidden) if self._hidden else content

    @property
    def ready(self) -> bool:
        """Whether every mesh file has been read, or has failed."""
        return all(path in self._known for path in self._files)

    @property
    def progress(self) -> tuple[int, int]:
        """The number of mesh files that have been read or have failed, and their total."""
        return sum(path in self._known for path in self._files), len(self._files)

    def load(self, on_read: Callable[[], None] | None = None, apart: bool = False, simplify: bool = False) -> None:
        """Start reading the mesh files in a thread, which calls `on_read` whenever `update` has work.

        Files that `show_collisions` needs later are read in the same way.

        With `apart` a separate process reads them, so that no other thread has to wait; if it fails, the thread does.
        With `simplify` that process also makes coarser levels, once all are read.
        """
        if self._how is None:
            self._how = on_read or (lambda: None), apart, simplify
            self._start_reading()

    def _start_reading(self) -> None:
        """Read the required files that no thread reads yet."""
        paths = [path for path in self._files if path not in self._requested]
        if paths and self._how is not None:
            self._requested.update(paths)
            self._signatures |= {path: signature(path) for path in paths}
            loader = threading.Thread(target=self._load, args=(paths, *self._how), name="mesh loader", daemon=True)
            self._loaders.append(loader)
            loader.start()

    def _load(self, paths: list[str], on_read: Callable[[], None], apart: bool, simplify: bool) -> None:
        unread = dict.fromkeys(paths)
        for result in self._results(unread, apart, simplify):
            unread.pop(result.path, None)
            self._read.put(result)
            if self._stop.is_set():
                return
            on_read()

    def _results(self, unread: Mapping[str, None], apart: bool, simplify: bool) -> Iterator[ReadMesh | Refinement]:
        """Yield the result for each file; `unread` are the files without one so far."""
        if apart and not self._stop.is_set():
            process = None
            with suppress(OSError):  # the system cannot start a process: the thread reads
                process = MeshReader(unread, simplify)
            if process is not None:
                self._readers.append(process)
                if self._stop.is_set():  # set after the check above
                    process.end()
                yield from process.results()
        for path in tuple(unread):
            if self._stop.is_set():
                return
            yield mesh_process.read(path)

    def update(self) -> bool:
        """Take in new results; return whether a mesh was among them, so that the picture changes."""
        read = refined = False
        while not self._read.empty():
            result = self._read.get()
            if isinstance(result, ReadMesh):
                made = result.mesh if isinstance(result.mesh, Mesh) else self._miss(result)
                self._check_size(result.path, made)
            else:
                made = self._known[result.path][0]
            self._known[result.path] = made, result.levels
            if result.path in self._files:  # else of a collision shape that is now hidden
                read, refined = read or isinstance(result, ReadMesh), True
        if refined:
            self._index_meshes()
        if read:
            self._place()
        elif refined:
            self.content = replace(self.content, levels=list(self._levels))
        return read

    def _check_size(self, path: str, made: Mesh) -> None:
        """Add a diagnostic for a mesh that is far larger than the robot, as one in millimetres without a scale."""
        across, limbs = np.ptp(made.vertices, 0), sum(bar.size[1] for bar in self._bars)
        for visual in self._visuals if limbs > 0 and made is not MISSING else ():
            size = float(np.max(across * np.abs(visual.size))) if visual.mesh and _file(visual) == path else 0.0
            if size > max(HUGE, HUGE_RATIO * limbs):
                problem = f"it is {size:.4g} m large, {size / limbs:.0f} times the distances between the robot's joints"
                fix = 'if the file is in millimetres, write scale="0.001 0.001 0.001" beside its filename'
                self.diagnostics.append(engine.Diagnostic("warning", None, f"mesh {Path(path).name}", problem, fix))
                return

    def _miss(self, result: ReadMesh) -> Mesh:
        """Return the placeholder for an unreadable mesh, and add a diagnostic."""
        if Path(result.path).is_absolute():  # else `engine.load` did not find it, and reported its line
            name = f"mesh {Path(result.path).name}"
            fix = "put the mesh there or correct the filename; a cross is drawn in its place"
            self.diagnostics.append(engine.Diagnostic("warning", None, name, str(result.mesh), fix))
        return MISSING

    def wait(self) -> None:
        """Wait until `load` has read everything, then update."""
        for loader in self._loaders:
            loader.join()
        self.update()

    def read(self) -> Scene:
        """Read everything now; return the scene."""
        self.load()
        self.wait()
        return self

    def close(self, wait: bool = True) -> None:
        """Stop reading, in a thread after its current file; with `wait`, return when it has ended."""
        self._stop.set()
        for process in self._readers:
            process.end()
        for loader in self._loaders if wait else ():
            loader.join()

    @property
    def meshes(self) -> list[Mesh]:
        return self.content.meshes

    @property
    def instances(self) -> Instances:
        return self.content.instances

    def matrices(self, link_poses: ArrayLike) -> NDArray[np.float32]:
        """Return `Content.matrices`."""
        return self.content.matrices(link_poses)

    def bounds(self, link_poses: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `Content.bounds`."""
        return self.content.bounds(link_poses)

    def ground(self, link_poses: ArrayLike) -> float:
        """Return the ground's height under a robot in this pose, m: 0, or its lowest point if that is lower."""
        return min(0.0, float(self.bounds(link_poses)[0][2]))


def _file(shape: engine.Visual | engine.Collision) -> str:
    return shape.mesh or "a mesh without a filename"


def _color(shape: engine.Visual | engine.Collision, drawn: Mesh) -> tuple[float, ...]:
    """Return the RGBA of a shape drawn as that mesh."""
    if isinstance(shape, engine.Collision):
        return COLLIDING
    return (1.0, 1.0, 1.0, 1.0) if drawn.painted else (shape.color or drawn.color or PLAIN)
