"""The variables of a study by name: owner, unit and minimum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.selection.capabilities import ALGORITHMS, DEVICES
from engine.step_settings import INTEGRATORS


class Variable(NamedTuple):
    """A quantity that may differ between samples.

    `of` is its owner: "" (the run), "link", "joint", "push" or "number" (of the controller's file). With `every` it may
    apply to all owners; with `factor` it is a multiple of the robot's own value. A `setting` is common to the robots of
    a batch: samples with another value step in another batch.
    """

    meaning: str
    unit: str
    of: str = ""
    least: float | None = None
    every: bool = False
    factor: bool = False
    setting: bool = False
    choices: tuple[str, ...] = ()
    """The choices of a setting in words; none if the words are a robot's."""
    words: bool = False


VARIABLES: Mapping[str, Variable] = {
    "mass": Variable("of the body that carries the link, inertia in proportion", "kg", "link", 0.0, True, True),
    "payload": Variable("a point mass at the link's origin", "kg", "link", 0.0),
    "damping": Variable("viscous, of the joint", "N m s/rad or N s/m", "joint", 0.0, True, True),
    "joint_friction": Variable("Coulomb's, of the joint", "N m or N", "joint", 0.0, True, True),
    "kp": Variable("position gain of the joint's drive", "N m/rad or N/m", "joint", 0.0, True, True),
    "kd": Variable("velocity gain of the joint's drive", "N m s/rad or N s/m", "joint", 0.0, True, True),
    "position": Variable("of the joint at the start, where its drive also pulls to", "rad or m", "joint"),
    "velocity": Variable("of the joint at the start", "rad/s or m/s", "joint"),
    "parameter": Variable("of the controller: another value of a number that its file assigns", "as there", "number"),
    "slope": Variable("of the ground, rising towards −x", "°"),
    "gravity": Variable("along −z", "m/s²"),
    "force": Variable("of the push", "N", "push"),
    "direction": Variable("of the push, about z, from x", "°", "push"),
    "begin": Variable("when the push begins", "s", "push", 0.0),
    "duration": Variable("of the push", "s", "push", 0.0),
    "friction": Variable("Coulomb's coefficient of the ground", "1", least=0.0, setting=True),
    "dt": Variable("time step", "s", least=1e-7, setting=True),
    "integrator": Variable("by which steps are taken", "", setting=True, choices=INTEGRATORS, words=True),
    "algorithm": Variable("of forward dynamics", "", setting=True, choices=tuple(ALGORITHMS), words=True),
    "device": Variable("that steps", "", setting=True, choices=DEVICES, words=True),
    "dtype": Variable("number type", "", setting=True, choices=("float64", "float32"), words=True),
    "robot": Variable("a file, a robot that ships, or chain:N and tree:N", "", setting=True, words=True),
}
"""By name, in the order of the documentation."""
SETTINGS = tuple(name for name, variable in VARIABLES.items() if variable.setting)
