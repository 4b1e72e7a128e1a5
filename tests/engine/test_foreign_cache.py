"""A cache that others could have written: its code is never run, nothing of it is read, and nothing written there."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from foreign_code import ANOTHER, OTHER, as_root, being, doubled, halve, listing, logged, mode, owned, poisoned, users

import engine
from engine import files, ownership
from engine.compile import machine

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.usefixtures("new_process"), owned]


def above(entry: Path, level: str) -> Path:
    """The entry's folder, or one of those above it."""
    return entry.parents[("version", "code", "cache", "parent").index(level)]


LEVELS = ("version", "code", "cache", "parent")


def test_the_foreign_code_of_these_tests_is_run_where_it_is_trusted(cache, compiled, caplog):
    poisoned(cache)
    assert doubled() == 9.0
    assert compiled == []
    assert caplog.messages == []


@pytest.mark.parametrize("loose", [0o777, 0o775, 0o757])
@pytest.mark.parametrize("level", LEVELS)
@users
def test_below_a_folder_that_others_can_write_to_nothing_is_run_nor_written(
    user, cache, compiled, caplog, level, loose
):
    entry = poisoned(cache, user)
    folder = above(entry, level)
    folder.chmod(loose)
    before = listing(cache)
    with being(user):
        assert [doubled(), doubled(), doubled(halve)] == [6.0, 6.0, 1.5]
    assert len(compiled) == 2
    assert listing(cache) == before
    cure = f"run chmod go-w {folder}: until then every process compiles again"
    assert logged(caplog) == (
        f"'{folder}' can be written to by others (mode {loose:04o}), so no compiled code below it is used; {cure}"
    )


@pytest.mark.parametrize("level", [*LEVELS, "all"])
@users
@as_root
def test_below_a_folder_of_another_user_nothing_is_run_nor_written(user, cache, compiled, caplog, level):
    entry = poisoned(cache, user)
    for path in (cache, *cache.rglob("*")) if level == "all" else (above(entry, level),):
        os.chown(path, ANOTHER, ANOTHER)
    before = listing(cache)
    with being(user):
        assert [doubled(), doubled(), doubled(halve)] == [6.0, 6.0, 1.5]
    assert len(compiled) == 2
    assert listing(cache) == before
    assert f"belongs to another user (number {ANOTHER}), so no compiled code below it is used" in logged(caplog)
    assert "let CATENA_CACHE_DIR name a folder of your own: until then every process compiles again" in logged(caplog)


@as_root
def test_nor_is_roots_cache_anothers(cache):
    entry = poisoned(cache)
    for path in entry.parents[:4]:
        path.chmod(0o755)
    entry.chmod(0o644)
    with being(OTHER):
        assert doubled() == 6.0


def _give_away(entry: Path) -> None:
    entry.chmod(0o644)
    os.chown(entry, ANOTHER, ANOTHER)


def _link_to_anothers(entry: Path) -> None:
    elsewhere = entry.parents[3] / "elsewhere"
    entry.rename(elsewhere)
    os.chown(elsewhere, ANOTHER, ANOTHER)
    entry.symlink_to(elsewhere)


def _link(entry: Path) -> None:
    elsewhere = entry.parents[3] / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)


def _dangling(entry: Path) -> None:
    entry.unlink()
    entry.symlink_to(entry.parents[3] / "elsewhere")


def _pipe(entry: Path) -> None:
    owner = entry.stat().st_uid
    entry.unlink()
    os.mkfifo(entry, 0o600)
    os.chown(entry, owner, -1)


ENTRIES = {
    "that all can write": (lambda entry: entry.chmod(0o666), "can be written to by others (mode 0666)"),
    "that a group can write": (lambda entry: entry.chmod(0o664), "can be written to by others (mode 0664)"),
    "that is a link": (_link, "is a link"),
    "that is a dangling link": (_dangling, "is a link"),
    "that is a pipe": (_pipe, "is not a regular file"),
    "of another's": (_give_away, f"belongs to another user (number {ANOTHER})"),
    "that links to another's": (_link_to_anothers, "is a link"),
}


@users
@pytest.mark.parametrize(
    "tampered", [pytest.param(name, marks=as_root if "another's" in name else ()) for name in ENTRIES]
)
def test_an_entry_that_others_could_have_written_is_replaced_and_not_run(user, cache, compiled, caplog, tampered):
    entry = poisoned(cache, user)
    tamper, why = ENTRIES[tampered]
    tamper(entry)
    elsewhere = entry.parents[3] / "elsewhere"
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    with being(user):
        assert [doubled(), doubled()] == [6.0, 6.0]
    assert len(compiled) == 1
    assert logged(caplog) == f"'{entry}' {why}, so it is not used, but compiled again"
    assert (entry.is_symlink(), entry.is_file(), entry.stat().st_uid, mode(entry)) == (False, True, user, 0o600)
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before


@as_root
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("whose", ["the folder", "the link"])
def test_a_folder_that_is_anothers_link_or_links_to_anothers_is_not_followed(cache, caplog, level, whose):
    folder = above(poisoned(cache), level)
    elsewhere = folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(elsewhere, target_is_directory=True)
    os.chown(elsewhere if whose == "the folder" else folder, ANOTHER, ANOTHER, follow_symlinks=False)
    before = listing(elsewhere)
    assert doubled() == 6.0
    assert listing(elsewhere) == before
    assert f"belongs to another user (number {ANOTHER})" in logged(caplog)


