"""Claims of docs/studies.md."""

import re
from collections.abc import Iterable

import page_text
from page_text import exempt, g, words

import engine
from engine.study import description, on_ray, pictures, study, summaries
from engine.study.tables import Problems
from engine.study.variables import VARIABLES
from tests.engine.small_studies import planned

PAGE = "docs/studies.md"
claims = page_text.of(PAGE)
SHIPPED = engine.ROBOTS.parent / "docs" / "studies"


def _defaults() -> description.Description:
    table = {"robot": "arm7", "push": [{"link": "hand"}], "keep": [{"quantity": "total energy"}]}
    return description.parse(table, Problems("", ""))


@claims
def defaults() -> Iterable[str]:
    """Defaults of the file's keys."""
    of = _defaults()
    (push,) = of.pushes
    yes = {True: "true", False: "false"}
    assert of.package_dirs == of.trajectories == of.start == () or (of.start == {} and not of.package_dirs)
    yield f"add a free joint at the root | `[]`, {yes[of.floating]} |"
    yield f"| of a run, and its time step, s | {of.seconds:g}, {of.dt:g} |"
    yield f"| see `engine.Simulation` | {of.integrator}, {of.algorithm}, {of.device}, {of.dtype} |"
    yield f"joint limits are enforced | {yes[of.hold]}, {yes[of.limits]} |"
    assert of.ground is None
    assert of.controller == ""
    yield "that controls the robot | none |"
    yield f"| if the robot stands by default, {of.friction:g}, {of.slope:g} |"
    assert push.at == (0, 0, 0)
    numbers = (push.force, push.direction, push.begin, push.duration)
    yield f"| {push.name}, –, {', '.join(f'{x:g}' for x in numbers)}, its origin |"
    yield f"{words(description.SAMPLINGS, 'or')} | {of.samples}, {of.sampling}, {of.seed} |"
    yield f"| interval at which kept quantities are evaluated, s | {of.every:g} |"
    yield f"{words(description.TAKES, 'or').replace('end,', 'end (default),')}"
    assert of.kept[0].take == "end"


@claims
def variables() -> Iterable[str]:
    """Every one of them is in the table, in the row of what it belongs to."""
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|(.*?) \|", page_text.source(PAGE), re.MULTILINE)
    found = {name: of for names, of in rows for name in re.findall(r"`(\w+)`", names)}
    for name, variable in VARIABLES.items():
        kind = f"a {variable.of}" if variable.of else ""
        assert found[name].strip() == f"{kind}{' or all' * variable.every}", name
        yield f"`{name}`"
    shared = [name for name, variable in VARIABLES.items() if variable.setting]
    yield f"| {', '.join(f'`{name}`' for name in shared)} | | | constant in a batch"


@claims
def numbers() -> Iterable[str]:
    """Numbers of the studies that ship, and of batches."""
    pushed, arm = (planned(SHIPPED / f"{name}.toml")[0] for name in ("pushed_quadruped", "arm_payload"))
    (push,), axes = pushed.pushes, pushed.axes
    directions, frictions = (len(axis.values) for axis in axes)
    assert frictions == 5
    yield f"{g(push.force)} N for {g(push.duration)} s from {directions} directions at five frictions."
    yield f"Does it stand {g(pushed.seconds)} s later?"
    yield f"grid: {directions} directions, at each of them"
    yield f"five frictions: {pushed.count} samples"
    (bound,) = {abs(x) for kept in arm.kept if kept.predicate for x in (kept.above, kept.below)}
    yield f"the payload at which an arm's hand sinks by {1000 * bound:g} mm"
    yield f"is repeated, up to {on_ray.RETRIES} times"
    assert summaries.CONFIDENCE == 1.96
    yield "its probability lies with 95 % (Wilson's)"


@claims
def options() -> Iterable[str]:
    """Options of the command."""
    (shown,) = (action for action in page_text.actions(page_text.commands()["study"]) if action.dest == "picture")
    yield f"`--picture {shown.metavar}` plots the results"
    yield f'`--picture {shown.metavar} --x "hand payload" --y kp` shows the border.'
    varied, kept = ("a", "b"), {"c": False, "d": True}
    assert pictures.axes(varied, kept, None, None, None) == ("a", "b", "d")
    assert pictures.axes(varied, {"c": False}, None, None, None) == ("a", "b", "c")
    yield "for a predicate as `--y` its share, with Wilson's interval. `--x`, `--y` and `--color` name the columns;"
    yield "by default they are the variables, coloured by the first predicate or number."


@claims
def led() -> Iterable[str]:
    """The work of a leader of many machines."""
    yield f"of {study.MAX_SAMPLES['cuda']:,} samples, on a GPU"
    yield f"With batches of {study.LONG:g} s, {4096 / study.LONG:.0f} would end each second,"
    yield f"So batches grow until at most {study.LED} end in a second, {4096 / study.LED:.0f} s each."
    yield f"{1e9 / study.MAX_SAMPLES['cuda']:.0f} batches of a GPU"
    yield f"{1e9 / study.MAX_SAMPLES['cuda']:.0f} parts"
    assert on_ray.AHEAD == 2
    yield "object store holds two batches for each GPU"


exempt(
    PAGE,
    "measured once, on a machine that other work shared, and arithmetic with it",
    "### 64 machines, 10⁹ samples … These numbers are extrapolated, not measured on 64 machines",
    "| of 7000, on a core",
    "| drawing its values … 0.17, 0.18, 0.20 MB |",
    "942 empty tasks a second, with 1024 waiting. 10⁹ samples are",
    "0.27 s for a GPU's batch, so a million samples a second at most, and 10⁹ in 17 minutes. This limits 64 GPUs",
    "more than 15 thousand samples a second;",
    "with 64 machines of 64 cores,",
    "12 ms of one core, so all step 350 thousand a second and 10⁹ in 48 minutes.",
    "a leader writes 50 parts",
    "a lost machine 64 times as much.",
    "24 bytes to and 26 from the workers for each sample, 50 GB in all, 48 MB a second at a million samples a second.",
    "840 MB for 64.",
    "28.5 GB, or 86 thousand from cores.",
    "some 4 ms a part, and needs a byte of memory for each sample, 1 GB.",
)
exempt(PAGE, "measured on GPUs", "### A GPU, and two … in batches of two sizes,")
exempt(PAGE, "a figure of the paper", "[Y], Fig. 2: chains")
exempt(
    PAGE,
    "an example",
    "seconds = 2.0 … dt = 0.002",
    "begin = 0.2 duration = 0.1 force = 200.0",
    "grid = [0.0, 359.0, 360]",
    "values = [0.2, 0.4, 0.6, 0.8, 1.0]",
    "above = 0.25",
    "grid = [100.0, 2500.0, 8]",
    "ray://HOST:10001",
    "--processes 1`",
)
