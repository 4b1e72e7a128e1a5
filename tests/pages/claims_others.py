"""Claims of CONTRIBUTING.md, and of the pages of the scheme, robustness, papers, lessons and live links."""

import ast
import tomllib
from collections.abc import Iterable
from unittest.mock import patch

import page_text
from page_text import ROOT, constants, e, exempt, g, word
from statuses import called, statuses

from app.picture import drawing_problem
from app.recording import autosave
from engine import Lesson, controller_process, phases
from engine.bench import intervals
from engine.bench.paper import claims as paper_claims
from engine.bench.paper import experiments
from engine.bench.suites import lengths
from engine.cuda.chains import dca
from engine.cuda.rigid_body import written_out
from engine.cuda.stepping.written_out_stepper import MAX_NUMBERS
from engine.lessons import drawing, pull
from engine.live import records, show
from engine.model import features
from engine.recording.recording import MAX_RUNS
from engine.scene import contact_tolerances
from engine.selection import capabilities
from engine.urdf.xacro import sandbox
from tests import test_house
from tests.bench import accuracy, rounds

SCHEME, ON_A_GPU, MEASURED = "docs/scheme.md", "docs/scheme_gpu.md", "docs/measured_algorithms.md"
ROBUST, PAPERS, RULES = "docs/robustness.md", "docs/papers.md", "CONTRIBUTING.md"
TESTING, LESSONS, LIVE = "docs/testing.md", "docs/lessons.md", "docs/live.md"
KERNELS_MEASURED = "docs/measured_kernels.md"
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _size(n: int) -> str:
    """1000, 2¹⁴."""
    return f"2{str(n.bit_length() - 1).translate(POWERS)}" if n & (n - 1) == 0 and n > 4096 else str(n)


@page_text.of(PAPERS)
def papers() -> Iterable[str]:
    """Sizes, statuses, options and the rules of judgement."""
    rows = {each.key: each for each in experiments.EXPERIMENTS}
    reported = {
        "fig2": "[Y] Fig. 2 | the links of one robot",
        "fig3a": f"[Y] Fig. 3a | the number of robots of {rows['fig3a'].fixed} links",
        "fig3b": f"[Y] Fig. 3b | the number of robots of {rows['fig3b'].fixed} links",
    }
    for key, start in reported.items():
        sizes, largest = rows[key].sizes, rows[key].largest
        yield f"| {start} | {'10' if key == 'fig2' else '1'} … {largest} | {_size(sizes[0])} … {_size(sizes[-1])} |"
    many = rows["speedup"].sizes
    yield (
        "| [B] | the links of one chain, DCA-ABA on 1, 2, 4 and all cores | four processors: "
        f"{paper_claims.SPEEDUP:g} | {many[0]} … {many[-1]} |"
    )
    with patch("engine.bench.paper.command.device.why_not", return_value="there is none"):
        no, _, _ = called("paper", "--device", "cuda")
    wrong, _, _ = called("paper", "--device", "tpu")
    yield (
        f"Exit status {statuses()[0]}: done; {no}: no GPU although requested, or an algorithm failed or gave a "
        f"wrong result; {wrong}: invalid call; {statuses()[3]}: interrupted."
    )
    yield f"their {100 * intervals.CONFIDENCE:.1f} % interval (of order statistics) excludes equality"
    assert experiments.MAX_CALL == 0.25
    yield "that would take more than a quarter of a second a call, extrapolated from the previous size"
    yield "`fig2`, `fig3a`, `fig3b`, `speedup` | the pictures, each as `.svg` and `.png`"
    assert [each.key for each in experiments.EXPERIMENTS] == ["fig2", "fig3a", "fig3b", "speedup"]


@page_text.of(SCHEME)
def tables() -> Iterable[str]:
    """What each algorithm supports, and its phases."""
    heads = ("algorithm", "what it does", "trees", "floating base", "ball joints", "prismatic", "mimic joints",
             "massless links", "runs on", "recommended up to", "work", "sequential steps", "source")  # fmt: skip
    yield _table(heads, *map(_cells, capabilities.ALGORITHMS.values()))
    of_a_step = [(on, f"`{name}`", ", ".join(row)) for on, rows in phases.PHASES.items() for name, row in rows.items()]
    yield _table(("device", "algorithm", "phases of a step"), *of_a_step)
    yield _table(("phase", "what is done in it"), *phases.MEANINGS.items())


def _table(heads: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)) + "\n"


def _cells(row: capabilities.Algorithm) -> tuple[str, ...]:
    cores = {"cpu": ", all cores" if row.threads else ""}
    runs = "; ".join(f"{device} ({form}{cores.get(device, '')})" for device, form in row.devices.items())
    supported: tuple[features.Feature, ...] = ("trees", "floating", "spherical", "prismatic", "mimic", "massless")
    marks = ("yes" if getattr(row, each) else "no" for each in supported)
    largest = f"{row.largest} links" if row.largest else "any size"
    return (f"`{row.name}`", row.full_name, *marks, runs, largest, f"O({row.work})", f"O({row.span})", row.source)


