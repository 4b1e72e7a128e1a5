"""What docs/scheme.md, docs/robustness.md, docs/papers.md, docs/tour.md and CONTRIBUTING.md say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unittest.mock import patch

import numpy as np
import page_text
from page_text import ROOT, cuda, e, exempt, g, word
from statuses import called, statuses

import engine
from app.desktop import crash
from app.picture import drawing_fault
from app.recording import keeping
from engine import phases
from engine.bench import intervals
from engine.bench.paper import claims as paper_claims
from engine.bench.paper import experiments
from engine.bench.suites import accuracy, lengths, rounds
from engine.cpu.chains import dca as cpu_dca
from engine.cuda.chains import dca
from engine.cuda.chains import thread_group as groups
from engine.cuda.trees import contraction
from engine.model import features
from engine.selection import capabilities
from engine.urdf.xacro import expansion

SCHEME, ROBUST, PAPERS, TOUR, RULES = (
    "docs/scheme.md", "docs/robustness.md", "docs/papers.md", "docs/tour.md", "CONTRIBUTING.md",
)  # fmt: skip
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _size(n: int) -> str:
    """1000, 2¹⁴."""
    return f"2{str(n.bit_length() - 1).translate(POWERS)}" if n & (n - 1) == 0 and n > 4096 else str(n)


@page_text.of(PAPERS)
def papers() -> Iterable[str]:
    """Sizes, statuses, options and the rules of judgement."""
    rows = {each.key: each for each in experiments.EXPERIMENTS}
    told = {
        "fig2": "[Y] Fig. 2 | the links of one robot",
        "fig3a": f"[Y] Fig. 3a | the number of robots of {rows['fig3a'].fixed} links",
        "fig3b": f"[Y] Fig. 3b | the number of robots of {rows['fig3b'].fixed} links",
    }
    for key, start in told.items():
        sizes, largest = rows[key].sizes, rows[key].largest
        yield f"| {start} | {'10' if key == 'fig2' else '1'} … {largest} | {_size(sizes[0])} … {_size(sizes[-1])} |"
    many = rows["speedup"].sizes
    yield (
        "| [B] | the links of one chain, DCA-ABA on 1, 2, 4 and all cores | four processors: "
        f"{paper_claims.SPEEDUP:g} | {many[0]} … {many[-1]} |"
    )
    yield "`--device cpu | cuda` says where [Y]'s figures are measured (default: on the GPU where there is one)"
    yield "some minutes; --short: half a minute on a CPU"
    with patch("engine.bench.paper.command.device.why_not", return_value="there is none"):
        no, _, _ = called("paper", "--device", "cuda")
    wrong, _, _ = called("paper", "--device", "tpu")
    yield (
        f"Exit status {statuses()[0]}: done; {no}: no GPU where one was asked for, or an algorithm failed or answered "
        f"wrongly; {wrong}: the call was wrong; {statuses()[3]}: interrupted."
    )
    yield f"where their {100 * intervals.CONFIDENCE:.1f} % interval (of order statistics) leaves no doubt"
    assert experiments.LONGEST == 0.25
    yield "What would take more than a quarter of a second a call, by its time at the size before"
    yield "`fig2`, `fig3a`, `fig3b`, `speedup` | the pictures, each as `.svg` and `.png`"
    assert [each.key for each in experiments.EXPERIMENTS] == ["fig2", "fig3a", "fig3b", "speedup"]


@page_text.of(SCHEME)
def tables() -> Iterable[str]:
    """Those that the code prints."""
    yield capabilities.markdown()
    yield phases.markdown()
    yield f"*Compiled* is machine code for that device; *text* is the readable form in `engine/algorithms/`"


@page_text.of(SCHEME)
def numbers() -> Iterable[str]:
    """Counts and conventions of the scheme."""
    yield "Twists are $V = (\\omega, v)$, wrenches $F = (n, f)$; both belong to a link and are written in its own frame, in SI"
    assert cpu_dca is not None
    yield "Eight chunks stand in the lanes of vector instructions, and blocks of eight chunks go to threads."
    yield f"a block has four or eight, and up to {word(dca.LARGEST_CLUSTER)} blocks are a cluster"
    yield f"from a part of a warp to a cluster"
    assert groups.MOST_BLOCKS == dca.LARGEST_CLUSTER
    bits = re.findall(r"0x1p-(\d+)\)", page_text.constants_text("chains/sub_chain.cuh", "LOST"))[-1]
    yield f"where $X$ is not 1 to within $2^{{-{bits}}}$"
    rows, at = rounds.rounds, rounds.BODIES
    yield f"from {at[0]} bodies to {at[-1]:,} a random tree".replace(",", " ")
    ends = {shape: (rows(shape, at[0]), rows(shape, at[-1])) for shape in ("random", "snake", "caterpillar", "binary", "star")}
    yield (
        f"a random tree goes from {ends['random'][0]} rounds to {ends['random'][1]}, a floating snake and a caterpillar from "
        f"{ends['snake'][0]} and {ends['caterpillar'][0]} to {ends['snake'][1]}, a balanced tree from {ends['binary'][0]} to "
        f"{ends['binary'][1]} and a star from {ends['star'][0]} to {ends['star'][1]}"
    )
    yield "| float32 | " + " | ".join(map(str, accuracy.LENGTHS)) + " |"
    yield "| float64 | " + " | ".join(map(str, accuracy.LENGTHS)) + " |"
    yield "| µs a call | " + " | ".join(map(str, lengths.LINKS)) + " |"
    yield "A ball joint is three bodies of one velocity, a free joint six."
    yield "On the GPU chains of more than 32 links are therefore refined once in single precision"
    assert contraction.LANES == 32


@page_text.of(ROBUST)
def robustness() -> Iterable[str]:
    """Counts of files, bounds and statuses."""
    dialects = [path for path in (ROOT / "tests" / "engine" / "dialects").iterdir() if path.suffix != ".toml"]
    yield f"| robots (URDF) | `tests/engine/dialects`: {len(dialects)} files, one fault each"
    seconds, megabytes = expansion.BOUNDS[False]
    yield f"xacro's own expansion is bounded by a process ({seconds} s, {megabytes // 1024} GB)"
    yield f"DCA-ABA refuses links that are {features.UNEVEN:g} times as heavy as one of the {word(features.REACH)} before them."
    pauses = " and ".join(f"{ms / 1000:g} s" for ms in drawing_fault.PAUSES)
    yield f"objects are made anew after {pauses}; what lasts is a finding"
    yield f"the next start offers the robot, and the run up to {keeping.PERIOD:g} s before"
    yield "the line and what was raised in 500 letters"
    assert engine.controller.LONGEST == 500
    yield "commands answered 1, which now is " + f"{statuses()[3]}."
    yield f"the window closes within {keeping.PARTING:g} s; no process is left"
    assert crash.KEPT > 0
    yield "what is less than " + f"{e(engine.scene.thresholds.SHUT)} m is no gap"


@page_text.of(RULES)
def rules() -> Iterable[str]:
    """The sizes that the house has."""
    import test_house

    yield (
        f"A file has at most {test_house.LONGEST_FILE} lines, a function at most {test_house.LONGEST_FUNCTION}, a line "
        f"{test_house.tomllib.loads((ROOT / 'pyproject.toml').read_text('utf-8'))['tool']['ruff']['line-length']} characters."
    )
    yield "It counts what it read, keeps the first input of each finding, and ends with 1 where there is any."
    yield 'with a virtual screen (`xvfb-run -a -s "-screen 0 2200x1300x24"`)'


@page_text.of(TOUR)
def tour() -> Iterable[str]:
    """The looks in which every feature is photographed."""
    from app_tour import looks

    sizes, many = looks()
    yield f"at {sizes}: {many[0]} pictures in each of these {word(many[1])} looks."
    assert np.isfinite(many).all()
    assert g(1.0) == "1"
    assert cuda("stepping/turns.cuh", "FAR_BEHIND") > 0


exempt(
    SCHEME,
    "measured, and compared by test_measured.py where a file has it, or the arithmetic of the equations",
    "$$ … $$",
)
