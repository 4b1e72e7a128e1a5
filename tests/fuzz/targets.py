"""The fuzz targets: readers of files, each with valid files, mutations, and permitted exceptions."""

import dataclasses
import json
import random
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import meshes
import mutations
import numpy as np
from promises import Broken, Refused, sentence

import engine
from app.features import session_text
from app.gl.camera import Camera
from app.simulation import grounds
from app.simulation.messages import Settings
from engine.bench import results
from engine.model.joints import Joint, JointKind
from engine.recording.run_format import save_trajectory
from engine.urdf import load, srdf
from tests.engine import dialect_files

ROOT = Path(__file__).parents[2]
_ARRAYS = ("home_rotation", "home_position", "mass", "first_moment", "inertia", "damping", "friction", "link_rotation",
           "link_position", "gravity")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Target:
    """`read` takes a file, and may raise `refusals`; `seeds` are sound files by their names' ends."""

    name: str
    seeds: Callable[[Path], dict[str, list[bytes]]]
    mutate: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path, bytes], None]
    refusals: tuple[type[Exception], ...]
    watched: tuple[str, ...] = ()
    """Folders, beside the product's, whose lines are looked at."""


def _require_text(found: Iterable[engine.Diagnostic]) -> None:
    for entry in found:
        if not (entry.element and entry.problem and entry.fix):
            raise Broken(f"a diagnostic says nothing: {entry}")
        if len(str(entry)) > 3000 or not str(entry).isprintable():
            raise Broken(f"a diagnostic is no sentence: {str(entry)[:300]!r}")


def _sound(model: engine.Model) -> None:
    for name in _ARRAYS:
        if not np.all(np.isfinite(getattr(model, name))):
            raise Broken(f"the model's {name} is not finite")
    for name in ("lower", "upper", "velocity_limit", "effort_limit"):
        if np.any(np.isnan(getattr(model, name))):
            raise Broken(f"the model's {name} is not a number")
    if np.any(model.lower > model.upper):
        raise Broken("a lower limit is above the upper one")
    for shape in (*model.visuals, *model.collisions):
        if not (np.all(np.isfinite(shape.size)) and np.all(np.isfinite(shape.pose))):
            raise Broken("a shape is not finite")
    for joint in model.joints:
        if not np.all(np.isfinite((joint.multiplier, joint.offset))):
            raise Broken("a follower's multiplier or offset is not finite")


def _import(path: Path, data: bytes) -> None:
    choice = len(data) % 8
    model, found = load.examine(path, content=data, floating=choice == 1, mimic=choice != 2)
    _require_text(found)
    if any(entry.severity == "error" for entry in found):
        raise Refused
    if model is None:
        raise Broken("there is neither a model nor an error")
    _sound(model)
    if choice == 3:
        path.write_bytes(data)
        _, left = engine.repair(path, path.with_suffix(".copy"), overwrite=True)
        if any(entry.severity == "error" for entry in left):
            raise Broken("the repaired copy has an error")
    if choice == 4 and model.nv:
        q, rest = model.neutral(), np.zeros(model.nv)
        if not np.all(np.isfinite(engine.link_poses(model, q))):
            raise Broken("a link's pose is not finite")
        if not np.all(np.isfinite(engine.inverse_dynamics(model, q, rest, rest))):
            raise Broken("an effort at rest is not finite")
        algorithm = "jsiia" if any(joint.leader for joint in model.joints) else "abia"
        if not np.all(np.isfinite(engine.forward_dynamics(model, q, rest, rest, algorithm, "cpu"))):
            raise Broken("an acceleration at rest is not finite")


def _urdfs(_: Path) -> dict[str, list[bytes]]:
    robots = [file.read_bytes() for file in sorted((ROOT / "robots").glob("*.urdf"))]
    return {".urdf": [content for content in (*dialect_files.contents().values(), *robots) if len(content) < 20_000]}


@cache
def _links() -> tuple[str, ...]:
    return tuple("abcdefgh")