@page_text.of(ON_A_GPU)
def kernels() -> Iterable[str]:
    """Sizes that kernels have."""
    yield f"up to {word(dca.MAX_CLUSTER)} blocks are a cluster"
    yield f"Forward and inverse dynamics of robots of up to {written_out.MAX_BODIES} bodies, and steps"
    bits = constants("chains/sub_chain.cuh")["LOST"].partition("0x1p-40")[1].removeprefix("0x1p-")
    yield f"where $X$ is not 1 to within $2^{{-{bits}}}$"


@page_text.of(KERNELS_MEASURED)
def written_out_robots() -> Iterable[str]:
    """Which robots' steps are written out."""
    single, double = MAX_NUMBERS["float32"], MAX_NUMBERS["float64"]
    yield f"takes robots of up to {single} constants that are not zero ({double} in double precision)"


exempt(
    KERNELS_MEASURED,
    "measured by a call that the page names, whose result no file keeps",
    "two cores of an AMD EPYC, 2026-11-26 … | 0.56 | 1.6 |",
    "On a GPU the first step of 8192 robots … 36 s for quadrupeds in double precision.",
    "8192 falling Go2 under `ncu` … | humanoids standing | 8.9 and 20.5 | 14.2 and 23.8 |",
)


@page_text.of(MEASURED)
def sizes() -> Iterable[str]:
    """The measured sizes."""
    yield "| float32 | " + " | ".join(map(str, accuracy.LENGTHS)) + " |"
    yield "| float64 | " + " | ".join(map(str, accuracy.LENGTHS)) + " |"
    yield "| µs a call | " + " | ".join(map(str, lengths.LINKS)) + " |"


@page_text.of(ON_A_GPU, slow=True)
def schedules() -> Iterable[str]:
    """The rounds that trees take."""
    at = rounds.BODIES
    yield f"from {at[0]} bodies to {at[-1]:,} a random tree".replace(",", " ")
    shapes = ("random", "snake", "caterpillar", "binary", "star")
    ends = {shape: (rounds.rounds(shape, at[0]), rounds.rounds(shape, at[-1])) for shape in shapes}
    assert ends["snake"][1] == ends["caterpillar"][1]
    yield (
        f"a random tree goes from {ends['random'][0]} rounds to {ends['random'][1]}, a floating snake and a "
        "caterpillar from "
        f"{ends['snake'][0]} and {ends['caterpillar'][0]} to {ends['snake'][1]}, a balanced tree from "
        f"{ends['binary'][0]} to "
        f"{ends['binary'][1]} and a star from {ends['star'][0]} to {ends['star'][1]}"
    )


def length(path: str, name: str) -> int:
    """Return the length of a list or a dictionary in a test."""
    value = page_text.assigned(path, name)
    return len(value.keys if isinstance(value, ast.Dict) else value.elts)  # type: ignore[attr-defined]


@page_text.of(ROBUST)
def counted() -> Iterable[str]:
    """The numbers of tested cases."""
    text = tomllib.loads((ROOT / "tests" / "engine" / "dialects" / "expected.toml").read_text("utf-8"))
    yield f"| robots (URDF) | `tests/engine/dialects`: {len(text)} files, one problem each"
    taken, whole, refused, calls = (
        length("engine/test_array_kinds.py", name) for name in ("TAKEN", "WHOLE", "REFUSED", "CALLS")
    )
    yield f"| {taken + whole} forms that are accepted and {refused} that are refused, through {calls} arguments |"
    left = ast.literal_eval(page_text.assigned("engine/test_uneven_masses.py", "LEFT"))
    assert left["abia"] == left["jsiia"]
    yield (
        f"Bounds of the residual: ABIA and JSIIA {e(left['abia'])}, CFA {e(left['cfa'])}, DCA-ABA "
        f"{e(left['dca'])}; DCA-ABA "
        f"refuses links that are {features.UNEVEN:g} times as heavy as one of the {word(features.REACH)} before them."
    )
    broken = sum(length("engine/test_broken_cupy.py", name) for name in ("FAULTS", "RAISED"))
    yield f"| {broken} failures, each with `auto` and `cuda` |"
    yield f"| the same: {length('app/test_opening_problems.py', 'NAMES')} names,"


@page_text.of(ROBUST)
def bounded() -> Iterable[str]:
    """Times, bounds and statuses."""
    seconds, megabytes = sandbox.BOUNDS[False]
    yield f"xacro's own expansion is bounded by a process ({seconds} s, {megabytes // 1024} GB)"
    pauses = " and ".join(f"{ms / 1000:g} s" for ms in drawing_problem.PAUSES)
    yield f"objects are recreated after {pauses}; a persistent error is reported"
    yield f"the next start offers the robot, and the run up to {autosave.PERIOD:g} s before"
    yield f"the line and the exception in {controller_process.MAX_MESSAGE} characters"
    done, no, *_ = statuses()
    assert done == 0
    yield f"the window closes within {autosave.PARTING:g} s; no process is left"
    yield f"contact has a length scale: less than {e(contact_tolerances.GAP_TOLERANCE)} m is no gap"
    yield f"a sentence with the commands that need none; exit {no} |"
    yield f"In the shell: `--out` has what was simulated, exit {no} |"


