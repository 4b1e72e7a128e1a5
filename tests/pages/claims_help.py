"""Claims of `main.py COMMAND --help`: defaults, units and directions."""

from __future__ import annotations

from collections.abc import Iterable

import page_text
from behaviour import rises_towards
from page_text import g, words

import engine
from app.picture import render
from engine import timestep
from engine.bench.compare import command as compare
from engine.bench.compare import comparison
from engine.bench.suites.command import SUITES
from engine.model import EARTH
from engine.scene import Scene

ROBOT = "robot: a URDF or xacro file, or the name of a robot that ships, such as arm7."
ANYWHERE = ("-h/--help: show this help message and exit.", "--json: print one JSON object")
SOURCES = (
    "--package-dir: where package:// is looked for.",
    "--trust-xacro: let xacro files run any Python, as xacro does.",
)
LOADING = ("--no-mimic: let joints that mimic others move freely.",)


@page_text.of("main.py run")
def run() -> Iterable[str]:
    """The options of `run`."""
    of, scene = page_text.defaults("run"), Scene()
    yield from (*ANYWHERE, *SOURCES, *LOADING)
    yield ROBOT
    assert engine.find_robot("arm7")
    yield "--floating: put the root link on a free joint."
    yield f"--seconds: time to simulate (default {of['seconds']:g})."
    longest = g(timestep.LONGEST)
    yield (f"--dt: time step in s (default: chosen for the robot, at most {longest}; with --controls {longest}).")
    yield "--integrator: default: chosen for the robot."
    assert of["integrator"] == "auto"
    assert of["algorithm"] == "auto"
    yield f"--batch: number of robots, each with its own --q random (default {of['batch']})."
    where = {"cpu": "the CPU"}[of["device"]]
    yield f"--device: default: {where}; auto: the faster."
    assert of["dtype"] == "float64"
    yield "--dtype: float32 is for the GPU."
    yield f"--q: start: neutral, random, or numbers q1,q2,… (default {of['q']})."
    yield f"--v: start velocities: one number for all, or v1,v2,… (default {of['v']})."
    yield "--controls: generalized forces (nv,) or (steps, nv)."
    yield "--controller: a function control(t, q, v) that returns the efforts (nv,)."
    yield f"--gravity: m/s² (default {' '.join(f'{x:g}' for x in EARTH)})."
    assert of["gravity"] == EARTH
    yield "--no-limits: ignore position and velocity limits."
    yield f"--every: keep every N-th state (default {of['every']})."
    yield f"--seed: for --q random (default {of['seed']})."
    assert of["out"] is None
    yield "--out: file of the trajectory (default: none)."
    for base, option in (("fixed", "add"), ("free", "add_free")):
        assert of[option] == []
        word = option.replace("_", "-")
        yield f"--{word}: another robot or body on a {base} base at that place, m; may be given again."
    shapes = "where it has collision shapes, and does not hang from a fixed base"
    yield f"--no-ground: ground under the robot (default: {shapes})."
    yield f"--slope: the ground's angle, rising towards {rises_towards()}."
    yield "--terrain: ground of heights in m, rows along y, columns along x."
    yield f"--cell: spacing of the heights of --terrain, m (default {of['cell']:g})."
    yield f"--friction: of the ground, and of links without a value in the file (default {scene.friction:g})."
    yield "--self-collision: the robot's links touch each other."
    yield "--srdf: its disable_collisions are excluded from --self-collision."
    yield "--hold: joint gains hold the robot in its initial pose."


@page_text.of("main.py render")
def picture() -> Iterable[str]:
    """Claims of `render`."""
    yield from (*ANYWHERE, *SOURCES, ROBOT)
    of = page_text.defaults("render")
    wide, high = of["size"]
    yield f"--size: in pixels (default {wide}x{high})."
    yield "--q: the configuration, in rad and m (default: neutral)."
    yield "--azimuth: of the camera, from the x-axis."
    yield "--elevation: of the camera, above the horizon."
    yield "--transparent: the robot alone, without ground and backdrop."
    yield "--out: the image file."
    assert render.DONE == 0


@page_text.of("main.py info")
def info() -> Iterable[str]:
    """Claims of `info`."""
    yield ROBOT
    yield from (*ANYWHERE, *SOURCES, *LOADING)
    yield "--floating: put the root link on a free joint."


