"""Equivalent cases: a robot moved, rotated, mirrored, renamed, or split in two."""

import copy
import dataclasses

import numpy as np

from engine import lie
from engine.model.model import EARTH
from engine.validation import Array
from tests.differential.cases import Case


@dataclasses.dataclass(frozen=True)
class Equivalence:
    """An equivalent case, and the map of its states and results to the original's: x there is R x + p here."""

    case: Case
    R: Array
    p: Array
    q: Array
    """(nq,): the index of each of the first case's coordinates."""
    v: Array
    links: dict[str, str]
    """The links' new names."""

    def pose(self, q: Array) -> Array:
        """The coordinates (nq,) of the first robot as the other's."""
        there = np.zeros(self.case.model().nq)
        there[self.q] = q
        if self.case.robot["floating"]:
            turn = self.R @ lie.rotation_from_quaternion(q[3:7] / np.linalg.norm(q[3:7]))
            there[self.q[:3]], there[self.q[3:7]] = self.R @ q[:3] + self.p, lie.quaternion_from_rotation(turn)
        return there


def moved(found: Case, R: Array, p: Array) -> Equivalence:
    """Robot and scene turned by R, then moved by p; gravity turned along."""
    robot = copy.deepcopy(found.robot)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    if not robot["floating"]:
        robot["links"].insert(0, dict.fromkeys(_LINK) | {"name": "stand", "shapes": []})
        joint = dict.fromkeys(_JOINT) | {"name": "to_base", "kind": "fixed", "parent": "stand", "child": "base"}
        robot["joints"].insert(0, joint | {"xyz": p.tolist(), "rpy": lie.rpy_from_rotation(R).tolist()})
    gravity = EARTH if robot["gravity"] is None else robot["gravity"]
    robot["gravity"] = (R @ gravity).tolist()
    scene, settings = copy.deepcopy(found.scene), copy.deepcopy(found.settings)
    if scene is not None:
        for obstacle in scene["obstacles"]:
            obstacle["pose"] = (T @ np.array(obstacle["pose"])).tolist()
        scene["ground"] = _ground(scene["ground"], R, p)
    parameters = settings["parameters"]
    if parameters is not None and "gravity" in parameters:
        parameters["gravity"] = (np.array(parameters["gravity"]) @ R.T).tolist()
    state = dict(found.state)
    if state["wrench"] is not None and not robot["floating"]:
        wrench = np.array(state["wrench"])
        state["wrench"] = np.concatenate([np.zeros_like(wrench[:, :1]), wrench], 1).tolist()
    model = found.model()
    other = dataclasses.replace(found, robot=robot, scene=scene, settings=settings, state=state)
    names = {name: name for name in model.link_names}
    made = Equivalence(other, R, p, np.arange(model.nq), np.arange(model.nv), names)
    return _stated(found, made)


_LINK = ("name", "inertial", "shapes", "friction", "restitution", "surface")
_JOINT = ("name", "kind", "parent", "child", "xyz", "rpy", "axis", "limit", "dynamics", "mimic")


def _ground(ground: dict | None, R: Array, p: Array) -> dict | None:
    if ground is None:
        return None
    if ground["kind"] == "plane":
        normal = R @ (np.array(ground["normal"]) / np.linalg.norm(ground["normal"]))
        return ground | {"normal": normal.tolist(), "offset": ground["offset"] + float(normal @ p)}
    heights = np.array(ground["heights"])
    far = (np.array(heights.shape[::-1]) - 1) * ground["cell"]
    corner = np.array(ground["origin"] or [*(-far / 2), 0.0])
    if R[0, 0] < 0:  # by half a turn about the vertical
        heights, corner = heights[::-1, ::-1], corner + np.append(far, 0.0)
    return ground | {"heights": heights.tolist(), "origin": (R @ corner + p).tolist()}


def _stated(found: Case, made: Equivalence) -> Equivalence:
    """Return the equivalent case with the state, the gains and the parameters of the first case, in its order."""
    q = [made.pose(np.array(row)).tolist() for row in found.state["q"]]
    state = {"q": q, "wrench": made.case.state["wrench"]}
    state |= {name: _ordered(found.state[name], made.v) for name in ("v", "tau", "target")}
    settings = dict(made.case.settings)
    for name in ("kp", "kd"):
        if isinstance(settings[name], list):
            settings[name] = _ordered(settings[name], made.v)
    return dataclasses.replace(made, case=dataclasses.replace(made.case, state=state, settings=settings))


