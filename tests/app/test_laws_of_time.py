"""Recordings, replays, timelines and samples of random runs show the state at the displayed time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from random_robots import robot, robots

import engine
from app.acting.coordinates import coordinates
from app.features.keyframes import Keyframes
from app.panels.timeline import Track, spacing
from app.plotting.catalogue import catalogue
from app.plotting.probe import Probe
from app.plotting.recorded_curves import Wanted, evaluate
from app.plotting.series import Series
from app.recording import replay as replaying
from app.recording.replay import Replay, snapshot
from app.simulation import pace
from app.simulation.batch_spread import BatchSpread
from app.simulation.motion_watch import AchievedSpeed, LimitWatch
from app.simulation.recorder import Recorder
from app.simulation.running import Running


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """The clock that replays and ticks go by."""
    now = SimpleNamespace(seconds=100.0)
    for module in (replaying, pace):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
    return now


def recorded(rng, frames: int = 40, model: engine.Model | None = None) -> tuple[engine.Recording, engine.Simulation]:
    """A run whose frames stand as far apart as they happened to: from a step to a second."""
    model = model or engine.load(engine.find_robot("double_pendulum"))
    made = engine.Simulation(model, dt=1e-3, q=model.random(rng), device="cpu")
    recording = engine.Recording()
    recording.begin(made)
    most = int(rng.choice([2, 20, 200]))
    for _ in range(frames):
        recording.note(made)
        made.step(int(rng.integers(1, most)))
        recording.add(made)
    return recording, made


def shown_at(times: np.ndarray, seconds: float) -> int:
    """The last frame at or before a time, or the first."""
    return max(0, int(np.sum(times <= seconds)) - 1)


def test_a_replay_shows_at_each_moment_the_frame_that_is_due(chance, clock):
    """At any speed, however far frames stand apart and however often anybody looks."""
    for _ in range(8):
        recording, _ = recorded(chance, 20)
        (run,) = recording.runs
        times = np.array([recording.frame(run, k).time for k in range(run.first, run.last + 1)])
        replay, speed = Replay(recording), 10 ** chance.uniform(-2, 1)
        replay.speed = speed
        begin = float(chance.uniform(0, times[-1]))
        replay.seek(begin)
        assert replay.frame.index == shown_at(times, begin)
        start, began = replay.frame.time, clock.seconds
        replay.toggle()
        look = 10 ** chance.uniform(-3.5, -0.5) * max(1.0, 0.02 * times[-1] / speed)
        while replay.playing:
            clock.seconds += look * chance.uniform(0.5, 1.5)
            replay.take()
            due = start + speed * (clock.seconds - began)
            assert abs(due - times).min() < 1e-9 or replay.frame.index == shown_at(times, due)
            assert clock.seconds - began < (times[-1] - start) / speed + 2 * look + 1e-6
        assert replay.at_end


@pytest.mark.usefixtures("clock")
def test_moving_and_skipping_go_by_frames_and_seconds(chance):
    recording, _ = recorded(chance)
    (run,) = recording.runs
    times = np.array([recording.frame(run, k).time for k in range(run.last + 1)])
    replay, at = Replay(recording), len(times) - 1
    for _ in range(80):
        what, by = chance.integers(3), int(chance.integers(-9, 9))
        if what == 0:
            replay.move(by)
            at = min(max(at + by, 0), len(times) - 1)
        elif what == 1:
            seconds = chance.normal(0, 0.2 * times[-1])
            at = shown_at(times, times[at] + seconds)
            replay.skip(seconds)
        else:
            seconds = chance.uniform(-0.1, 1.1) * times[-1]
            at = shown_at(times, seconds)
            replay.seek(seconds)
        assert (replay.frame.index, replay.frame.time) == (at, times[at])
        assert replay.at_end == (at == len(times) - 1)
        assert replay.active
    replay.to_last()
    assert replay.at_present
    replay.toggle()  # from the beginning
    assert (replay.playing, replay.frame.index) == (True, 0)


def batch_of(model, rng, robots_: int = 3, **settings) -> Running:
    spread = BatchSpread(robots_, 0.3, 0.3, 0.3, seed=int(rng.integers(99)))
    made = engine.Simulation(
        model, robots_, dt=1e-3, device="cpu", q=spread.poses(model, model.random(rng)),
        parameters=spread.parameters(model), **settings,
    )  # fmt: skip
    return Running(made, spread)


def play(running, attached, rng, batches: int = 12, most: int = 3) -> None:
    """A few batches of steps with efforts, targets and wrenches that change, as the loop takes them."""
    for each in attached:
        each.after_jump(running)
    for _ in range(batches):
        count = int(rng.integers(1, most))
        for name in ("tau", "target"):
            running.set_all(name, rng.normal(0, 0.3, len(running.tau)))
        if running.wrench is not None:
            running.set_wrench(rng.normal(0, 0.2, running.wrench.shape))
        for each in attached:
            assert each.before_steps(running, count)
        running.advance(count)
        for each in attached:
            each.after_steps(running, count)


def test_frames_tell_what_was_sampled_live_of_each_robot(chance, tmp_path, monkeypatch):
    """Every quantity in the catalogue, of a robot of a batch with masses of its own; and a snapshot has that state."""
    monkeypatch.setattr("app.simulation.recorder.SPACING", 0.0)
    monkeypatch.setattr("app.plotting.probe.SPACING", 0.0)
    monkeypatch.setattr("app.plotting.probe.MAX_SHARE", 1e9)
    for model in robots(tmp_path, chance):
        kp = np.where((model.q_of_v >= 0) & (chance.random(model.nv) < 0.7), chance.uniform(0.1, 1, model.nv), 0)
        running, probe, recorder = batch_of(model, chance, kp=kp), Probe(), Recorder()
        running.take_wrenches()
        running.select_robot(int(chance.integers(3)))
        quantities = tuple(catalogue(model))
        recorder.after_jump(running)
        probe.begin(quantities, running)
        play(running, (probe, recorder), chance)
        probe.flush(running)
        live = probe.take()
        (run,) = recorder.recording.runs
        wanted = Wanted(run, run.first, run.last, running.robot, quantities, coordinates(model))
        times, values = evaluate(recorder.recording, wanted, range(run.first, run.last + 1))
        sampled = {t: row for block in live for t, row in zip(block.time.tolist(), block.values, strict=True)}
        assert list(sampled) == times.tolist()
        for row, time in zip(values, times.tolist(), strict=True):
            np.testing.assert_allclose(row, sampled[time], rtol=1e-9, atol=1e-9)
        at = snapshot(recorder.recording.frame(run, run.last), running.robot)
        time, q, v = running.state()
        assert (at.time, at.robot) == (pytest.approx(time), running.robot)
        for found, expected in ((at.q, q), (at.v, v), (at.tau, running.tau), (at.target, running.target)):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(at.wrench, running.wrench[running.robot])
        np.testing.assert_allclose(at.effort, running.simulation.effort[running.robot], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(at.link_poses, engine.link_poses(model, q), atol=1e-12)
        np.testing.assert_allclose(at.batch.link_poses[running.robot], at.link_poses, atol=1e-5)


def taken(recording: engine.Recording) -> int:
    """Bytes of all frames that there are, each once."""
    frames = {id(frame.q): frame.bytes for run in recording.runs for frame in recording.stored(run)}
    return sum(frames.values())


def meddle(recording, made, rng) -> None:
    """One thing more that users do to a recording: begin, branch, put by hand, step."""
    runs, what = recording.runs, rng.random()
    if what < 0.15:
        made.reset(made.model.random(rng)[None])
        recording.begin(made)
    elif what < 0.4:
        run = runs[rng.integers(len(runs))]
        index = int(rng.integers(run.first, run.last + 1))
        made.restore(recording.frame(run, index).checkpoint)
        recording.branch(run, index)
    elif what < 0.5:
        made.q[0, 0] += 0.1
        recording.add(made, begins=True)
    else:
        for k in range(int(rng.integers(1, 6))):
            made.tau[:] = rng.normal(size=made.tau.shape)
            recording.note(made)
            made.step(2)
            recording.add(made, over=bool(k and rng.random() < 0.3))


def tangled(rng) -> tuple[engine.Recording, engine.Model]:
    """Runs that begin, branch from branches and are changed by hand."""
    recording, made = recorded(rng, 5)
    for _ in range(25):
        meddle(recording, made, rng)
    return recording, made.model


def test_memory_is_that_of_the_frames_there_are(chance):
    """However runs begin, branch from branches, are forgotten and dropped for want of room."""
    recording, made = recorded(chance, 5)
    for _ in range(200):
        if chance.random() < 0.05:
            recording.budget = int(recording.bytes * chance.uniform(0.4, 1.1))
        else:
            meddle(recording, made, chance)
        assert recording.bytes == taken(recording)


def lineage(run, runs) -> list[int]:
    """The numbers of a run and of all that it continues."""
    found, numbered = [run.number], {each.number: each for each in runs}
    while (left := numbered[found[-1]].left) is not None:
        found.append(left[0])
    return found


@pytest.mark.usefixtures("qapp")
def test_keyframes_are_seen_in_every_run_that_has_their_moment(chance):
    """A branch has the frames of what it continues, up to where it left that, and no others."""
    for _ in range(6):
        recording, made = recorded(chance, 6)
        for _ in range(8):
            run = recording.runs[chance.integers(len(recording.runs))]
            index = int(chance.integers(run.first, run.last + 1))
            made.restore(recording.frame(run, index).checkpoint)
            recording.branch(run, index)
            for _ in range(3):
                recording.note(made)
                made.step(5)
                recording.add(made)
        runs = recording.runs
        frames = Keyframes(None, lambda runs=runs: runs, print, print, lambda: None)
        for run in runs:
            for index in chance.choice(np.arange(run.first, run.last + 1), 4).tolist():
                frames.add(run, recording.frame(run, index)).name = f"«{run.number}» &\n{index}"
        for run in runs:
            of, own = lineage(run, runs), {index: id(frame.q) for index, frame in enumerate(recording.stored(run))}
            seen = [
                each for each in frames.all if each.run.number in of
                and own.get(each.frame.index) == id(recording.stored(each.run)[each.frame.index].q)
            ]  # fmt: skip
            found = frames.seen_in(run)
            assert sorted(map(id, found)) == sorted(map(id, seen))
            assert np.all(np.diff([each.frame.time for each in found]) >= 0)
        entries, again = frames.entries, Keyframes(None, lambda runs=runs: runs, print, print, lambda: None)
        again.restore(recording, entries)
        assert again.entries == entries
        assert [each.frame.index for each in again.all] == [each.frame.index for each in frames.all]


def test_a_place_on_the_track_is_the_time_that_it_seeks(chance, qtbot):
    track = Track()
    qtbot.addWidget(track)
    for _ in range(40):
        start, length = chance.uniform(0, 100), 10 ** chance.uniform(-2, 4)
        track.resize(int(chance.integers(100, 2000)), 30)
        track.show_span(start, start + length, start, None)
        for seconds in chance.uniform(start, start + length, 5):
            assert track.seconds(track.place(seconds)) == pytest.approx(seconds, rel=1e-9)
        edges = track.place(start), track.place(start + length)
        assert (track.place(start - 1), track.place(start + length + 1)) == edges
        assert edges[0] == track.width() - edges[1]
        step, most = spacing(length, 7), 7
        assert length / step <= most < length / step * 2.5 * (1 + 1e-9)


def test_series_answer_as_plain_arrays_do(chance):
    for _ in range(30):
        line, time, value = Series(), np.zeros(0), np.zeros(0)
        for _ in range(6):
            last = time[-1:].sum()
            start = chance.uniform(0, last + 0.5) if chance.random() < 0.4 else last + 0.1
            more = start + np.cumsum(chance.uniform(0.01, 0.1, 20))
            new = chance.normal(size=20)
            line.extend(more, new)
            kept = time < more[0]
            time, value = np.concatenate([time[kept], more]), np.concatenate([value[kept], new])
        np.testing.assert_array_equal((line.time, line.value), (time, value))
        low, high = np.sort(chance.uniform(time[0] - 0.2, time[-1] + 0.2, 2))
        at, seen = line.between(low, high, int(chance.integers(1, 50)))
        inside = (time >= low) & (time <= high)
        assert set(zip(at, seen, strict=True)) <= set(zip(time, value, strict=True))
        if inside.any():
            assert seen.max() >= value[inside].max()
            assert seen.min() <= value[inside].min()
        for t in chance.uniform(time[0] - 0.1, time[-1] + 0.1, 10):
            assert line.at(t) == value[np.argmin(np.abs(time - t))]
        every = np.sort(chance.uniform(time[0] - 1, time[-1] + 1, 30))
        np.testing.assert_array_equal(line.lacks(every), (every < time[0]) | (every > time[-1]))


def test_gaps_of_a_series_are_filled_with_what_was_worked_out(chance):
    for _ in range(20):
        every = np.cumsum(chance.uniform(0.01, 0.1, 120))
        known = dict(zip(every.tolist(), chance.normal(size=120).tolist(), strict=True))
        line, begin = Series(), 0
        while begin < 120:
            end = begin + int(chance.integers(2, 30))
            if chance.random() < 0.5:
                line.extend(every[begin:end], np.array([known[t] for t in every[begin:end].tolist()]))
            else:
                line.interrupt()
            begin = end
        sampled = np.isin(every, line.time)
        np.testing.assert_array_equal(line.lacks(every), ~sampled)
        filled = line.filled(every, np.array([-x for x in known.values()]))  # what was sampled is not worked out
        expected = np.where(sampled, list(known.values()), [-x for x in known.values()])
        np.testing.assert_array_equal((filled.time, filled.value), (every, expected))
    assert np.isnan(Series().at(0))
    assert Series().lacks(every).all()


def test_what_is_simulated_keeps_to_the_clock_at_any_speed(chance, clock):
    for _ in range(20):
        ticks, dt = pace.Pace(), 10 ** chance.uniform(-4, -2.5)
        ticks.speed = 10 ** chance.uniform(-1, 1)
        ticks.restart()
        began, simulated, achieved, reported = clock.seconds, 0.0, AchievedSpeed(), math.nan
        while clock.seconds < began + 3:
            clock.seconds += chance.uniform(0.2, 1.0) * pace.TICK
            budget = ticks.begin_tick(dt)
            while count := ticks.steps(dt, budget.burst):
                ticks.pay(count * dt)
                ticks.learn(1e-7)
                simulated += count * dt
            reported = achieved.mark(clock.seconds, simulated)
            assert 0 <= ticks.speed * (clock.seconds - began) - simulated < dt + 1e-9
        assert reported == pytest.approx(ticks.speed, rel=0.1)


def test_a_joint_that_comes_to_its_limit_is_told_once(chance, tmp_path):
    model = robot(tmp_path, chance, kinds=("revolute", "prismatic"))
    watch, one = LimitWatch(model), np.flatnonzero(model.q_of_v >= 0)
    range_ = model.upper[one] - model.lower[one]
    q, away = model.neutral(), np.zeros(len(one), bool)  # who stood clearly off its limits since it was reported
    for _ in range(200):
        inside, beyond = chance.uniform(0.02, 0.98, len(one)), chance.choice([0.0, 1.0, 1.2, -0.3])
        share = np.where(chance.random(len(one)) < 0.5, beyond, inside)
        q[model.q_of_v[one]] = model.lower[one] + share * range_
        there = (share <= 0) | (share >= 1)
        expected = {model.coordinate_names[v] for v in one[there & away]}
        assert set(watch.update(q)) == expected
        away = np.where(there, False, True)
