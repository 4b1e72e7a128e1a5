"""Export recorded runs to files, and open files as recordings. Free of Qt."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import engine
from app.simulation.batch_spread import BatchSpread, OwnJoint
from app.simulation.messages import LEVEL, SecondRobotState, Settings
from app.simulation.recorded_settings import settings_at_opening
from app.simulation.recorder import Controllers, Opened, Recorder

SUFFIX = ".npz"
KEYFRAME_FILE, ROBOT, ROBOT_TEXT = "keyframes.json", "robot.urdf", "robot.json"
"""Files in a folder of saved runs: named keyframes, a robot without another file, and its exact data."""
KEYFRAMES = "keyframes"
"""The key of named keyframes among the settings of a run's file."""
MAX_KEYFRAMES, MAX_NAME = 10_000, 200
CONTROLLERS = "controllers"
"""The key of the changes of a run's controller, see `Controllers`."""
MAX_CHANGES, MAX_PATH = 10_000, 4096
KEPT_SUFFIX = ".runs"
"""The suffix of folders with the parts of runs, see `autosave`."""
LINK_SUFFIX = ".link"
"""The suffix of the folder to which a script writes frames for a window."""


def describe(settings: Settings | None) -> dict[str, Any] | None:
    """Return the window's settings as JSON data, without the scene, which the simulation's settings contain."""
    if settings is None:  # of a simulation without a window
        return None
    sets = {"driven": sorted(settings.driven), "by_velocity": sorted(settings.by_velocity)}
    text = asdict(replace(settings, scene=LEVEL)) | sets
    del text["scene"]
    return text


def understand(text: Any) -> Settings | None:
    """Parse settings written by `describe` in any version; unknown ones are ignored."""
    if not isinstance(text, dict):
        return None
    values = _known(Settings(), text)
    if isinstance(text.get("spread"), dict):
        values["spread"] = replace(BatchSpread(), **_known(BatchSpread(), text["spread"]))
    for name in ("driven", "by_velocity"):
        values[name] = frozenset(int(v) for v in text.get(name, ()))
    values["gains"] = tuple((int(v), float(kp), float(kd)) for v, kp, kd in text.get("gains", ()))
    values["masses"] = tuple((int(body), float(mass)) for body, mass in text.get("masses", ()))
    values["joints"] = tuple(OwnJoint(int(v), *map(float, own)) for v, *own in text.get("joints", ()))
    if isinstance(vector := text.get("gravity_vector"), list) and len(vector) == 3:
        values["gravity_vector"] = tuple(map(float, vector))
    return replace(Settings(), **values)


def _known(default: Any, text: dict[str, Any]) -> dict[str, Any]:
    """Return the values of plain fields, converted to their types."""
    plain = {field.name: type(getattr(default, field.name)) for field in fields(default)}
    return {name: kind(text[name]) for name, kind in plain.items() if name in text and kind in (int, float, bool, str)}


def facts(setup: engine.Setup, robot: str, floating: bool, package_dirs: tuple[str, ...]) -> dict[str, Any]:
    """Return the facts stored in a run's file, named like the arguments of `main.py run`."""
    settings = setup.settings
    return {
        "robot": robot, "floating": floating, "no_mimic": False, "package_dir": list(package_dirs),
        "srdf": setup.model.options.get("srdf"),
        **({"xacro_args": xacro_args} if (xacro_args := setup.model.options.get("xacro_args")) else {}),
        "dt": settings.dt, "integrator": settings.integrator, "algorithm": settings.algorithm,
        "batch": settings.batch, "device": setup.device, "dtype": settings.dtype,
        "gravity": setup.model.gravity.tolist(), "no_limits": not settings.limits, "catena": engine.__version__,
    }  # fmt: skip


def is_passing(path: str) -> bool:
    """Return whether a file is in a folder of saved runs or of a script's link, and is deleted with it."""
    return Path(path).parent.suffix in (KEPT_SUFFIX, LINK_SUFFIX)


def is_live(path: str) -> bool:
    """Return whether a file is the growing run of a script, see `engine.show`."""
    return Path(path).parent.suffix == LINK_SUFFIX


class NamedKeyframe(NamedTuple):
    """A named keyframe of a run; `time` in s."""

    run: int
    time: float
    name: str


def named_keyframes(reported: Any) -> tuple[NamedKeyframe, ...]:
    """Parse the keyframes in a file; invalid ones are ignored."""
    keyframes = []
    for each in reported[:MAX_KEYFRAMES] if isinstance(reported, list) else ():
        try:
            run, time, name = each
            keyframes.append(NamedKeyframe(int(run), float(time), str(name)[:MAX_NAME]))
        except (TypeError, ValueError, OverflowError):
            continue
    return tuple(keyframes)


def controllers(changes: Controllers) -> dict[str, Any]:
    """Return the entry of a run's file for its controllers, if it has any."""
    return {CONTROLLERS: [list(each) for each in changes]} if changes else {}


def controllers_in(settings: dict[str, Any]) -> Controllers:
    """Return the controllers that a run's file names; of `main.py run` it is one. Invalid entries are ignored."""
    reported = settings.get(CONTROLLERS)
    if not isinstance(reported, list):
        one = settings.get("controller")
        return ((0.0, one[:MAX_PATH]),) if isinstance(one, str) and one else ()
    controllers = []
    for each in reported[:MAX_CHANGES]:
        with suppress(TypeError, ValueError, OverflowError):
            time, path = each
            controllers.append((float(time), str(path)[:MAX_PATH]))
    return tuple(sorted((each for each in controllers if math.isfinite(each[0])), key=lambda each: each[0]))


