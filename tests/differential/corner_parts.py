"""The parts of `corners`: bodies, robots of free bodies, chains, and their states."""

from itertools import product
from typing import Any

import numpy as np

from engine import lie
from tests.differential.cases import Case
from tests.differential.urdf_text import load

Rng = np.random.Generator
UP = np.array([0.0, 0.0, 1.0])
PLANE = {"kind": "plane", "normal": [0.0, 0.0, 1.0], "offset": 0.0}
GAPS = (0.0, 1e-9, -1e-9, -1e-4, -3e-3, 4e-4)
BLOCK = [list(x) for x in product((-0.1, 0.1), repeat=3)]


def one_of(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def unit(rng: Rng) -> np.ndarray:
    x = rng.standard_normal(3)
    return np.asarray(x / np.linalg.norm(x))


def turned(rng: Rng) -> np.ndarray:
    """Any rotation."""
    return np.asarray(lie.rotation_to(unit(rng)) @ about(UP, rng.uniform(-3, 3)))


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation about a unit vector, exact for multiples of right angles."""
    R, _ = lie.exp(np.concatenate([np.asarray(axis) * angle, np.zeros(3)]))
    whole = np.round(R)
    return np.asarray(np.where(abs(R - whole) < 1e-15, whole, R))


def shape(kind: str, *size: float, xyz: tuple = (0, 0, 0), rpy: tuple = (0, 0, 0)) -> dict:
    """A shape of a link, or of an obstacle."""
    return {"kind": kind, "size": list(map(float, size)), "xyz": list(map(float, xyz)), "rpy": list(map(float, rpy))}


def hull(corners: Any) -> dict:
    """A convex mesh."""
    parts = [np.round(np.asarray(corners, float), 9).tolist()]
    return shape("mesh", 1, 1, 1) | {"parts": parts, "file": "obj"}


def ring(count: int, radius: float, z: float) -> list:
    """Corners of a regular polygon."""
    angle = np.arange(count) * (2 * np.pi / count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, z)], -1).tolist()


def obstacle(made: dict, p: Any, R: np.ndarray | None = None) -> dict:
    pose = np.eye(4)
    pose[:3, :3] = np.eye(3) if R is None else R
    pose[:3, 3] = p
    return {key: made[key] for key in ("kind", "size", "parts", "file") if key in made} | {"pose": pose.tolist()}


def link(name: str, shapes: list[dict], mass: float | None = 1.0, size: float = 0.1) -> dict:
    inertial = None
    if mass is not None:
        moment = 0.4 * mass * size**2
        moments = [moment, 0.0, 0.0, 1.1 * moment, 0.0, 1.2 * moment]
        inertial = {"mass": mass, "xyz": [0.0] * 3, "rpy": [0.0] * 3, "moments": moments}
    return {
        "name": name, "inertial": inertial, "shapes": shapes, "friction": None, "restitution": None, "surface": None,
    }  # fmt: skip


def joint(kind: str, parent: str, child: str, xyz: Any = (0, 0, 0), axis: Any = (0, 0, 1), **more: Any) -> dict:
    """A joint; `lower`, `upper`, `velocity`, `effort`, `damping` and `friction` as its file has them."""
    limit = dynamics = None
    if kind not in ("fixed", "floating", "planar"):
        limit = {"lower": more.get("lower"), "upper": more.get("upper")}
        limit |= {"velocity": more.get("velocity", 1e10), "effort": more.get("effort", 1e10)}
        dynamics = {"damping": more.get("damping", 0.0), "friction": more.get("friction", 0.0)}
    if kind in ("continuous", "spherical") and limit:
        limit = limit | {"lower": None, "upper": None}
    if limit and kind in ("revolute", "prismatic"):
        limit |= {
            key: limit[key] if limit[key] is not None else sign * 1e10 for key, sign in (("lower", -1), ("upper", 1))
        }
    return {
        "name": f"to_{child}", "kind": kind, "parent": parent, "child": child, "xyz": list(map(float, xyz)),
        "rpy": list(map(float, more.get("rpy", (0, 0, 0)))), "axis": list(map(float, axis)), "limit": limit,
        "dynamics": dynamics, "mimic": None,
    }  # fmt: skip


def robot(links: list[dict], joints: list[dict], gravity: list | None = None) -> dict:
    return {
        "name": "corner", "floating": False, "gravity": gravity, "links": links, "joints": joints, "disabled": [],
    }  # fmt: skip


def scene(ground: dict | None = None, obstacles: list | None = None, **laws: Any) -> dict:
    own = laws.pop("self_collision", False)
    return {"friction": 0.8, "restitution": 0.0} | laws | {
        "ground": ground, "obstacles": obstacles or [], "self_collision": own,
    }  # fmt: skip


def case_of(robot: dict, scene: dict | None, q: Any = None, v: Any = None, **more: Any) -> Case:
    """Return a case with `tau`, `target` and `wrench` of the state, and settings other than the defaults here."""
    model = load(robot)
    q = np.atleast_2d(model.neutral() if q is None else np.asarray(q, float))
    zero = np.zeros((len(q), model.nv))
    v = zero if v is None else np.broadcast_to(np.asarray(v, float), zero.shape)
    tau, target = (np.broadcast_to(np.asarray(more.pop(key, zero), float), zero.shape) for key in ("tau", "target"))
    wrench = more.pop("wrench", None)
    state = {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist(), "target": target.tolist()}
    settings = {
        "integrator": "semi-implicit", "algorithm": "abia", "dt": 1e-3, "limits": True, "on_divergence": "raise",
        "kp": None, "kd": None, "parameters": None,
    } | more  # fmt: skip
    return Case(robot, scene, settings, state | {"wrench": None if wrench is None else np.asarray(wrench).tolist()})


def bodies(shapes: list[dict], masses: list[float] | None = None) -> dict:
    """A robot of free bodies, each of one shape."""
    masses = masses or [1.0] * len(shapes)
    links = [link("base", [], None)]
    links += [link(f"body{k}", [made], mass) for k, (made, mass) in enumerate(zip(shapes, masses, strict=True))]
    return robot(links, [joint("floating", "base", one["name"]) for one in links[1:]])


def free(p: Any, R: np.ndarray | None = None) -> list:
    """Return a free body's coordinates for a pose."""
    return [*map(float, p), *lie.quaternion_from_rotation(np.eye(3) if R is None else R).tolist()]
