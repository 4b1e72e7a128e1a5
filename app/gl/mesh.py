"""Triangle meshes for drawing: generated shapes, and smooth normals for meshes without normals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIDES = 48
"""The sides of a round shape."""
FEW, MANY = 80, 500
"""The number of shapes in a scene up to which each has full detail, or some."""
CREASE = np.radians(38.0)
"""The angle between faces above which their edge stays sharp."""
CROWDED = 64
"""The number of faces at a vertex from which their normals are not compared pairwise."""
BLOCK = 128
"""Faces per bounding box, for ray queries."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh: vertices (V, 3) m, normals (V, 3) unit, colors (V, 4) RGBA in 0…255, faces (F, 3).

    A mesh of several colours is `painted`. Otherwise its vertices are white, and `color`, RGBA in 0…1, is its file's
    colour, used if the robot's file has none.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    colors: NDArray[np.uint8]
    faces: NDArray[np.uint32]
    painted: bool = False
    color: tuple[float, ...] | None = None

    @cached_property
    def hull(self) -> Floats:
        """(26, 3): the extreme vertices along the axes and the diagonals between them."""
        directions = np.array([direction for direction in np.ndindex(3, 3, 3) if direction != (1, 1, 1)]) - 1.0
        return self.vertices[np.argmax(self.vertices @ directions.T, axis=0)].astype(float)

    @cached_property
    def closed(self) -> bool:
        """Whether its faces enclose a volume and face outwards, so that no back is visible."""
        corners = self.vertices[self.faces].astype(float) - self.vertices.mean(0)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        open_part = np.linalg.norm(across.sum(0)) / max(float(np.linalg.norm(across, axis=1).sum()), 1e-30)
        return bool(open_part < 1e-3 and np.einsum("ij,ij->", across, corners.sum(1)) > 0)

    @cached_property
    def blocks(self) -> tuple[NDArray[np.uint32], Floats, Floats]:
        """The faces in blocks of `BLOCK` neighbours: their order (F,), and the boxes' corners (B, 3) and (B, 3).

        Neighbours are in the same cell of a grid, or in successive cells.
        """
        a, b, c = (self.vertices[corner] for corner in self.faces.T)
        lower, upper = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
        least, size = lower.min(0), np.maximum(np.ptp(self.vertices, axis=0), 1e-30)
        cell = np.minimum(((lower - least) / size * 32).astype(np.uint16), 31)
        order = np.argsort((cell[:, 0] * 32 + cell[:, 1]) * 32 + cell[:, 2], kind="stable")
        starts = np.arange(0, len(order), BLOCK)
        boxes = (np.minimum.reduceat(lower[order], starts), np.maximum.reduceat(upper[order], starts))
        return order.astype(np.uint32), boxes[0].astype(float), boxes[1].astype(float)


def assemble(
    vertices: NDArray[np.floating],
    normals: NDArray[np.floating],
    faces: NDArray[np.integer],
    color: tuple[int, ...] | None = None,
) -> Mesh:
    """Return a mesh of one colour: white, to be coloured by its instances, or its own."""
    colors = np.empty((len(vertices), 4), np.uint8)
    colors[:] = (255, 255, 255, 255) if color is None else color
    return Mesh(
        np.ascontiguousarray(vertices, np.float32),
        np.ascontiguousarray(normals, np.float32),
        colors,
        np.ascontiguousarray(faces, np.uint32),
        color is not None,
    )