def _ordered(x: list, places: Array) -> list:
    values = np.array(x, float)
    there = np.zeros_like(values)
    there[..., places] = values
    return there.tolist()


def shuffled(found: Case, rng: np.random.Generator) -> Equivalence | None:
    """Rename and reorder links and joints; not for robots with parameters by body."""
    if found.settings["parameters"] is not None:
        return None
    robot, model = copy.deepcopy(found.robot), found.model()
    base = robot["links"][0]["name"]
    called = {link["name"]: f"part {k}" for k, link in enumerate(robot["links"])}
    joints = {joint["name"]: f"hinge {k}" for k, joint in enumerate(robot["joints"])}
    for link in robot["links"]:
        link["name"] = called[link["name"]]
    for joint in robot["joints"]:
        joint |= {"name": joints[joint["name"]], "parent": called[joint["parent"]], "child": called[joint["child"]]}
        if joint["mimic"] is not None:
            joint["mimic"]["joint"] = joints[joint["mimic"]["joint"]]
    robot["disabled"] = [[called[a], called[b]] for a, b in robot["disabled"]]
    for name in ("links", "joints"):
        robot[name] = [robot[name][k] for k in rng.permutation(len(robot[name]))]
    return _of_names(found, robot, called, joints) if base in model.link_names else None


def split(found: Case, rng: np.random.Generator) -> Equivalence:
    """Each link with mass is two that a fixed joint holds together, which share its mass and its shapes."""
    robot = copy.deepcopy(found.robot)
    halves: list[dict] = []
    for link in robot["links"]:
        if link["inertial"] is None or robot["disabled"]:
            continue
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = lie.exp(rng.uniform(-0.5, 0.5, 6))
        half = copy.deepcopy(link) | {"name": link["name"] + "_half", "shapes": []}
        for each in (link, half):
            each["inertial"]["mass"] /= 2
            each["inertial"]["moments"] = [x / 2 for x in each["inertial"]["moments"]]
        half["inertial"] |= _within(T, half["inertial"])
        half["shapes"] = [shape | _within(T, shape) for shape in link["shapes"][1:]]
        link["shapes"] = link["shapes"][:1]
        halves.append(half)
        joint = dict.fromkeys(_JOINT) | {"name": f"{link['name']}_glue", "kind": "fixed", "parent": link["name"]}
        place = {"xyz": T[:3, 3].tolist(), "rpy": lie.rpy_from_rotation(T[:3, :3]).tolist()}
        robot["joints"].append(joint | {"child": half["name"]} | place)
    robot["links"] += halves
    called = {link["name"]: link["name"] for link in found.robot["links"]}
    return _of_names(found, robot, called, {joint["name"]: joint["name"] for joint in found.robot["joints"]})


def _within(T: Array, entry: dict) -> dict:
    """Return a pose relative to a frame T."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = lie.rotation_from_rpy(entry["rpy"]), entry["xyz"]
    inside = np.linalg.inv(T) @ pose
    return {"xyz": inside[:3, 3].tolist(), "rpy": lie.rpy_from_rotation(inside[:3, :3]).tolist()}


def _of_names(found: Case, robot: dict, links: dict[str, str], joints: dict[str, str]) -> Equivalence:
    """Return the case with that robot, with its state matched by joint names, and its wrenches by link names."""
    model, other = found.model(), dataclasses.replace(found, robot=robot)
    there = other.model()
    at_q, at_v = np.zeros(model.nq, int), np.zeros(model.nv, int)
    for joint in model.joints:
        if joint.leader is None:
            named = joints.get(joint.name, joint.name)
            for at, mine, theirs in ((at_q, joint.q, there.joint(named).q), (at_v, joint.v, there.joint(named).v)):
                at[mine] = np.arange(theirs.start, theirs.stop)
    wrench = None
    if found.state["wrench"] is not None:
        full = np.zeros((found.batch, len(there.link_names), 6))
        full[:, [there.link_names.index(links[name]) for name in model.link_names]] = found.state["wrench"]
        wrench = full.tolist()
    other = dataclasses.replace(other, state=found.state | {"wrench": wrench})
    return _stated(found, Equivalence(other, np.eye(3), np.zeros(3), at_q, at_v, links))


def rotation(rng: np.random.Generator, upright: bool) -> Array:
    """Any, or one about the vertical."""
    angle = rng.uniform(-3, 3, 3) * ([0, 0, 1] if upright else [1, 1, 1])
    return lie.exp(np.concatenate([angle, np.zeros(3)]))[0]
