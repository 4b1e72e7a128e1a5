"""Caches and settings of a user's machine gone wrong: no home, a folder that cannot be, damage, a decimal comma."""

import hashlib
import json
import locale
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import compilation, files
from engine.compile import Function, specialise
from engine.cuda.runtime import compiler
from engine.recording.tables import save_csv
from engine.scene.mesh_files import open_mesh
from engine.selection import timings


@pytest.mark.parametrize("variables", [{"HOME": ""}, {"HOME": "", "XDG_CACHE_HOME": "cache"}, {"HOME": "here"}])
def test_the_present_folder_is_never_the_cache(monkeypatch, tmp_path, variables):
    """The cache contains code that is executed, and the current folder may be anybody's."""
    for name in ("CATENA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(files.sys, "platform", "linux")
    monkeypatch.chdir(tmp_path)
    folder = files.writable_cache()
    assert folder.is_absolute()
    assert not folder.is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_kept_robots_are_simulated_all_the_same(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    simulation = engine.Simulation(engine.chain(2))
    simulation.step(3)
    compilation.remember("code", 1.0)
    assert compilation.remembered() == {}
    assert timings.load().damage is None
    with pytest.raises(OSError, match="file"):
        timings.Measurements(timings.table_path()).save()


@pytest.mark.parametrize("head", [b"", b"[]", b"{", b'{"sha256": "0"}', b"null", b"\xff", b"[" * 5000])
def test_a_damaged_kernel_of_a_gpu_is_none(tmp_path, head):
    path, code = tmp_path / "kernel", b"code\nof two lines"
    compiler._keep(path, code, {"abia<double>": "_Z4abia"})
    whole = path.read_bytes()
    assert compiler._read(path) == (code, {"abia<double>": "_Z4abia"})
    path.write_bytes(head + b"\n" + code)
    assert compiler._read(path) is None
    digest = hashlib.sha256(code).hexdigest()
    for names in ({}, {"lowered": "x"}, {"lowered": None}):
        path.write_bytes(json.dumps({"sha256": digest, **names}).encode() + b"\n" + code)
        assert compiler._read(path) is None
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert compiler._read(path) is None


@pytest.mark.parametrize("content", [b"", b"null", b"[1]", b'{"code": "x"}', b'{"code": NaN}', b"\xff", b"[" * 5000])
def test_damaged_notes_of_how_long_compiling_takes_are_none(monkeypatch, tmp_path, content):
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path))
    (tmp_path / "compile-seconds.json").write_bytes(content)
    assert compilation.remembered() == {}
    compilation.remember("code", 2.0)
    assert compilation.remembered() == {"code": 2.0}


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """A folder with a locale of a decimal comma."""
    folder = tmp_path_factory.mktemp("locales")
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-c", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")], capture_output=True, check=False
    )
    if not made or not (folder / "de_DE.UTF-8").is_dir():
        pytest.skip("needs localedef and the sources of de_DE (Debian package locales)")
    return folder


def test_a_decimal_comma_changes_no_number(german: Path, monkeypatch, tmp_path):
    """The locale may be set by Qt, or by a user's program: files, tables, and compiled texts."""

    def numbers(folder: Path) -> list[bytes]:
        folder.mkdir()
        path, table, mesh = folder / "robot.urdf", folder / "run.csv", folder / "mesh.obj"
        chain = engine.chain(3, seed=7)
        path.write_text(engine.to_urdf(chain), "utf-8")
        mesh.write_text("v 0 0 0\nv 1.5 0 0\nv 0 2.25 0\nv 0 0 0.125\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")
        model = engine.load(path)
        motion = engine.rollout(model, np.full(3, 0.1), steps=20)
        save_csv(table, model, motion)
        (shape,) = open_mesh(mesh).geometry.values()
        monkeypatch.setenv("CATENA_CACHE_DIR", str(folder / "cache"))

        def scaled(x):
            x[0] = x[0] * 1.5 + 0.0625

        x = np.array([0.1])
        specialise(Function(scaled), x)(x)
        return [
            path.read_bytes(), table.read_bytes(), motion.q.tobytes(), x.tobytes(),
            np.sort(shape.vertices, 0).tobytes(),
        ]  # fmt: skip

    expected = numbers(tmp_path / "c")
    monkeypatch.setenv("LOCPATH", str(german))
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        assert locale.localeconv()["decimal_point"] == ","
        assert numbers(tmp_path / "de") == expected
    finally:
        locale.setlocale(locale.LC_ALL, before)
