"""Runs and files: what is recorded is exported, and what a file holds is opened as a recording. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import engine
from app.simulation.messages import LEVEL, Settings
from app.simulation.recorder import Opened, Recorder
from app.simulation.spread import Spread

SUFFIX = ".npz"
MOMENTS, ROBOT, ROBOT_TEXT = "keyframes.json", "robot.urdf", "robot.json"
"""In a folder of kept runs: the moments that have names, a robot that has no other file, and that to the bit."""
KEYFRAMES = "keyframes"
"""Among the settings of a run's file: the moments that have names."""
MOST_MOMENTS, LONGEST_NAME = 10_000, 200
KEPT_SUFFIX = ".runs"
"""Of folders with the parts of runs, see `keeping`."""
LINK_SUFFIX = ".link"
"""Of the folder in which the script writes what a window shows of it."""


def describe(settings: Settings | None) -> dict[str, Any] | None:
    """The window's settings as JSON knows them; but for the scene, which the file has with its simulation's."""
    if settings is None:  # of a simulation that was no window's
        return None
    sets = {"driven": sorted(settings.driven), "by_velocity": sorted(settings.by_velocity)}
    text = asdict(replace(settings, scene=LEVEL)) | sets
    del text["scene"]
    return text


def understand(text: Any) -> Settings | None:
    """Settings that `describe` wrote, in this version or another: what is not known is left out."""
    if not isinstance(text, dict):
        return None
    known = _known(Settings(), text)
    if isinstance(text.get("spread"), dict):
        known["spread"] = replace(Spread(), **_known(Spread(), text["spread"]))
    for name in ("driven", "by_velocity"):
        known[name] = frozenset(int(v) for v in text.get(name, ()))
    known["gains"] = tuple((int(v), float(kp), float(kd)) for v, kp, kd in text.get("gains", ()))
    return replace(Settings(), **known)


def _known(default: Any, text: dict[str, Any]) -> dict[str, Any]:
    """The values of fields that are plain, brought to their types."""
    plain = {field.name: type(getattr(default, field.name)) for field in fields(default)}
    return {name: kind(text[name]) for name, kind in plain.items() if name in text and kind in (int, float, bool, str)}


def facts(setup: engine.Setup, robot: str, floating: bool, package_dirs: tuple[str, ...]) -> dict[str, Any]:
    """What the file of a run says of it, by the names of `main.py run`'s arguments."""
    settings = setup.settings
    return {
        "robot": robot, "floating": floating, "no_mimic": False, "package_dir": list(package_dirs),
        "srdf": setup.model.options.get("srdf"),
        "dt": settings.dt, "integrator": settings.integrator, "algorithm": settings.algorithm,
        "batch": settings.batch, "device": setup.device, "dtype": settings.dtype,
        "gravity": setup.model.gravity.tolist(), "no_limits": not settings.limits, "catena": engine.__version__,
    }  # fmt: skip


def is_passing(path: str) -> bool:
    """Whether a file is in a folder of kept runs or of a script's link, and goes with them."""
    return Path(path).parent.suffix in (KEPT_SUFFIX, LINK_SUFFIX)


def is_live(path: str) -> bool:
    """Whether it is the run of a script that shows it while it goes on, see `engine.show`."""
    return Path(path).parent.suffix == LINK_SUFFIX


class Moment(NamedTuple):
    """A moment of a run that has a name; `time` in s."""

    run: int
    time: float
    name: str


def moments(told: Any) -> tuple[Moment, ...]:
    """The moments that a file tells of; what is none is left out."""
    found = []
    for each in told[:MOST_MOMENTS] if isinstance(told, list) else ():
        try:
            run, time, name = each
            found.append(Moment(int(run), float(time), str(name)[:LONGEST_NAME]))
        except (TypeError, ValueError, OverflowError):
            continue
    return tuple(found)


def lasting(model: engine.Model, path: str) -> dict[str, Any]:
    """What a file says of the robot of its run: where its file is, or its text where it has none that stays."""
    if model.source is not None and not is_passing(path):
        return {"robot": path}
    return engine.robot_as_text(model)


def which(run: engine.Run, runs: Sequence[engine.Run]) -> str:
    """How a run is told apart from the others that are recorded."""
    if len(runs) == 1:
        return "the run"
    return f"run {run.number}, one of {len(runs)}"


