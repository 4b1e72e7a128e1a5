"""Recordings and files of random runs are complete: frames, inputs, contacts, divergences, and byte counts."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.recording.repeating import repeat
from tests.differential.cases import Case, case
from tests.differential.laws import (
    EIGHT,
    FIELD,
    IMPLICIT,
    OWN_FIELD,
    OWN_PAIRS,
    PAIRS,
    assert_same,
    chances,
    contacts,
    holds,
    results_of,
    same_bits,
)
from tests.differential.urdf_text import folder, srdf, urdf
from tests.differential.user_actions import Act, give, go, played, script

FAMILIES = (IMPLICIT, EIGHT, PAIRS, FIELD, OWN_FIELD, OWN_PAIRS)
MANY = [pytest.param(2, id="some"), pytest.param(40, id="many", marks=pytest.mark.slow)]
Moment = tuple[dict[str, Any], engine.Checkpoint]


def recorded(simulation: engine.Simulation, recording: engine.Recording, acts: list[Act]) -> dict[int, Moment]:
    """Run a script as the window does; return each kept frame's results at its time, and its checkpoint."""
    moments: dict[int, Moment] = {}
    run = recording.runs[-1] if recording.runs else None
    if run is None:
        recording.begin(simulation)
        run = recording.runs[-1]
        moments[0] = results_of(simulation), simulation.checkpoint()
    for k, act in enumerate(acts):
        if act.wild is not None:
            recording.add(simulation)
            moments[run.last] = results_of(simulation), simulation.checkpoint()
        give(simulation, act)
        if act.wild is not None:
            recording.add(simulation, begins=True)
            moments[run.last] = results_of(simulation), simulation.checkpoint()
        recording.note(simulation)
        if go(simulation, act.steps):
            return moments
        if act.steps:
            recording.add(simulation, over=k % 3 == 2)
            moments[run.last] = results_of(simulation), simulation.checkpoint()
    return moments


def assert_checkpoint(found: engine.Checkpoint, expected: engine.Checkpoint, where: str, call: bool = True) -> None:
    """To the bit; without `call` the worst residual of the last call may be another, since there were other calls."""
    for name, x in found._asdict().items():
        y = getattr(expected, name)
        if name == "contact":
            x, y = ([np.array(part) for part in parts] for parts in (x, y))
            for parts in (x, y) if x and not call else ():
                parts[1][:, 2] = 0.0
            assert len(x) == len(y)
            assert all(map(same_bits, x, y)), f"{where}: contact"
        elif name == "divergences":
            assert np.array_equal(x[0], y[0]), f"{where}: divergences {x} and not {y}"
            there = x[0] != 0
            assert np.array_equal(x[1][there], y[1][there]), f"{where}: divergences {x} and not {y}"
        elif x is None or isinstance(x, int):
            assert x == y or (x is y), f"{where}: {name} {x} and not {y}"
        else:
            assert same_bits(x, y), f"{where}: {name}\n{x}\nand not\n{y}"


def assert_frames(recording: engine.Recording, run: engine.Run, moments: dict[int, Moment], where: str) -> None:
    """Every frame is the recorded state; a simulation that continues from it gives the same results."""
    for index in range(run.first, run.last + 1):
        frame = recording.frame(run, index)
        was, checkpoint = moments[index]
        assert_checkpoint(frame.checkpoint, checkpoint, f"{where}, frame {index}")
        live = {name: x for name, x in was.items() if name.startswith("contacts")}
        if frame.contacts is not None:
            assert_same(contacts(frame.contacts), live, f"{where}, frame {index}")
        else:
            assert not any("point" in name for name in live)
    index = run.first + len(run) // 2
    frame = recording.frame(run, index)
    simulation = frame.setup.simulation()
    simulation.restore(frame.checkpoint)
    assert_same(results_of(simulation), moments[index][0], f"{where}, taken up at frame {index}")


def assert_repeats(recording: engine.Recording, run: engine.Run, begin: int) -> None:
    """From a frame on the same frames come again."""
    count = begin
    for index, found in recording.resimulate(run, begin):
        assert_checkpoint(found, recording.frame(run, index).checkpoint, f"again from {begin}, frame {index}", False)
        count += 1
    assert (index if count > begin else begin) == count == run.last


def assert_bytes(recording: engine.Recording) -> None:
    """The reported bytes are those of all kept frames, each counted once."""
    kept = {id(x): x for run in recording.runs for x in run._frames if x is not None}
    assert recording.bytes == sum(frame[-1] for frame in kept.values())
    inside = {id(x): x for frame in kept.values() for x in _inside(frame)}
    least = sum(x.nbytes if isinstance(x, np.ndarray) else len(x) for x in inside.values())
    assert least <= recording.bytes <= 1.2 * least + 6000 * len(kept)


def _inside(x: Any) -> list:
    """The arrays and the bytes in what a frame holds, but for what frames share: headers."""
    if isinstance(x, np.ndarray | bytes):
        return [x]
    return [each for part in x for each in _inside(part)] if isinstance(x, tuple) else []


