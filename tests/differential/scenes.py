"""Scenes of cases: plain data, the engine's objects that they describe, and random ones about robots that stand there.

A scene is ground (None; kind "plane", normal, offset; or kind "field", heights, cell, origin or None), friction,
restitution, obstacles (kind and size as shapes of robots have them, pose (4, 4)) and self_collision.
"""

import json
from functools import lru_cache

import numpy as np

import engine
from engine import lie
from engine.model import WORLD
from engine.model.poses import link_poses
from tests.differential import solids
from tests.differential.chances import Rng, chance, log_uniform, one_of, pick, unit
from tests.differential.families import Family
from tests.differential.placing import Gaps, Placing, frame_along
from tests.differential.urdf_text import load, mesh_file


def made(scene: dict | None) -> engine.Scene | None:
    """The engine's scene; the same object as long as it is remembered."""
    return None if scene is None else _made(json.dumps(scene))


@lru_cache(maxsize=512)
def _made(text: str) -> engine.Scene:
    scene = json.loads(text)
    files = [str(mesh_file(entry)) if entry["kind"] == "mesh" else None for entry in scene["obstacles"]]
    obstacles = [
        engine.Obstacle(entry["kind"], tuple(entry["size"]), entry["pose"], file)
        for entry, file in zip(scene["obstacles"], files, strict=True)
    ]
    return engine.Scene(
        ground(scene["ground"]), scene["friction"], scene["restitution"], obstacles, scene["self_collision"]
    )


def ground(entry: dict | None) -> engine.Plane | engine.HeightField | None:
    if entry is None:
        return None
    if entry["kind"] == "plane":
        return engine.Plane(tuple(entry["normal"]), entry["offset"])
    origin = entry["origin"]
    return engine.HeightField(np.array(entry["heights"]), entry["cell"], None if origin is None else tuple(origin))


def without(entries: list, k: int) -> list:
    """The list without entry k."""
    return [entry for j, entry in enumerate(entries) if j != k]


def scene(rng: Rng, family: Family, placing: Placing, apart: bool) -> dict | None:
    """Draw a scene of the family around the robots, which are moved into contact or close to it."""
    if family.ground == "none":
        return None if chance(rng, 0.85) else _laws(rng) | {"ground": None, "obstacles": [], "self_collision": False}
    laws, below = _laws(rng), None
    if family.ground == "field":
        below = _field(rng)
    elif not family.pairs or chance(rng, 0.6):
        below = {"kind": "plane", "normal": placing.normal().tolist(), "offset": 0.0}
    own = family.pairs and (apart or chance(rng, 0.5))
    if own and chance(rng, 0.6):
        _meet(rng, placing)
    n = np.array(below["normal"]) if below and below["kind"] == "plane" else np.array([0.0, 0.0, 1.0])
    if below is not None:
        _under(below, placing)
        placing.settle(Gaps(below, ground(below)), n)
    if own and (below is None or chance(rng, 0.7)):
        placing.stack(n)
    if family.pairs and chance(rng, 0.7):
        placing.jitter()
    least = 0 if own and apart else 1
    count = one_of(rng, (least, least, least, 1, 1, 1, 1, 2, 2, 3)) if family.pairs else 0
    obstacles = [_obstacle(rng, placing) for _ in range(count)]
    if own and not obstacles:
        placing.take(placing.robot | {"disabled": []}, load(placing.robot | {"disabled": []}))
    return laws | {"ground": below, "obstacles": obstacles, "self_collision": own}


def _laws(rng: Rng) -> dict:
    friction = pick(rng, {0.0: 0.15, 0.3: 0.25, 0.8: 0.45, 2.0: 0.15})
    return {"friction": friction, "restitution": pick(rng, {0.0: 0.55, 0.5: 0.3, 1.0: 0.15})}


