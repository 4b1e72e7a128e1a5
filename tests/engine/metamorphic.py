"""Equivalent descriptions of robots: bodies split, links renamed and shuffled, other units, mirrored."""

import copy
import dataclasses
from pathlib import Path

import numpy as np
from lxml import etree

import engine
from engine import lie
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL, urdf_text
from engine.model.model import Model

_HALF = "_half"


def split(source: Path, path: Path, rng: np.random.Generator) -> Path:
    """The robot of which every link is two, held together by a fixed joint, and shares mass and shapes among them."""
    root = etree.parse(str(source)).getroot()
    for link in root.findall("link"):
        name = link.get("name")
        T = lie.exp(rng.uniform(-0.5, 0.5, 6))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = T
        half = etree.SubElement(root, "link", name=name + _HALF)
        if (inertial := link.find("inertial")) is not None:
            for element, key in ((inertial.find("mass"), "value"), *((inertial.find("inertia"), k) for k in _TENSOR)):
                element.set(key, repr(float(element.get(key)) / 2))
            half.append(_moved(inertial, pose))
        for shape in link.findall("collision")[::2]:
            half.append(_moved(shape, pose))
            link.remove(shape)
        joint = etree.SubElement(root, "joint", name=name + "_glue", type="fixed")
        etree.SubElement(joint, "parent", link=name)
        etree.SubElement(joint, "child", link=name + _HALF)
        joint.append(_origin(pose))
    etree.ElementTree(root).write(str(path))
    return path


_TENSOR = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def _moved(element: etree._Element, frame: np.ndarray) -> etree._Element:
    """Return a copy of an inertial or a shape, moved by a frame (4, 4)."""
    result, pose = copy.deepcopy(element), np.eye(4)
    if (origin := result.find("origin")) is not None:
        pose[:3, :3] = lie.rotation_from_rpy([float(x) for x in origin.get("rpy", "0 0 0").split()])
        pose[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
        result.remove(origin)
    result.insert(0, _origin(np.linalg.inv(frame) @ pose))
    return result


def _origin(pose: np.ndarray) -> etree._Element:
    return etree.fromstring(urdf_text.origin_element(pose[:3, :3], pose[:3, 3]))


def shuffled(source: Path, path: Path, rng: np.random.Generator) -> tuple[Path, dict[str, str]]:
    """The robot with other names, its links and joints written in another order; and what joints are called now."""
    root = etree.parse(str(source)).getroot()
    links, joints = root.findall("link"), root.findall("joint")
    called = {links[at].get("name"): f"part {k}" for k, at in enumerate(rng.permutation(len(links)))}
    names = {joints[at].get("name"): f"hinge {k}" for k, at in enumerate(rng.permutation(len(joints)))}
    for link in links:
        link.set("name", called[link.get("name")])
    for joint in joints:
        joint.set("name", names[joint.get("name")])
        for end in ("parent", "child"):
            joint.find(end).set("link", called[joint.find(end).get("link")])
        if (mimic := joint.find("mimic")) is not None:
            mimic.set("joint", names[mimic.get("joint")])
    for element in (*links, *joints):
        root.remove(element)
    elements = [*links, *joints]
    root.extend(elements[k] for k in rng.permutation(len(elements)))
    etree.ElementTree(root).write(str(path))
    return path, names


def scaled(model: Model, length: float, mass: float, time: float) -> Model:
    """Return the robot in scaled units of length, mass and time."""
    slides = np.zeros(model.nv, bool)
    for joint in model.joints:
        if joint.leader is None:
            kinds = np.repeat(model.kind[joint.bodies], [6 if k == FREE else 3 if k == SPHERICAL else 1
                                                         for k in model.kind[joint.bodies]])  # fmt: skip
            slides[joint.v] = kinds == PRISMATIC
    q = np.where(slides, length, 1.0)
    force = mass * length**2 / time**2 / q
    collisions = []
    for shape in model.collisions:
        pose = shape.pose.copy()
        pose[:3, 3] *= length
        size = tuple(x * length for x in shape.size)
        collisions.append(dataclasses.replace(shape, pose=pose, size=size))
    return dataclasses.replace(
        model, home_position=model.home_position * length, mass=model.mass * mass,
        first_moment=model.first_moment * (mass * length), inertia=model.inertia * (mass * length**2),
        lower=model.lower * q, upper=model.upper * q, velocity_limit=model.velocity_limit * (q / time),
        effort_limit=model.effort_limit * force, damping=model.damping * (force * time / q),
        friction=model.friction * force, link_position=model.link_position * length,
        gravity=model.gravity * (length / time**2), visuals=(), collisions=tuple(collisions),
    )  # fmt: skip


def in_units(model: Model, length: float, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of q (nq,) and v (nv,) in such units."""
    q, v = np.ones(model.nq), np.full(model.nv, 1 / time)
    for joint in model.joints:
        kinds = model.kind[joint.bodies]
        if kinds[0] == FREE:
            q[joint.q.start : joint.q.start + 3] = length
            v[joint.v.start + 3 : joint.v.stop] *= length
        elif joint.leader is None and kinds[0] != SPHERICAL:
            q[joint.q][kinds == PRISMATIC] = length
            v[joint.v][kinds == PRISMATIC] *= length
    return q, v


P = np.diag([-1.0, 1.0, 1.0])


def mirrored(model: Model) -> Model:
    """Return the robot mirrored across x, in the world and in every body."""
    turns = signs(model)[1] < 0
    turns &= model.q_of_v >= 0
    collisions = []
    for shape in model.collisions:
        pose = shape.pose.copy()
        pose[:3, :3], pose[:3, 3] = P @ pose[:3, :3] @ P, P @ pose[:3, 3]
        collisions.append(dataclasses.replace(shape, pose=pose))
    return dataclasses.replace(
        model, home_rotation=P @ model.home_rotation @ P, home_position=model.home_position @ P,
        first_moment=model.first_moment @ P, inertia=P @ model.inertia @ P,
        lower=np.where(turns, -model.upper, model.lower), upper=np.where(turns, -model.lower, model.upper),
        link_rotation=P @ model.link_rotation @ P, link_position=model.link_position @ P, gravity=model.gravity @ P,
        visuals=(), collisions=tuple(collisions),
    )  # fmt: skip


def signs(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of q (nq,) and v (nv,) in the mirror."""
    q, v = np.ones(model.nq), np.ones(model.nv)
    of_quaternion, of_turn = [1.0, -1.0, -1.0, 1.0], [1.0, -1.0, -1.0]
    for joint in model.joints:
        kinds = model.kind[joint.bodies]
        if joint.leader is not None:
            continue
        if kinds[0] == FREE:
            q[joint.q], v[joint.v] = [-1.0, 1.0, 1.0, *of_quaternion], [*of_turn, -1.0, 1.0, 1.0]
        elif kinds[0] == SPHERICAL:
            q[joint.q], v[joint.v] = of_quaternion, of_turn
        else:
            q[joint.q] = v[joint.v] = np.where(kinds == REVOLUTE, -1.0, 1.0)
    return q, v


def standing(model: Model, scene: engine.Scene | None, q: np.ndarray) -> np.ndarray:
    """Return q (batch, nq), put down if there is ground."""
    return q if scene is None or scene.ground is None else np.stack([engine.put_down(model, scene, x) for x in q])
