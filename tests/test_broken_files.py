"""Broken files of every kind give the expected message, and nothing worse.

`broken/expected.toml` has the message for each; the files are in `broken/`, or made from valid ones there by a change.
URDFs with a single diagnostic are in `tests/engine/dialects`.
"""

import shutil
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
from engine.scene.cached_hulls import hulls
from engine.urdf.srdf import read as read_srdf
from tests.engine.dialect_files import changed

BROKEN = Path(__file__).parent / "broken"
EXPECTED: dict[str, Any] = tomllib.loads((BROKEN / "expected.toml").read_text(encoding="utf-8"))
GOOD = {".catena": "session_good.catena", ".dae": "mesh_dae_good.dae"}
"""The files of which others are made by a change."""


def heights(path: Path) -> list[str]:
    fault = refusal(lambda: engine.HeightField.of_file(path, 0.1))
    return [fault] if fault else []


def session(path: Path) -> list[str]:
    model, camera = engine.load(engine.find_robot("quadruped")), Camera()
    try:
        texts = session_text.read(str(path))
    except session_text.NoSession as fault:
        return [str(fault)]
    parts: tuple[Callable[[], object], ...] = (
        lambda: session_text.settings(texts, Settings(), model),
        lambda: session_text.pose(texts, model, model.neutral()),
        lambda: session_text.camera(texts, camera),
        lambda: session_text.layout(texts),
        lambda: session_text.plots(texts),
        lambda: session_text.drives(texts),
        lambda: session_text.recording(texts, str(path)),
        lambda: session_text.frame_time(texts),
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
    """Return the messages on contact and on drawing."""
    return [refusal(lambda: hulls(str(path))), refusal(lambda: meshfile.read(path))]


def srdf(path: Path) -> list[str]:
    joint = engine.Joint("elbow", "revolute", slice(0, 1), slice(0, 1), slice(0, 1))
    return [str(entry) for entry in read_srdf(path, "abcd", [joint]).diagnostics]


def robot(path: Path) -> list[str]:
    return [str(entry) for entry in engine.check(path)]


MESHES = ("stl", "obj", "dae", "zae", "ply", "off", "glb", "gltf", "json", "step")
READERS: dict[str, Callable[[Path], list[str]]] = {".npy": heights, ".catena": session, ".npz": run, ".jsonl": rows}
READERS |= {f".{kind}": mesh for kind in MESHES} | {".srdf": srdf, ".urdf": robot, ".xacro": robot}
"""The function that returns a file's messages, by its kind; none if the file is accepted."""


def alike(texts: str, expected: str) -> bool:
    """Whether the messages agree, up to "…", which stands for other libraries' text."""
    return texts.startswith(expected[:-1]) if expected.endswith("…") else texts == expected


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files, two below that of the robots."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(engine.ROBOTS, root / "robots")
    folder = Path(shutil.copytree(BROKEN, root / "tests" / "broken"))
    for name, change in EXPECTED["change"].items():
        sound = (BROKEN / GOOD[Path(name).suffix]).read_bytes().decode()
        (folder / name).write_bytes(changed(sound, change).encode())
    return folder


def expected_of(name: str) -> list[str]:
    says = EXPECTED["says"][name]
    return [f"the collision mesh FILE {says}", f"NAME {says}"] if isinstance(says, str) else says


def test_every_file_has_its_entry() -> None:
    files = {path.name for path in BROKEN.iterdir() if path.suffix in READERS}
    assert sorted([*files, *EXPECTED["change"]]) == sorted(EXPECTED["says"])


@pytest.mark.parametrize("name", EXPECTED["says"])
def test_a_broken_file_gives_the_expected_sentences(
    broken: Path, name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(broken)  # where the files find others beside them
    path = broken / name
    words = READERS[path.suffix](path)
    texts = [s.replace(str(path), "FILE").replace(str(broken), "FOLDER").replace(name, "NAME") for s in words]
    expected = expected_of(name)
    assert len(texts) == len(expected), texts
    assert all(map(alike, texts, expected)), texts
    assert all(sentence.isprintable() for sentence in texts)
    assert capfd.readouterr().err == ""
