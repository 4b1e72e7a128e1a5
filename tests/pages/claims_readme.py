"""Claims of README.md, and of the pages on installing, the window, the shell, Python and accuracy."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterable
from functools import cache

import page_text
from behaviour import free_joint, told_along
from page_text import ROOT, exempt, word, words
from PyQt6.QtCore import Qt
from statuses import statuses

import engine
from app.acting.coordinates import Coordinate
from app.acting.drives import MODES, WAVES
from app.features import appearance, overlay_view, reloading
from app.panels import joints
from app.panels.joint_form import MODE_NAMES
from app.recording import run_files
from app.simulation import starting
from engine import step_settings
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
    yield "uv run pytest -n auto # the tests"
    yield f"{stands()} sim.step(5000)"
    yield "Apache-2.0 is one of the licences that GPL 3 can be combined with."


@page_text.of(INSTALLING)
def installing() -> Iterable[str]:
    """Optional extras, and missing system libraries."""
    about, extras = project()["project"], project()["project"]["optional-dependencies"]
    least = ".".join(map(str, LEAST_CAPABILITY))
    new, old = sorted((name for name in extras if name.startswith("cuda")), reverse=True)
    yield (f"(compute capability {least} or later) add the extra for its driver: `uv sync --extra {new}`, or `{old}`.")
    assert {"xacro", "plots", "video"} <= set(extras)
    yield (
        'xacro files need the extra `xacro`: `pip install ".[xacro]"`; the pictures of `main.py bench` need '
        "`plots`, videos"
    )
    yield "videos from the window `video`."
    (command,) = about["scripts"]
    yield f"With pip, `pip install .` in a clone installs the command `{command}`, which has the arguments of `main.py`"
    yield "for all clones and installations; CATENA_CACHE_DIR names another folder."
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
        {"constant": "constant", "sine": "as a sine", "step": "in steps"},
    )
    told = words((waves[name] for name in WAVES), "or")
    yield f"its drive: {modes}, {told}, with gains of its own and gravity compensation"
    angle, shift = (Coordinate("", 0, (), 0.0, 1.0, angular, limited=True) for angular in (True, False))
    tenfold = {"ten": joints.STEPS[Qt.Key.Key_PageUp] // joints.STEPS[Qt.Key.Key_Right]}
    assert tenfold == {"ten": 10}
    yield f"Left and Right move it by 1{angle.unit} or 1 {shift.unit}, Page Up and Page Down by ten times as much"
    yield "middle or shift-drag to pan, scroll to zoom"
    yield "drag a link with the right button, or with Ctrl: a spring"
    yield "or click a link, and drag one of its arrows to shift it, one of its rings to turn it"
    preferred = words(starting.PREFERRED, "or", mark="`")
    yield f"starts in its SRDF's {preferred}, or in the first that it names, and the status line says so"
    yield f"as `{run_files.SUFFIX}` or `.csv` with the efforts and wrenches that acted, at every step or at an interval"
    yield "a picture in any size, or a video"
    yield f"beside it, in an `{run_files.SUFFIX}`, the run that is shown"
    yield "into their parts, with median, 99th percentile and the median before a switch."
    folders = words(mesh_paths.MESHES, mark="`")
    yield f"or without a package the folder above and {folders} up to {word(mesh_paths.ABOVE)} above."
    yield "without one only the file's own folder, those inside of it, and the folder above, never home, a folder at"
    yield "in `ROS_PACKAGE_PATH` and `AMENT_PREFIX_PATH`"
    yield "or `--package-dir DIR`"
    yield "coloured by energy or by deviation from robot 0"
    yield "`python -m app.picture.batch_bench --robots 4096`"
    yield "with keyframes or more than " + f"{reloading.LASTING:g} s of recording it waits for"
    yield f"A recording takes {recording.BUDGET >> 20} MB at most, beyond it its oldest frames are dropped."
    themes = [name for name in appearance.CHOICES if name != "system"]
    yield f"*View › Theme* is the system's, {words(themes, 'or')}."
    overlays = {
        "names": "names", "frames": "frames", "axes": "joint axes", "masses": "centres of mass",
        "inertias": "inertia ellipsoids", "trails": "trails",
    }  # fmt: skip
    told = ", ".join(overlays[key] for key, *_ in overlay_view.ENTRIES)
    looks = {"through": "transparent", "wireframe": "as a wireframe"}
    yield f"*View › Overlays* shows {told}, collision shapes and contacts, and draws the robot "
    yield f"draws the robot {words((looks[key] for key, *_ in overlay_view.LOOKS), 'or')};"
    yield (
        "takes the same steps by another algorithm, integrator, time step or precision, coloured by its "
        "deviation, which is"
    )
    yield "given in metres."
    yield "`main.py view` also plays what `main.py run ROBOT --out RUN.npz` wrote, and `main.py SESSION.catena` opens a"
    yield "has slopes, rough ground, stairs and height fields to stand on, whose angle, heights or seed are set in the "
    yield "has your own function `control(t, q, v)` → τ drive the robot, see `docs/controller.py`"


@page_text.of(SHELL)
def shell() -> Iterable[str]:
    """Exit statuses and the table of commands."""
    done, no, wrong, interrupted = statuses()
    yield (
        f"Exit status {done}: done; {no}: it ran and the result is negative, such as a broken URDF or a diverged "
        f"run; {wrong}: "
        f"wrong usage; {interrupted}: ended by Ctrl-C, with the results so far shown and kept."
    )
    yield (
        f"`--against FILE` reports what got slower and exits with {no}, `--measure-choice` measures for the "
        "automatic choice"
    )
    yield "Each command has `--help` and `--json` (one object on standard output, everything else on standard error)."
    yield "`ROBOT` is a URDF or xacro file, or the name of a robot that ships, such as `arm7`."
    yield "use `--trust-xacro` (`engine.load(…, trust_xacro=True)`)"
    yield (
        "| `main.py run ROBOT` | simulates, a robot with collision shapes on the ground unless it hangs from its base, "
        "and the objects of `--add FILE X Y Z` beside it; `--hold` holds it"
    )
    yield (
        "`--hold` holds it by gains, `--controller FILE.py` drives it by your function; with `--out FILE.npz` "
        "writes the"
    )
    yield (
        "| `main.py repeat RUN.npz` | runs the file of a trajectory again, `run --out`'s or the window's, and "
        "compares every"
    )
    yield "opens the window and plays a run, with its robot; `--robot FILE` where that has moved |"
    yield (
        "each problem with its line and its fix, collision meshes included; `--fix OUT` writes a repaired copy, which "
        "changes only those lines |"
    )
    yield "| `main.py generate chain 100` | the URDF of a random chain or tree of any size |"
    yield "| `main.py render ROBOT --out FILE.png` | a picture of a robot at a configuration, drawn offscreen |"
    yield (
        "`--algorithm file.py:function` sets your own beside ([example](own_algorithm.py)); `--over links` or `--over "
    )
    yield "or `--over batch` shows growth and crossings; `--csv`, `--picture`, `--rows` |"
    yield (
        "`--suite` names others, `--picture FILE.svg` draws them, `--rows FILE.jsonl` goes on where it was interrupted"
    )


@page_text.of(PYTHON)
def python() -> Iterable[str]:
    """Conventions and defaults of the engine's functions."""
    coordinates, velocity = free_joint()
    place, turn = coordinates.split(" and ")
    yield (
        "Conventions, everywhere: SI units; z up; a twist is `V = (ω, v)` and a wrench `F = (n, f)`, both in "
        "the body's own "
        f"frame; joints in depth-first URDF order; a free joint is {place}, relative to the joint's origin in the "
        f"file, and {turn} in `q`, and the {velocity} in `v`, so `nq ≥ nv`; the batch axis comes first, and a "
        "single state without it gives a result without it."
    )
    yield f"Only `engine.link_twists`, `engine.momentum` and `engine.point_mobility` use {told_along()} axes."
    default = inspect.signature(engine.ForwardDynamics).parameters["device"].default
    yield f'`device="{default}"`, forward dynamics\' default, selects the faster device by timings of this machine'
    assert inspect.signature(engine.Simulation).parameters["device"].default is None
    yield "a simulation runs by default on the device of its q and v, else on the CPU"
    yield 'Without a GPU "auto" gives the reason and uses the CPU, and `device="cuda"` raises with that sentence.'
    yield '`algorithm="auto"` selects the fastest algorithm whose code is on disk or compiled in seconds'
    yield "q, v = model.neutral(), np.zeros(model.nv)"
    yield "tau = engine.inverse_dynamics(model, q, v, np.zeros(model.nv)) # what holds it still"
    yield "engine.forward_dynamics(model, q, v, tau) # zero, up to rounding"
    assert "rk4" in step_settings.INTEGRATORS
    yield 'sim = engine.Simulation(model, dt=1e-3, integrator="rk4") sim.step(1000)'
    yield 'model = engine.load("robots/arm7.urdf") # or engine.chain(1000), engine.tree(...)'
    yield "`uv run main.py run quadruped --hold`, with `--slope DEG` and `--friction MU`"


