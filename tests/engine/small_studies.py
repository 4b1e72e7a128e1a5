"""Two small studies, and their undisturbed results, for tests of how studies are run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.study import tables
from engine.study.description import Description, parse
from engine.study.plan import Plan

PUSHED = """
robot = "quadruped"
seconds = 0.1
dt = 0.005
hold = true
samples = 4
seed = 3
trajectories = [1, 9]
[[push]]
link = "trunk"
begin = 0.02
force = 60.0
at = [0.05, 0.0, 0.02]
[[push]]
name = "shove"
link = "FL_shank"
duration = 0.03
force = 5.0
[[vary]]
what = "direction"
of = "push"
uniform = [0.0, 360.0]
[[vary]]
what = "begin"
of = "shove"
uniform = [0.0, 0.05]
[[vary]]
what = "mass"
of = "all"
factor = true
normal = [1.0, 0.2]
[[vary]]
what = "position"
of = "FL_thigh_joint"
uniform = [-0.1, 0.1]
[[vary]]
what = "slope"
uniform = [-5.0, 5.0]
[[vary]]
what = "friction"
values = [0.3, 0.8, 1.0]
[[keep]]
quantity = "trunk position z"
take = "min"
[[keep]]
quantity = "FL_foot |velocity|"
take = "mean"
[[keep]]
quantity = "contact force z"
take = "max"
[[keep]]
quantity = "FL_thigh_joint torque"
[[keep]]
quantity = "total energy"
take = "change"
[[keep]]
quantity = "contacts"
[[keep]]
name = "low"
quantity = "trunk position z"
take = "min"
below = 0.312
"""
SWUNG = """
robot = "double_pendulum"
seconds = 0.3
dt = 0.01
integrator = "semi-implicit"
limits = false
[[vary]]
what = "velocity"
of = "shoulder"
values = [0.0, 1e9, 1.0, 2.0]
[[keep]]
quantity = "elbow position"
[[keep]]
name = "bent"
quantity = "elbow position"
above = 0.0
"""


def named(folder: Path, text: str = PUSHED) -> Path:
    path = folder / "s.toml"
    path.write_text(text, "utf-8")
    return path


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return list(one) == list(other) and all(one[name].tobytes() == other[name].tobytes() for name in one)


def undisturbed(folder: Path) -> dict[str, np.ndarray]:
    """The pushed quadruped, each sample alone in this process."""
    engine.Study.read(named(folder)).run(folder / "r", processes=0, batch=1)
    return engine.Study.results(folder / "r")


def planned(path: Path) -> tuple[Description, Plan]:
    """What a study's file says, and the plan of its batches."""
    content, text = tables.read(path)
    return planned_of(content, path.parent, path.name, text)


def planned_of(
    content: Mapping[str, Any], folder: Path, name: str = "the study", text: str = ""
) -> tuple[Description, Plan]:
    """The same of a study's dictionaries and lists."""
    problems = tables.Problems(name, text)
    description = parse(content, problems)
    return description, Plan(description, folder, problems, False)
