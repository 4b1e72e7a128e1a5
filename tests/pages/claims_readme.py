"""Claims of README.md, and of the pages on installing, the window, the shell, Python and accuracy."""

import ast
import inspect
import math
import re
import tomllib
from collections.abc import Iterable
from functools import cache

import page_text
from page_text import ROOT, exempt, g, word, words
from PyQt6.QtCore import Qt
from statuses import statuses

import engine
from app.acting.coordinates import Coordinate
from app.acting.drives import MODES, WAVES
from app.features import appearance, overlay_view, reloading
from app.panels import history, joints
from app.panels.joint_form import MODE_NAMES
from app.plotting import phase
from app.recording import run_files
from app.simulation import starting
from engine.cuda.runtime.device import LEAST_CAPABILITY
from engine.recording import recording
from engine.scene.scene import Scene
from engine.urdf import mesh_paths

README, INSTALLING, MEASURED = "README.md", "docs/installing.md", "docs/measured.md"
WINDOW, SHELL, PYTHON = "docs/window.md", "docs/shell.md", "docs/python.md"


@cache
def project() -> dict:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@page_text.of(README)
def starting_it() -> Iterable[str]:
    """Requirements to start."""
    yield f"You need Python {project()['project']['requires-python'].removeprefix('>=')} or later, git and [uv]"
    yield f"**Status: {'.'.join(engine.__version__.split('.')[:2])}.**"
    yield "uv run main.py robots/arm7.urdf # the window; with no screen: uv run main.py run robots/arm7.urdf"
    assert (ROOT / "robots" / "arm7.urdf").is_file()
    yield f"{stands()} sim.step(5000)"


@page_text.of(INSTALLING)
def installing() -> Iterable[str]:
    """Optional extras, and missing system libraries."""
    about, extras = project()["project"], project()["project"]["optional-dependencies"]
    least = ".".join(map(str, LEAST_CAPABILITY))
    new, old = sorted((name for name in extras if name.startswith("cuda")), reverse=True)
    yield (f"(compute capability {least} or later) add the extra for its driver: `uv sync --extra {new}`, or `{old}`.")
    assert {"xacro", "plots", "video"} <= set(extras)
    yield from ("need the extra `xacro`:", "need `plots`,", "videos from the window `video`.")
    (command,) = about["scripts"]
    yield f"With pip, `pip install .` in a clone installs the command `{command}`, which has the arguments of `main.py`"
    asked = re.findall(r"^packages=\((.*?)^\)", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]
    needed = {name for name in asked.split() if name.startswith(("lib", "fonts", "xvfb"))}
    listed = re.findall(r"apt-get install (.*?)```", page_text.source(INSTALLING), re.DOTALL)[0]
    assert set(listed.replace("\\", " ").split()) == needed
    yield page_text.flat(f"apt-get install {listed}")
    panda = [path for path in example_robots() if path.name == "panda.urdf"]
    if panda:
        within = panda[0].as_posix().rpartition("site-packages/")[2]
        yield f"uv run main.py .venv/lib/python3*/site-packages/{within}"


def example_robots() -> list:
    """Robots of the packages that the tests use."""
    import importlib.metadata

    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [file.locate() for file in files if file.suffix == ".urdf"]


