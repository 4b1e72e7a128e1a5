"""Runs as tables of text."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from engine import files
from engine.model import Model
from engine.rollout import Trajectory


def save_csv(path: str | Path, model: Model, run: Trajectory, robot: int = 0) -> None:
    """Write a trajectory as a table, whole or not at all: time, then q, v and tau by the names of the coordinates.

    Wrenches from outside follow by the links' names, moments and forces in the link's frame, N m and N.
    """
    parts = [x if x.ndim == 2 else x[robot] for x in (run.q, run.v, run.tau)]
    names = ["time_s", *(f"q:{name}" for name in q_names(model))]
    names += [f"{kind}:{name}" for kind in ("v", "tau") for name in model.coordinate_names]
    if run.wrench_links:
        wrench = run.wrench if run.wrench.ndim == 3 else run.wrench[robot]
        parts.append(wrench.reshape(len(wrench), -1))
        names += [f"wrench:{link}.{part}" for link in run.wrench_links for part in ("nx", "ny", "nz", "fx", "fy", "fz")]
    with files.replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        table = csv.writer(text)
        table.writerow(names)
        for row in np.concatenate([run.time[:, None], *parts], 1).tolist():
            table.writerow(row)
        text.detach()


def q_names(model: Model) -> tuple[str, ...]:
    """(nq,): a name for each coordinate: the joint's, with the component where it has several."""
    names: list[str] = []
    for joint in model.joints:
        if joint.leader is None:
            width = joint.q.stop - joint.q.start
            parts = ("x", "y", "z", "qx", "qy", "qz", "qw")[-width:] if width in (4, 7) else joint.type.parts
            names += [f"{joint.name}.{part}" for part in parts] or [joint.name]
    return tuple(names)
