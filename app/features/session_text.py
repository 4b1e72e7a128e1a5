"""Read and validate session files before use. Free of Qt.

`read` accepts finite numbers only; the other functions take one part each and raise ValueError, with a few words that
name it, if that part is invalid.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.acting.drives import MODES, WAVES, Drive
from app.features import session_scene
from app.gl.camera import Camera
from app.simulation.batch_spread import MAX_ROBOTS, BatchSpread
from app.simulation.ghost import PRECISIONS, STEPS, GhostSettings
from app.simulation.messages import Settings
from app.simulation.second_robot import SavedSecondRobot

VERSION = 2
MAX_DISTANCE = 1e9
"""m, the limit for cameras and robots."""
KEPT = ("dt", "integrator", "gravity", "ground", "algorithm", "device", "automatic", "held")
"""Fields of `Settings`; `driven`, `by_velocity` and `gains` are saved by joint name, the rest in other parts."""
_NAMES = {
    "integrator": engine.INTEGRATORS,
    "device": ("auto", *engine.SIMULATION_ALGORITHMS),
    "algorithm": ("auto", *dict.fromkeys(name for names in engine.SIMULATION_ALGORITHMS.values() for name in names)),
}
_KINDS = {bool: "true or false", float: "a number", str: "a text", list: "a list", dict: "an object"}


class NoSession(ValueError):
    """Raised, with a sentence, if a file is not a session or cannot be opened."""


class NoRobot(NoSession):
    """Raised if the robot's file is missing."""


def read(path: str, robot: str = "") -> dict[str, Any]:
    """Read the session in a file; its robot is that in the file `robot`, if given.

    Other files that it names are looked for as `_found` does. Raises OSError, NoSession if it is invalid or of a later
    version, and NoRobot.
    """
    try:
        engine.refuse_endless(path)
    except ValueError as error:
        raise NoSession(str(error)) from error
    try:
        session = engine.read_json(path, parse_float=_number, parse_constant=_number, parse_int=_whole)
        version, named = session["catena session"], session["robot"]["path"]
        session["robot"]["path"] = robot or _found(path, named, session["robot"].get("relative"))
        there = _is_file(Path(session["robot"]["path"]))
    except NoSession:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoSession("it is not a Catena session; open a file that File › Save session has written") from error
    if not isinstance(version, int) or version > VERSION:
        raise NoSession(
            f"it was saved by a later version ({version!r:.20}; this one knows up to {VERSION}); update Catena"
        )
    if not there:
        raise NoRobot(f"its robot file is missing: {named:.200}; restore it, or save the session again")
    if isinstance(beside := session.get("beside"), dict) and "path" in beside:
        beside["path"] = _found(path, str(beside["path"]), None)
    if isinstance(ghost := session.get("ghost"), str) and ghost:
        session["ghost"] = _found(path, ghost, None)
    return dict(session)


def relative(robot: str, path: str) -> str:
    """Return a file's path from the folder of the session `path`; empty where there is none, as on another drive."""
    try:
        return Path(os.path.relpath(robot, Path(path).absolute().parent)).as_posix()
    except ValueError:
        return ""


def _found(path: str, named: str, relative: object) -> str:
    """Return where a file that the session `path` names is: seen from the session's folder, as it is named, or beside.

    The name itself if it is in none of these places. The first is for sessions that were moved with their files.
    """
    folder, there = Path(path).absolute().parent, Path(named)
    name = named.replace("\\", "/").rpartition("/")[2]
    moved = isinstance(relative, str) and relative.rpartition("/")[2] == name
    places = [folder / str(relative)] * moved + [there, folder / name]
    return next((os.path.normpath(place) for place in places if _is_file(place)), named)


def settings(session: dict[str, Any], present: Settings, model: engine.Model) -> Settings:
    """Return the present settings updated from the session; joints are matched by name."""
    kept = _part(session, "settings", {})
    names = {name: v for v, name in enumerate(model.coordinate_names)}
    values = {name: _of_kind(name, kept[name], getattr(present, name)) for name in KEPT if name in kept}
    for name in _NAMES.keys() & values.keys():
        if values[name] not in _NAMES[name]:
            raise ValueError(f"{name} is {values[name]!r:.60}; this version knows {', '.join(_NAMES[name])}")
    if not values.get("dt", 1.0) > 0:
        raise ValueError(f"dt is {values['dt']:g}; expected a time step above 0 s")
    driven, by_velocity = (
        frozenset(names[name] for name in _texts(which, _part(kept, which, [])) if name in names)
        for which in ("driven", "by velocity")
    )
    own = []
    for name, pair in _part(kept, "gains", {}).items():
        kp, kd = _numbers(f"gains of {name}", pair, 2)
        if min(kp, kd) < 0:
            raise ValueError(f"the gains of {name:.60} are {kp:g} and {kd:g}; expected two of 0 or more")
        if name in names:
            own.append((names[name], kp, kd))
    values |= {"driven": driven, "by_velocity": by_velocity, "gains": tuple(own)}
    if (vector := _part(kept, "gravity vector", [])) != []:
        x, y, z = _numbers("the gravity vector", vector, 3)
        values["gravity_vector"] = x, y, z
    return replace(present, **values, scene=scene(session, present.scene), spread=batch(session, present.spread))