@cache
def _joints() -> tuple[Joint, ...]:
    """Return one joint of each type; the last mimics the first."""
    kinds: tuple[JointKind, ...] = ("revolute", "planar", "spherical", "floating")
    own = tuple(Joint(kind[0], kind, slice(0, 1), slice(0, 0), slice(0, 0)) for kind in kinds)
    return (*own, Joint("m", "prismatic", slice(0, 1), slice(0, 0), slice(0, 0), leader="r"))


def _srdf(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    pairs, states, found = srdf.read(path, _links(), _joints())
    _require_text(found)
    if any(entry.severity == "error" for entry in found):
        raise Refused
    if any(not 0 <= a < b < len(_links()) for a, b in pairs):
        raise Broken(f"pairs of links that are none: {pairs}")
    width = {joint.name: joint.type.nq for joint in _joints()}
    reported = [(joint, values) for state in states.values() for joint, values in state.items()]
    if any(len(values) != width.get(joint) or not np.all(np.isfinite(values)) for joint, values in reported):
        raise Broken(f"poses of joints that are none: {reported}")


def _srdfs(_: Path) -> dict[str, list[bytes]]:
    text = """<?xml version="1.0"?><robot name="r"><group name="g"><chain base_link="a" tip_link="d"/></group>
<disable_collisions link1="a" link2="c" reason="Never"/><disable_default_collisions link="b"/>
<enable_collisions link1="b" link2="d"/><virtual_joint name="v" type="fixed" parent_frame="w" child_link="a"/>
<group_state name="home" group="g"><joint name="r" value="0.5"/><joint name="p" value="1 2 0.5"/>
<joint name="m" value="1"/><joint name="s" value="0 0 0 1"/></group_state>
<group_state name="home" group="h"><joint name="f" value="0 0 1 0 0 0 1"/></group_state></robot>"""
    return {".srdf": [text.encode()]}


def _heights(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    ground = grounds.of_file(path, 0.1).ground
    if not np.all(np.isfinite(ground.heights)):
        raise Broken("the heights are not finite")


def _arrays(folder: Path) -> dict[str, list[bytes]]:
    seeds, whole = [], np.arange(6).reshape(2, 3)
    for array in (np.zeros((3, 4)), np.ones((2, 2), np.float32), whole, np.asfortranarray(np.eye(3))):
        np.save(folder / "seed.npy", array)
        seeds.append((folder / "seed.npy").read_bytes())
    return {".npy": seeds}


@cache
def _walker() -> engine.Model:
    return engine.load(engine.find_robot("quadruped"))


def _session(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    model, camera = _walker(), Camera()
    session = session_text.read(str(path))
    parts: tuple[Callable[[], Any], ...] = (
        lambda: session_text.settings(session, Settings(), model),
        lambda: session_text.speed(session, 1.0),
        lambda: session_text.pose(session, model, model.neutral()),
        lambda: session_text.camera(session, camera),
        lambda: session_text.layout(session),
        lambda: session_text.plots(session),
    )
    found = []
    for part in parts:
        try:
            found.append(part())
        except ValueError as fault:
            found.append(None)
            sentence(str(fault))
    settings, _, pose, seen, *_ = found
    if settings is not None:
        gains = np.array(settings.gains).ravel()
        engine.Simulation(model, dt=settings.dt, integrator=settings.integrator, device="cpu")
        if not np.all(np.isfinite(gains)):
            raise Broken("gains are not finite")
    if pose is not None and not np.all(np.isfinite(engine.link_poses(model, pose))):
        raise Broken("a pose is not finite")
    if seen is not None and not np.all(np.isfinite(seen.eye)):
        raise Broken("a camera stands nowhere")


def _sessions(_: Path) -> dict[str, list[bytes]]:
    session = {
        "catena session": 1,
        "robot": {"path": str(engine.find_robot("quadruped")), "floating": False},
        "pose": {joint.name: _walker().neutral()[joint.q].tolist() for joint in _walker().joints},
        "settings": {
            "dt": 1e-3, "integrator": "semi-implicit", "gravity": True, "ground": False, "algorithm": "abia",
            "device": "cpu", "automatic": True, "held": False,
            "driven": [_walker().coordinate_names[7]], "by velocity": [],
            "gains": {_walker().coordinate_names[8]: [1.0, 2.0]}, "speed": 1.0,
        },
        "camera": {"target": [0, 0, 0], "distance": 2.0, "azimuth": 0.1, "elevation": 0.2, "parallel": False},
        "layout": "AAAA", "plots": [["q", "joint1"]], "controller": "",
    }  # fmt: skip
    return {".catena": [json.dumps(session).encode()]}


def _recording(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    recording = engine.recording_of(engine.read_run(path), _walker())
    for run in recording.runs:
        for index in (0, len(run) - 1):
            frame = recording.frame(run, index)
            if not all(np.all(np.isfinite(x)) for x in (frame.time, frame.checkpoint.q, frame.checkpoint.v)):
                raise Broken("a recorded state is not finite")


def _recordings(folder: Path) -> dict[str, list[bytes]]:
    model, path, seeds = _walker(), folder / "seed.npz", []
    settings = {"robot": "quadruped", "dt": 1e-3, "integrator": "semi-implicit"}
    save_trajectory(path, model, engine.rollout(model, model.neutral(), steps=4, device="cpu"), settings)
    seeds.append(path.read_bytes())
    for batch in (1, 2):
        scene = engine.Scene(obstacles=(engine.Obstacle("box", (0.1, 0.2, 0.3), (0.9, 0.0, 0.2)),))
        q = engine.put_down(model, scene, model.neutral())
        simulation, recording = engine.Simulation(model, batch, q=q, scene=scene, device="cpu"), engine.Recording()
        recording.begin(simulation)
        for k in range(3):
            simulation.tau[:] = 0.1 * k
            recording.note(simulation)
            simulation.step(2)
            recording.add(simulation)
        engine.save_run(path, recording, recording.runs[-1], settings)
        seeds.append(path.read_bytes())
    return {".npz": seeds}


def _results(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    results.read(path)
    plan, machine = {"suite": "cpu"}, {"processor": "x", "cores": 2}
    with results.Results(path, plan, machine) as found:
        found.add({"key": "new row that no file has", "value": float("nan")})


def _result_files(_: Path) -> dict[str, list[bytes]]:
    rows = [
        {"plan": {"suite": "cpu"}, "machine": {"processor": "x", "cores": 2}},
        {"key": "a", "value": 1.5, "standings": [1, 2]},
        {"key": "b", "value": None, "runs": [0.1, 0.2]},
    ]
    return {".jsonl": [b"".join(json.dumps(row).encode() + b"\n" for row in rows)]}


def _study(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        found = engine.Study.read(path)
    except engine.StudyError as fault:
        _require_text(fault.diagnostics)
        raise
    for name, values in found.values([0, found.count - 1]).items():
        if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
            raise Broken(f"what varies is not finite: {name}")


def _studies(_: Path) -> dict[str, list[bytes]]:
    drawn = b'[[vary]]\nwhat = "mass"\nof = "all"\nfactor = true\nnormal = [1.0, 0.2]\n'
    ships = [path.read_text("utf-8") for path in sorted((ROOT / "docs" / "studies").glob("*.toml"))]
    detailed = re.compile(r'"example-robot-data:(?!double_pendulum)\w+\.urdf",? ?')  # whose hulls take seconds
    ships = [detailed.sub("", text).encode() for text in ships]
    return {".toml": [*ships, b'samples = 8\nsampling = "sobol"\n' + ships[0] + drawn]}


SAID = (Refused, ValueError, OSError)
TARGETS = {
    target.name: target
    for target in (
        Target("importer", _urdfs, mutations.of_xml, _import, (Refused,)),
        Target("srdf", _srdfs, mutations.of_xml, _srdf, (Refused,)),
        *(
            Target(kind, partial(meshes.seeds, kind), meshes.mutated, meshes.read, (Refused,), meshes.READERS)
            for kind in meshes.KINDS
        ),
        Target("heights", _arrays, mutations.of_array, _heights, SAID),
        Target("sessions", _sessions, mutations.of_json, _session, SAID),
        Target("recordings", _recordings, mutations.of_archive, _recording, SAID),
        Target("results", _result_files, mutations.of_lines, _results, SAID),
        Target("studies", _studies, mutations.of_toml, _study, SAID),
    )
}
