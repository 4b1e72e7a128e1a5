"""Files in bad conditions: full disks, a kill while writing, links, devices, read-only places."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import engine
import main
from engine import files
from engine.bench.results import read
from engine.bench.suites import command

unix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits, links and devices")


@pytest.fixture
def small_disk(request):
    """Limit the size of files, as on a full disk."""
    request.getfixturevalue("no_modules_kept")
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@unix
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("run", "double_pendulum", "--seconds", "0.5", "--out"), "fall.npz"),
        (("generate", "chain", "20", "--out"), "chain.urdf"),
    ],
)
def test_a_file_that_the_disk_has_no_room_for_leaves_the_old_one_and_is_told_in_a_line(
    tmp_path, capsys, small_disk, words, name
):
    path = tmp_path / name
    path.write_text("precious")
    small_disk(200)
    assert main.main([*words, str(path)]) == 2
    message = capsys.readouterr().err
    assert message == f"catena {words[0]}: '{path}' cannot be written, and stays as it was: File too large\n"
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


@unix
@pytest.mark.parametrize("size", [1000, 20_000], ids=["small", "larger than the buffer"])
def test_rows_that_the_disk_has_no_room_for_cost_none_that_are_there(tmp_path, capsys, small_disk, monkeypatch, size):
    path = tmp_path / "rows.jsonl"
    rows = [{"key": f"case-{k}", "text": "x" * size} for k in range(30)]
    measured = []

    def run(_seconds, finished):
        for row in rows:
            measured.append(row["key"] not in finished)
            yield row

    monkeypatch.setitem(command.SUITES, "cpu", command.Suite(run, 30, lambda found: f"{len(found)} rows"))
    monkeypatch.setattr(command.facts, "collect", dict)
    monkeypatch.setattr(command.facts, "clocks", dict)
    small_disk(20 * size)
    assert main.main(["bench", "--rows", str(path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"catena bench: '{path}' cannot be written on; the rows before are kept, and")
    assert message.endswith(": File too large\n")
    assert len(kept := read(path)[1]) == len(measured) - 1 > 10
    small_disk(100 * size)
    measured.clear()
    assert main.main(["bench", "--rows", str(path)]) == 0
    assert sum(measured) == 30 - len(kept)
    assert len(read(path)[1]) == 30


WRITER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("files", sys.argv[2])
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)  # without the engine, which takes a second
with files.replacing(sys.argv[1]) as file:
    file.write(bytes(100_000))
    file.flush()
    print("half", flush=True)
    sys.stdin.read()
"""


@unix
def test_a_program_that_is_killed_while_it_writes_leaves_the_old_file_and_the_next_one_clears_up(tmp_path):
    path, other = tmp_path / "kept.npz", tmp_path / ".kept.npz.original"
    path.write_bytes(b"old")
    other.touch()
    writer = [sys.executable, "-c", WRITER, str(path), files.__file__]
    both = [subprocess.Popen(writer, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
    dead, alive = both
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 4
    with files.replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 3, "what the one that is at work writes is left alone"
    alive.communicate()
    assert alive.returncode == 0
    assert path.read_bytes() == bytes(100_000)
    assert set(tmp_path.iterdir()) == {path, other}


@unix
@pytest.mark.parametrize("removed", [True, False], ids=["locked and removed", "locked so far"])
def test_a_writer_whose_new_file_another_one_takes_for_a_dead_one_s_makes_another(tmp_path, monkeypatch, removed):
    import fcntl

    path, make, taken = tmp_path / "kept", tempfile.mkstemp, []

    def made(**place):
        handle, name = make(**place)
        if not taken:
            taken.append(os.open(name, os.O_RDWR))
            fcntl.flock(taken[0], fcntl.LOCK_EX)
            if removed:
                Path(name).unlink()
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", made)
    with files.replacing(path, "w") as file:
        for left in [each for each in tmp_path.iterdir() if os.path.samestat(each.stat(), os.fstat(taken[0]))]:
            left.unlink()  # now the other one comes to it
        os.close(taken[0])
        file.write("whole")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@unix
def test_links_are_followed_and_devices_and_pipes_written_to(tmp_path):
    """A `--out /dev/null` of the superuser's once made a file of it."""
    real, link, pipe = tmp_path / "folder" / "real", tmp_path / "link", tmp_path / "pipe"
    real.parent.mkdir()
    link.symlink_to(real)
    for text in ("new", "newer"):  # a link that leads nowhere yet, and then to a file
        with files.replacing(link, "w") as file:
            file.write(text)
        assert link.is_symlink()
        assert real.read_text() == text
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    with files.replacing(null) as file:
        file.write(b"gone")
    assert null.is_char_device()
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    assert main.main(["generate", "chain", "2", "--out", str(pipe)]) == 0
    assert reader.communicate()[0].decode() == engine.to_urdf(engine.chain(2))
    assert pipe.is_fifo()


@unix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/{}"], ids=["stdout", "substituted by the shell"])
def test_the_other_end_of_a_pipe_without_a_name_gets_it(name):
    """This covers `--out /dev/stdout | …` and `--out >(…)`."""
    reading, writing = os.pipe()
    code = "import main, sys; sys.exit(main.main(sys.argv[1:]))"
    words = ["generate", "chain", "2", "--out", name.format(writing)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], stdout=writing, stderr=subprocess.PIPE, pass_fds=[writing], check=False
    )
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        assert pipe.read().startswith(engine.to_urdf(engine.chain(2)))
    assert (done.returncode, done.stderr) == (0, b"")


@unix
def test_a_folder_and_a_file_that_may_not_be_written_to_are_told_by_the_file_s_name(tmp_path):
    """It runs as an unprivileged user, since root may write anywhere."""
    path, shut = tmp_path / "kept", tmp_path / "shut"
    path.write_text("old")
    path.chmod(0o444)
    shut.mkdir(0o555)
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            for place in (path, shut / "file"):
                try:
                    with files.replacing(place):
                        os.write(writing, b"written ")
                except OSError as error:
                    os.write(writing, f"{error}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        message = pipe.read().splitlines()
    os.waitpid(child, 0)
    assert message == [
        f"'{path}' may not be written to; name another file, or let it be written to",
        f"'{shut / 'file'}' may not be written to; name another file, or let it be written to",
    ]
    assert path.read_text() == "old"


def test_text_is_in_utf_8_whatever_the_locale_says(tmp_path):
    with files.replacing(tmp_path / "text", "w") as file:
        assert file.encoding == "utf-8"


def test_a_name_of_the_greatest_length_is_written(tmp_path):
    path = tmp_path / ("ä" * 100 + "x" * 55)
    with files.replacing(path, "w") as file:
        file.write("whole")
    assert path.read_text() == "whole"


def test_a_run_whose_file_may_not_be_written_to_is_refused_before_it_begins(tmp_path, monkeypatch, capsys):
    """And not after an hour."""
    path, access = tmp_path / "fall.npz", os.access
    monkeypatch.setattr(os, "access", lambda place, mode: os.fspath(place) != str(tmp_path) and access(place, mode))
    monkeypatch.setattr("engine.run_command.Simulation", None)
    assert main.main(["run", "double_pendulum", "--out", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"catena run: '{path}' may not be written to; name another file")
