"""Read mesh files as their child process does: within its limits of time and memory, many in one process."""

import hashlib
import random
import signal
import struct
from functools import cache
from pathlib import Path
from typing import Any

import collada
import mutations
import numpy as np
import trimesh
from PIL import Image
from promises import Broken, Refused, sentence

from app.gl import levels, meshfile
from engine.scene import mesh_child
from engine.scene.hull_faces import edges, faces

KINDS = {"stl": (".stl",), "obj": (".obj",), "collada": (".dae", ".zae"), "ply": (".ply",), "off": (".off",),
         "gltf": (".gltf", ".glb")}  # fmt: skip
"""The formats, and the ends of their files' names."""
READERS = (str(Path(trimesh.__file__).parent / "exchange"), str(Path(collada.__file__).parent))
_PIECES = (
    b"\xff" * 4, b"\0" * 4, b"\0\0\xc0\x7f", b"nan", b" -1", b"9999999999", b"/", b"\n", b"1e400", b"mtllib x.mtl\n",
    b"[", b"{", b"usemtl paint\n", b"o a\n", b"f 1 2 3 4 5\n", b"\\\n", b"solid a\n", b"element face 3\n",
    b"property list uchar int vertex_indices\n", b"property float x\n", b"comment TextureFile paint.png\n", b"# ",
    b"endsolid\n", b"format binary_big_endian 1.0\n", b"COFF\n", b"facet normal 0 0 1\n", b"1e15 ", b"0 0 0 ",
)  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A mesh file made into another, as what its format is written in."""
    if data[:4] == b"glTF" and len(data) > 20 and chance.randrange(3):
        return _binary_gltf(data, chance)
    if data.lstrip()[:1] == b"{" and chance.randrange(4):
        return mutations.of_json(data, chance)
    if data.lstrip()[:1] == b"<":
        return mutations.of_xml(data, chance)
    if data[:2] == b"PK":
        return mutations.of_archive(data, chance)
    return mutations.of_bytes(data, chance, _PIECES)


def _binary_gltf(data: bytes, chance: random.Random) -> bytes:
    """Mutate a glTF's JSON, with consistent lengths."""
    length = int.from_bytes(data[12:16], "little")
    text, rest = data[20 : 20 + length], data[20 + length :]
    text = mutations.of_json(text, chance)
    text += b" " * (-len(text) % 4)
    chunk = struct.pack("<I", len(text)) + data[16:20] + text
    return data[:8] + struct.pack("<I", 12 + len(chunk) + len(rest)) + chunk + rest


class _Late(BaseException):
    """The time for a file is over: the product would end its process here, and report it."""


def _late(*_: Any) -> None:
    raise _Late


@cache
def _limits() -> mesh_child.Limits:
    signal.signal(signal.SIGPROF, _late)
    return mesh_child.Limits()


def read(path: Path, data: bytes) -> None:
    """Touched, which takes a volume, and drawn, as fine and coarse."""
    path.write_bytes(data)
    refused = 0
    for what in ("hulls", "parts"):
        try:
            rows, refusal = mesh_child.outcome(what, str(path), _limits())
        except _Late:
            rows, refusal = [], "it takes too long"
        if refusal is not None:
            sentence(refusal)
            refused += 1
            continue
        if not all(np.all(np.isfinite(x)) for row in rows for x in row):
            raise Broken(f"{what} are not finite")
        if _seen(what, rows):
            continue
        if what == "hulls":
            _touch([corners for corners, _ in rows])
        elif rows:
            _draw([(vertices, triangles, colors if len(colors) else None) for vertices, triangles, colors in rows])
    if refused == 2:
        raise Refused


_KNOWN: set[bytes] = set()


def _seen(what: str, rows: mesh_child.Rows) -> bool:
    """Whether an earlier input gave the same arrays, which need not be tested again."""
    arrays = [(x.dtype.str, x.shape, x.tobytes()) for row in rows for x in row]
    key = hashlib.sha1(repr((what, arrays)).encode()).digest()
    before = key in _KNOWN
    _KNOWN.add(key)
    return before


def _touch(hulls: list[np.ndarray]) -> None:
    for corners in hulls[:8]:
        edges(corners)
        try:
            faces(corners, "the hull")
        except ValueError as fault:
            sentence(str(fault))


