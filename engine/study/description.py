"""A study as described by its file: robot, scene, time, variables and kept quantities, checked without a robot.

The input is a dictionary of TOML tables, the result a `Description`; `StudyError` lists all problems with line and fix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.model import EARTH
from engine.real_numbers import excerpt
from engine.step_settings import INTEGRATORS
from engine.study.tables import Problems, Table, is_number
from engine.study.variables import VARIABLES, Variable
from engine.validation import MAX_STEPS

SAMPLINGS = ("random", "latin-hypercube", "sobol")
TAKES = ("end", "min", "max", "mean", "change")
"""Reductions of a quantity over a run: last value, minimum, maximum, mean, and last minus first."""
DISTRIBUTIONS = ("uniform", "normal", "log_uniform")
SPREADS = ("values", "grid", *DISTRIBUTIONS)
MAX_SAMPLES = 2**30
"""Maximum number of samples, as many as Sobol's sequence has."""
MAX_GRID_VALUES = 10**6
"""Maximum number of values of one axis of a grid."""
MAX_HYPERCUBE_SAMPLES = 10**7
"""Maximum number of samples of a Latin hypercube, which is drawn as a whole."""


@dataclass(frozen=True)
class Push:
    """A force on a link for some time: N, along a horizontal direction, at a point in the link's frame, m."""

    name: str
    link: str
    force: float
    direction: float
    begin: float
    duration: float
    at: tuple[float, ...]


@dataclass(frozen=True)
class StudyAxis:
    """A variable: given by a list of values, which form a grid with those of other axes, or by a distribution."""

    name: str
    what: str
    of: str
    spread: str
    values: tuple[Any, ...]
    """The values of a list; the two parameters of a distribution."""
    factor: bool = False

    @property
    def variable(self) -> Variable:
        return VARIABLES[self.what]

    @property
    def drawn(self) -> bool:
        """Whether it is random."""
        return self.spread in DISTRIBUTIONS


@dataclass(frozen=True)
class KeptNumber:
    """A number that is kept of each run, or with bounds whether it is within them."""

    name: str
    quantity: str
    take: str
    below: float | None = None
    above: float | None = None

    @property
    def predicate(self) -> bool:
        return self.below is not None or self.above is not None


@dataclass(frozen=True)
class Description:
    """The content of a study's file, with defaults filled in."""

    title: str
    robot: str
    controller: str
    package_dirs: tuple[str, ...]
    floating: bool
    seconds: float
    dt: float
    integrator: str
    algorithm: str
    device: str
    dtype: str
    hold: bool
    limits: bool
    ground: bool | None
    friction: float
    slope: float
    gravity: tuple[float, ...]
    start: Mapping[str, float]
    pushes: tuple[Push, ...]
    axes: tuple[StudyAxis, ...]
    samples: int
    sampling: str
    seed: int
    kept: tuple[KeptNumber, ...]
    every: float
    trajectories: tuple[int, ...]

    @property
    def count(self) -> int:
        """The total number of samples: grid points times draws per point."""
        return self.samples * math.prod(len(axis.values) for axis in self.axes if not axis.drawn)


def parse(content: Mapping[str, Any], problems: Problems) -> Description:
    """Parse the tables. Problems are added to `problems`; without any, the description is complete."""
    table = Table(dict(content), (), problems)
    pushes = tuple(_push(each, k) for k, each in enumerate(table.tables("push")))
    axes = tuple(_axis(each, pushes) for each in table.tables("vary"))
    kept = tuple(_kept(each) for each in table.tables("keep"))
    description = Description(
        title=table.text("title", ""),
        robot=table.text("robot", ""),
        controller=table.text("controller", ""),
        package_dirs=_texts(table, "package_dirs"),
        floating=bool(table.flag("floating", False)),
        seconds=table.number("seconds", 1.0, 0.0, above=True, unit="s"),
        dt=table.number("dt", 1e-3, 0.0, above=True, unit="s"),
        integrator=table.text("integrator", "implicit", INTEGRATORS),
        algorithm=table.text("algorithm", "auto", ("auto", *VARIABLES["algorithm"].choices)),
        device=table.text("device", "auto", ("auto", *VARIABLES["device"].choices)),
        dtype=table.text("dtype", "float64", VARIABLES["dtype"].choices),
        hold=bool(table.flag("hold", False)),
        limits=bool(table.flag("limits", True)),
        ground=table.flag("ground", None),
        friction=table.number("friction", 0.8, 0.0),
        slope=table.number("slope", 0.0, unit="°"),
        gravity=table.numbers("gravity", EARTH, 3),
        start=_start(table),
        pushes=pushes,
        axes=axes,
        samples=table.whole("samples", 1, 1),
        sampling=table.text("sampling", "random", SAMPLINGS),
        seed=table.whole("seed", 0, 0),
        kept=kept,
        every=table.number("every", 0.01, 0.0, above=True, unit="s"),
        trajectories=_numbers_of_samples(table),
    )
    table.end()
    _require_whole(description, table)
    return description


