"""Ownership of caches: modes of written files, each kind of entry, and folders as on users' machines."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from foreign_code import OTHER, doubled, halve, logged, mode, owned, poisoned

from engine import compilation, files, ownership
from engine.bench.suites import measure
from engine.compile import cache as compile_cache
from engine.cuda.runtime import compiler
from engine.selection import timings
from tests.bench import prepared_robots

pytestmark = [pytest.mark.usefixtures("new_process"), owned]


ROW = timings.Row("chain", 8, 1, "float64", "abia", 2e-6, 1e-15)


class Touch:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def _code(folder: Path) -> tuple[Path, Callable[[], bool]]:
    return poisoned(folder), lambda: doubled() == 9.0


def _kernel_of_a_gpu(folder: Path) -> tuple[Path, Callable[[], bool]]:
    path = folder / "kernels" / "abia"
    compiler._keep(path, b"code", {"abia<double>": "_Z4abia"})
    return path, lambda: compiler._read(path) is not None


def _measurements(_folder: Path) -> tuple[Path, Callable[[], bool]]:
    timings.Measurements(timings.table_path(), (ROW,)).save()
    return timings.table_path(), lambda: timings.load().rows == (ROW,)


def _times(_folder: Path) -> tuple[Path, Callable[[], bool]]:
    compilation.remember("code", 1.0)
    return compilation.times_file(), lambda: compilation.remembered() == {"code": 1.0}


def _pickle(folder: Path) -> tuple[Path, Callable[[], bool]]:
    path, marker = folder / "solo12" / prepared_robots.PICKLE, folder / "marker"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_bytes(pickle.dumps(Touch(marker)))

    def unpickled() -> bool:
        marker.unlink(missing_ok=True)
        with pytest.raises((ValueError, TypeError)):
            prepared_robots.read("Solo12", folder)
        return marker.exists()

    return path, unpickled


KEPT = {"code": _code, "kernels of GPUs": _kernel_of_a_gpu, "measurements": _measurements, "times": _times,
        "prepared robots": _pickle}  # fmt: skip


@pytest.mark.parametrize("kind", KEPT)
def test_each_kind_of_what_is_kept_is_read_only_where_nobody_else_could_have_written_it(cache, kind):
    cache.mkdir(mode=0o755, parents=True)
    path, is_read = KEPT[kind](cache)
    path.chmod(0o644)
    assert is_read()
    content = path.read_bytes()

    def is_read_again() -> bool:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
        return is_read()

    for folder in (path.parent, cache, cache.parent):
        before = mode(folder)
        folder.chmod(0o772)
        assert not is_read_again()
        folder.chmod(before)
        assert is_read_again()
    path.chmod(0o646)
    assert not is_read()
    if os.geteuid() == 0:
        assert is_read_again()
        os.chown(path, OTHER, OTHER)
        assert not is_read()


@pytest.mark.parametrize("loose", [False, True])
def test_a_gpus_driver_is_given_only_what_nobody_else_could_have_written(cache, monkeypatch, loose):
    """It is given stored code or, if others can write to the cache, code compiled by this process."""
    given = []
    fake = SimpleNamespace(Module=lambda: SimpleNamespace(load=given.append, get_function=lambda name: name))
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(function=fake))
    monkeypatch.setattr(compiler.device, "require", lambda: None)
    monkeypatch.setattr(compiler, "_name", lambda *_: "abia")
    monkeypatch.setattr(compiler, "_compile", lambda *_: (b"compiled", {}))
    monkeypatch.setattr(compiler.assembler, "machine_code", lambda *_: b"assembled")
    compiler._keep(cache / "kernels" / "abia", b"kept", {})
    compile_cache.write("aba", b"kept too")
    cache.chmod(0o775 if loose else 0o755)
    for _ in range(2):
        compiler.load("rigid_body/aba.cu", ["abia<double>"])
        compiler._assembled("aba", "aba", str)
    assert given == 2 * ([b"compiled", b"assembled"] if loose else [b"kept", b"kept too"])
    assert compiler.load("rigid_body/aba.cu", ["abia<double>"]).cached


def test_what_is_written_is_for_nobody_else_whatever_the_umask(place, monkeypatch):
    """Folders above that were missing, too. One that was there, of earlier versions, is closed, and used meanwhile."""
    monkeypatch.delenv("CATENA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "new" / "cache"))
    before = os.umask(0)
    try:
        doubled()
        compiler._keep(files.cache_folder() / "kernels" / "abia", b"code", {})
        timings.Measurements(timings.table_path(), (ROW,)).save()
        compilation.remember("code", 1.0)
    finally:
        os.umask(before)
    found = sorted((place / "new").rglob("*"))
    assert len(found) == 9
    assert {mode(path) for path in (place / "new", *found)} == {0o600, 0o700}
    assert all(mode(path) == (0o700 if path.is_dir() else 0o600) for path in found)


def test_a_cache_of_earlier_versions_is_used_and_closed_where_something_new_is_written(place, monkeypatch, compiled):
    monkeypatch.delenv("CATENA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    cache = files.cache_folder()
    entry = poisoned(cache)
    folders = [entry.parents[n] for n in range(3)]
    for folder in folders:
        folder.chmod(0o755)
    entry.chmod(0o644)
    assert doubled() == 9.0
    assert compiled == []
    assert {mode(folder) for folder in folders} == {0o755}
    doubled(halve)
    assert {mode(folder) for folder in folders} == {0o700}
    assert mode(place) == 0o755
    # a folder that the environment names may hold all kinds of things
    cache.chmod(0o755)
    (cache / "code").chmod(0o755)
    monkeypatch.setenv("CATENA_CACHE_DIR", str(cache))
    compiled.clear()
    next(path for path in entry.parent.iterdir() if path != entry).unlink()
    doubled(halve)
    assert len(compiled) == 1
    assert (mode(cache), mode(cache / "code")) == (0o755, 0o700)


def test_what_chmod_mends_in_the_cache_is_said_with_all_below_it(place, monkeypatch, caplog):
    """The folder is as left by an umask of 002; it is not closed automatically, since its content may be another's."""
    monkeypatch.delenv("CATENA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "a place"))
    entry = poisoned(files.cache_folder())
    for folder in (entry.parents[n] for n in range(3)):
        folder.chmod(0o775)
    entry.chmod(0o664)
    assert doubled() == 6.0
    cure = f"chmod -R go-w '{place}/a place/catena'"
    assert f"run {cure}:" in logged(caplog)
    assert doubled() == 6.0
    subprocess.run(cure, shell=True, check=True)
    assert doubled() == 9.0


def test_a_home_that_a_group_can_write_to_is_named(place, monkeypatch, caplog):
    for name in ("CATENA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: place)
    monkeypatch.setattr(files.sys, "platform", "linux")
    place.chmod(0o775)
    assert [doubled(), doubled()] == [6.0, 6.0]
    assert list(place.iterdir()) == []
    assert f"run chmod go-w {place}:" in logged(caplog)
    place.chmod(0o755)
    doubled(halve)
    assert mode(place / ".cache") == 0o700


def test_in_a_folder_like_tmp_ones_own_folders_are_trusted_and_files_are_not(place, monkeypatch, caplog):
    cache = place / "tmp"
    monkeypatch.setenv("CATENA_CACHE_DIR", str(cache))
    poisoned(cache)
    timings.Measurements(timings.table_path(), (ROW,)).save()
    cache.chmod(0o1777)
    assert doubled() == 9.0
    assert caplog.messages == []
    assert timings.load().rows == ()
    assert "(mode 1777)" in logged(caplog)
    assert "let CATENA_CACHE_DIR name a folder of your own" in logged(caplog)
    with pytest.raises(PermissionError, match="mode 1777"):
        timings.Measurements(timings.table_path(), (ROW,)).save()
    assert mode(cache) == 0o1777


def test_prepared_robots_are_for_nobody_else_whatever_the_umask(place, monkeypatch):
    """Their pickles; a folder that others can write to is refused before anything is written."""
    monkeypatch.setattr(prepared_robots.real_robots, "file_of", lambda _name: place)
    monkeypatch.setattr(prepared_robots.real_robots, "write_plain", lambda _file, _own: files.ROBOTS / "quadruped.urdf")
    before = os.umask(0o002)
    try:
        own = prepared_robots.prepare("Solo12", place / "robots")
    finally:
        os.umask(before)
    assert (mode(own.parent), mode(own), mode(own / prepared_robots.PICKLE)) == (0o700, 0o700, 0o600)
    monkeypatch.chdir(place)
    assert prepared_robots.read("Solo12", Path("robots")).model.name == "quadruped"
    own.chmod(0o775)
    with pytest.raises(ValueError, match=f"'{own}' can be written to by others .*, so that no Solo12 is unpickled"):
        prepared_robots.read("Solo12", place / "robots")
    with pytest.raises(PermissionError, match=f"'{own}' can be written to by others"):
        prepared_robots.prepare("Solo12", place / "robots")


def test_nothing_is_measured_where_it_could_not_be_kept(cache, monkeypatch):
    monkeypatch.setattr(measure, "Children", None)
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    with pytest.raises(PermissionError, match=f"'{cache}' can be written to by others"):
        measure.measure_algorithms()


def test_where_files_have_no_owners_all_is_as_before(cache, monkeypatch, caplog):
    """On Windows."""
    monkeypatch.setattr(ownership, "KNOWN", False)
    monkeypatch.delattr(os, "geteuid")
    before = os.umask(0o022)
    try:
        entry = poisoned(cache)
    finally:
        os.umask(before)
    entry.chmod(0o666)
    cache.chmod(0o777)
    assert doubled() == 9.0
    doubled(halve)
    assert (mode(cache), mode(entry.parent)) == (0o777, 0o755)
    assert caplog.messages == []
