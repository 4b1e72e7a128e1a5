"""Compiled code on disk: common to all users of the same kernels, and never trusted if incomplete."""

import ast
import os
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from engine import files
from engine.compile import Function, background, cache, machine, specialise

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("new_process")


def _double(x):
    x[0] *= 2.0


def doubled(value: float = 3.0) -> float:
    """Return the result of a kernel that this process has not compiled yet."""
    x = np.array([value])
    specialise(Function(_double, inlined=False), x)(x)
    return float(x[0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setattr(background, "request", lambda *_: None)  # what is made fast may be kept at any time
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("code/*/*"))


def test_code_is_compiled_once_and_then_read(folder, compiled):
    assert [doubled(), doubled(), doubled(4.0)] == [6.0, 6.0, 8.0]
    assert len(compiled) == 1
    assert len(entries(folder)) == 1


def constants_of_others(path: Path) -> list[str]:
    """Return the numeric and text constants that a kernel's module imports from other modules of the engine."""
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    named = [(node.module or "", name.name) for node in imports for name in node.names]
    return [
        module
        for module, name in named
        if module.startswith("engine.")
        and isinstance(getattr(import_module(module), name, None), bool | int | float | str | tuple | dict | frozenset)
    ]


def test_code_depends_on_every_file_whose_numbers_kernels_use():
    """Names in a package's __init__ are defined in modules below it."""
    kernels = [path for path in cache.sources() if path.parent.name != "scene"]
    modules = {module for path in kernels if path.name != "__init__.py" for module in constants_of_others(path)}
    files_of = {Path(import_module(module).__file__ or "") for module in modules}
    assert len(files_of) > 20
    assert {path for path in files_of if path.name != "__init__.py"} <= set(cache.sources())


@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole[:-10], lambda whole: whole[:0], lambda whole: whole + b"garbage", lambda whole: whole[::-1]],
)
def test_an_entry_that_is_not_whole_is_compiled_anew_in_silence(folder, compiled, capfd, damage):
    doubled()
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert doubled() == 6.0
    assert len(compiled) == 2
    assert entry.read_bytes() == whole
    assert capfd.readouterr() == ("", "")


def test_other_kernels_versions_and_processors_have_entries_of_their_own(folder, compiled, monkeypatch):
    doubled()
    monkeypatch.setattr(machine, "describe", lambda: ("another processor",))
    doubled()
    monkeypatch.setattr(cache, "_origin", lambda: "other-sources")
    doubled()
    assert len(compiled) == len(entries(folder)) == 3


def test_code_of_old_versions_goes_but_the_last_few(folder):
    for age in range(12):
        old = folder / "code" / f"version{age}"
        old.mkdir(parents=True)
        (old / "entry").write_bytes(b"x")
        os.utime(old, (1e9 - age, 1e9 - age))
    doubled()
    names = {path.name for path in (folder / "code").iterdir()}
    assert names == {*(f"version{age}" for age in range(cache.VERSIONS_KEPT)), cache._origin()}


def test_a_folder_that_cannot_be_is_replaced_by_one_of_the_process(tmp_path, monkeypatch, compiled):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert [doubled(), doubled()] == [6.0, 6.0]
    assert len(compiled) == 1
    assert entries(files.temporary_cache())


def test_a_user_without_a_home_has_a_folder_that_goes_with_the_process(monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("CATENA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    assert files.cache_folder() == files.temporary_cache()
    assert files.writable_cache().is_dir()


SCRIPT = """
import engine, numpy as np
model = engine.chain(3)
print(engine.forward_dynamics(model, *[np.zeros(3)] * 3).tobytes().hex())
engine.finish_compiling()
"""


def start(cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "CATENA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_two_programs_that_compile_at_once_and_one_that_is_killed_leave_whole_entries(folder):
    both = [start(folder), start(folder)]
    answers = {process.communicate() for process in both}
    assert len(answers) == 1
    assert answers.pop()[1] == ""
    whole = {entry.name: entry.read_bytes() for entry in entries(folder)}
    assert whole
    for entry in entries(folder):
        entry.unlink()
    killed = start(folder)
    while not entries(folder):
        with suppress(subprocess.TimeoutExpired):
            killed.wait(0.01)
            break
    killed.kill()
    killed.communicate()
    again = start(folder)
    assert again.communicate()[1] == ""
    assert {name: (entries(folder)[0].parent / name).read_bytes() for name in whole} == whole
