"""Cases made simpler while they fail: robots, scenes and settings first, then the numbers that are left."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.model import Model
from tests.differential.scenes import without
from tests.differential.urdf_text import load

if TYPE_CHECKING:
    from tests.differential.cases import Case

_SIMPLER = {
    "floating": ("prismatic", "spherical", "fixed"),
    "planar": ("prismatic", "continuous", "fixed"),
    "spherical": ("continuous", "fixed"),
    "revolute": ("continuous", "fixed"),
    "prismatic": ("continuous", "fixed"),
    "continuous": ("fixed",),
}
Step = Any
"""A simpler case, or a function without arguments that returns it, or None if there is no such robot."""
_UNLIMITED = 1e10
_WORDS = {
    "floating": 24, "planar": 16, "spherical": 12, "prismatic": 8, "revolute": 8, "continuous": 4, "fixed": 0,
    "mesh": 30, "cylinder": 12, "capsule": 8, "field": 12, "rk4": 6, "implicit": 4, "jsiia": 6, "cfa": 6, "dca": 6,
    "freeze": 4,
}  # fmt: skip
"""Weights of words other than 3: joint types, shapes, grounds, integrators, algorithms."""
_PLAIN = {
    "integrator": "semi-implicit", "algorithm": "abia", "limits": False, "on_divergence": "raise", "kp": None,
    "kd": None, "parameters": None, "dt": 1e-3,
}  # fmt: skip
_BALL, _BLOCK = {"kind": "sphere", "size": [0.1]}, {"kind": "box", "size": [0.1, 0.1, 0.1]}
_POSITIVE = {"mass", "moments", "inertia", "dt", "size", "cell"}
"""Numbers that keep their magnitude, so that a case stays such as can be."""
_OF_BODIES = ("mass", "first_moment", "inertia")


def shrunk(found: Case, fails: Callable[[Case], bool], seconds: float) -> Case:
    """See `cases.shrink`."""
    end = time.monotonic() + seconds
    fresh = True
    while fresh and time.monotonic() < end:
        fresh = False
        for simpler in (_structure, _numbers):
            found, better = _descended(found, simpler, fails, end)
            fresh |= better
    return found


def _descended(
    found: Case, simpler: Callable[[Case], Iterator[Step]], fails: Callable[[Case], bool], end: float
) -> tuple[Case, bool]:
    """Return the case after all steps of a kind that keep it failing, continuing from the last success."""
    skip, better = 0, False
    while True:
        tried, least = 0, weight(found)
        for count, candidate in enumerate(simpler(found)):
            if count < skip:
                continue
            if time.monotonic() > end:
                return found, better
            tried, candidate = count, candidate() if callable(candidate) else candidate
            if candidate is not None and weight(candidate) < least and _valid(candidate) and fails(candidate):
                found, better, skip = candidate, True, count
                break
        else:
            return found, better
        skip = tried


def weight(value: Any) -> float:
    """Return a case's complexity, which every shrinking step reduces."""
    if dataclasses.is_dataclass(value):
        return weight([value.robot, value.scene, value.settings, value.state])
    if isinstance(value, dict | list):
        return 2 * len(value) + sum(map(weight, value.values() if isinstance(value, dict) else value))
    if isinstance(value, float):
        return {0.0: 0, 1.0: 1, _UNLIMITED: 1, -_UNLIMITED: 1}.get(value, len(repr(value)))
    return _WORDS.get(value, 3) if isinstance(value, str) else float(bool(value))


def _valid(case: Case) -> bool:
    """Whether the engine takes it."""
    try:
        case.simulation()
    except (ValueError, TypeError, KeyError, IndexError):  # of what robots, scenes and settings are refused by
        return False
    return True


def _structure(case: Case) -> Iterator[Step]:
    """Cases with less in them, the largest steps first."""
    yield from _rows(case)
    yield from _settings(case)
    yield from _scene(case)
    yield from _links(case)
    yield from _joints(case)
    yield from _shapes(case)