def _require_whole(study: Description, table: Table) -> None:
    """Report the problems of the study as a whole."""
    if not study.robot and "robot" not in table and not any(axis.what == "robot" for axis in study.axes):
        table.problem("robot", "there is no robot", 'name a file or a robot that ships, robot = "quadruped"')
    if not study.kept and "keep" not in table:
        table.problem("", "nothing is kept", 'add [[keep]] with a quantity, such as quantity = "total energy"')
    for k, axis in enumerate(study.axes):
        if axis.what == "parameter" and not study.controller and "controller" not in table:
            fix = 'name the file whose number it is, controller = "control.py"'
            table.problems.add(("vary", k), "there is no controller", fix)
    columns = [*(axis.name for axis in study.axes), *(kept.name for kept in study.kept)]
    places = [("vary", k) for k in range(len(study.axes))] + [("keep", k) for k in range(len(study.kept))]
    for place, name in zip(places, columns, strict=True):
        if columns.count(name) > 1 or name in RESERVED:
            table.problems.add(place, f"two columns would be named {name!r}", "give it another name")
    for k, push in enumerate(study.pushes):
        if [each.name for each in study.pushes].count(push.name) > 1:
            table.problems.add(("push", k), f"two pushes are named {push.name!r}", "give it another name")
    shortest = min((x for axis in study.axes if axis.what == "dt" for x in axis.values), default=study.dt)
    if shortest > 0 and study.seconds / shortest > MAX_STEPS:
        steps = study.seconds / shortest
        table.problem("seconds", f"these are {steps:.3g} steps", "give fewer seconds or a greater dt")
    longest = max((x for axis in study.axes if axis.what == "dt" for x in axis.values), default=study.dt)
    if study.seconds < longest:
        table.problem("seconds", f"a step is longer, {longest:g} s", "give more seconds or a smaller dt")
    if study.count > MAX_SAMPLES:
        table.problem("samples", f"these are {study.count:.3g} samples in all", f"give at most {MAX_SAMPLES:.3g}")
    elif study.sampling == "latin-hypercube" and study.samples > MAX_HYPERCUBE_SAMPLES:
        table.problem("samples", f"a Latin hypercube of {study.samples} is drawn as a whole", 'take sampling = "sobol"')
    read = not any(entry.element.partition(".")[0] in ("vary", "samples") for entry in table.problems.diagnostics)
    for sample in study.trajectories if read else ():
        if sample >= study.count:
            table.problem("trajectories", f"there is no sample {sample}", f"give numbers from 0 to {study.count - 1}")
            break
    if read and study.samples > 1 and not any(axis.drawn for axis in study.axes):
        table.problem("samples", "nothing is drawn by chance, so all would be alike", "leave it out, or vary by chance")


RESERVED = ("sample", "diverged", "diverged_at")
"""The columns that every study's results have."""


def _push(table: Table, k: int) -> Push:
    push = Push(
        name=table.text("name", "push" if k == 0 else f"push{k + 1}"),
        link=table.text("link", ""),
        force=table.number("force", 0.0, unit="N"),
        direction=table.number("direction", 0.0, unit="°"),
        begin=table.number("begin", 0.0, 0.0, unit="s"),
        duration=table.number("duration", 0.1, 0.0, unit="s"),
        at=table.numbers("at", (0.0, 0.0, 0.0), 3),
    )
    if not push.link and "link" not in table:
        table.problem("", "it has no link", 'say which link is pushed, link = "trunk"')
    table.end()
    return push


def _axis(table: Table, pushes: tuple[Push, ...]) -> StudyAxis:
    what = table.text("what", "", tuple(VARIABLES))
    if not what and "what" not in table:
        table.problem("", "it does not say what varies", f"give what, one of {', '.join(VARIABLES)}")
    of = table.text("of", "")
    default_name = of if what == "parameter" else what if of in ("", "all") else f"{of} {what}"
    name = table.text("name", default_name)
    factor = bool(table.flag("factor", False))
    spreads = [spread for spread in SPREADS if spread in table]
    values: tuple[Any, ...] = ()
    for spread in SPREADS:
        read = _values(table, spread, what)
        values = read if spread in spreads else values
    if len(spreads) != 1 and what:
        came = " and ".join(spreads) or "none of them"
        table.problem("", f"it has {came}", f"say how it varies, by one of {', '.join(SPREADS)}")
    table.end()
    if variable := VARIABLES.get(what):
        _require_owner(table, what, variable, of, pushes)
        if factor and not variable.factor:
            table.problem("factor", f"{what} cannot be multiplied by a factor", "leave it out")
        if spreads and spreads[0] in DISTRIBUTIONS and variable.words:
            table.problem(spreads[0], f"{what} is not a number", "list values")
    return StudyAxis(name, what, of, (spreads or ["values"])[0], values, factor)