def stands() -> str:
    """The line that makes a robot stand."""
    return (
        'sim = engine.Simulation(model, dt=2e-3, integrator="implicit", kp=kp, kd=kd, '
        f"scene=engine.Scene(friction={Scene().friction:g}))"
    )


@page_text.of(MEASURED)
def accuracy() -> Iterable[str]:
    """The tests' tolerances."""
    text = {
        name: (ROOT / "tests" / "engine" / f"test_{name}.py").read_text("utf-8") for name in ("dynamics", "simulation")
    }
    (apart,) = set(re.findall(r"norm\(answer - expected\) <= (\S+) \*", text["dynamics"]))
    (left,) = set(re.findall(r"assert residual\(.*?\) <= (\S+)", text["dynamics"]))
    robots = example_robots()
    if robots:
        yield (
            f"- Forward dynamics against Pinocchio on the {len(robots) - 1} URDFs of `example-robot-data` that it reads"
        )
    yield f"relative difference at most {apart} is asserted for all"
    yield f"of generated chains and trees up to 1000 links: at most {left} asserted"
    held = re.findall(r"momentum\(.*atol=(\S+)\)", text["simulation"])[0]
    yield f"a free-floating robot keeps its momentum to {held} over 5 s, and position limits hold to rounding"
    yield "RK4's energy error on the frictionless double pendulum over 60 s falls as dt⁴ or faster"