def extent(run: engine.Run, written: engine.Trajectory) -> str:
    """From when to when a run is written, and where a part of it is another's."""
    start, end = written.time[[0, -1]]
    text = f"{start:.2f} to {end:.2f} s"
    if run.left is not None and run.left[1] > start:
        text += f", until {run.left[1]:.2f} s that of run {run.left[0]}"
    if run.first and start > 0:
        text += "; earlier frames are no longer recorded"
    return text


def read(path: str) -> list[engine.SavedRun]:
    """What the file of a run holds, or the files of a folder of parts, but for those that are damaged.

    Raises ValueError and OSError as `engine.read_run` does.
    """
    if Path(path).suffix != KEPT_SUFFIX:
        return [engine.read_run(path)]
    parts = []
    for file in sorted(Path(path).glob(f"*{SUFFIX}")):
        with suppress(OSError, ValueError):
            parts.append(engine.read_run(file))
    if not parts:
        raise ValueError(f"{Path(path).name} holds no part of a run that can be read")
    return parts


def opener(load: Callable[..., engine.Model], recorder: Recorder, robot: str = "") -> Callable[..., engine.Model]:
    """`load` for a run's file: its robot, or the one in the file `robot`; the run is there once the robot is.

    Raises ValueError and OSError as `engine.read_run` and `load` do.
    """

    def open_run(path: str, package_dirs: tuple[str, ...] = (), trust_xacro: bool = False, **_: object) -> engine.Model:
        parts = read(path)
        saved = parts[-1]
        told = saved.settings.get("package_dir")
        listed = told if isinstance(told, list) else []
        folders = (*package_dirs, *(each for each in listed if isinstance(each, str)))
        floating, srdf = bool(saved.settings.get("floating")), saved.settings.get("srdf")
        if isinstance(srdf, str):
            engine.refuse_endless(srdf)

        def read_robot(file: str, **options: Any) -> engine.Model:
            own = {"package_dirs": folders, "floating": floating, "mimic": not saved.settings.get("no_mimic")}
            own |= {"srdf": srdf if isinstance(srdf, str) else None}
            return load(file, trust_xacro=trust_xacro, **(options or own))

        kept = Path(path).suffix == KEPT_SUFFIX
        text = _with_robot(saved, Path(path)) if kept else saved
        model = None if robot else engine.robot_of_text(text, read_robot)
        if model is not None and kept and not model.parts:
            model = replace(model, source=str(Path(path) / ROBOT))
        model = model or read_robot(_robot_file(saved, robot))
        if kept:
            recording, named = engine.recording_of_parts(parts, model, understand), named_in(Path(path))
        else:
            recording = engine.recording_of(saved, model, understand)
            (run,) = recording.runs
            named = tuple(each._replace(run=run.number) for each in moments(saved.settings.get(KEYFRAMES)))
        recorder.opened = Opened(model, recording, floating, named, is_live(path))
        return model

    return open_run


def _robot_file(saved: engine.SavedRun, robot: str) -> str:
    """Where the robot of a run is, or the one that was given instead; ValueError where that is nowhere."""
    name, named = Path(saved.path).name, robot or saved.settings.get("robot")
    if not isinstance(named, str) or not named:
        raise ValueError(f"{name} names no robot; say which: main.py view RUN.npz --robot FILE")
    try:
        engine.refuse_endless(named)
        return str(engine.find_robot(named))
    except FileNotFoundError:
        if is_live(saved.path):
            raise ValueError(f"the robot of the script is not at {named}, where the window would read it") from None
        raise ValueError(
            f"the robot of {name} is not at {named}; say where: main.py view RUN.npz --robot FILE"
        ) from None


def _with_robot(saved: engine.SavedRun, folder: Path) -> engine.SavedRun:
    """A part of kept runs with what its folder says of a robot that has no other file."""
    try:
        told = engine.read_json(folder / ROBOT_TEXT)
    except (OSError, ValueError, RecursionError):
        return saved
    return replace(saved, settings=told) if isinstance(told, dict) else saved


def named_in(folder: Path) -> tuple[Moment, ...]:
    """The moments that have names in a folder of kept runs."""
    try:
        return moments(engine.read_json(folder / MOMENTS))
    except (OSError, ValueError, RecursionError):
        return ()