def recordings_hold_runs(found: Case) -> None:
    """Frames; seeking, running again, branches, and the frames that go where there is no room."""
    rng, acts = chances(found, 2), script(found, 10)
    recording, simulation = engine.Recording(), found.simulation()
    moments = recorded(simulation, recording, acts)
    (run,) = recording.runs
    assert sorted(moments) == list(range(run.first, run.last + 1))
    assert_frames(recording, run, moments, "live")
    assert_bytes(recording)
    for index in (0, int(rng.integers(len(run)))):
        assert_repeats(recording, run, index)
        time = recording.frame(run, index).time
        at = recording.at(run, np.nextafter(time, 2 * time + 1))
        assert recording.frame(run, at).time == time
    index, before = int(rng.integers(len(run))), recording.bytes
    branch = recording.branch(run, index)
    assert (branch.left, recording.bytes) == ((run.number, recording.frame(run, index).time), before)
    frame = recording.frame(branch, index)
    other = frame.setup.simulation()
    other.restore(frame.checkpoint)
    later = recorded(other, recording, script(found, 5, wild=0.0))
    shared = {k: moment for k, moment in moments.items() if k <= index}
    assert_frames(recording, branch, shared | later, "branch")
    assert_repeats(recording, branch, index // 2)
    assert_bytes(recording)
    budget = recording.bytes
    while budget > 0 and len(recording.runs[-1]) > 1:
        budget = budget * 3 // 4
        recording.budget = budget
        assert_bytes(recording)
        assert recording.bytes <= budget or len(recording.runs[-1]) == 1
    assert_frames(recording, branch, shared | later, "what is left")


def files_hold_runs(found: Case) -> None:
    """A run's file, and its parts, are the recording; and all of it comes again."""
    recording, simulation = engine.Recording(), found.simulation()
    moments = recorded(simulation, recording, script(found, 8))
    (run,), path = recording.runs, folder() / f"run{os.getpid()}.npz"
    written = engine.save_run(path, recording, run, {"robot": "case"})
    saved = engine.read_run(path)
    assert saved.trajectory.wrench_links == written.wrench_links
    for name in ("time", "q", "v", "tau", *(("wrench",) if written.wrench_links else ())):
        assert same_bits(getattr(saved.trajectory, name), getattr(written, name)), name
    again = engine.recording_of(saved, found.model())
    (read,) = again.runs
    assert_frames(again, read, moments, "file")
    assert_repeats(again, read, 0)
    assert_bytes(again)
    if saved.trajectory.time[-1] > 0 or len(run) > 1:
        answer = repeat(saved, found.model())
        assert (answer.differs, answer.farthest, answer.samples) == (None, 0.0, len(run))
    last = read.last
    frame = again.frame(read, last)
    left, right = frame.setup.simulation(), found.simulation()
    left.restore(frame.checkpoint)
    right.restore(moments[last][1])
    for x, y in zip(*(list(played(each, script(found, 4))) for each in (left, right)), strict=True):
        assert_same(x, y, "from the file's end")
    _in_parts(found, recording, run, moments)


def _in_parts(found: Case, recording: engine.Recording, run: engine.Run, moments: dict[int, Moment]) -> None:
    paths, first = [], 0
    while first <= run.last:
        paths.append(folder() / f"part{os.getpid()}-{len(paths)}.npz")
        last, _ = engine.save_part(paths[-1], recording, run, {"robot": "case"}, first=first, most=3)
        first = last + 1
    joined = engine.recording_of_parts([engine.read_run(path) for path in paths], found.model())
    assert_frames(joined, joined.runs[-1], moments, "parts")
    assert_bytes(joined)


@pytest.mark.parametrize("count", MANY)
def test_recordings_hold_runs(count: int) -> None:
    holds(recordings_hold_runs, FAMILIES, count)


@pytest.mark.parametrize("count", MANY)
def test_files_hold_runs(count: int) -> None:
    holds(files_hold_runs, FAMILIES, count)


def test_a_run_in_which_a_robot_diverged_under_contact_is_read_again() -> None:
    """Its contacts in the step that was not taken were not finite, and its file was refused."""
    files_hold_runs(case(4, OWN_PAIRS))


def test_files_are_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The robot, its SRDF and its meshes, and the meshes of obstacles, all named from where the run was made."""
    from engine.cli import main

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    found = next(x for k in range(999) if (x := case(k, PAIRS)).robot["disabled"] and _meshed(x))
    for name, text in (("robot.urdf", urdf(found.robot)), ("robot.srdf", srdf(found.robot))):
        (here / name).write_text(text, "utf-8")
    meshes = [Path(shutil.copy(path, here)) for path in [*folder().glob("*.obj"), *folder().glob("*.stl")]]
    monkeypatch.chdir(here)
    words = ["run", "robot.urdf", "--self-collision", "--srdf", "robot.srdf", "--seconds", "0.02", "--out", "run.npz"]
    words += ["--algorithm", "abia", "--integrator", "semi-implicit"]
    words += ["--floating"] if found.robot["floating"] else []
    assert main(words) == 0, capsys.readouterr().err
    pairs = engine.load("robot.urdf", floating=found.robot["floating"], srdf="robot.srdf").disabled_collisions
    model = engine.load("robot.urdf", floating=found.robot["floating"])
    obstacle = engine.Obstacle("mesh", pose=(0.1, 0.0, -0.2), mesh=meshes[0].name)
    recording = engine.Recording()
    simulation = engine.Simulation(model, scene=engine.Scene(obstacles=(obstacle,)), algorithm="abia")
    recording.begin(simulation)
    recording.note(simulation)
    simulation.step(3)
    recording.add(simulation)
    engine.save_run("beside.npz", recording, recording.runs[0], {"robot": "robot.urdf"})
    monkeypatch.chdir(there)
    assert main(["repeat", str(here / "run.npz")]) == 0, capsys.readouterr().err
    saved = engine.read_run(here / "run.npz")
    assert engine.load(saved.settings["robot"], floating=found.robot["floating"],
                       srdf=saved.settings["srdf"]).disabled_collisions == pairs  # fmt: skip
    assert repeat(engine.read_run(here / "beside.npz"), model).differs is None


def _meshed(found: Case) -> bool:
    return any(shape["kind"] == "mesh" for link in found.robot["links"] for shape in link["shapes"])