@page_text.of(SHELL)
def files() -> Iterable[str]:
    """The reading of unusual files."""
    yield (
        '`0.07, 0, -0.69`, four numbers where three are expected, `<?xml version="0.0"?>`, swapped limits, '
        "`${pi/2}` in a"
    )
    yield "Ambiguous values (`1,5`) and moving links without inertia are refused."
    yield (
        'Ball joints (`type="spherical"`) turn about any axis; their `<limit>` and `<dynamics>` hold for each '
        "axis of the"
    )


exempt(
    README,
    "other people's titles and programs",
    "Forward Dynamics Algorithms* (2016)",
    "articulated robotic systems* (2012)",
    "whose free edition is under GPL 3",
    "under the terms of GPL 3",
)
exempt(
    INSTALLING,
    "other people's titles and programs",
    "A bare Debian 12 lacks some",
    "NVIDIA GPU",
)
exempt(
    SHELL,
    "other people's titles and programs",
    "`urdfpy` cannot be imported on Python 3.10 or later",
)
exempt(
    INSTALLING,
    "times and rates that no file keeps by row, and what was asked for",
    "half a second of a core, three for a robot that stands on the ground",
)
exempt(
    WINDOW,
    "times and rates that no file keeps by row, and what was asked for",
    "on an H200, 4096 arms step at 1 ms in real time and are drawn 76 times a second at 1920 × 1080",
)
exempt(
    MEASURED,
    "times and rates that no file keeps by row, and what was asked for",
    "On two cores of an AMD EPYC (Zen 5) … only the ratios within one run mean much.",
    "1.1e-12 was the worst seen",
    "about 1e-15 seen. At 4096 links: 2e-14 for ABIA, 2e-14 for DCA-ABA on threads.",
    "`main.py bench` sets one core of Catena against … on one core.",
    "| links | 1 thread | 2 threads | 4 | 8 | 16 | on the EPYC: 1 thread | 2 threads |",
    "| 2.7 × | 3.5 × |",
    "| 3.1 × | 5.5 × |",
    "| 3.1 × | 6.0 × |",
    "| batch | 1 thread | 4 | 16 | the peer, on all 16 cores |",
    "Of 64 arms, which keep one thread busy for 20 µs … some 10 µs to do.",
    "a call from Python with the wait for its end takes some 11 µs more",
    "median of five runs of 1000 steps in float64",
    "a call with the wait for its end takes 10 to 16 µs more",
    "So a tree that branches everywhere … below, a core is.",
    "both are within 3e-6 rad of the CPU after 100 steps",
    "- One call on a small robot … - Without a graphics card",
    "in a window of 1280 × 800",
    "- One long chain on the GPU is bound by latency … - A chain of 2000 links steps",
    "2, 3 and 4.5 were asked. … in waiting for the last. - 65 536 quadrupeds",
    "(0.70 until a block's threads … where there are seven now)",
    "16 are lost since every launch … joints take longest.",
    "Of 88322 steps with contact of a quadruped and a humanoid one leaves a residual above 1e-8",
)
