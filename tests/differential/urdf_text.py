"""Robots of cases as files: their URDF, SRDF and meshes, and the models that the engine's own reader makes of them.

A robot is a dict of plain data:

    name, floating (load it with a free joint under its root), gravity (3 numbers, or None for the earth's),
    links: name, inertial (mass, xyz, rpy, moments ixx ixy ixz iyy iyz izz; or None), shapes, friction, restitution
        (or None), surface ("gazebo" or "bullet", how the file says them),
    joints: name, kind, parent, child, xyz, rpy, axis, limit (lower, upper, velocity, effort, each left out if None; or
        None), dynamics (damping, friction; or None), mimic (joint, multiplier, offset; or None),
    disabled: pairs of links' names that an SRDF has.

A shape is kind, size, xyz, rpy; a mesh also has parts, the corners of its convex parts, and file, "stl" or "obj".
"""

import atexit
import hashlib
import json
import os
import shutil
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

import engine

_MEMORY = Path("/dev/shm")
"""A folder in memory, on Linux: thousands of small files are written."""
_SIZES = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}


def load(robot: dict) -> engine.Model:
    """The robot's model, read from its URDF by `engine.load`; the same object as long as it is remembered."""
    return _loaded(json.dumps(robot))


@lru_cache(maxsize=512)
def _loaded(text: str) -> engine.Model:
    robot = json.loads(text)
    place = folder() / f"robot{os.getpid()}.urdf"
    place.write_text(urdf(robot), "utf-8")
    disabled = None
    if robot["disabled"]:
        disabled = place.with_suffix(".srdf")
        disabled.write_text(srdf(robot), "utf-8")
    model = engine.load(place, floating=robot["floating"], srdf=disabled)
    return model if robot["gravity"] is None else model.with_gravity(robot["gravity"])


def folder() -> Path:
    """Return the folder of this process's robot files, deleted when the process ends."""
    return _folder(os.getpid())


@cache
def _folder(_process: int) -> Path:
    made = Path(tempfile.mkdtemp(prefix="catena-cases-", dir=_MEMORY if _MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def urdf(robot: dict) -> str:
    """The URDF of a robot; its meshes are written."""
    parts = [*map(_link, robot["links"]), *map(_joint, robot["joints"])]
    parts += [_gazebo(link) for link in robot["links"] if link["surface"] == "gazebo"]
    return "\n".join([f"<robot name={quoteattr(robot['name'])}>", *filter(None, parts), "</robot>", ""])


def srdf(robot: dict) -> str:
    """The SRDF with the pairs of links that never touch."""
    pairs = [f"  <disable_collisions link1={quoteattr(a)} link2={quoteattr(b)}/>" for a, b in robot["disabled"]]
    return "\n".join([f"<robot name={quoteattr(robot['name'])}>", *pairs, "</robot>", ""])


def _numbers(values: list) -> str:
    return " ".join(repr(float(value)) for value in values)


def _origin(entry: dict) -> str:
    return f'<origin xyz="{_numbers(entry["xyz"])}" rpy="{_numbers(entry["rpy"])}"/>'


def _link(link: dict) -> str:
    inside = [f"  <link name={quoteattr(link['name'])}>"]
    if (inertial := link["inertial"]) is not None:
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        tensor = " ".join(f'{key}="{float(x)!r}"' for key, x in zip(names, inertial["moments"], strict=True))
        mass = f'<mass value="{float(inertial["mass"])!r}"/>'
        inside.append(f"    <inertial>{_origin(inertial)}{mass}<inertia {tensor}/></inertial>")
    inside += [_collision(shape) for shape in link["shapes"]]
    if link["surface"] == "bullet":
        message = {"lateral_friction": link["friction"], "restitution": link["restitution"]}
        values = "".join(f'<{tag} value="{float(x)!r}"/>' for tag, x in message.items() if x is not None)
        inside.append(f"    <contact>{values}</contact>")
    return "\n".join([*inside, "  </link>"])


def _gazebo(link: dict) -> str:
    message = {"mu1": link["friction"], "mu2": link["friction"], "restitution_coefficient": link["restitution"]}
    values = "".join(f"<{tag}>{float(x)!r}</{tag}>" for tag, x in message.items() if x is not None)
    return f"  <gazebo reference={quoteattr(link['name'])}>{values}</gazebo>"


def _collision(shape: dict) -> str:
    kind, size = shape["kind"], shape["size"]
    if kind == "mesh":
        solid = f'<mesh filename={quoteattr(mesh_file(shape).name)} scale="{_numbers(size)}"/>'
    elif kind == "box":
        solid = f'<box size="{_numbers(size)}"/>'
    else:
        message = " ".join(f'{key}="{float(x)!r}"' for key, x in zip(_SIZES[kind], size, strict=True))
        solid = f"<{kind} {message}/>"
    return f"    <collision>{_origin(shape)}<geometry>{solid}</geometry></collision>"


def _joint(joint: dict) -> str:
    inside = [
        f"  <joint name={quoteattr(joint['name'])} type={quoteattr(joint['kind'])}>",
        f"    <parent link={quoteattr(joint['parent'])}/><child link={quoteattr(joint['child'])}/>{_origin(joint)}",
    ]
    if joint["kind"] not in ("fixed", "floating", "spherical"):
        inside.append(f'    <axis xyz="{_numbers(joint["axis"])}"/>')
    for tag in ("limit", "dynamics"):
        if joint[tag] is not None:
            message = " ".join(f'{key}="{float(x)!r}"' for key, x in joint[tag].items() if x is not None)
            inside.append(f"    <{tag} {message}/>")
    if (mimic := joint["mimic"]) is not None:
        message = f'multiplier="{float(mimic["multiplier"])!r}" offset="{float(mimic["offset"])!r}"'
        inside.append(f"    <mimic joint={quoteattr(mimic['joint'])} {message}/>")
    return "\n".join([*inside, "  </joint>"])


def mesh_file(shape: dict) -> Path:
    """Return the file of a mesh, written if it does not exist yet."""
    name = hashlib.sha256(json.dumps(shape["parts"]).encode()).hexdigest()[:16]
    path = folder() / f"{name}.{shape['file']}"
    if not path.exists():
        path.write_text(_obj(shape["parts"]) if shape["file"] == "obj" else _stl(shape["parts"]), "utf-8")
    return path


def _triangles(corners: np.ndarray) -> np.ndarray:
    """(t, 3): the triangles of a hull, counterclockwise seen from outside."""
    from scipy.spatial import ConvexHull

    faces = ConvexHull(corners).simplices.copy()
    a, b, c = (corners[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - corners.mean(0)) < 0
    faces[inward] = faces[inward][:, ::-1]
    return faces


def _obj(parts: list) -> str:
    lines, before = list[str](), 1
    for number, part in enumerate(parts):
        corners = np.array(part)
        lines += [f"o part{number}", *(f"v {_numbers(corner)}" for corner in part)]
        lines += ["f " + " ".join(str(before + int(k)) for k in face) for face in _triangles(corners)]
        before += len(part)
    return "\n".join([*lines, ""])


def _stl(parts: list) -> str:
    lines = ["solid hull"]
    for part in parts:
        corners = np.array(part)
        for face in corners[_triangles(corners)]:
            n = np.cross(face[1] - face[0], face[2] - face[0])
            lines += [f"facet normal {_numbers(n / np.linalg.norm(n))}", "outer loop"]
            lines += [f"vertex {_numbers(corner)}" for corner in face]
            lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid hull", ""])
