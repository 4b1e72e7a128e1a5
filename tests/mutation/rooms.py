"""Which modules make up a room, a part of the engine, and which tests are nearest to it.

Of those tests a mutant meets the ones that were seen to come by the function it changes (`touched`), so a room may name
more of them than any one mutant needs. Left out are `engine/cuda`, which needs a GPU, and the bench's
scripts: suites, the papers' experiments, peers and pictures.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Room(NamedTuple):
    """Patterns of its modules, from engine/, and of the nearest tests, without `test_`.

    The tests are in tests/engine/ and tests/differential/.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]


_STEPS = (
    "simulation", "steps", "stepping_contract", "holding", "freezing", "dca_steps", "wrenches", "ball_joints", "frames",
    "phases", "symmetries", "*_laws",
)  # fmt: skip
_DYNAMICS = (
    "dynamics", "algorithms", "aba_batch", "blocks", "cfa_cpu", "chain_inertias", "cpu_dynamics", "dca_cpu", "dca_tree",
    "point_mobility", "quantity_laws", "uneven_masses",
)  # fmt: skip
_FILES = (
    "urdf*", "file_kinds", "diagnostics", "dialects", "xacro", "srdf", "surfaces", "meshes", "robots", "bad_*",
    "file_laws",
)  # fmt: skip
_CONTACT = (
    "contact", "contact_law", "contact_parts",
    "collisions", "epa", "manifolds", "pairs", "height_field", "touching_bodies",
    "point_mobility", "recursion", "surfaces", "terrain",
)  # fmt: skip
ROOMS = {
    "description": Room(("urdf/**/*.py", "text.py"), (*_FILES, "holding")),
    "model": Room(
        ("model/*.py", "lie.py", "parameters.py", "validation.py", "device_arrays.py", "real_numbers.py"),
        (*_FILES, *_DYNAMICS, *_STEPS, "lie", "parameters", "inertias", "capabilities", "array_kinds"),
    ),
    "dynamics": Room(
        ("dynamics.py", "algorithms/*.py", "blocks/*.py", "cpu/accelerations.py", "cpu/dynamics.py",
         "cpu/rigid_body/*.py", "cpu/chains/*.py", "cpu/trees/*.py", "kernels/*.py"),
        (*_DYNAMICS, *_STEPS, "parameters", "contact"),
    ),
    "stepping": Room(
        ("simulation.py", "rollout.py", "stepper.py", "step_settings.py", "timestep.py", "holding.py", "frame.py",
         "inverse_kinematics.py", "configuration.py", "phases.py", "checkpoint.py", "controller.py",
         "controller_process.py", "logged.py",
         "cpu/stepping/*.py"),
        (*_STEPS, "parameters", "controller", "run_controller", "recording", "cli", "contact", "touching_bodies",
         "growth", "capabilities", "docs", "rollout", "repeating", "array_kinds", "inverse_kinematics",
         "configuration", "logged"),
    ),
    "constraints": Room(
        ("cpu/constraints/active_set.py", "cpu/constraints/joint_constraints.py",
         "cpu/constraints/__init__.py"),
        ("joint_modes", *_STEPS, *_CONTACT, "parameters"),
    ),
    "contact": Room(
        ("kernels/collision/*.py", "kernels/contact/*.py", "scene/*.py"),
        (*_CONTACT, "simulation", "steps", "balance_laws", "bench_contact", "stepping_contract", "symmetries"),
    ),
    "selection": Room(
        ("selection/*.py",),
        ("choice*", "capabilities", "shipped", "simulation", "dynamics", "growth", "docs", "contact"),
    ),
    "results": Room(
        ("bench/*.py", "bench/compare/*.py", "files.py", "array_files.py", "child_process.py", "robot_words.py"),
        ("results", "intervals", "bench_parts", "compare", "files", "cli", "growth", "paper", "cache", "choice"),
    ),
    "study": Room(("study/*.py",), ("study*",)),
    "recording": Room(("recording/*.py", "live/*.py"), ("recording*", "live", "run_controller", "controller", "cli")),
    "lessons": Room(("lessons/*.py",), ("lesson_traces", "lesson_pages", "lesson_contact", "lesson_precision",
                                          "lesson_handles", "lesson_measured", "lesson_tree")),
    "shell": Room(
        ("*.py",),
        ("cli", "run_controller", "controller", "compilation", "choice", "diagnostics", "recording*", "xacro"),
    ),
    "runtime": Room(
        ("cpu/runtime/**/*.py", "cpu/__init__.py", "compile/*.py", "per_process.py"),
        ("native", "cache", "compilation", "aba_batch", "dca_cpu", "phases", "dynamics"),
    ),
}  # fmt: skip
FOLDERS_LEFT_OUT = tuple(f"engine/{name}/" for name in ("cuda", "bench/suites", "bench/paper", "bench/peers"))
LEFT_OUT = {
    "engine/__init__.py",
    "engine/bench/gpu_timing.py",
    "engine/bench/compare/pictures.py",
    "engine/figures.py",
    "engine/study/pictures.py",
}


@cache
def modules(room: str) -> list[str]:
    """The files of a room's modules, from the repository's root; one that several rooms name is in the first."""
    names = list(ROOMS)
    before = {path for name in names[: names.index(room)] for path in modules(name)}
    found = {path for pattern in ROOMS[room].modules for path in (ROOT / "engine").glob(pattern)}
    return sorted({str(path.relative_to(ROOT)) for path in found} - LEFT_OUT - before)


def tests(room: str) -> list[str]:
    """The files of the tests nearest to a room, from the repository's root."""
    folders = [ROOT / "tests" / name for name in ("engine", "differential")]
    found = {path for pattern in ROOMS[room].tests for each in folders for path in each.glob(f"test_{pattern}.py")}
    return sorted(str(path.relative_to(ROOT)) for path in found)