@page_text.of(WINDOW)
def window() -> Iterable[str]:
    """Numbers and names of the window."""
    modes, waves = (
        words((MODE_NAMES[mode].lower() for mode in MODES), "or"),
        {"constant": "constant", "sine": "as a sine with a phase", "step": "in steps", "trajectory": "by a trajectory"},
    )
    told = words((waves[name] for name in WAVES), "or")
    yield f"its drive: {modes}, {told}, with gains of its own and gravity compensation"
    angle, shift = (Coordinate("", 0, (), 0.0, 1.0, angular, limited=True) for angular in (True, False))
    tenfold = {"ten": joints.STEPS[Qt.Key.Key_PageUp] // joints.STEPS[Qt.Key.Key_Right]}
    assert tenfold == {"ten": 10}
    yield f"Left and Right move it by 1{angle.unit} or 1 {shift.unit}, Page Up and Page Down by ten times as much"
    yield f"with angles of more than a turn wrapped to ±{math.degrees(phase.TURN / 2):g}°;"
    preferred = words(starting.PREFERRED, "or", mark="`")
    yield f"starts in its SRDF's {preferred}, or in the first that it names, and the status line says so"
    yield f"as `{run_files.SUFFIX}` or `.csv` with the efforts and wrenches that acted, at every step or at an interval"
    yield f"with median, {history.PERCENTILE}th percentile and"
    yield f"beside it, in an `{run_files.SUFFIX}`, the run that is shown"
    folders = words(mesh_paths.MESHES, mark="`")
    yield f"or without a package the folder above and {folders} up to {word(mesh_paths.ABOVE)} above."
    yield "with keyframes or more than " + f"{reloading.LASTING:g} s of recording it waits for"
    yield f"A recording takes {recording.BUDGET >> 20} MB at most, beyond it its oldest frames are dropped."
    themes = [name for name in appearance.CHOICES if name != "system"]
    yield f"*View › Theme* is the system's, {words(themes, 'or')}."
    overlays = {
        "names": "names", "frames": "frames", "axes": "joint axes", "masses": "centres of mass",
        "support": "the support polygon", "inertias": "inertia ellipsoids", "trails": "trails",
    }  # fmt: skip
    told = ", ".join(overlays[key] for key, *_ in overlay_view.ENTRIES)
    looks = {"through": "transparent", "wireframe": "as a wireframe"}
    yield f"*View › Overlays* shows {told}, collision shapes and contacts, and draws the robot "
    yield f"draws the robot {words((looks[key] for key, *_ in overlay_view.APPEARANCES), 'or')};"


@page_text.of(SHELL)
def shell() -> Iterable[str]:
    """Exit statuses and the table of commands."""
    done, no, wrong, interrupted = statuses()
    yield (
        f"Exit status {done}: done; {no}: it ran and the result is negative, such as a broken URDF or a diverged "
        f"run; {wrong}: "
        f"wrong usage; {interrupted}: ended by Ctrl-C, with the results so far shown and kept."
    )
    yield f"| `bench --against FILE` | reports what got slower and exits with {no} |"


@page_text.of(PYTHON)
def python() -> Iterable[str]:
    """Defaults of the engine's functions."""
    default = inspect.signature(engine.ForwardDynamics).parameters["device"].default
    yield f'`device="{default}"`, forward dynamics\' default, selects the faster device by timings of this machine'
    assert inspect.signature(engine.Simulation).parameters["device"].default is None
    yield "a simulation runs by default on the device of its q and v, else on the CPU"


def stands() -> str:
    """The line that makes a robot stand."""
    return (
        'sim = engine.Simulation(model, dt=2e-3, integrator="implicit", kp=kp, kd=kd, '
        f"scene=engine.Scene(friction={Scene().friction:g}))"
    )


@page_text.of(MEASURED)
def accuracy() -> Iterable[str]:
    """The tests' tolerances."""
    apart, left, held = (
        g(ast.literal_eval(page_text.assigned(f"engine/test_{module}.py", name)))
        for module, name in (("dynamics", "APART"), ("dynamics", "LEFT"), ("conservation", "MOMENTUM_GAINED"))
    )
    robots = example_robots()
    if robots:
        yield f"dynamics from Pinocchio's on the {len(robots) - 1} URDFs of `example-robot-data`"
    yield f"(`tests/engine/test_dynamics.py`) | {apart} |"
    yield f"of generated chains and trees up to 1000 links (the same file) | {left} |"
    yield f"momentum over 5 s (`tests/engine/test_conservation.py`) | {held} | |"


exempt(
    README,
    "other people's titles and programs",
    "whose free edition is under GPL 3",
    "under the terms of GPL 3",
    "licences that GPL 3 can be combined with",
)
exempt(INSTALLING, "other people's titles and programs", "A bare Debian 12 lacks some")
exempt(SHELL, "other people's titles and programs", "`urdfpy` cannot be imported on Python 3.10 or later")
exempt(SHELL, "examples", "`0.07, 0, -0.69`", '`<?xml version="0.0"?>`', "(`1,5`)", "`main.py generate chain 100`")
exempt(WINDOW, "an example, and the first number of any list", "--robots 4096`", "deviation from robot 0")
exempt(MEASURED, "a run of the test of energy", "the frictionless double pendulum over 60 s")
exempt(
    WINDOW,
    "times and rates that no file keeps by row, and what was asked for",
    "on an H200, 4096 arms step at 1 ms in real time and are drawn 76 times a second at 1920 × 1080",
)
exempt(
    MEASURED,
    "times and rates that no file keeps by row, and goals",
    "carry over to other machines. … Warp 4.0.",
    "| 1e-9 | 1.1e-12 |",
    "| about 1e-15 |",
    "Forward dynamics on one core … 0.2 to 2 s.",
    "| links | 1 thread | 2 threads | 4 | 8 | 16 |",
    "| batch | 1 thread | 4 | 16 | the other program, on all 16 cores |",
    "Smaller batches … some 10 µs of work.",
    "takes some 11 µs more",
    "median of five runs of 1000 steps in float64",
    "in a window of 1280 × 800",
    "| goal | value | … 1000 and 4000 links on a GPU:",
    "steps of a chain of 2000 links by DCA-ABA on 1, 2 and 4 threads:",
    "65536 standing humanoids 4 times",
)
