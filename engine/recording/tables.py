"""Runs as text tables."""

from __future__ import annotations

import csv
import io
from itertools import repeat
from pathlib import Path

import numpy as np

from engine import files
from engine.model import Model
from engine.model.joints import BODY_JOINTS
from engine.rollout import Trajectory


def save_csv(path: str | Path, model: Model, run: Trajectory, robot: int = 0) -> None:
    """Write a trajectory as a table, whole or not at all: time, then q, v and tau by the names of the coordinates.

    Wrenches from outside follow by the links' names, moments and forces in the link's frame, and then what the program
    logged, "log:phase", an empty cell where there is no number. Each name has its unit:
    "time [s]", "q:elbow [rad]", "v:elbow [rad/s]", "tau:elbow [N m]"; a quaternion's numbers have none. Of a
    batch it is the robot of that number, `robot`. A trajectory without tau has no columns of it.
    """
    parts = [x if x.ndim == 2 else x[robot] for x in (run.q, run.v, run.tau) if x is not None]
    of_q, of_v = units(model)
    names = ["time [s]", *map(_named, q_names(model), of_q, repeat("q"))]
    names += map(_named, model.coordinate_names, (f"{unit}/s" for unit in of_v), repeat("v"))
    if run.tau is not None:
        efforts = ("N m" if unit == "rad" else "N" for unit in of_v)
        names += map(_named, model.coordinate_names, efforts, repeat("tau"))
    if run.wrench_links:
        wrench = run.wrench if run.wrench.ndim == 3 else run.wrench[robot]
        parts.append(wrench.reshape(len(wrench), -1))
        parts_of_one = ("nx [N m]", "ny [N m]", "nz [N m]", "fx [N]", "fy [N]", "fz [N]")
        names += [f"wrench:{link}.{part}" for link in run.wrench_links for part in parts_of_one]
    if run.logged is not None:
        parts.append(run.logged)
        names += [f"log:{name}" for name in run.logged_names]
    with files.replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        table = csv.writer(text)
        table.writerow(names)
        for row in np.concatenate([run.time[:, None], *parts], 1).tolist():
            table.writerow(["" if number != number else number for number in row] if run.logged_names else row)
        text.detach()


def _named(name: str, unit: str, kind: str) -> str:
    return f"{kind}:{name} [{unit}]" if unit else f"{kind}:{name}"


def units(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return units: (nq,) of the coordinates, and (nv,) of the velocities times s: "rad", "m", "" for quaternions."""
    of_q, of_v = list[str](), list[str]()
    for joint in model.joints:
        for kind in joint.type.bodies if joint.leader is None else ():
            row = BODY_JOINTS[kind]
            of_body = ["rad" if column < 3 else "m" for column in row.columns]
            of_v += of_body
            of_q += of_body if row.quaternion is None else ["m"] * row.quaternion + [""] * 4
    return tuple(of_q), tuple(of_v)


def q_names(model: Model) -> tuple[str, ...]:
    """(nq,): a name for each coordinate: the joint's, with the component if it has several."""
    names: list[str] = []
    for joint in model.joints:
        if joint.leader is None:
            width = joint.q.stop - joint.q.start
            parts = ("x", "y", "z", "qx", "qy", "qz", "qw")[-width:] if width in (4, 7) else joint.type.parts
            names += [f"{joint.name}.{part}" for part in parts] or [joint.name]
    return tuple(names)