def join(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one; painted if one of them is."""
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.colors for mesh in meshes]),
        np.concatenate([mesh.faces + np.uint32(start) for mesh, start in zip(meshes, starts, strict=True)]),
        any(mesh.painted for mesh in meshes),
    )


def unify(mesh: Mesh) -> Mesh:
    """Return the mesh; if all vertices share one colour, as white with that colour in `color`."""
    if not mesh.painted or np.any(mesh.colors != mesh.colors[0]):
        return mesh
    color = tuple(float(part) / 255 for part in mesh.colors[0])
    return replace(mesh, colors=np.full_like(mesh.colors, 255), painted=False, color=color)


def box(x: float, y: float, z: float, steps: int = 2) -> Mesh:
    """Return a box about the origin, with edges rounded for highlights, in `steps` each side of the diagonal."""
    half = np.array([x, y, z]) / 2
    radius = half.min() / 8 if steps else 0.0
    inner = half - radius
    # Grid lines of each side: at equal angles along the rounding, none between.
    rim = radius * np.tan(np.linspace(np.pi / 4, 0, steps + 1))
    lines = [np.concatenate([-h - rim, (h + rim)[::-1]]) for h in inner]
    count = 2 * len(rim)
    vertices: list[Floats] = []
    normals: list[Floats] = []
    faces: list[NDArray[np.int64]] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            sheet = np.empty((count, count, 3))
            sheet[..., axis] = side * half[axis]
            sheet[..., u], sheet[..., v] = np.meshgrid(lines[u], lines[v], indexing="ij")
            core = np.clip(sheet, -inner, inner)
            outward = sheet - core if steps else np.broadcast_to(side * np.eye(3)[axis], sheet.shape)
            outward = outward / np.linalg.norm(outward, axis=-1, keepdims=True)
            quads = _quads(count, count) + len(faces) * count**2
            faces.append(quads if side > 0 else quads[:, ::-1])
            vertices.append((core + radius * outward).reshape(-1, 3))
            normals.append(outward.reshape(-1, 3))
    return assemble(np.concatenate(vertices), np.concatenate(normals), np.concatenate(faces))


def _quads(rows: int, columns: int) -> NDArray[np.int64]:
    """Return two triangles for each cell of a grid of vertices."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    a, b, c, d = corner, corner + columns, corner + columns + 1, corner + 1
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def _revolve(radius: Floats, height: Floats, slope: Floats, sides: int) -> Mesh:
    """Revolve a profile about z: radii, heights, and the normal's angle above horizontal, bottom to top."""
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    vertices = np.stack(np.broadcast_arrays(c * radius, s * radius, height), -1)
    normals = np.stack(np.broadcast_arrays(c * np.cos(slope), s * np.cos(slope), np.sin(slope)), -1)
    return assemble(vertices.reshape(-1, 3), normals.reshape(-1, 3), _quads(sides + 1, len(radius)))


def cylinder(radius: float, length: float, sides: int = SIDES, steps: int = 2) -> Mesh:
    """Return a cylinder about z, with rims rounded like the edges of a box."""
    rim = min(radius, length / 2) / 10 if steps else 0.0
    arc = np.linspace(0, np.pi / 2, max(2, 2 * steps + 1))
    around, along = radius - rim + rim * np.cos(arc), length / 2 - rim + rim * np.sin(arc)
    return _revolve(
        np.concatenate([[0.0], around[::-1], around, [0.0]]),
        np.concatenate([[-length / 2], -along[::-1], along, [length / 2]]),
        np.concatenate([[-np.pi / 2], -arc[::-1], arc, [np.pi / 2]]),
        sides,
    )


def capsule(radius: float, length: float, sides: int = SIDES) -> Mesh:
    """Return a cylinder of that length along z with a half sphere at each end."""
    arc = np.linspace(0, np.pi / 2, sides // 4 + 1)
    around, along = radius * np.cos(arc), length / 2 + radius * np.sin(arc)
    return _revolve(
        np.concatenate([around[::-1], around]),
        np.concatenate([-along[::-1], along]),
        np.concatenate([-arc[::-1], arc]),
        sides,
    )


def cone(sides: int = SIDES) -> Mesh:
    """Return a cone about z with radius 1 at the origin, and its tip at height 1."""
    slope = np.array([-np.pi / 2, -np.pi / 2, np.pi / 4, np.pi / 4])
    return _revolve(np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]), slope, sides)


