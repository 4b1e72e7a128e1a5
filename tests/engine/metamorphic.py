"""Equivalent descriptions of robots: bodies split, links renamed and shuffled, other units, mirrored."""

import dataclasses

import numpy as np

import engine
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL
from engine.model.model import Model


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
