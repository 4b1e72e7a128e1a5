"""Third-party robots in a folder, for measurements on a machine without `example-robot-data`.

Each has a folder with `robot.urdf`, which names hulls beside it, for peers, and `robot.pickle` with the model, its
standing posture and its gains, so that no URDF needs to be read.
"""

import dataclasses
import pickle
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from engine import lie
from engine.model import Model
from engine.ownership import NotOurs, make_own_folder, own_content
from engine.validation import Array
from tests.bench import real_robots
from tests.bench.real_robots import Case

URDF, PICKLE = "robot.urdf", "robot.pickle"
SPREAD = {"standing": (0.02, 0.01), "walking": (0.02, 0.01), "falling": (real_robots.SWING, real_robots.HEIGHT)}
"""rad beside the posture in which robots start, at random, and m above the ground."""
TURN = 0.3
"""rad by which those that fall are turned at random, in roll, pitch and yaw."""
FEW = 512
"""So many starts and targets differ; robots of larger batches share them, and of smaller ones have the first."""


def slug(name: str) -> str:
    """Return a robot's name for folders and options: "simple humanoid" is "simplehumanoid"."""
    return re.sub("[^a-z0-9]", "", name.lower())


def named(names: Iterable[str]) -> tuple[str, ...]:
    """The robots of such names, however they are spelled. Raises ValueError for one that is unknown."""
    known = {slug(name): name for name in real_robots.ROBOTS}
    found = []
    for name in names:
        if slug(name) not in known:
            raise ValueError(f"there is no robot {name!r}; take some of {', '.join(known)}")
        found.append(known[slug(name)])
    return tuple(found)


def prepare(name: str, folder: Path) -> Path:
    """Write a robot of `example-robot-data` to a folder of its own, and return it. Raises ValueError without that.

    Raises OSError also if others could write there, since unpickling can run anything.
    """
    own = folder / slug(name)
    real_robots.file_of(name)
    make_own_folder(own)
    for old in own.iterdir():
        old.unlink()
    _, model, *rest = real_robots.case_named(name, "standing", own)
    (own / PICKLE).touch(0o600)
    (own / PICKLE).write_bytes(pickle.dumps((_moved(model, None), *rest)))
    return own


def read(name: str, folder: Path) -> Case:
    """Read a robot written by `prepare`. Raises ValueError for any other, or if others could have written it."""
    own = (folder / slug(name)).absolute()
    try:
        model, *rest = pickle.loads(own_content(own / PICKLE))
    except NotOurs as fault:
        raise ValueError(f"{fault}, so that no {name} is unpickled there; write it by --prepare elsewhere") from fault
    except OSError as fault:
        raise ValueError(f"{own} holds no {name} ({fault.strerror}); write it there by --prepare") from fault
    return Case(own / URDF, _moved(model, own), *rest)


def _moved(model: Model, folder: Path | None) -> Model:
    """Return the model with its meshes in another folder; None removes them for writing."""

    def place(mesh: str | None) -> str | None:
        if mesh is None:
            return None
        return Path(mesh).name if folder is None else str(folder / Path(mesh).name)

    shapes = tuple(dataclasses.replace(shape, mesh=place(shape.mesh)) for shape in model.collisions)
    return dataclasses.replace(model, collisions=shapes, source=str(folder / URDF) if folder else None)


def starts(robot: Case, way: str, batch: int) -> Array:
    """States (batch, nq) beside the posture and above the ground; `FEW` differ, the same whenever it is called."""
    model, rng, (angle, rise) = robot.model, np.random.default_rng(7), SPREAD[way]
    q = np.tile(robot.q, (FEW, 1))
    joints = np.flatnonzero(model.q_of_v >= 0)
    places = model.q_of_v[joints]
    apart = q[:, places] + rng.uniform(-angle, angle, (FEW, len(joints)))
    q[:, places] = np.clip(apart, model.lower[joints], model.upper[joints])
    q[:, 2] += rise
    if way == "falling":
        turns = lie.rotation_from_rpy(rng.uniform(-TURN, TURN, (FEW, 3))) @ lie.rotation_from_quaternion(q[:, 3:7])
        q[:, 3:7] = lie.quaternion_from_rotation(turns)
    return np.asarray(np.resize(q, (batch, model.nq)))


def targets(robot: Case, way: str, batch: int, count: int) -> Array:
    """Return the gains' setpoints, (count, batch, nv) for walking robots, else (1, 1, nv)."""
    rest = robot.posture
    if way != "walking":
        return rest[None, None]
    joints = robot.model.q_of_v >= 0
    swing = real_robots.SWING * np.random.default_rng(8).uniform(-1, 1, (count, FEW, robot.model.nv)) * joints
    return (rest + swing)[:, np.resize(np.arange(FEW), batch)]


def gains(robot: Case, way: str) -> tuple[Array, Array]:
    """Return kp and kd, (nv,) each: none for falling robots."""
    return (0 * robot.kp, 0 * robot.kd) if way == "falling" else (robot.kp, robot.kd)
