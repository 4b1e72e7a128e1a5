"""Runs that are written in parts while they continue: together they are the recording again, to the bit."""

import json

import numpy as np
import pytest
from test_recording import assert_same, drive, standing

import engine

FACTS = {"robot": "quadruped"}


class Parts:
    """Files that a recording is written to, one after another."""

    def __init__(self, folder):
        self.folder, self.ends = folder, {}
        self.paths = []

    def write(self, recording, most=1000):
        """All frames of all runs that were not written."""
        for run in recording.runs:
            last, begin = self.ends.get(run, (-1, 0))
            while last < run.last:
                path = self.folder / f"{len(self.paths):04d}.npz"
                last, begin = engine.save_part(path, recording, run, FACTS, first=begin, most=most)
                self.paths.append(path)
            self.ends[run] = last, begin

    def read(self, *without):
        model = engine.load(engine.find_robot("quadruped"))
        kept = [path for k, path in enumerate(self.paths) if k not in without]
        return engine.recording_of_parts([engine.read_run(path) for path in kept], model)


@pytest.fixture
def grown(tmp_path, rng):
    """A dragged quadruped's run, left by a branch, and its parts, which were written while both continued."""
    simulation, recording, parts = standing("quadruped"), engine.Recording(), Parts(tmp_path)
    recording.begin(simulation)
    for _ in range(3):
        drive(simulation, recording, 0.1, rng)
        parts.write(recording)
    recording.note(simulation)
    simulation.step(3)
    recording.add(simulation, over=True)  # the newest frame, which is in a part, gives way to another
    drive(simulation, recording, 0.1, rng)
    parts.write(recording, most=4)
    (run,) = recording.runs
    left = run.last - 5
    simulation.restore(recording.frame(run, left).checkpoint)
    recording.branch(run, left)
    for _ in range(2):
        drive(simulation, recording, 0.1, rng)
        parts.write(recording)
    return recording, parts


def assert_same_run(one, a, other, b, offset=0):
    assert other.span(b)[1] == one.span(a)[1]
    assert len(b) == len(a) - offset
    for index in range(len(b)):
        frame, read = one.frame(a, index + offset), other.frame(b, index)
        assert_same(read.checkpoint, frame.checkpoint)
        assert (read.time, read.begins) == (frame.time, frame.begins)


def test_parts_are_the_recording_again(grown):
    recording, parts = grown
    again = parts.read()
    assert len(again.runs) == len(recording.runs) == 2
    for run, read in zip(recording.runs, again.runs, strict=True):
        assert_same_run(recording, run, again, read)
        assert read.left == run.left
        for index, computed in again.resimulate(read, 2):
            assert_same(computed, recording.frame(run, index).checkpoint)


def test_a_branch_is_written_and_kept_without_the_frames_of_the_run_that_it_left(grown):
    recording, parts = grown
    first, branch = recording.runs
    written = sum(len(np.load(path)["time"]) for path in parts.paths)
    repeated = 4  # a part after one that ended with the newest frame begins with it again
    own = len(branch) - 1 - [recording.frame(first, k).time for k in range(len(first))].index(branch.left[1])
    assert written == len(first) + own + repeated
    again = parts.read()
    alone = engine.recording_of_parts(
        [engine.read_run(path) for path in parts.paths[:-2]], engine.load(engine.find_robot("quadruped"))
    )
    assert len(alone.runs) == 1
    assert again.bytes < 1.9 * alone.bytes


def test_a_run_begins_after_a_part_that_is_missing(grown):
    recording, parts = grown
    again = parts.read(1)
    first = json.loads(str(np.load(parts.paths[2])["settings"]))["part"]["first"]
    for run, read in zip(recording.runs, again.runs, strict=True):
        assert_same_run(recording, run, again, read, offset=first)
        for index, computed in again.resimulate(read, 0):
            assert_same(computed, recording.frame(run, index + first).checkpoint)


def test_a_branch_whose_run_is_missing_begins_with_its_own_frames(grown):
    recording, parts = grown
    again = parts.read(*range(len(parts.paths) - 2))
    (read,) = again.runs
    branch = recording.runs[1]
    assert read.left is None
    assert_same_run(recording, branch, again, read, offset=len(branch) - len(read))


def test_a_part_ends_where_the_number_of_robots_changes(tmp_path, quadruped):
    recording, parts = engine.Recording(), Parts(tmp_path)
    for robots in (1, 3):
        simulation = engine.Simulation(quadruped, robots)
        recording.go_on(simulation, 0.01) if recording.runs else recording.begin(simulation)
        for _ in range(5):
            recording.note(simulation)
            simulation.step(2)
            recording.add(simulation)
    parts.write(recording)
    assert len(parts.paths) == 2
    assert_same_run(recording, recording.runs[0], parts.read(), parts.read().runs[0])


@pytest.mark.parametrize("part", [None, {}, [1], {"run": 1, "first": -1, "setup": 0, "left": None}, {"run": "1"}])
def test_what_is_no_part_is_refused(tmp_path, grown, part):
    recording, _ = grown
    path = tmp_path / "run.npz"
    engine.save_run(path, recording, recording.runs[0], {**FACTS, "part": part})
    with pytest.raises(ValueError, match=r"run\.npz is not a part of a run"):
        engine.recording_of_parts([engine.read_run(path)], engine.load(engine.find_robot("quadruped")))


def test_a_branch_of_a_branch_without_steps_is_of_the_run_that_both_left(tmp_path, rng):
    simulation, recording, parts = standing("quadruped"), engine.Recording(), Parts(tmp_path)
    recording.begin(simulation)
    drive(simulation, recording, 0.2, rng)
    (first,) = recording.runs
    empty = recording.branch(first, 12)
    assert (empty.last, empty.own) == (12, 13)
    simulation.restore(recording.frame(empty, 9).checkpoint)
    branch = recording.branch(empty, 9)
    drive(simulation, recording, 0.1, rng)
    parts.ends[empty] = empty.last, empty.last  # it has nothing to be written
    parts.write(recording)
    again = parts.read()
    read_first, read = again.runs
    assert read.left == (read_first.number, recording.frame(first, 9).time)
    assert_same_run(recording, first, again, read_first)
    assert_same_run(recording, branch, again, read)


def test_what_acts_unchanged_is_read_once(tmp_path, rng):
    """A recording of hours has a few targets: they take no room in each of its frames."""
    simulation, recording, parts = standing("quadruped"), engine.Recording(), Parts(tmp_path)
    recording.begin(simulation)
    for _ in range(3):
        simulation.target[:] = rng.normal(size=simulation.target.shape)
        for _ in range(20):
            recording.note(simulation)
            simulation.step(1)
            recording.add(simulation)
    parts.write(recording)
    again = parts.read()
    (run,), (read,) = recording.runs, again.runs
    targets = [frame.inputs[1] for frame in again.stored(read)]
    assert len({id(each) for each in targets}) == len({each.tobytes() for each in targets}) == 4
    for index in range(len(run)):
        assert_same(again.frame(read, index).checkpoint, recording.frame(run, index).checkpoint)
    assert again.bytes < 1.1 * recording.bytes