def parts(session: dict[str, Any]) -> list[Any]:
    """Return the parts beside the robot, as `engine.parts_of_text` reads them."""
    return list(_part(session, "parts", []))


def xacro_args(session: dict[str, Any]) -> dict[str, str]:
    """Return the arguments of the robot's xacro file."""
    reported = session["robot"].get("xacro args", {})
    return {name: str(value) for name, value in reported.items()} if isinstance(reported, dict) else {}


def scene(session: dict[str, Any], present: engine.Scene) -> engine.Scene:
    """Return the ground and the obstacles; the present ones if the session has none."""
    kept = session.get("scene")
    return present if kept is None else session_scene.read(_of_kind("scene", kept, {}))


def batch(session: dict[str, Any], present: BatchSpread) -> BatchSpread:
    """Return the number of robots and their variations."""
    kept, values = _part(session, "batch", {}), {}
    for name, like in asdict(present).items():
        value = _of_kind(name, kept.get(name, like), float(like))
        if not 0 <= value <= MAX_DISTANCE or (isinstance(like, int) and value != int(value)):
            raise ValueError(f"the batch's {name} is {value:g}")
        values[name] = type(like)(value)
    made = BatchSpread(**values)
    if not (1 <= made.robots <= MAX_ROBOTS and max(made.mass, made.friction) <= 1):
        raise ValueError(f"the batch is {made.robots} robots that differ by {made.mass:g} and {made.friction:g}")
    return made


def drives(session: dict[str, Any]) -> dict[str, Drive]:
    """Return the drives of joints by coordinate name."""
    found, plain = {}, asdict(Drive())
    for name, kept in _part(session, "drives", {}).items():
        kept = _of_kind(f"the drive of {name}", kept, {})
        values = {key: _of_kind(key, kept.get(key, like), like) for key, like in plain.items()}
        drive = found[name] = Drive(**values)
        if drive.mode not in MODES or drive.wave not in WAVES or not drive.period > 0:
            raise ValueError(f"the drive of {name:.60} is a {drive.mode:.20} as {drive.wave:.20} of {drive.period:g} s")
    return found


def second_robot(session: dict[str, Any]) -> tuple[str, SavedSecondRobot] | None:
    """Return the second robot's file and state; None if the session has none."""
    kept = _part(session, "beside", {})
    if not kept:
        return None
    place, q, v = (
        tuple(_numbers(f"the {name} of the second robot", kept[name], len(kept[name])))
        if isinstance(kept.get(name), list) else None for name in ("place", "q", "v")
    )  # fmt: skip
    if any(abs(x) >= MAX_DISTANCE for x in (*(place or ()), *(q or ()), *(v or ()))):
        raise ValueError(f"the second robot is farther than {MAX_DISTANCE:g}")
    path, algorithm = str(kept.get("path", "")), kept.get("algorithm", "auto")
    if not _is_file(Path(path)):
        raise ValueError(f"the file of the second robot is missing: {path:.200}")
    if algorithm not in ("auto", *engine.SIMULATION_ALGORITHMS["cpu"]):
        raise ValueError(f"the algorithm of the second robot is unknown: {algorithm!s:.20}")
    time = float(_of_kind("the time of the second robot", kept.get("time", 0.0), 0.0))
    floating = _of_kind("whether the base of the second robot floats", kept.get("floating", False), False)
    return path, SavedSecondRobot(place or (), q, v, algorithm, time, bool(floating))


def ghost(session: dict[str, Any]) -> str:
    """Return the file of the recorded ghost; empty if there is none."""
    path = str(_part(session, "ghost", ""))
    if path and not _is_file(Path(path)):
        raise ValueError(f"the file of the ghost is missing: {path:.200}")
    return path


def study(session: dict[str, Any]) -> str:
    """Return the results folder of the study that is shown; empty if none is."""
    path = str(_part(session, "study", ""))
    if path and not Path(path).is_dir():
        raise ValueError(f"the results of the study are missing: {path:.200}")
    return path


def ghost_entry(settings: GhostSettings | None) -> dict[str, str]:
    """Return the entry of a simulated ghost; empty for none."""
    return {} if settings is None else {name: str(value) for name, value in vars(settings).items()}


def simulated_ghost(session: dict[str, Any]) -> GhostSettings | None:
    """Return the simulated ghost's settings; None without one."""
    kept = _part(session, "simulated ghost", {})
    if not kept:
        return None
    known: dict[str, dict[str, Any]] = {
        "algorithm": {"": "", **{name: name for name in _NAMES["algorithm"][1:]}},
        "integrator": {name: name for name in ("", *engine.INTEGRATORS)},
        "precision": {name: name for name in PRECISIONS},
        "step": {str(step): step for step in STEPS},
    }
    for name, values in known.items():
        if kept.get(name) not in values:
            raise ValueError(f"the {name} of the ghost is unknown: {kept.get(name)!s:.20}")
    return GhostSettings(**{name: values[kept[name]] for name, values in known.items()})


