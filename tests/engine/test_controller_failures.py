"""Misbehaving controllers: each is reported in a sentence, and leaves no process behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).parents[2]
unix = pytest.mark.skipif(sys.platform == "win32", reason="processes of Unix")


@pytest.fixture(scope="module")
def model() -> engine.Model:
    return engine.load(engine.find_robot("double_pendulum"))


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


ANSWER = "def control(t, q, v):\n    return [t, 1]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys\ndef control(t, q, v):\n    sys.exit('enough')\n", "mine.py, line 3: SystemExit: enough"),
        ("import os\nos._exit(0)\n", "mine.py: its process has ended by itself"),
        ("import os\ndef control(t, q, v):\n    os._exit(0)\n", "mine.py: its process has ended by itself"),
        ("import os\nos.closerange(0, 4096)\n" + ANSWER, "mine.py: its process has ended by itself"),
        ("import nothing_there\n", "mine.py, line 1: ModuleNotFoundError: No module named 'nothing_there'"),
        ("def control(t, q, v):\n    raise KeyboardInterrupt\n", "mine.py, line 2: KeyboardInterrupt"),
        ("def control(t, q, v):\n    return control(t, q, v)\n", "RecursionError"),
        ("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E\n", "E: its message"),
        (
            "class E(Exception):\n    def __str__(self):\n        raise SystemExit\nraise E\n",
            "mine.py, line 4: E: its message cannot be read",
        ),
        ("raise ValueError('x' * 10**7)\n", "mine.py, line 1: ValueError: xxx"),
        ("raise SyntaxError('odd', (__file__, 7, 1, 'y' * 1_200_000))\n", "mine.py, line 7: SyntaxError: odd: yyy"),
    ],
)
def test_what_it_does_is_told_in_a_sentence(model, write, text, words):
    with engine.Controller(write(text), model) as controller:
        with pytest.raises(engine.ControllerError) as reported:
            controller(0.0, [0, 0], [0, 0])
        assert words in str(reported.value)
        assert len(str(reported.value)) < 700
        assert len(reported.value.detail) <= 20_000


@pytest.mark.parametrize(
    "text",
    [
        "def control(t, q, v):\n    print('x' * 1_000_000)\n    return [t, 1]\n",
        "import os\nos.close(0)\n" + ANSWER,
        "import threading\nthreading.Thread(target=lambda: threading.Event().wait()).start()\n" + ANSWER,
        "def control(t, q, v):\n    q[:] = 9\n    return [t, 1]\n",
    ],
    ids=["prints", "closes its input", "thread without end", "writes to its arguments"],
)
def test_what_does_no_harm_answers(model, write, text):
    with engine.Controller(write(text), model) as controller:
        q = [0.0, 0.0]
        for t in (0.5, 1.5):
            assert controller(t, q, [0, 0]).tolist() == [t, 1]
        assert q == [0.0, 0.0]


@unix
@pytest.mark.parametrize(
    "text",
    [
        "mark()\nfork()\ndef control(t, q, v):\n    mark()\n    return [t, 1]\n",
        "def control(t, q, v):\n    mark()\n    fork()\n    return [t, 1]\n",
    ],
    ids=["while loading", "while answering"],
)
def test_of_a_forking_controllers_processes_only_one_answers(model, write, tmp_path, text):
    """Whoever is asked writes its number and waits for its copies, which end at once: so it is one number."""
    numbers = tmp_path / "numbers"
    with engine.Controller(write(FORKING.format(path=str(numbers)) + text), model) as controller:
        for k in range(20):
            assert controller(0.1 * k, [0, 0], [0, 0]).tolist() == [0.1 * k, 1]
        assert controller.loaded
    assert len(written := numbers.read_text().split()) >= 20
    assert len(set(written)) == 1


FORKING = """import os
def mark():
    with open({path!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
def fork():
    copy = os.fork()
    if copy:
        os.waitpid(copy, 0)
"""


def alive(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


CHILDREN = """import os, subprocess, sys
one = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
two = os.fork()
if not two:
    while True:
        pass
open({path!r}, "w").write(f"{{one.pid}} {{two}}")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("end", ["ended", "killed program", "ends itself"])
def test_what_it_has_started_ends_with_it(model, write, tmp_path, end):
    numbers = tmp_path / "numbers"
    text = CHILDREN.format(path=str(numbers)) + (ANSWER if end != "ends itself" else "os._exit(0)\n")
    path = write(text)
    if end == "killed program":
        code = f"""
import engine, os, signal
controller = engine.Controller({str(path)!r}, engine.load(engine.find_robot("double_pendulum")))
controller.wait()
os.kill(os.getpid(), signal.SIGKILL)
"""
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    else:
        with engine.Controller(path, model) as controller:
            if end == "ends itself":
                with pytest.raises(engine.ControllerError):
                    controller.wait()
            else:
                controller.wait()
                assert all(alive(int(each)) for each in numbers.read_text().split())
    until(lambda: not any(alive(int(each)) for each in numbers.read_text().split()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_where_a_process_cannot_be_looked_at_without_waiting_for_it_it_ends_the_same(
    model, write, tmp_path, monkeypatch
):
    """This is so on macOS before Python 3.13."""
    monkeypatch.delattr(os, "waitid")
    numbers = tmp_path / "numbers"
    with engine.Controller(write(CHILDREN.format(path=str(numbers)) + "os._exit(0)\n"), model) as controller:
        with pytest.raises(engine.ControllerError, match="its process has ended by itself"):
            controller.wait()
        until(lambda: not any(alive(int(each)) for each in numbers.read_text().split()))
    with engine.Controller(write(ANSWER), model) as controller:
        assert controller(0.5, [0, 0], [0, 0]).tolist() == [0.5, 1]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's own order of whom it ends")
def test_a_controller_process_is_the_first_to_be_killed_without_memory(model, write):
    text = "def control(t, q, v):\n    return [float(open('/proc/self/oom_score_adj').read()), 0]\n"
    with engine.Controller(write(text), model) as controller:
        assert controller(0.0, [0, 0], [0, 0])[0] == 1000 > int(Path("/proc/self/oom_score_adj").read_text())


@unix
def test_one_that_eats_memory_is_told(model, write):
    text = f"""import resource
resource.setrlimit(resource.RLIMIT_AS, ({2**31}, {2**31}))
def control(t, q, v):
    eaten = []
    while True:
        eaten.append(bytearray(10**8))
"""
    with (
        engine.Controller(write(text), model) as controller,
        pytest.raises(engine.ControllerError, match=r"mine\.py, line 6: MemoryError"),
    ):
        controller(0.0, [0, 0], [0, 0])