def _require_owner(table: Table, what: str, variable: Variable, of: str, pushes: tuple[Push, ...]) -> None:
    """Report problems with a variable's owner; link and joint names are checked with the robot."""
    if not variable.of and of:
        table.problem("of", f"{what} belongs to the run", "leave it out")
    if variable.of and not of:
        table.problem("", f"it does not say whose {what}", f"give of, a {variable.of}{' or all' * variable.every}")
    if variable.of == "push" and of and of not in [push.name for push in pushes]:
        names = ", ".join(push.name for push in pushes) or "none"
        table.problem("of", f"there is no push {of!r}", f"add it as [[push]]; those there are: {names}")


def _values(table: Table, spread: str, what: str) -> tuple[Any, ...]:
    """Return the list, or the distribution's two parameters."""
    value, variable = table.value(spread), VARIABLES.get(what)
    if value is None or variable is None:
        return ()
    if spread == "values":
        if variable.words:
            return _words(table, value, variable)
        numbers = tuple(map(float, value)) if isinstance(value, list) and all(map(is_number, value)) else ()
        if not numbers:
            table.problem(spread, f"it is {excerpt(value)}", "give a list of numbers, [0.2, 0.4, 0.8]")
    elif spread == "grid":
        numbers = _grid(table, value)
    else:
        numbers = _distribution(table, spread, value)
    lowest = numbers[:1] if spread == "normal" else numbers
    if variable.least is not None and any(x < variable.least for x in lowest):
        table.problem(spread, f"{what} would be {min(lowest):g}", f"give {variable.least:g} or more")
    return numbers


def _words(table: Table, value: Any, variable: Variable) -> tuple[Any, ...]:
    choices = variable.choices
    if isinstance(value, list) and value and all(isinstance(x, str) and (not choices or x in choices) for x in value):
        return tuple(value)
    table.problem("values", f"it is {excerpt(value)}", f"give a list of {', '.join(choices) or 'robots'}")
    return ()


def _grid(table: Table, value: Any) -> tuple[float, ...]:
    whole = isinstance(value, list) and len(value) == 3 and all(map(is_number, value))
    if not whole or not isinstance(value[2], int) or not 2 <= value[2] <= MAX_GRID_VALUES:
        bounds = f"2 to {MAX_GRID_VALUES}"
        table.problem("grid", f"it is {excerpt(value)}", f"give first, last and how many, {bounds}: [0.0, 1.0, 11]")
        return ()
    first, last, count = value
    return tuple(first + (last - first) * (k / (count - 1)) for k in range(count))


def _distribution(table: Table, spread: str, value: Any) -> tuple[float, ...]:
    whole = isinstance(value, list) and len(value) == 2 and all(map(is_number, value))
    if spread == "normal" and not (whole and value[1] > 0):
        table.problem(spread, f"it is {excerpt(value)}", "give a mean and a positive standard deviation, [1.0, 0.1]")
    elif spread != "normal" and not (whole and value[0] < value[1] and (spread == "uniform" or value[0] > 0)):
        rule = "" if spread == "uniform" else ", both positive"
        table.problem(spread, f"it is {excerpt(value)}", f"give the least and the greatest{rule}, [0.5, 2.0]")
    else:
        return float(value[0]), float(value[1])
    return ()


def _kept(table: Table) -> KeptNumber:
    quantity = table.text("quantity", "")
    if not quantity and "quantity" not in table:
        table.problem("", "it has no quantity", 'name one as the plots do, quantity = "hand position z"')
    take = table.text("take", "end", TAKES)
    bounds = {key: table.number(key, math.nan) if key in table else None for key in ("below", "above")}
    bounded = any(bound is not None for bound in bounds.values())
    if bounded and "name" not in table:
        table.problem("", "it has bounds and no name", 'say what it means where they hold, name = "fell"')
    below, above = bounds["below"], bounds["above"]
    if below is not None and above is not None and below <= above:
        fix = "exchange the two, or leave one out"
        table.problem("below", f"no number is above {above:g} and below {below:g}", fix)
    name = table.text("name", quantity if take == "end" else f"{quantity} {take}")
    for key in bounds:
        table.value(key)
    table.end()
    return KeptNumber(name, quantity, take, **bounds)


def _texts(table: Table, key: str) -> tuple[str, ...]:
    value = table.value(key)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    table.problem(key, f"it is {excerpt(value)}", "give a list of texts")
    return ()


def _start(table: Table) -> dict[str, float]:
    """Return the joints' initial positions, by name."""
    value = table.value("start")
    if value is None:
        return {}
    if isinstance(value, dict) and all(map(is_number, value.values())):
        return {name: float(x) for name, x in value.items()}
    table.problem("start", f"it is {excerpt(value)}", "give positions of joints in rad or m, [start] and joint1 = 0.3")
    return {}


def _numbers_of_samples(table: Table) -> tuple[int, ...]:
    value = table.value("trajectories")
    if value is None:
        return ()
    whole = isinstance(value, list) and all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in value)
    if whole:
        return tuple(sorted(set(value)))
    table.problem("trajectories", f"it is {excerpt(value)}", "list the numbers of samples, from 0, [0, 17]")
    return ()