def lasting(model: engine.Model, path: str) -> dict[str, Any]:
    """Return the robot's entry for a file: its path, or its text if it has no permanent file."""
    if model.source is not None and not is_passing(path):
        return {"robot": path}
    return engine.robot_as_text(model)


def save_second_robot(path: str, states: Sequence[tuple[float, SecondRobotState]]) -> str:
    """Write a second robot's states at times, s, beside a run's file `path`, as that; return the name of its file."""
    own, model = Path(path).with_name(f"{Path(path).stem}-second{Path(path).suffix}"), states[0][1].model
    time, q, v = (np.array(each) for each in zip(*((t, state.q, state.v) for t, state in states), strict=True))
    if own.suffix == SUFFIX:
        names = np.array(model.coordinate_names)
        with engine.replacing(own) as file:
            np.savez_compressed(file, time=time, q=q, v=v, coordinate_names=names, name=np.array(model.name))
    else:
        engine.save_csv(own, model, engine.Trajectory(time, q, v, None))
    return own.name


def identify(run: engine.Run, runs: Sequence[engine.Run]) -> str:
    """Return words that identify a run among the recorded ones."""
    if len(runs) == 1:
        return "the run"
    return f"run {run.number}, one of {len(runs)}"


def extent(run: engine.Run, written: engine.Trajectory) -> str:
    """Describe the time span of a written run, and the part that it shares with another run."""
    start, end = written.time[[0, -1]]
    text = f"{start:.2f} to {end:.2f} s"
    if run.left is not None and run.left[1] > start:
        text += f", until {run.left[1]:.2f} s that of run {run.left[0]}"
    if run.first and start > 0:
        text += "; earlier frames are no longer recorded"
    return text


def read(path: str) -> list[engine.SavedRun]:
    """Read a run's file, or all undamaged files in a folder of parts.

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
    """Return a loader of run files: it returns the run's robot, or that of the file `robot`, and sets the recording.

    The loader raises ValueError and OSError as `engine.read_run` and `load` do.
    """

    def open_run(
        path: str,
        package_dirs: tuple[str, ...] = (),
        trust_xacro: bool = False,
        xacro_args: dict[str, str] | None = None,
        **_: object,
    ) -> engine.Model:
        parts = read(path)
        saved = parts[-1]
        reported = saved.settings.get("package_dir")
        listed = reported if isinstance(reported, list) else []
        folders = (*package_dirs, *(each for each in listed if isinstance(each, str)))
        floating, srdf = bool(saved.settings.get("floating")), saved.settings.get("srdf")
        if isinstance(srdf, str):
            engine.refuse_endless(srdf)

        def read_robot(file: str, **options: Any) -> engine.Model:
            saved_options = {"package_dirs": folders, "floating": floating, "mimic": not saved.settings.get("no_mimic")}
            saved_options |= {"srdf": srdf if isinstance(srdf, str) else None}
            if arguments := xacro_args or saved.settings.get("xacro_args"):
                saved_options["xacro_args"] = arguments if isinstance(arguments, dict) else {}
            return load(file, trust_xacro=trust_xacro, **(options or saved_options))

        kept = Path(path).suffix == KEPT_SUFFIX
        text = _with_robot(saved, Path(path)) if kept else saved
        model = None if robot else engine.robot_of_text(text, read_robot)
        if model is not None and kept and not model.parts:
            model = replace(model, source=str(Path(path) / ROBOT))
        model = model or read_robot(_robot_file(saved, robot))
        if kept:
            recording, named = engine.recording_of_parts(parts, model, understand), named_in(Path(path))
            driven = {each.settings["part"]["run"]: controllers_in(each.settings) for each in parts}
        else:
            recording = engine.recording_of(saved, model, understand)
            (run,) = recording.runs
            named = tuple(each._replace(run=run.number) for each in named_keyframes(saved.settings.get(KEYFRAMES)))
            driven = {run.number: controllers_in(saved.settings)}
        recorder.opened = Opened(model, recording, floating, named, is_live(path), driven)
        return model

    return open_run


def as_recorded(recorder: Recorder, settings: Settings) -> Settings:
    """Return the settings of the simulation beside an opened run: those of its last frame, as far as it keeps them."""
    runs = [] if recorder.opened is None else [run for run in recorder.opened.recording.runs if len(run)]
    if not runs:
        return settings
    return settings_at_opening(recorder.opened.recording.frame(runs[-1], runs[-1].last).setup, settings)


def _robot_file(saved: engine.SavedRun, robot: str) -> str:
    """Return the path of a run's robot, or of the given one. Raises ValueError if it is not found."""
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
    """Return a part with the robot that its folder stores if the robot has no other file."""
    try:
        reported = engine.read_json(folder / ROBOT_TEXT)
    except (OSError, ValueError, RecursionError):
        return saved
    return replace(saved, settings=reported) if isinstance(reported, dict) else saved


def named_in(folder: Path) -> tuple[NamedKeyframe, ...]:
    """Return the named keyframes in a folder of saved runs."""
    try:
        return named_keyframes(engine.read_json(folder / KEYFRAME_FILE))
    except (OSError, ValueError, RecursionError):
        return ()