def _field(rng: Rng) -> dict:
    """Heights over 2 to 14 rows and another number of columns: smooth hills, rough ones, steps, or flat."""
    rows, columns = (int(x) for x in rng.choice(np.arange(2, 15), 2, replace=False))
    cell, high = round(log_uniform(rng, 0.05, 0.5), 3), log_uniform(rng, 0.01, 0.3)
    i, j = np.mgrid[:rows, :columns]
    way = pick(rng, {"smooth": 0.4, "rough": 0.35, "steps": 0.15, "flat": 0.1})
    a, b, c, d = rng.uniform(-0.6, 0.6, 4)
    heights = {
        "smooth": high * np.sin(a * i + b * j + 3 * c) * np.cos(c * i + d * j),
        "rough": high * rng.uniform(-1, 1, (rows, columns)),
        "steps": high * np.round(rng.uniform(0, 2, (rows, columns))) / 2,
        "flat": np.zeros((rows, columns)),
    }[way]
    origin = None
    if chance(rng, 0.6):
        corner = -np.array([columns - 1, rows - 1]) * cell * rng.uniform(0, 1, 2)
        origin = [*np.round(corner, 3).tolist(), round(float(rng.uniform(-0.5, 0.5)), 3)]
    return {"kind": "field", "heights": np.round(heights, 5).tolist(), "cell": cell, "origin": origin}


def _under(below: dict, placing: Placing) -> None:
    """Put the ground at the required distance from the first row's fixed-base robot."""
    held = placing.points(WORLD)
    if not len(held.link):
        if below["kind"] == "plane":
            below["offset"] = float(placing.rng.choice([0.0, 0.1, -0.25]))
        return
    far = Gaps(below, ground(below))(placing.world(held, 0), held.radius).min() - placing.gap(placing.modes[0])
    if below["kind"] == "plane":
        below["offset"] = float(far)
    elif below["origin"] is not None:
        below["origin"][2] += float(far)
    else:
        below["heights"] = (np.array(below["heights"]) + far).tolist()


def _obstacle(rng: Rng, placing: Placing) -> dict:
    """An obstacle that a shape of the robots touches, or nearly so; now and then one far off."""
    small = chance(rng, 0.5)
    made = solids.solid(rng, log_uniform(rng, 0.04, 0.12) if small else log_uniform(rng, 0.1, 1))
    local, radius = solids.points(made)
    row, found = int(rng.integers(placing.batch)), placing.points()
    if small:
        found = found.of(found.shape == int(one_of(rng, found.shape)))
    u = unit(rng)
    R = lie.rotation_from_rpy(rng.uniform(-3, 3, 3) if chance(rng, 0.7) else np.zeros(3))
    if chance(rng, 0.4):
        tree = int(one_of(rng, placing.tree[placing.model.link_body[found.link]]))
        axis = placing.axis(placing.frames()[row], tree)
        u = u if axis is None else axis
        R = frame_along(u)
    here = solids.support(placing.world(found, row), found.radius, u)
    mode = placing.modes[row]
    there = here + u * placing.gap(mode if mode != "air" or chance(rng, 0.5) else "touch")
    pose = np.eye(4)
    pose[:3, :3] = R
    pose[:3, 3] = there - solids.support(local @ R.T, radius, -u)
    return made | {"pose": pose.tolist()}


def _meet(rng: Rng, placing: Placing) -> None:
    """Move a shape on its link into contact with one of another link that is not a neighbour."""
    found, model = placing.cloud, placing.model
    shapes, first = np.unique(found.shape, return_index=True)
    body = model.link_body[found.link[first]]
    pairs = [
        (i, j) for i in range(len(shapes)) for j in range(len(shapes)) if _may_touch(model, int(body[i]), int(body[j]))
    ]
    if not pairs:
        return
    i, j = pairs[int(rng.integers(len(pairs)))]
    one, other = (found.of(found.shape == shapes[k]) for k in (i, j))
    u = unit(rng)
    a, b = (solids.support(placing.world(x, 0), x.radius, way) for x, way in ((one, u), (other, -u)))
    R = link_poses(model, placing.q[:1])[0, other.link[0], :3, :3]
    move = R.T @ (a + u * placing.gap(placing.modes[0]) - b)
    if np.linalg.norm(move) > 0.8:
        return
    robot = json.loads(json.dumps(placing.robot))
    all_shapes = [shape for link in robot["links"] for shape in link["shapes"]]
    chosen = all_shapes[int(shapes[j])]
    chosen["xyz"] = (np.array(chosen["xyz"]) + move).tolist()
    placing.take(robot, load(robot))


def _may_touch(model: engine.Model, a: int, b: int) -> bool:
    return a != b and model.parent[a] != b and model.parent[b] != a
