"""Commands in bad conditions: Ctrl-C at any time, closed or full standard streams, limited encodings."""

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import main
from engine.cpu.stepping.stepper import Stepper

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")
unix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither these signals nor these streams")


@pytest.fixture
def ctrl_c(monkeypatch):
    """Send Ctrl-C some seconds after steps have begun."""
    timers = []

    def press(seconds):
        def begun(*arguments, **settings):
            if not timers:
                timers.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)))
                timers[0].start()
            return advance(*arguments, **settings)

        advance = Stepper.advance
        monkeypatch.setattr(Stepper, "advance", begun)

    yield press
    for timer in timers:
        timer.cancel()


WHILE_LOADING = """import sys, time, main

class Finder:
    def find_spec(self, name, *_):
        if name == "engine.lie":
            print("loading", file=sys.stderr, flush=True)
            time.sleep(100)  # however late the signal comes

sys.meta_path.insert(0, Finder())
sys.exit(main.main(["info", "arm7"]))
"""


@unix
def test_ctrl_c_while_libraries_are_loaded_ends_in_a_word():
    victim = subprocess.Popen(
        [sys.executable, "-c", WHILE_LOADING], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert victim.stderr is not None
    assert victim.stderr.readline() == "loading\n"
    victim.send_signal(signal.SIGINT)
    assert victim.communicate(timeout=120) == ("", "interrupted\n")
    assert victim.returncode == 130


AS_PYTHON_ENDS = """import os, signal, sys, main

class Last:
    def __del__(self, kill=os.kill, own=os.getpid(), ctrl_c=signal.SIGINT):
        kill(own, ctrl_c)

last = Last()
sys.argv = ["main.py", "check", "arm7"]
sys.exit(main.main())
"""


@unix
def test_ctrl_c_after_all_was_told_changes_nothing():
    """Python's own end takes a while, in which the system would kill it without a word."""
    ended = subprocess.run(
        [sys.executable, "-c", AS_PYTHON_ENDS], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "arm7: 0 errors, 0 warnings\n", "")


IN_A_CALLBACK = """import signal, sys, main

class Gone:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Finder:
    def find_spec(self, name, *_):
        if name == "engine.cli":
            Gone()

sys.meta_path.insert(0, Finder())
sys.exit(main.main(["info", "arm7"]))
"""


@unix
def test_ctrl_c_where_python_drops_exceptions_ends_in_a_word_too():
    """For instance when an import lock is released; its callback is often the first to run after a library's own."""
    ended = subprocess.run(
        [sys.executable, "-c", IN_A_CALLBACK], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


@unix
def test_ctrl_c_in_a_run_keeps_what_was_simulated(tmp_path, capsys, ctrl_c):
    path = tmp_path / "fall.npz"
    assert main.main(["run", "double_pendulum", "--seconds", "0.1"]) == 0  # which may compile
    capsys.readouterr()
    ctrl_c(0.7)
    words = ["run", "double_pendulum", "--seconds", "100000", "--every", "100", "--out", str(path)]
    assert main.main(words) == 130
    assert capsys.readouterr().err == "interrupted\n"
    with np.load(path) as file:
        assert len(file["time"]) == len(file["q"]) > 10
    assert list(tmp_path.iterdir()) == [path]


@unix
@pytest.mark.parametrize("words", [["info", "arm7"], ["check", "arm7"], ["generate", "chain", "2"]])
def test_ctrl_c_in_other_commands_ends_in_a_word(capsys, monkeypatch, words):
    def interrupted(*_arguments, **_settings):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("engine.robot_arguments.load", interrupted)
    monkeypatch.setattr("engine.check_command.examine", interrupted)
    monkeypatch.setattr("engine.generate_command.generate.chain", interrupted)
    assert main.main(words) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


@unix
def test_a_command_without_standard_streams_does_its_work(tmp_path):
    """Files would be opened under the numbers of the streams, and what is printed would end in them."""
    path = tmp_path / "fall.npz"
    words = f"'{sys.executable}' main.py run double_pendulum --seconds 0.1 --out '{path}' <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", words], cwd=ROOT, check=False).returncode == 0
    with np.load(path) as file:
        assert len(file["time"]) > 10


def test_a_terminal_of_few_letters_is_told_all_the_same(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main.main(["run", "double_pendulum", "--seconds", "0.05"]) == 0
    text = stream.buffer.getvalue().decode("ascii")
    assert "phase of a step" in text
    assert "\\xb5s" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has such a device")
def test_output_that_there_is_no_room_for_is_told(monkeypatch, capsys):
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main.main(["info", "double_pendulum"]) == 2
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space"):
            full.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
    assert capsys.readouterr().err == "catena info: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(("stream", "words"), [("stdout", ["info", "arm7", "--json"]), ("stderr", ["info", "nobody"])])
def test_a_reader_that_has_gone_ends_a_command_in_silence(monkeypatch, capfd, stream, words):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1 if stream == "stderr" else -1) as pipe:
        monkeypatch.setattr(sys, stream, pipe)
        assert main.main(words) == 1
        monkeypatch.undo()
    assert capfd.readouterr() == ("", "")