@page_text.of(LESSONS)
def lessons() -> Iterable[str]:
    """Which there are, and on how many processors their time is given."""
    for name in Lesson.names():
        yield f"| `{name}` |"
    first, *_, last = drawing.PROCESSORS
    yield f"the time on {first} to {last} processors"
    yield f"joint can be pulled, by {pull.PULL:g} N m or N"


@page_text.of(LIVE)
def limits() -> Iterable[str]:
    """Limits of frames, runs and files."""
    yield f"A frame is written every 1/{1 / show.PERIOD:.0f} s of wall clock or simulated time, or less often"
    yield f"frames take at most {g(100 * show.MAX_SHARE)} % of the script's time"
    yield f"the newest {MAX_RUNS - 1} are kept"
    size = records.MAX_BYTES // 2**20
    yield f"The newest {size} to {records.FILES * size} MB of frames follow"


@page_text.of(RULES)
def rules() -> Iterable[str]:
    """The sizes that the house has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    yield (
        f"A file has at most {test_house.MAX_FILE} lines, a function at most {test_house.MAX_FUNCTION}, a line "
        f"{project['tool']['ruff']['line-length']} characters."
    )


@page_text.of(TESTING)
def testing() -> Iterable[str]:
    """The coverage that is required."""
    least = ast.literal_eval(page_text.assigned("differential/test_reached.py", "LEAST"))
    yield f"{100 * least:.0f} % at least must be reached"


exempt(
    SCHEME,
    "the arithmetic of the equations",
    "| 6 × 5 |",
    "| 6 × 6 |",
    "with blocks of 5 × 5",
    "No 5 × 5 constraint system",
    "of joint $i$, the parent joint of link $i$ | 1 |",
    "operations on 6 × 6 blocks",
)
exempt(ON_A_GPU, "the arithmetic of the equations", "by blocks of 3 × 3 without pivots")
exempt(
    SCHEME,
    "times of scripts that no file keeps, and tables that test_docs.py has",
    "a residual of 4e-8 on a random revolute chain … 2e-2 on a straight one of 4096",
    "on an H200 a chain of *one* link takes 27 µs, while DCA-ABA takes a whole step of 1000 links in 26 µs",
    "On the GPU chains of more than 32 links",
    "zeros elsewhere | 6n × 6n |",
    "a unit vector: joint frames are oriented so that it is $e_3$ or $e_6$ | 6 |",
    "In [Y]'s Algorithm 2, lines 10 and 11",
    "at 50 links: rounding its entries",
    "Two neighbouring runs, 1 before 2,",
)
exempt(
    ON_A_GPU,
    "times of scripts that no file keeps, and tables that test_docs.py has",
    "some one in 1500 joins … at most 4 % longer",
    "At 1000 links, on an H200, a warp executes … or of four.",
    "from 16 bodies to 16 384 … from 6 to 8",
    "Rounds of passes 2 to 6",
)
exempt(
    MEASURED,
    "times of scripts that no file keeps, and tables that test_docs.py has",
    "The GPU is faster than one core … from 370, 810 and 530.",
    "from which on it takes 5 % less than the ABA",
    "| µs a call, float64, 16 cores | bodies |",
    "| DCA-ABA on 1 thread | 2 | 4 | 16 | ahead from |",
    "ABIA by threads is the fastest from 115 robots on",
    "CFA takes 3.4 times as long as ABIA on one core from 30 to 1000 links",
    "| `abia` | 1.15 … | 84920 |",
    "## Accuracy … ## Which one is fastest",
)
exempt(
    ROBUST,
    "what was tried once, by hand or by a run that no file keeps",
    "# Robustness … | kernels in CUDA, the bench's scripts |",
)
exempt(
    PAPERS,
    "what the page of the full run says in other words",
    "holds: from 10 to 50 links, and for many robots of 10",
    "for more than a hundred robots of 10 links", "for robots of 200 links",
    "from 5 robots on CFA leads, but from 10 on the hybrid is last", "in part: up to 50 links",
)  # fmt: skip
exempt(LESSONS, "an example", "main.py lesson dca --stage 3")
exempt(
    LIVE,
    "measured, at 1000 steps a second",
    "A call for steps reads the clock, in 0.2 µs.",
    "At 1000 steps a second, on two cores … which grasps a cube.",
)
exempt(RULES, "examples", "from bare Debian 12 upwards", '"-screen 0 2200x1300x24"', "in under 72 characters")
exempt(
    TESTING,
    "examples, and times of a day",
    "--inputs 1000000 --processes 16 --seconds 7200 --keep findings", "10⁷ steps", "50 000 files to each reader",
    "--count 40 --out contact.json --processes 2", "and ends with 1 where there is any.",
)  # fmt: skip