def sphere(radius: float, sides: int = SIDES) -> Mesh:
    """Return a sphere about the origin."""
    arc = np.linspace(-np.pi / 2, np.pi / 2, sides // 2 + 1)
    return _revolve(radius * np.cos(arc), radius * np.sin(arc), arc, sides)


@dataclass(frozen=True)
class Recipe:
    """The parameters of a shape: visuals with one recipe share a mesh."""

    shape: str
    size: tuple[float, ...]
    sides: int
    steps: int

    def make(self) -> Mesh:
        """Return the mesh, shared by reopened robots and by windows."""
        return _made(self)

    def _make(self) -> Mesh:
        if self.shape == "box":
            x, y, z = self.size
            return box(x, y, z, self.steps)
        if self.shape == "cylinder":
            radius, length = self.size
            return cylinder(radius, length, self.sides, self.steps)
        if self.shape == "capsule":
            radius, length = self.size
            return capsule(radius, length, self.sides)
        return sphere(self.size[0], self.sides)


@lru_cache(maxsize=256)  # some MB; a robot has 50, few have over 200
def _made(how: Recipe) -> Mesh:
    return how._make()


def recipe(shape: str, size: tuple[float, ...], crowd: int) -> tuple[Recipe, tuple[float, float, float]]:
    """Return the recipe of one of `crowd` shapes, and the scale along x, y, z that gives it `size`.

    In a crowd each shape is small in the picture: it has few sides, and one mesh is scaled to all sizes.
    """
    as_it_is = (1.0, 1.0, 1.0)
    if crowd <= MANY:
        return Recipe(shape, size, *((SIDES, 2) if crowd <= FEW else (SIDES // 2, 1))), as_it_is
    if shape == "capsule":
        return Recipe(shape, size, 8, 0), as_it_is
    unit = tuple(1.0 for _ in size)
    scale = size if shape == "box" else (size[0], size[0], size[-1])
    return Recipe(shape, unit, 6, 0), (scale[0], scale[1], scale[2])


def cross(size: float, color: tuple[int, ...]) -> Mesh:
    """Return three crossed bars: the placeholder for a missing mesh."""
    bars = [box(*np.where(np.arange(3) == axis, size, size / 6)) for axis in range(3)]
    return join([assemble(bar.vertices, bar.normals, bar.faces, color) for bar in bars])


def weld(vertices: Floats) -> NDArray[np.int64]:
    """(V,): an index per vertex, equal for those at one position (to 2⁻²⁰ of the extent)."""
    lower = vertices.min(0)
    extent = max(float((vertices.max(0) - lower).max()), 1e-30)
    cells = np.round((vertices - lower) / extent * (2**20 - 1)).astype(np.int64)
    _, number = np.unique(cells @ (1 << np.array([40, 20, 0])), return_inverse=True)
    return np.asarray(number.reshape(-1), np.int64)


def smooth_normals(vertices: Floats, faces: NDArray[np.integer]) -> Floats:
    """(F, 3, 3): a unit normal for each corner of each face.

    It is the area-weighted mean of the faces at the vertex that make an angle below `CREASE` with this face.
    """
    corners = vertices[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    unit = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-30)
    place = weld(vertices)[faces].reshape(-1)
    order = np.argsort(place, kind="stable")
    around = order // 3  # the faces, vertex by vertex
    count = np.bincount(place)
    start = (np.cumsum(count) - count)[place[order]]
    neighbours = count[place[order]]

    total = np.zeros((len(order), 3))
    crowded = neighbours > CROWDED
    whole = np.stack([np.bincount(place, area[:, k].repeat(3)) for k in range(3)], 1)
    total[crowded] = whole[place[order][crowded]]
    for step in range(CROWDED):
        corner = np.flatnonzero(~crowded & (neighbours > step))
        if not len(corner):
            break
        other = around[start[corner] + step]
        alike = np.einsum("ij,ij->i", unit[around[corner]], unit[other]) > np.cos(CREASE)
        total[corner[alike]] += area[other[alike]]

    length = np.linalg.norm(total, axis=1, keepdims=True)
    normals = np.empty_like(total)
    normals[order] = np.where(length > 1e-30, total / np.maximum(length, 1e-30), unit[around])
    return normals.reshape(-1, 3, 3)


def from_triangles(vertices: Floats, faces: NDArray[np.integer], colors: NDArray[np.uint8] | None) -> Mesh:
    """Return a mesh from triangles without normals; colours (V, 4) or (F, 4) if known."""
    normals = smooth_normals(vertices, faces).reshape(-1, 3)
    corner = faces.reshape(-1)
    tint = np.full((len(corner), 4), 255, np.uint8)
    if colors is not None:
        tint = np.ascontiguousarray(colors[corner] if len(colors) == len(vertices) else colors.repeat(3, 0))
    return from_corners(vertices, faces, normals, tint, colors is not None)


def from_corners(
    vertices: Floats, faces: NDArray[np.integer], normals: Floats, tint: NDArray[np.uint8], painted: bool
) -> Mesh:
    """Return a mesh from triangles with normals (3F, 3) and colours (3F, 4) for each corner."""
    corner = faces.reshape(-1)
    # Corners with equal place, normal and colour become one vertex.
    place = weld(vertices)[corner] << 32 | tint.view(np.uint32).reshape(-1)
    direction_code = np.round(normals * 511 + 512).astype(np.int64) @ (1 << np.array([20, 10, 0]))
    order = np.lexsort((direction_code, place))
    new = np.append(True, (np.diff(place[order]) != 0) | (np.diff(direction_code[order]) != 0))
    first = order[new]
    joined = np.empty(len(corner), np.int64)
    joined[order] = np.cumsum(new) - 1
    return Mesh(
        vertices[corner][first].astype(np.float32),
        normals[first].astype(np.float32),
        tint[first],
        joined.reshape(-1, 3).astype(np.uint32),
        painted,
    )
