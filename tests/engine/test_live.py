"""What a script shows comes whole to who reads it, whatever becomes of the script."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.recording import Recording, Run

SCRIPT = Path(__file__).with_name("shown_script.py")


@pytest.fixture(autouse=True)
def runtime(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder of the test's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    return place


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[subprocess.Popen[str], Path]]]:
    """Starts a script; the process, and the folder of its link."""
    processes = []

    def begin(*words: object) -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(engine.ROBOTS.parent)},
        )  # fmt: skip
        processes.append(process)
        return process, Path(process.stdout.readline().strip())

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def opened(folder: Path) -> tuple[engine.LiveReader, Recording, Run]:
    """As the window opens a link: the run of its file, and after it the window's own."""
    reader = engine.LiveReader(folder)
    saved = engine.read_run(reader.run_file)
    model = engine.robot_of_text(saved, engine.load) or engine.load(saved.settings["robot"])
    recording = engine.recording_of(saved, model)
    (run,) = recording.runs
    recording.begin(engine.Simulation(model))
    return reader, recording, run


def read_to_the_end(reader: engine.LiveReader, recording: Recording, run: Run) -> Run:
    until = time.perf_counter() + 60
    while not reader.ended and time.perf_counter() < until:
        run = reader.read_into(recording, run)
        time.sleep(0.005)
    assert reader.ended
    return run


@pytest.mark.parametrize("robot", ["arm7", "quadruped", "composed", "chain"])
def test_states_are_the_scripts_to_the_bit(start, robot: str) -> None:
    _, folder = start(robot, 300, "states")
    reader, recording, run = opened(folder)
    assert read_to_the_end(reader, recording, run) is run
    frames = [recording.frame(run, k) for k in range(run.first, run.last + 1)]
    steps = [frame.checkpoint.steps for frame in frames]
    assert (steps[0], steps[-1], steps) == (0, 300, sorted(set(steps)))
    assert len(steps) > 3
    with np.load(folder.with_suffix(".npz")) as states:
        for frame in frames[1:]:
            for name in "qv":
                own = states[f"{name}{frame.checkpoint.steps}"]
                assert np.array_equal(getattr(frame.checkpoint, name).view("u8"), own.view("u8"))