@page_text.of("main.py generate")
def generate() -> Iterable[str]:
    """Claims of `generate`."""
    yield from ANYWHERE
    chain = engine.chain(3, straight=True)
    apart = engine.link_poses(chain, chain.neutral()[None])[0, :, 2, 3]
    (up,) = {round(float(x), 12) for x in apart[1:] - apart[:-1]} - {0.0}
    yield f"--straight: chain: every joint {up:g} m above the one before, axes parallel."
    yield "--prismatic: share of prismatic joints, 0 to 1."
    yield "--spherical: share of ball joints, 0 to 1."
    yield "links: number of moving links."
    yield "--out: default: standard output."
    of = page_text.defaults("generate")
    assert (of["prismatic"], of["spherical"], of["seed"], of["out"]) == (0.0, 0.0, 0, None)


@page_text.of("main.py check")
def check() -> Iterable[str]:
    """Claims of `check`."""
    yield from (*ANYWHERE, *SOURCES)
    yield "robot: URDF or xacro files."
    yield "--fix: write a repaired copy of the one file."
    yield "--overwrite: let --fix replace a file that is there."


@page_text.of("main.py repeat")
def repeat() -> Iterable[str]:
    """Claims of `repeat`."""
    yield from (*ANYWHERE, SOURCES[1])
    yield "--robot: the robot's file, where it has moved."
    yield "run: a file of `run --out`, or of the window."


@page_text.of("main.py unpack")
def unpack() -> Iterable[str]:
    """Claims of `unpack`."""
    yield from ANYWHERE
    yield "run: a file that is packed too tightly to be read."
    yield "out: where it is written as large as what it holds."


@page_text.of("main.py compare")
def comparing() -> Iterable[str]:
    """Claims of `compare`."""
    yield from (*ANYWHERE, *SOURCES, *LOADING)
    yield "--floating: put the root links on free joints."
    yield "--over: compare over sizes: of chains, or of batches."
    yield "--csv: write the results there."
    yield "--rows: keep each model's or size's results there as they come; the same call continues from there."
    of = page_text.defaults("compare")
    yield f"--batch: robots in one call (default {of['batch']})."
    assert of["seconds"] is None
    yield f"--seconds: time for each candidate (default {compare.ALONE:g}; with --over {compare.AT_A_SIZE:g})."
    yield f"--seed: of the states (default {of['seed']})."
    yield f"--dtype: default: {comparison.DTYPES[0]}."
    yield "--device: cpu or cuda (default: all present)."
    yield "a name, or a function of your own as path.py:name (default: all that are sensible)."
    yield "the name of a robot that ships, or chain:N and tree:N of N links."
    yield "--sizes: those of --over."
    yield "--picture: draw them: .svg, .png or .pdf."


@page_text.of("main.py bench")
def bench() -> Iterable[str]:
    """Claims of `bench`."""
    yield from ANYWHERE
    yield "--rows: keep the machine and each row there as it comes, a line each; the same call continues"
    yield "--measure-choice: measure the algorithms for the automatic choice, in minutes."
    yield "--ship: with --measure-choice: keep it among the tables that ship, by this name for the machine."
    of = page_text.defaults("bench")
    yield f"robots beside Pinocchio ({of['suite']}, the default)"
    yield f"--seconds: time spent on each case (default {of['seconds']:g})."
    drawn = words(name for name in SUITES if SUITES[name].draw)
    yield f"--picture: draw the rows of {drawn} as well: .svg, .png or .pdf."
    yield "say what got slower beyond noise, and exit with 1 if any did."


@page_text.of("main.py lessons")
def lessons() -> Iterable[str]:
    """Claims of `lessons`."""
    yield from (*ANYWHERE, *SOURCES)
    of = page_text.defaults("lessons")
    yield f"--out: where the pages go (default {of['out']})."
    yield f"--robot: a URDF or xacro file, or the name of a robot that ships (default {of['robot']})."
    yield f"--seed: of the state that the lessons show (default {of['seed']})."


@page_text.of("main.py paper")
def paper() -> Iterable[str]:
    """Claims of `paper`."""
    yield from ANYWHERE
    of = page_text.defaults("paper")
    yield f"what it has is not measured again (default {of['out']})."
    yield f"--device: where [Y]'s figures are measured (default {of['device']})."
    yield f"--seed: of the chains and inputs (default {of['seed']})."
    yield "--short: fewer sizes and calls: half a minute on a CPU."
