"""Broken files of every kind: what is said of each, and that nothing worse comes of it.

`broken/` holds the files, each with one fault, and `broken/told.toml` what must be said of them. URDFs whose fault is
said in one diagnostic are in `engine/dialects`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from app.features import session_text
from app.gl import meshfile
from app.gl.camera import Camera
from app.simulation.messages import Settings
from engine.bench import results
from engine.scene.hull import hulls
from engine.urdf.srdf import read as read_srdf

BROKEN = Path(__file__).parent / "broken"
TOLD: dict[str, dict[str, Any]] = tomllib.loads((BROKEN / "told.toml").read_text(encoding="utf-8"))


def heights(path: Path) -> list[str]:
    fault = refusal(lambda: engine.HeightField.of_file(path, 0.1))
    return [fault] if fault else []


def session(path: Path) -> list[str]:
    model, camera = engine.load(engine.find_robot("quadruped")), Camera()
    try:
        said = session_text.read(str(path))
    except session_text.NoSession as fault:
        return [str(fault)]
    parts: tuple[Callable[[], object], ...] = (
        lambda: session_text.settings(said, Settings(), model),
        lambda: session_text.pose(said, model, model.neutral()),
        lambda: session_text.camera(said, camera),
        lambda: session_text.layout(said),
        lambda: session_text.plots(said),
        lambda: session_text.drives(said),
        lambda: session_text.recording(said, str(path)),
        lambda: session_text.moment(said),
    )
    return [fault for part in parts if (fault := refusal(part))]


def refusal(read: Callable[[], object]) -> str:
    try:
        read()
    except ValueError as fault:
        return str(fault)
    return ""


def run(path: Path) -> list[str]:
    model = engine.load(engine.find_robot("double_pendulum"))
    fault = refusal(lambda: engine.recording_of(engine.read_run(path), model))
    return [fault] if fault else []


def rows(path: Path) -> list[str]:
    fault = refusal(lambda: results.read(path))
    return [fault] if fault else []


def mesh(path: Path) -> list[str]:
    """What is said where it is touched, and where it is drawn."""
    return [refusal(lambda: hulls(str(path))), refusal(lambda: meshfile.read(path))]


def srdf(path: Path) -> list[str]:
    joint = engine.Joint("elbow", "revolute", slice(0, 1), slice(0, 1), slice(0, 1))
    return [str(entry) for entry in read_srdf(path, "abcd", [joint]).found]


def robot(path: Path) -> list[str]:
    return [str(entry) for entry in engine.check(path)]


MESHES = ("stl", "obj", "dae", "zae", "ply", "off", "glb", "gltf", "json", "step")
READERS: dict[str, Callable[[Path], list[str]]] = {".npy": heights, ".catena": session, ".npz": run, ".jsonl": rows}
READERS |= {f".{kind}": mesh for kind in MESHES} | {".srdf": srdf, ".urdf": robot, ".xacro": robot}
"""What is said of a file, sentence by sentence, by its kind; nothing where it is taken."""


def alike(said: str, expected: str) -> bool:
    """Whether it was said, or begins so where "…" stands for words of other libraries."""
    return said.startswith(expected[:-1]) if expected.endswith("…") else said == expected


def test_every_file_has_its_entry() -> None:
    files = {path.name for path in BROKEN.iterdir() if path.suffix in READERS}
    assert sorted(files) == sorted(TOLD)


@pytest.mark.parametrize("name", TOLD)
def test_what_is_said_of_it(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(BROKEN)  # where the files find others beside them
    path = BROKEN / name
    words = READERS[path.suffix](path)
    said = [sentence.replace(str(path), "FILE").replace(str(BROKEN), "FOLDER") for sentence in words]
    expected = TOLD[name]["says"]
    assert len(said) == len(expected), said
    assert all(map(alike, said, expected)), said
    assert all(sentence.isprintable() for sentence in said)
    assert capfd.readouterr().err == ""