def recording(session: dict[str, Any], path: str) -> str:
    """Return the path of the session's recording in the same folder; empty if there is none."""
    name = str(_part(session, "recording", ""))
    if name and name != Path(name).name:
        raise ValueError(f"the recording {name:.60} is not in the folder of the session")
    return str(Path(path).with_name(name)) if name else ""


def frame_time(session: dict[str, Any]) -> float | None:
    """Return the time of the recorded frame that was shown, s; None for the live state."""
    kept = session.get("moment")
    return None if kept is None else float(_of_kind("moment", kept, 1.0))


def speed(session: dict[str, Any], present: float) -> float:
    """Return simulated seconds per wall second; the present value if the session has none."""
    return float(_of_kind("speed", _part(session, "settings", {}).get("speed", present), 1.0))


def pose(session: dict[str, Any], model: engine.Model, start: np.ndarray) -> np.ndarray:
    """(nq,): saved joint positions, matched by name; the others from `start`."""
    kept, q = _part(session, "pose", {}), start.copy()
    for joint in model.joints:
        values, width = kept.get(joint.name), joint.q.stop - joint.q.start
        if joint.leader is None and isinstance(values, list) and len(values) == width:
            q[joint.q] = _numbers(f"pose of {joint.name}", values, width)
            if np.abs(q[joint.q]).max(initial=0.0) >= MAX_DISTANCE:
                raise ValueError(f"the pose of {joint.name:.60} is {values}, beyond {MAX_DISTANCE:g}")
    for name, quaternion in model.quaternions:
        if not np.any(q[quaternion]):
            raise ValueError(f"the pose of {name:.60} is not a rotation")
    return q


def camera(session: dict[str, Any], present: Camera) -> Camera:
    """Return the present camera updated from the session."""
    kept = _part(session, "camera", {})
    names = ("distance", "azimuth", "elevation", "parallel")
    values = {name: _of_kind(name, kept[name], getattr(present, name)) for name in names if name in kept}
    target = np.array(_numbers("target", kept.get("target", present.target.tolist()), 3))
    if not 1e-9 < values.get("distance", 1.0) < MAX_DISTANCE or np.abs(target).max() >= MAX_DISTANCE:
        away = values.get("distance", present.distance)
        raise ValueError(f"the camera is {away:g} m from {target.tolist()}, from where nothing is seen")
    return replace(present, target=target, **values)


def layout(session: dict[str, Any]) -> str:
    """Return the layout of the docks, as Qt saves it, in base 64."""
    return str(_part(session, "layout", ""))


def plots(session: dict[str, Any]) -> list[list[str]]:
    """Return the keys of the quantities in each plot."""
    return [_texts("plots", _of_kind("plots", keys, [])) for keys in _part(session, "plots", [])]


def hidden(session: dict[str, Any]) -> list[str]:
    """Return the names of the hidden links."""
    return _texts("hidden links", _part(session, "hidden", []))


def masses(session: dict[str, Any]) -> dict[str, float]:
    """Return the masses, kg, that links have in place of their file's, by name."""
    kept = {name: _of_kind(f"mass of {name:.60}", mass, 0.0) for name, mass in _part(session, "masses", {}).items()}
    for name, mass in kept.items():
        if mass <= 0:
            raise ValueError(f"the mass of {name:.60} is {mass:g} kg; expected one above 0")
    return kept


def lesson(session: dict[str, Any]) -> tuple[str, int] | None:
    """Return the name of the lesson that is shown and its step, from 0; None if none is."""
    kept = _part(session, "lesson", {})
    if not kept:
        return None
    name, step = (
        engine.Lesson.present_name(_part(kept, "name", "")),
        _of_kind("the lesson's step", kept.get("step", 0), 0.0),
    )
    if name not in engine.Lesson.names():
        raise ValueError(f"the lesson {name!r:.60} is unknown to this version")
    return name, int(min(max(step, 0), MAX_DISTANCE))


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NoSession(f"it holds the number {text:.20}, which is not finite; save the session again")
    return value


def _whole(text: str) -> int | float:
    return int(text) if len(text) < 19 else _number(text)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long for a file name
        return False


def _part(session: dict[str, Any], name: str, none: Any) -> Any:
    return _of_kind(name, session.get(name, none), none)


def _of_kind(name: str, value: Any, like: Any) -> Any:
    """Return the value if it has the type of `like`. Raises ValueError otherwise."""
    kind = next(kind for kind in _KINDS if isinstance(like, kind))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind):
        raise ValueError(f"{name:.60} came as {value!r:.60}; expected {_KINDS[kind]}")
    return value


def _numbers(name: str, values: Any, count: int) -> list[float]:
    """Return `count` numbers. Raises ValueError for other values."""
    found = [_of_kind(name, value, 0.0) for value in _of_kind(name, values, [])]
    if len(found) != count:
        raise ValueError(f"{name:.60} came as {len(found)} numbers; expected {count}")
    return found


def _texts(name: str, values: Sequence[Any]) -> list[str]:
    return [_of_kind(name, value, "") for value in values]
