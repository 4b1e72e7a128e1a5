"""A study with its robots: checks all names against them, and groups samples into batches.

The input is a `Description`, the results are `Task`s: samples of one `Group`, which share robot and settings, with
their values.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import files, robot_words
from engine.controller import ControllerError, held_steps
from engine.cpu.runtime.cores import cores
from engine.holding import holding_gains
from engine.model import Model, ModelError
from engine.recording.tables import units
from engine.robot_arguments import without_xacro_args
from engine.scene import Scene, put_down, stands
from engine.selection import steppers
from engine.study.controlling import Program
from engine.study.description import Description
from engine.study.quantities import Quantity, quantities_of, unit_of
from engine.study.sampling import Sampling
from engine.study.tables import Problems, nearest
from engine.study.variables import SETTINGS
from engine.validation import Array

WINDOW = 2**18
"""Number of samples examined together to find those that can share a batch."""
LISTED = 8
"""Number of most similar names to list for an unknown name."""
NOMINAL_BATCH = 1024
"""Batch size for which device and algorithm are chosen, whatever the actual sizes; 1 with a controller, which drives
one robot at a time.
"""


class BatchSettings(NamedTuple):
    """The settings common to the robots of a batch, by the names of `variables.SETTINGS`."""

    friction: float
    dt: float
    integrator: str
    algorithm: str
    device: str
    dtype: str
    robot: str


@dataclass(frozen=True, eq=False)
class Group:
    """A batch's data beside its samples: the resolved settings, and the robot's initial state.

    `q` (nq,) is the initial state, `gains` kp and kd (nv,) each, `quantities` the kept ones, `links` those pushed.
    """

    settings: BatchSettings
    model: Model
    scene: Scene | None
    q: Array
    gains: tuple[Array, Array]
    quantities: tuple[Quantity, ...]
    links: tuple[int, ...]
    program: Program | None = None
    threads: int | None = None
    """The number of threads per robot, where bits depend on it: for DCA-ABA on the CPU."""


@dataclass(frozen=True, eq=False)
class Task:
    """Samples (N,) to be stepped together, with the values (N,) of their variables."""

    samples: NDArray[np.int64]
    values: dict[str, NDArray[Any]]

    def part(self, first: int, end: int) -> Task:
        """Return some of the samples, by row range."""
        return Task(self.samples[first:end], {name: x[first:end] for name, x in self.values.items()})

    def only(self, row: int) -> Task:
        """Return one sample, by row."""
        return self.part(row, row + 1)


NONE = Task(np.zeros(0, np.int64), {})


class Plan:
    """A study with loaded robots. Raises StudyError if it names anything they do not have."""

    def __init__(self, study: Description, folder: Path, problems: Problems, trust_xacro: bool = False):
        self.study, self.folder, self._trust = study, folder, trust_xacro
        self.sampling = Sampling(study)
        self._groups: dict[BatchSettings, Group] = {}
        self.decided: dict[str, list[Any]] = {}
        self.robots: dict[str, Model] = {}
        for way, name in self._robot_names():
            try:
                self.robots[name] = self._load(name)
            except (OSError, ModelError, ValueError) as error:
                problems.add(way, f"{name}: {error}".replace("\n", "; "), "name a valid file or a robot that ships")
        self.program = self._read_program(problems)
        for name, model in self.robots.items():
            _Names(study, model, name if len(self.robots) > 1 else "", problems).check()
        problems.end()

    def _robot_names(self) -> list[tuple[tuple[str | int, ...], str]]:
        """Return the robots' names, with their places in the file."""
        robots: list[tuple[tuple[str | int, ...], str]] = []
        for k, axis in enumerate(self.study.axes):
            if axis.what == "robot":
                robots += [(("vary", k, "values"), name) for name in axis.values]
        return robots or [(("robot",), name) for name in (self.study.robot,) if name]

    def _load(self, name: str) -> Model:
        parts, xacro_args = without_xacro_args(name.split(" "))
        name = " ".join(parts)
        beside = self.folder / name
        folders = [str(self.folder / folder) for folder in self.study.package_dirs]
        words = str(beside) if beside.is_file() else str(_installed(name)) if _is_installed(name) else name
        model = robot_words.model_named(words, folders, self.study.floating, True, self._trust, xacro_args)
        return model.with_gravity(np.array(self.study.gravity))

    def _read_program(self, problems: Problems) -> Program | None:
        """Read the controller's file, and check it as far as possible without executing it."""
        if not self.study.controller:
            return None
        try:
            program = Program.read(self.folder / self.study.controller)
        except (OSError, ValueError) as error:
            wording = (
                f"there is no file {self.study.controller!r}" if isinstance(error, FileNotFoundError) else f"{error}"
            )
            problems.add(("controller",), wording, "name a Python file with a function control(t, q, v)")
            return None
        known = program.parameters
        for k, axis in enumerate(self.study.axes):
            if axis.what == "parameter" and axis.of and axis.of not in known:
                fix = f"use one of {', '.join(known)}{nearest(axis.of, known)}" if known else "assign it a number"
                problems.add(("vary", k, "of"), f"{program.path.name} assigns no {axis.of!r} at its top level", fix)
        self._check_steps(program, problems)
        return program

    def _check_steps(self, program: Program, problems: Problems) -> None:
        """Check that the controller's PERIOD is a whole number of each time step, as far as both are listed."""
        steps: dict[tuple[str | int, ...], tuple[Any, ...]] = {("dt",): (self.study.dt,)}
        periods: tuple[Any, ...] = (program.period,)
        for k, axis in enumerate(self.study.axes):
            if axis.what == "dt":
                steps = {("vary", k, axis.spread): axis.values}
            elif axis.what == "parameter" and axis.of == "PERIOD":
                periods = () if axis.drawn else axis.values
        for (place, listed), period in product(steps.items(), periods):
            for dt in listed:
                try:
                    held_steps(program.path.name, period, dt)
                except ControllerError as error:
                    wording, _, fix = str(error).partition("; ")
                    problems.add(place, wording, fix)

    def tasks(self, missing: NDArray[np.bool_], size: Callable[[Group, int], int]) -> Iterator[tuple[Group, Task]]:
        """Yield batches of the samples that are `missing` (count,); `size` returns the size of the next batch."""
        for first in range(0, len(missing), WINDOW):
            samples = first + np.flatnonzero(missing[first : first + WINDOW])
            if not len(samples):
                continue
            values = self.sampling.values(samples)
            for rows in self._alike(values, len(samples)):
                group, taken = self.group({name: x[rows[0]] for name, x in values.items()}), 0
                while taken < len(rows):
                    part = rows[taken : taken + size(group, len(rows) - taken)]
                    taken += len(part)
                    yield group, Task(samples[part], {name: x[part] for name, x in values.items()})

    def _alike(self, values: dict[str, NDArray[Any]], count: int) -> list[NDArray[np.int64]]:
        """Return the rows that share all settings, group by group."""
        code = np.zeros(count, np.int64)
        for axis in self.study.axes:
            if axis.variable.setting:
                known, place = np.unique(values[axis.name], return_inverse=True)
                _, code = np.unique(code * len(known) + place, return_inverse=True)
        order = np.argsort(code, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if count else []

    def group(self, values: dict[str, Any]) -> Group:
        """Return the group of a sample with these values."""
        own = {axis.what: values[axis.name] for axis in self.study.axes if axis.variable.setting}
        plain = {name: x.item() if isinstance(x, np.generic) else x for name, x in own.items()}
        requested = BatchSettings(**{name: plain.get(name, getattr(self.study, name)) for name in SETTINGS})
        if requested not in self._groups:
            self._groups[requested] = self._made(requested)
        return self._groups[requested]

    def _made(self, requested: BatchSettings) -> Group:
        study, model = self.study, self.robots[requested.robot]
        scene = Scene(friction=requested.friction) if has_ground(study, model) else None
        q: Array = model.neutral()
        for joint, x in study.start.items():
            q[model.q_slice(joint)] = x
        if scene is not None:
            q = put_down(model, scene, q)
        gains = (np.zeros(model.nv), np.zeros(model.nv))
        held = holding_gains(model, requested.dt, requested.integrator, q) if study.hold else gains
        algorithm, device, *shared = self.decided[
            _choice(requested.robot, requested.algorithm, requested.device, requested.dtype)
        ]
        settings = requested._replace(algorithm=algorithm, device=device)
        known = dict(quantities_of(model, scene is not None))
        kept = tuple(known[each.quantity] for each in study.kept)
        links = tuple(model.link_names.index(push.link) for push in study.pushes)
        return Group(settings, model, scene, q, held, kept, links, self.program, *shared)

    def choices(self) -> Iterator[tuple[str, str, str, str]]:
        """Return robot, algorithm, device and number type for all combinations of settings."""
        lists = {axis.what: axis.values for axis in self.study.axes if axis.variable.words}
        names = ("robot", "algorithm", "device", "dtype")
        return product(*(lists.get(name, (getattr(self.study, name),)) for name in names))

    @cached_property
    def units(self) -> dict[str, str]:
        """Return the units of the columns, by name; "" for words, predicates, multiples and numbers without."""
        model = next(iter(self.robots.values()))
        known, of_v, unit_of_column = (
            dict(quantities_of(model, has_ground(self.study, model))),
            units(model)[1],
            dict[str, str](),
        )
        for axis in self.study.axes:
            unit, (first, _, second) = axis.variable.unit, axis.variable.unit.partition(" or ")
            if second and axis.of != "all":
                unit = first if of_v[model.v_slice(axis.of).start] == "rad" else second
            unit_of_column[axis.name] = "" if axis.factor or unit in ("1", "as there") else unit
        for kept in self.study.kept:
            unit_of_column[kept.name] = "" if kept.predicate else unit_of(model, known[kept.quantity])
        return unit_of_column

    @cached_property
    def digests(self) -> dict[str, str]:
        """Return hashes of the robots' and controller's files, by name; a generated robot is defined by its name."""
        digests = {
            name: hashlib.sha256(files.content(model.source)).hexdigest()[:16]
            for name, model in self.robots.items()
            if model.source is not None
        }
        return digests if self.program is None else digests | {self.study.controller: self.program.digest}


def _is_installed(name: str) -> bool:
    """Whether a robot is named as a file of an installed package, PACKAGE:FILE.urdf."""
    package, colon, _ = name.partition(":")
    return bool(colon) and package not in robot_words.GENERATED and len(package) > 1  # a single letter is a drive


def _installed(name: str) -> Path:
    """Return that file's path. Raises ValueError if the package is not installed, or has no such file."""
    package, _, ending = name.partition(":")
    try:
        paths = metadata.files(package) or []
    except (metadata.PackageNotFoundError, ValueError):
        raise ValueError(
            f"the package {package!r} is not installed; install it with pip install {package}, or list other robots"
        ) from None
    matching = sorted(str(file.locate()) for file in paths if f"/{file.as_posix()}".endswith(f"/{ending}"))
    if not matching or not ending:
        raise ValueError(f"the package {package!r} has no file {ending!r}")
    return Path(matching[0])


def decide(
    study: Description, models: Mapping[str, Model], choices: Sequence[tuple[str, str, str, str]]
) -> dict[str, list[Any]]:
    """Choose algorithm and device for each of the `Plan.choices` on this machine, and DCA-ABA's threads."""
    decisions: dict[str, list[Any]] = {}
    for robot, algorithm, device, dtype in choices:
        model = models[robot]
        scene = Scene() if has_ground(study, model) else None
        batch = 1 if study.controller else NOMINAL_BATCH
        try:
            on, by, _ = steppers.choose(model, batch, device, dtype, algorithm, scene)
        except ValueError as error:
            raise ValueError(f"robot {robot}: {error}") from None
        decisions[_choice(robot, algorithm, device, dtype)] = [by, on]
        if (by, on) == ("dca", "cpu"):
            decisions[_choice(robot, algorithm, device, dtype)].append(cores())
    return decisions


def _choice(robot: str, algorithm: str, device: str, dtype: str) -> str:
    return f"{robot}, {algorithm} on {device} in {dtype}"


def has_ground(study: Description, model: Model) -> bool:
    """Whether the robot is on the ground: by request, or because it stands there by default."""
    return stands(model) if study.ground is None else study.ground


class _Names:
    """Checks of a study's names against a robot: links, joints, quantities, ground.

    Names that are missing or cannot be read are "", and have been reported.
    """

    def __init__(self, study: Description, model: Model, robot: str, problems: Problems):
        self._study, self._model, self._problems = study, model, problems
        self._of = f"robot {robot} has" if robot else "the robot has"
        self._joints = [
            joint.name for joint in model.joints if joint.leader is None and model.q_of_v[joint.v.start] >= 0
        ]

    def check(self) -> None:
        """Report all problems."""
        study, model = self._study, self._model
        for k, push in enumerate(study.pushes):
            self._require(("push", k, "link"), "link", push.link, list(model.link_names))
        for joint in study.start:
            if self._require(("start", joint), "joint", joint, self._joints):
                self._require_within(("start", joint), joint, study.start[joint])
        for k, axis in enumerate(study.axes):
            if not axis.what or (axis.variable.of and not axis.of):
                continue
            if axis.of == "all" and axis.variable.every:
                if axis.what == "mass" and not axis.factor:
                    fix = "add factor = true, or name a link"
                    self._problems.add(("vary", k), "all bodies would have one mass", fix)
                continue
            if axis.variable.of == "link":
                if self._require(("vary", k, "of"), "link", axis.of, list(model.link_names)):
                    self._require_moving(("vary", k, "of"), axis.of, axis.what == "mass" and not axis.factor)
            elif axis.variable.of == "joint":
                self._require(("vary", k, "of"), "joint", axis.of, self._joints)
            elif axis.what in ("slope", "friction") and not has_ground(study, model):
                self._problems.add(("vary", k, "what"), f"{self._of} no ground", "add ground = true")
        known = [name for name, _ in quantities_of(model, False)]
        if not {kept.quantity for kept in study.kept} <= {"", *known}:  # else the meshes need not be read yet
            known = [name for name, _ in quantities_of(model, has_ground(study, model))]
        for k, kept in enumerate(study.kept):
            self._require(("keep", k, "quantity"), "quantity", kept.quantity, known)
        if study.ground and not model.collisions:
            self._problems.add(
                ("ground",), f"{self._of} no collision shapes", "give its links <collision>, or leave it out"
            )

    def _require_within(self, way: tuple[str | int, ...], joint: str, x: float) -> None:
        """Report initial positions outside the limits."""
        (lower,), (upper,) = (ends[self._model.v_slice(joint)] for ends in (self._model.lower, self._model.upper))
        if self._study.limits and not lower <= x <= upper:
            fix = f"give {lower:.4g} to {upper:.4g}, or limits = false"
            self._problems.add(way, f"{x:g} is beyond the joint's limits", fix)

    def _require_moving(self, way: tuple[str | int, ...], link: str, weighs: bool) -> None:
        body = int(self._model.link_body[self._model.link_names.index(link)])
        if body < 0:
            self._problems.add(way, f"link {link!r} does not move", "name a link that does")
        elif weighs and not self._model.mass[body] > 0:
            self._problems.add(way, f"link {link!r} has no mass to change", "name another, or vary its payload")

    def _require(self, way: tuple[str | int, ...], kind: str, name: str, names: list[str]) -> bool:
        if name in names or not name:
            return bool(name)
        if len(names) > LISTED:
            fix = f"use one of {', '.join(difflib.get_close_matches(name, names, LISTED, 0.0))}, …"
        else:
            fix = f"use one of {', '.join(names)}{nearest(name, names)}" if names else "leave it out"
        self._problems.add(way, f"{self._of} no {kind} {name!r}", fix)
        return False
