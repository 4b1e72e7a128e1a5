"""Results of studies: none is lost, whatever ends the program or its processes, and studies are not mixed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_studies import SWUNG, named, same, undisturbed

import engine
from engine.study.processes import Processes

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The pushed quadruped, each sample alone in this process."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


def test_a_study_goes_on_where_it_was_and_a_sample_is_there_once(alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    made = engine.Study.read(named(tmp_path))

    def stop(now: engine.StudyProgress) -> None:
        if now.done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.run(tmp_path / "r", processes=0, batch=2, report=stop)
    assert len(engine.Study.results(tmp_path / "r")["sample"]) == 4
    seen: list[int] = []
    made.run(tmp_path / "r", processes=0, batch=3, report=lambda now: seen.append(now.done))
    assert seen[0] == 4
    assert same(engine.Study.results(tmp_path / "r"), alone)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").glob("samples/*.parquet")}
    made.run(tmp_path / "r", processes=2)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "r").glob("samples/*.parquet")} == before


def test_results_of_another_study_are_refused_and_stay(tmp_path: Path) -> None:
    engine.Study.read(named(tmp_path, SWUNG)).run(tmp_path / "r", processes=0)
    before = engine.Study.results(tmp_path / "r")
    for change, output in (
        (("0.3", "0.4"), r"study\.seconds: 0\.3 there, 0\.4 here"),
        (("1.0, 2.0", "1.0, 3.0"), r"study\.vary\.1\.values\.4: 2\.0 there, 3\.0 here"),
        (("1.0, 2.0", "1.0"), r"study\.vary\.1\.values: \[0\.0, 1000000000\.0, 1\.0, 2\.0\] there"),
        (('"elbow position"\n[[', '"elbow velocity"\n[['), r"study\.keep\.1\.quantity: 'elbow position' there"),
    ):
        with pytest.raises(ValueError, match=rf"contains results of another study \({output}"):
            engine.Study.read(named(tmp_path, SWUNG.replace(*change))).run(tmp_path / "r", processes=0)
    again = engine.Study.read(named(tmp_path, f'# a remark\ntitle = "Swung"\n{SWUNG}'))
    assert again.run(tmp_path / "r", processes=0).done == 4
    assert same(engine.Study.results(tmp_path / "r"), before)


def test_a_robots_file_that_changed_is_another_study(tmp_path: Path) -> None:
    shutil.copy(engine.find_robot("double_pendulum"), tmp_path / "own.urdf")
    path = named(tmp_path, SWUNG.replace("double_pendulum", "own.urdf"))
    engine.Study.read(path).run(tmp_path / "r", processes=0)
    with (tmp_path / "own.urdf").open("a") as file:
        file.write("<!-- heavier -->")
    with pytest.raises(ValueError, match=r"contains results of another study \(robots\.own\.urdf: "):
        engine.Study.read(path).run(tmp_path / "r", processes=0)


def test_damaged_results_are_told_and_the_part_is_run_again(tmp_path: Path) -> None:
    made = engine.Study.read(named(tmp_path, SWUNG))
    made.run(tmp_path / "r", processes=0, batch=2)
    before = engine.Study.results(tmp_path / "r")
    part = sorted((tmp_path / "r").glob("samples/*.parquet"))[1]
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    for read in (lambda: engine.Study.results(tmp_path / "r"), lambda: made.run(tmp_path / "r", processes=0)):
        with pytest.raises(ValueError, match=rf"{part.name}' is damaged \(.*\); delete it and run the study again"):
            read()
    part.unlink()
    shutil.copy(part.with_name("part-0000000000.parquet"), part)
    with pytest.raises(ValueError, match="has samples of other parts, or unknown ones; delete it"):
        made.run(tmp_path / "r", processes=0)
    part.unlink()
    made.run(tmp_path / "r", processes=0)
    assert same(engine.Study.results(tmp_path / "r"), before)
    (tmp_path / "r" / "study.json").write_text("{")
    with pytest.raises(ValueError, match=r"study\.json' is damaged"):
        made.run(tmp_path / "r", processes=0)
    (tmp_path / "r" / "study.json").unlink()
    with pytest.raises(ValueError, match=r"has parts and no study\.json; name another folder"):
        made.run(tmp_path / "r", processes=0)


def test_two_programs_do_not_add_to_one_folder(tmp_path: Path) -> None:
    made = engine.Study.read(named(tmp_path, SWUNG))

    def another(_: engine.StudyProgress) -> None:
        with pytest.raises(ValueError, match="another program is adding to"):
            made.run(tmp_path / "r", processes=0)

    assert made.run(tmp_path / "r", processes=0, report=another).done == 4


def test_a_process_that_is_killed_costs_its_batch_which_is_run_again(
    alone: dict[str, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the first process for each batch of the friction 0.8 is killed as it works."""
    killed: list[int] = []
    original = Processes.compiled

    def works(self: Processes, given):  # type: ignore[no-untyped-def]
        for work in original(self, given):
            if work.group.settings.friction == 0.8 and len(killed) < 2:
                killed.append(0)
                yield work._replace(task=_Deadly(work.task))
            else:
                yield work

    monkeypatch.setattr(Processes, "compiled", works)
    engine.Study.read(named(tmp_path)).run(tmp_path / "r", processes=2, batch=2)
    assert len(killed) == 2
    assert same(engine.Study.results(tmp_path / "r"), alone)