@pytest.mark.parametrize("level", LEVELS)
def test_a_folder_that_is_a_link_to_ones_own_is_followed_unless_others_can_write_there(cache, caplog, level):
    folder = above(poisoned(cache), level)
    (folder.parent / "other").mkdir()
    elsewhere = folder.rename(folder.parent / "other" / "elsewhere")
    folder.symlink_to("other/../other/elsewhere", target_is_directory=True)
    assert doubled() == 9.0
    assert caplog.messages == []
    elsewhere.parent.chmod(0o777)
    assert doubled() == 6.0
    assert f"'{elsewhere.parent}' can be written to by others (mode 0777)" in logged(caplog)


@pytest.mark.parametrize("level", LEVELS)
def test_a_dangling_link_in_place_of_a_folder_and_a_ring_of_links_keep_nothing(cache, level):
    folder = above(poisoned(cache), level)
    for target in (folder.parent / "elsewhere", folder):
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
        folder.symlink_to(target, target_is_directory=True)
        assert doubled() == 6.0
        assert not (folder.parent / "elsewhere").exists()


def test_what_is_exchanged_after_its_folder_was_looked_at_is_not_read(cache, monkeypatch):
    """The opened file is checked, not the path."""
    entry, opened = poisoned(cache), os.open
    whole, other = entry.read_bytes(), cache / "other"

    def replaced() -> None:
        other.replace(entry)

    def linked() -> None:
        entry.unlink()
        entry.symlink_to(other)

    for exchange in (replaced, linked):
        other.write_bytes(whole)
        other.chmod(0o666)

        def open_late(*how, exchange=exchange):
            exchange()
            return opened(*how)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", open_late)
            with pytest.raises(ownership.NotOurs):
                ownership.own_content(entry)


@as_root
def test_a_cache_that_cannot_be_written_to_is_used_and_the_rest_is_made_for_this_process(cache, compiled, caplog):
    entry = poisoned(cache, OTHER)
    for folder in (entry.parents[n] for n in range(4)):
        folder.chmod(0o555)
    before = listing(cache)
    with being(OTHER):
        assert [doubled(), doubled(halve), doubled(halve)] == [9.0, 1.5, 1.5]
    assert len(compiled) == 1
    assert listing(cache) == before
    assert caplog.messages == []


SCRIPT = """
import engine, numpy as np
engine.Simulation(engine.chain(2)).step(2)
"""


def test_processes_of_a_program_share_its_own_folder_and_say_nothing(cache):
    """These are the processes that compile, controllers' and the bench's."""
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    environment = files.environment()
    own = files.temporary_cache()
    assert environment["CATENA_CACHE_DIR"] == str(own)
    python = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (python.returncode, python.stderr) == (0, "")
    assert list(own.glob("code/*/*"))
    assert list(cache.iterdir()) == []
    simulation = engine.Simulation(engine.chain(2))
    assert not engine.Compilation(simulation).needed


POISON = """
declare void @_exit(i32)
define void @{name}() {{
  call void @_exit(i32 77)
  ret void
}}
"""


def poison_all(cache: Path) -> int:
    """Put other code in the place of all that there is, with the right names and checksums: it ends the process."""
    entries = list(cache.glob("code/*/*"))
    for entry in entries:
        *facts, _text = json.loads(entry.read_bytes()[32:].partition(b"\n")[0])
        content = json.dumps([*facts, 0]).encode() + b"\n" + machine.compiled(POISON.format(name=entry.name))
        entry.write_bytes(hashlib.sha256(content).digest() + content)
    return len(entries)


def run(**environment: str) -> tuple[int, list[str]]:
    """Return the exit code of `main.py run`, and its messages."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("CATENA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    python = subprocess.run(
        [sys.executable, "main.py", "run", "pendulum", "--seconds", "0.003"], cwd=ROOT, env=inherited | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return python.returncode, python.stderr.splitlines()


@pytest.mark.parametrize("variable", ["CATENA_CACHE_DIR", "HOME"])
def test_the_program_runs_no_foreign_code(place, variable):
    """`main.py run`, as a process, from a cache of its own, where foreign code ends it, and from one of others."""
    home = "Library/Caches/catena" if sys.platform == "darwin" else ".cache/catena"
    named, cache = place / "named", place / "named" / ("" if variable == "CATENA_CACHE_DIR" else home)
    assert run(CATENA_CACHE_DIR=str(files.cache_folder()))[0] == 0
    shutil.copytree(files.cache_folder() / "code", cache / "code")
    assert run(**{variable: str(named)}) == (0, [])
    assert poison_all(cache) > 0
    assert run(**{variable: str(named)}) == (77, [])
    if os.geteuid() == 0:
        why = f"belongs to another user (number {OTHER})"
        for path in (named, *named.rglob("*")):
            os.chown(path, OTHER, OTHER)
    else:
        why = "can be written to by others (mode 0777)"
        named.chmod(0o777)
    before = listing(named)
    code, (message,) = run(**{variable: str(named)})
    assert code == 0
    assert message.startswith(f"'{named}' {why}")
    assert listing(named) == before