def _draw(rows: list[tuple[Any, ...]]) -> None:
    from engine.scene.mesh_parts import MeshPart

    mesh = meshfile.join_parts([MeshPart(*row) for row in rows])
    arrays = (mesh.vertices, mesh.normals, mesh.hull, *mesh.blocks[1:])
    if not all(np.all(np.isfinite(x)) for x in arrays):
        raise Broken("a mesh to be drawn is not finite")
    if len(mesh.faces) < 2000:
        levels.crude_levels(mesh)


def seeds(kind: str, folder: Path) -> dict[str, list[bytes]]:
    """Sound files of a format, what they name lies in the folder."""
    box = trimesh.creation.box(extents=[0.1, 0.2, 0.3])
    ball = trimesh.creation.icosphere(subdivisions=0, radius=0.1)
    ball.visual.vertex_colors = [255, 0, 0, 255]
    Image.new("RGB", (4, 4), (200, 10, 10)).save(folder / "paint.png")
    uv = np.random.default_rng(1).uniform(size=(len(box.vertices), 2))
    painted = trimesh.Trimesh(
        box.vertices, box.faces, process=False,
        visual=trimesh.visual.TextureVisuals(uv=uv, image=Image.new("RGB", (4, 4), (1, 2, 3))),
    )  # fmt: skip
    found: dict[str, list[bytes]] = {}
    if kind == "gltf":
        scene = trimesh.Scene([ball, painted])
        scene.add_geometry(box, transform=trimesh.transformations.translation_matrix([1, 0, 0]))
        found[".glb"] = [trimesh.Scene([box, ball]).export(file_type="glb"), scene.export(file_type="glb")]
        files = trimesh.exchange.gltf.export_gltf(scene, embed_buffers=True)
        found[".gltf"] = [next(content for name, content in files.items() if name.endswith(".gltf"))]
        return found
    for name in {"stl": ("stl", "stl_ascii"), "collada": ("dae",)}.get(kind, (kind,)):
        for mesh in (box, ball, *((painted,) if kind in ("obj", "collada", "ply") else ())):
            made = mesh.export(file_type=name)
            found.setdefault(KINDS[kind][0], []).append(made.encode() if isinstance(made, str) else made)
    found[KINDS[kind][0]] += _MORE.get(kind, ())
    if kind == "stl":
        found[".stl"].append(found[".stl"][0][:80] + b"\xff" * 4 + found[".stl"][0][84:])
    if kind == "obj":
        (folder / "paint.mtl").write_text("newmtl paint\nKd 1 0 0\nmap_Kd paint.png\nnewmtl plain\nKd 0 1 0\n")
    if kind == "collada":
        found[".zae"] = [(BROKEN / "mesh_zae_good.zae").read_bytes()]
        found[".dae"].append((BROKEN / "mesh_dae_good.dae").read_bytes())
    return found


BROKEN = Path(__file__).parents[1] / "broken"
_OBJ = b"""mtllib paint.mtl
v 0 0 0 1 0 0
v 1 0 0 1 0 0
v 0 1 0 0 1 0
v 0 0 1 0 1 0
vt 0 0
vt 1 1
vn 0 0 1
o one
usemtl paint
f 1/1/1 3/2/1 2/1/1
f 1/1/1 2/2/1 4/1/1
g two
usemtl plain
f -4 -1 -2
f 2/1 3/2 4/1
f 1 2 3 4
"""
_PLY = b"""ply
format ascii 1.0
comment TextureFile paint.png
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 4
property list uchar int vertex_indices
property uchar red
property list uchar float texcoord
end_header
0 0 0 1 2 3
1 0 0 1 2 3
0 1 0 1 2 3
0 0 1 1 2 3
3 0 2 1 9 6 0 0 1 0 0 1
3 0 1 3 9 6 0 0 1 0 0 1
3 0 3 2 9 6 0 0 1 0 0 1
3 1 2 3 9 6 0 0 1 0 0 1
"""
_OFF = b"COFF\n4 4 6\n# a\n0 0 0 255 0 0\n1 0 0 255 0 0\n0 1 0 0 255 0\n"
_OFF += b"0 0 1 0 0 255\n3 0 2 1\n3 0 1 3\n3 0 3 2\n4 1 2 3 0\n"
_MORE = {"obj": (_OBJ,), "ply": (_PLY,), "off": (_OFF,)}