def _rows(case: Case) -> Iterator[Step]:
    if case.batch == 1:
        return
    for row in range(case.batch):
        yield _only(case, [row])
    for half in (range(case.batch // 2), range(case.batch // 2, case.batch), range(case.batch - 1)):
        yield _only(case, [*half])


def _only(case: Case, rows: list[int]) -> Case:
    """Return the case with only those robots of the batch."""
    state = {name: x and [x[row] for row in rows] for name, x in case.state.items()}
    settings = dict(case.settings)
    for name in ("kp", "kd"):
        gain = settings[name]
        if isinstance(gain, list) and len(gain) > 1 and isinstance(gain[0], list):
            settings[name] = [gain[row] for row in rows]
    if settings["parameters"] is not None:
        settings["parameters"] = {name: [x[row] for row in rows] for name, x in settings["parameters"].items()}
    return dataclasses.replace(case, state=state, settings=settings)


def _settings(case: Case) -> Iterator[Step]:
    for name, plain in _PLAIN.items():
        yield dataclasses.replace(case, settings=case.settings | {name: plain})
    for name in case.settings["parameters"] or ():
        kept = {key: x for key, x in case.settings["parameters"].items() if key != name}
        yield dataclasses.replace(case, settings=case.settings | {"parameters": kept})
    yield dataclasses.replace(case, state=case.state | {"wrench": None})
    for _, there in case.model().quaternions:
        q = np.array(case.state["q"])
        q[:, there] = [0.0, 0.0, 0.0, 1.0]
        yield dataclasses.replace(case, state=case.state | {"q": q.tolist()})
    for name in ("v", "tau"):
        zeros = np.zeros_like(case.state[name]).tolist()
        yield dataclasses.replace(case, state=case.state | {name: zeros})
    if case.state["wrench"] is not None:
        for link in range(len(case.state["wrench"][0])):
            wrench = np.array(case.state["wrench"])
            wrench[:, link] = 0
            yield dataclasses.replace(case, state=case.state | {"wrench": wrench.tolist()})


def _scene(case: Case) -> Iterator[Step]:
    if (scene := case.scene) is None:
        return
    yield dataclasses.replace(case, scene=None)
    changes: list[dict] = [{"self_collision": False}, {"ground": None}, {"obstacles": []}]
    changes += [{"obstacles": without(scene["obstacles"], k)} for k in range(len(scene["obstacles"]))]
    if (ground := scene["ground"]) is not None and ground["kind"] == "field":
        heights = np.array(ground["heights"])
        changes.append({"ground": {"kind": "plane", "normal": [0.0, 0.0, 1.0], "offset": float(heights.mean())}})
        changes += [{"ground": ground | {"heights": part.tolist()}} for part in (heights[:, :-1], heights[:-1])]
        if ground["origin"] is not None:
            corner = ground["origin"]
            moves = (heights[:, 1:], [ground["cell"], 0, 0]), (heights[1:], [0, ground["cell"], 0])
            for part, move in moves:
                origin = np.add(corner, move).tolist()
                changes.append({"ground": ground | {"heights": part.tolist(), "origin": origin}})
    for change in changes:
        yield dataclasses.replace(case, scene=scene | change)
    for k, obstacle in enumerate(scene["obstacles"]):
        pose = np.array(obstacle["pose"])
        pose[:3, :3] = np.eye(3)
        for other in (
            obstacle | {"pose": pose.tolist()},
            *(one | {"pose": obstacle["pose"]} for one in (_BALL, _BLOCK)),
        ):
            changed = [other if j == k else one for j, one in enumerate(scene["obstacles"])]
            yield dataclasses.replace(case, scene=scene | {"obstacles": changed})
        parts = obstacle.get("parts", ())
        for part in range(len(parts) if len(parts) > 1 else 0):
            fewer = [*scene["obstacles"]]
            fewer[k] = obstacle | {"parts": without(parts, part)}
            yield dataclasses.replace(case, scene=scene | {"obstacles": fewer})


def _links(case: Case) -> Iterator[Step]:
    """Without a link and all that it carries, the last ones first; and with what it carries one joint nearer."""
    for joint in reversed(case.robot["joints"]):
        gone = _carried(case.robot, joint["child"])
        yield _with(case, _without(case.robot, gone))
        robot = _without(case.robot, {joint["child"]})
        for other in robot["joints"]:
            if other["parent"] == joint["child"]:
                other["parent"] = joint["parent"]
        yield _with(case, robot)
    if case.robot["disabled"]:
        yield _with(case, case.robot | {"disabled": []})
    if case.robot["gravity"] is not None:
        yield _with(case, case.robot | {"gravity": None})
        yield _with(case, case.robot | {"gravity": [0.0, 0.0, 0.0]})
    if case.robot["floating"]:
        yield _with(case, case.robot | {"floating": False})


def _carried(robot: dict, link: str) -> set[str]:
    """A link and those that hang on it."""
    found = {link}
    while more := {j["child"] for j in robot["joints"] if j["parent"] in found} - found:
        found |= more
    return found


def _without(robot: dict, gone: set[str]) -> dict:
    robot = copy.deepcopy(robot)
    joints = [j for j in robot["joints"] if j["child"] not in gone]
    names = {j["name"] for j in joints}
    for joint in joints:
        if joint["mimic"] is not None and joint["mimic"]["joint"] not in names:
            joint["mimic"] = None
    links = [link for link in robot["links"] if link["name"] not in gone]
    disabled = [pair for pair in robot["disabled"] if not gone & set(pair)]
    return robot | {"links": links, "joints": joints, "disabled": disabled}


def _joints(case: Case) -> Iterator[Step]:
    for k, joint in enumerate(case.robot["joints"]):
        changes: list[dict] = [{"kind": kind} for kind in _SIMPLER.get(joint["kind"], ())]
        changes = [{"limit": None, "dynamics": None, "mimic": None, **change} for change in changes]
        changes += [{key: None} for key in ("mimic", "limit", "dynamics") if joint[key] is not None]
        changes += [
            {"limit": joint["limit"] | {key: None}} for key in joint["limit"] or () if key in ("lower", "upper")
        ]
        changes += [{"limit": joint["limit"] | {key: _UNLIMITED}} for key in joint["limit"] or ()]
        changes += [{"dynamics": joint["dynamics"] | {key: 0.0}} for key in joint["dynamics"] or ()]
        changes += [{"rpy": [0.0] * 3}, {"xyz": [0.0] * 3}, *({"axis": axis} for axis in np.eye(3).tolist())]
        for change in changes:
            yield _with(case, _changed(case.robot, "joints", k, change))


def _shapes(case: Case) -> Iterator[Step]:
    for k, link in enumerate(case.robot["links"]):
        yield _with(case, _changed(case.robot, "links", k, {"shapes": []}))
        yield _with(case, _changed(case.robot, "links", k, {"friction": None, "restitution": None, "surface": None}))
        inertial = link["inertial"]
        if inertial is not None:
            round_one = {"mass": 1.0, "xyz": [0.0] * 3, "rpy": [0.0] * 3, "moments": [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]}
            parts = [round_one, {"xyz": [0.0] * 3}, {"rpy": [0.0] * 3}, {"moments": round_one["moments"]}]
            for part in parts:
                yield _with(case, _changed(case.robot, "links", k, {"inertial": inertial | part}))
        for i, shape in enumerate(link["shapes"]):
            place = {key: shape[key] for key in ("xyz", "rpy")}
            simpler: list[dict | None] = [None, _BALL | place, _BLOCK | place]
            simpler += [shape | {key: [0.0] * 3} for key in place]
            parts = shape.get("parts", ())
            simpler += [shape | {"parts": without(parts, p)} for p in range(len(parts) if len(parts) > 1 else 0)]
            for other in simpler:
                shapes = [other if j == i else one for j, one in enumerate(link["shapes"])]
                yield _with(case, _changed(case.robot, "links", k, {"shapes": [x for x in shapes if x is not None]}))


def _changed(robot: dict, what: str, k: int, change: dict) -> dict:
    entries = [entry | change if j == k else entry for j, entry in enumerate(robot[what])]
    return robot | {what: entries}


def _with(case: Case, robot: dict) -> Step:
    """The case with another robot, whose joints, bodies and links of the same names are as they were."""
    return partial(_with_robot, case, robot)


def _with_robot(case: Case, robot: dict) -> Case | None:
    try:
        old, new = case.model(), load(robot)
    except ValueError:
        return None
    if robot == case.robot:
        return None
    kept = _Kept(old, new)
    state = {name: kept.rows(name, x) for name, x in case.state.items()}
    settings = dict(case.settings)
    for name in ("kp", "kd"):
        if isinstance(settings[name], list):
            settings[name] = kept.gains(settings[name])
    if settings["parameters"] is not None:
        settings["parameters"] = {name: kept.parameter(name, x) for name, x in settings["parameters"].items()}
    return dataclasses.replace(case, robot=robot, state=state, settings=settings)


class _Kept:
    """The parts of one robot that another one has, by name."""

    def __init__(self, old: Model, new: Model):
        self.old, self.new = old, new
        before = {joint.name: joint for joint in old.joints}
        same = [(before[j.name], j) for j in new.joints if j.name in before and before[j.name].kind == j.kind]
        self.bodies = [(i.bodies, j.bodies) for i, j in same]
        owners = [(i, j) for i, j in same if i.leader is None and j.leader is None]
        self.q, self.v = ([(getattr(i, x), getattr(j, x)) for i, j in owners] for x in "qv")
        self.links = [(old.link_names.index(x), k) for k, x in enumerate(new.link_names) if x in old.link_names]

    def rows(self, name: str, x: list | None) -> list | None:
        if x is None:
            return None
        values = np.array(x)
        if name == "q":
            return _moved(values, np.tile(self.new.neutral(), (len(x), 1)), self.q)
        if name == "wrench":
            places = [(slice(i, i + 1), slice(j, j + 1)) for i, j in self.links]
            return _moved(values, np.zeros((len(x), len(self.new.link_names), 6)), places)
        return _moved(values, np.zeros((len(x), self.new.nv)), self.v)

    def gains(self, gain: list) -> list:
        values = np.array(gain)
        made = _moved(np.atleast_2d(values), np.zeros((len(np.atleast_2d(values)), self.new.nv)), self.v)
        return made[0] if values.ndim == 1 else made

    def parameter(self, name: str, x: list) -> list:
        if name == "gravity":
            return x
        own = np.repeat(np.array(getattr(self.new, name))[None], len(x), 0)
        if name != "effort_limit":
            return _moved(np.array(x), own, self.bodies if name in _OF_BODIES else self.v)
        limits = _moved(np.array([[np.inf if y is None else y for y in row] for row in x]), own, self.v)
        return [[None if np.isinf(y) else y for y in row] for row in limits]


def _moved(old: np.ndarray, new: np.ndarray, places: list[tuple[slice, slice]]) -> list:
    for i, j in places:
        new[:, j] = old[:, i]
    return new.tolist()


def _numbers(case: Case) -> Iterator[Step]:
    """Cases of which a number is 0, 1, or has few digits; rotations stay such."""
    parts = dataclasses.asdict(case)
    turns = {k for _, there in case.model().quaternions for k in range(there.start, there.stop)}
    for path, value in [*_leaves(parts, ())]:
        if (path[:2] == ("state", "q") and path[-1] in turns) or ("pose" in path and max(path[-2:]) < 3):
            continue
        few = [float(f"{value:.{digits}g}") for digits in (1, 3)]
        for simple in few if _POSITIVE & set(path) else [0.0, 1.0, *few]:
            yield partial(_put, case, path, simple)


def _put(case: Case, path: tuple, value: float) -> Case:
    changed = dataclasses.asdict(case)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return type(case)(**changed)


def _leaves(value: Any, path: tuple) -> Iterator[tuple[tuple, float]]:
    """All numbers, but for 0, with their places."""
    if isinstance(value, float):
        if value:
            yield path, value
    elif isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            yield from _leaves(entry, (*path, key))