class _Deadly:
    """A task that kills the process which unpickles it for the first time."""

    def __init__(self, task):  # type: ignore[no-untyped-def]
        self.samples, self.values, self._task, self._sent = task.samples, task.values, task, False

    def __reduce__(self):  # type: ignore[no-untyped-def]
        if self._sent:
            return type(self._task), (self.samples, self.values)
        self._sent = True
        return os.kill, (_Pid(), signal.SIGKILL)


class _Pid:
    """The number of whatever process unpickles it."""

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return os.getpid, ()


def test_a_batch_that_ends_every_process_ends_the_study_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fatal(_Deadly):
        def __reduce__(self):  # type: ignore[no-untyped-def]
            return os.kill, (_Pid(), signal.SIGKILL)

    original = Processes.compiled
    monkeypatch.setattr(
        Processes, "compiled", lambda self, works: (w._replace(task=Fatal(w.task)) for w in original(self, works))
    )
    with pytest.raises(
        RuntimeError, match=r"the batch of sample 0 has ended 3 processes \(.*SIGKILL\); free some memory"
    ):
        engine.Study.read(named(tmp_path, SWUNG)).run(tmp_path / "r", processes=1)


def test_killed_at_random_and_run_again_it_comes_to_the_same_bits(alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    """`kill -9` of the whole program, five times at times of chance, until it is left to end."""
    words = [sys.executable, "main.py", "study", str(named(tmp_path)), "--batch", "1", "--processes", "2"]
    chance, folder = random.Random(11), tmp_path / "s.results"
    root, counts = Path(__file__).parents[2], [0]
    for _ in range(5):
        program = subprocess.Popen(words, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted, until = counts[-1] + chance.randrange(1, 3), time.monotonic() + 60
        while len(list(folder.glob("samples/part-*"))) < wanted and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        program.kill()
        program.wait()
        counts.append(len(list(folder.glob("samples/part-*"))))
        assert len(list(folder.glob("samples/*.parquet"))) == counts[-1]
    assert counts == sorted(counts)
    done = subprocess.run([*words, "--resume", "--json"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert (output["done"], output["before"]) == (12, counts[-1])
    assert counts[-1] >= 5
    assert same(engine.Study.results(folder), alone)
    assert len(list(folder.glob("samples/part-*.parquet"))) == 12


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one program")
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_keeps_what_was_done_and_says_so(alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    words = [sys.executable, "main.py", "study", str(named(tmp_path)), "--batch", "1", "--processes", "1"]
    folder, root = tmp_path / "s.results", Path(__file__).parents[2]
    program = subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not list(folder.glob("samples/part-*")) and time.monotonic() < until:
        time.sleep(0.001)
    program.send_signal(signal.SIGINT)
    output, reported = program.communicate()
    kept = len(list(folder.glob("samples/part-*")))
    assert (program.returncode, kept < 12) == (130, True), reported
    assert reported == f"interrupted; {kept} of 12 samples are kept, and the same call continues from there\n"
    assert f"{kept} of 12 samples, 0 diverged" in output
    engine.Study.read(tmp_path / "s.toml").run(folder, processes=0)
    assert same(engine.Study.results(folder), alone)
