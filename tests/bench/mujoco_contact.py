"""MuJoCo on a plane, if installed: bodies of one shape, a box on a ramp, and a standing robot.

It uses the settings that its documentation recommends against slip: elliptic cones, impratio 100, and the implicit
integrator for gains.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import lie
from engine.bench.peers.peer import require
from engine.model import Model
from engine.validation import Array

G = 9.81
FREE = """<mujoco><option timestep="{dt}" cone="elliptic" impratio="100" integrator="implicitfast"/><worldbody>
<geom type="plane" size="0 0 1" friction="{mu} 0 0" condim="3"/><body><freejoint/>
<inertial pos="0 0 0" mass="{mass}" diaginertia="{i} {i} {i}"/>
<geom type="{shape}" size="{size}" friction="{mu} 0 0" condim="3"/></body></worldbody></mujoco>"""


def _mujoco() -> Any:
    """Return the module. Raises Missing if it is not installed."""
    os.environ.setdefault("MUJOCO_GL", "disable")  # nothing is drawn
    require("mujoco", "MuJoCo")
    import mujoco

    return mujoco


def box_on_ramp(mu: float, tilt: float, inertia: float, settle: float, seconds: float) -> float:
    """Return the displacement, m, of a box of 0.2 m and 2 kg within `seconds` after settling. Raises Missing."""
    gravity = G * np.array([-np.sin(tilt), 0, -np.cos(tilt)])
    model, data = _thrown(Body("box", (0.2, 0.2, 0.2), mu, 2.0, inertia, gravity, 0.1), 1e-3)
    _mujoco().mj_step(model, data, round(settle * 1e3))
    start = data.qpos[:3].copy()
    _mujoco().mj_step(model, data, round(seconds * 1e3))
    return float(np.linalg.norm(data.qpos[:3] - start))


class Body(NamedTuple):
    """A body of one shape on the plane z = 0, `size` (m) as in `Collision`; a force (N) along x acts at its centre.

    It begins `height` m high at rotation (3, 3), with velocities (3,) in the world. kg, kg m², m/s².
    """

    shape: str
    size: tuple[float, ...]
    mu: float
    mass: float
    inertia: float
    gravity: Array
    height: float
    rotation: Array = np.eye(3)
    linear: Array = np.zeros(3)
    angular: Array = np.zeros(3)
    force: float = 0.0


def free_body(body: Body, dt: float, seconds: float) -> tuple[Array, Array, Array, Array]:
    """Position (3,), rotation (3, 3) and velocities (3,) in the world, linear and angular, at last. Raises Missing."""
    model, data = _thrown(body, dt)
    _mujoco().mj_step(model, data, round(seconds / dt))
    R = lie.rotation_from_quaternion(np.roll(data.qpos[3:], -1))
    return data.qpos[:3].copy(), R, data.qvel[:3].copy(), R @ data.qvel[3:]


def _thrown(body: Body, dt: float) -> tuple[Any, Any]:
    """MuJoCo's model and data of the body as it begins."""
    mujoco = _mujoco()
    halves = {"box": [x / 2 for x in body.size], "capsule": [body.size[0], body.size[-1] / 2], "sphere": body.size}
    size = " ".join(map(str, halves[body.shape]))
    model = mujoco.MjModel.from_xml_string(
        FREE.format(dt=dt, mu=body.mu, mass=body.mass, i=body.inertia, shape=body.shape, size=size)
    )
    model.opt.gravity[:] = body.gravity
    data = mujoco.MjData(model)
    data.qpos[2], data.qpos[3:] = body.height, np.roll(lie.quaternion_from_rotation(body.rotation), 1)
    data.qvel[:3], data.qvel[3:] = body.linear, body.rotation.T @ body.angular
    data.xfrc_applied[1, 0] = body.force
    return model, data


def stopping(mu: float, speed: float, inertia: float, dt: float, angles: Array) -> Array:
    """Return the distances (angles,), m, of a flat box of 2 kg that starts at `speed` m/s. Raises Missing."""
    box = Body("box", (0.4, 0.4, 0.02), mu, 2.0, inertia, np.array([0, 0, -G]), 0.01)
    starts = (speed * np.array([np.cos(angle), np.sin(angle), 0]) for angle in angles)
    return np.array([np.linalg.norm(free_body(box._replace(linear=v), dt, 0.8)[0][:2]) for v in starts])


def on_plane(urdf: Path, kp: Array, kd: Array, dt: float, mu: float, elliptic: bool = True) -> tuple[Any, Any]:
    """MuJoCo's model of a robot on a free base over a plane, held by gains (nv,), and data of it. Raises Missing."""
    mujoco = _mujoco()
    spec = mujoco.MjSpec.from_file(str(urdf))
    spec.option.timestep = dt
    if elliptic:
        spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for geom in spec.geoms:
        geom.contype, geom.conaffinity, geom.friction = 1, 2, [mu, 0, 0]
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=2, conaffinity=1, friction=[mu, 0, 0]
    )
    passive = {equality.name1 for equality in spec.equalities}  # joints that follow others
    joints = [joint for joint in spec.joints if joint.type != mujoco.mjtJoint.mjJNT_FREE and joint.name not in passive]
    for joint in joints:
        spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    for actuator, p, d in zip(spec.actuators, kp[6:], kd[6:], strict=True):
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0], actuator.biasprm[1], actuator.biasprm[2] = p, -p, -d
    model = spec.compile()
    return model, mujoco.MjData(model)


def held_on_plane(
    urdf: Path, model: Model, kp: Array, kd: Array, dt: float, mu: float
) -> tuple[Any, Any, NDArray[np.int64]]:
    """As `on_plane`, with pyramidal cones and gains (nv,) by joints' names; and which velocity each actuator drives.

    Raises Missing.
    """
    theirs, data = on_plane(urdf, kp, kd, dt, mu, elliptic=False)
    joints = {joint.name: joint for joint in model.joints}
    own = np.array([joints[theirs.actuator(i).name].v.start for i in range(theirs.nu)], np.int64)
    theirs.actuator_gainprm[:, 0] = kp[own]
    theirs.actuator_biasprm[:, 1:3] = -np.stack([kp, kd], 1)[own]
    return theirs, data, own


def coordinates(theirs: Any, model: Model, q: Array) -> Array:
    """Our coordinates (batch, nq) as its model orders them: w before x, y, z, and joints by their names."""
    out = np.tile(theirs.qpos0, (len(q), 1))
    names = {joint.name: joint for joint in model.joints}
    for j in range(theirs.njnt):
        place, joint = int(theirs.jnt_qposadr[j]), names[theirs.joint(j).name]
        own = (names[joint.leader] if joint.leader else joint).q
        if theirs.jnt_type[j] == _mujoco().mjtJoint.mjJNT_FREE:
            out[:, place : place + 3] = q[:, own][:, :3]
            out[:, place + 3 : place + 7] = q[:, own][:, [6, 3, 4, 5]]
        else:
            out[:, place] = joint.multiplier * q[:, own][:, 0] + joint.offset
    return out


def standing(urdf: Path, kp: Array, kd: Array, dt: float, mu: float) -> tuple[Callable[[int], None], Any]:
    """Return a function that steps a standing robot on a free base, held by gains (nv,), and MuJoCo's data.

    Raises Missing.
    """
    mujoco = _mujoco()
    model, data = on_plane(urdf, kp, kd, dt, mu)
    mujoco.mj_step(model, data, 1000)
    return lambda steps: mujoco.mj_step(model, data, steps), data
