"""Runs simulated again with a frame at each step or at an interval: the inputs of each step, and equal states."""

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from test_recording import assert_same, drive, standing
from test_recording_files import opened

import engine


def smooth(name: str, **options: object) -> engine.Simulation:
    """A robot without friction, held as it stands."""
    model = engine.load(engine.find_robot(name))
    model = replace(model, friction=np.zeros(model.nv))
    kp, kd = engine.holding_gains(model, 1e-3)
    return engine.Simulation(model, kp=kp, kd=kd, device="cpu", **options)


def recorded(make: Callable[..., engine.Simulation], rng: np.random.Generator) -> engine.Recording:
    """A robot that gains hold and hands drag, moved in the middle and gone on from with another step."""
    simulation, recording = make(), engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, 0.2, rng)
    simulation.q[0, -1] += 0.01
    recording.add(simulation, begins=True)
    drive(simulation, recording, 0.1, rng)
    other = make(dt=0.5e-3)
    other.reset(*simulation.state())
    recording.go_on(other, simulation.time)
    drive(other, recording, 0.05, rng)
    return recording


@pytest.mark.parametrize("integrator", ["semi-implicit", "implicit"])
def test_efforts_and_wrenches_of_each_step_are_those_that_made_its_acceleration(integrator, rng):
    recording = recorded(partial(smooth, "arm7", integrator=integrator, limits=False), rng)
    again = engine.resample(recording, recording.runs[0])
    frames = [again.recording.frame(again.run, k) for k in range(len(again.run))]
    model, checked = frames[0].setup.model, 0
    for k, (before, after) in enumerate(pairwise(frames), 1):
        if after.begins or (after.checkpoint.wrench is not None and after.checkpoint.wrench.any()):
            continue
        dt = after.setup.settings.dt
        assert after.time - before.time == pytest.approx(dt)
        (q, v), (v_after,) = (before.checkpoint.q[0], before.checkpoint.v[0]), after.checkpoint.v
        damped = v_after if integrator == "implicit" else v
        tau = again.effort[0, k] - model.damping * damped
        a = engine.forward_dynamics(model, q, v, tau, device="cpu")
        np.testing.assert_allclose(v + dt * a, v_after, rtol=1e-6, atol=1e-9)
        checked += 1
    assert checked > 100


def test_a_frame_at_each_step_and_the_states_of_the_recording(rng):
    recording = recorded(partial(standing, "quadruped"), rng)
    (run,) = recording.runs
    again = engine.resample(recording, run)
    frames = [again.recording.frame(again.run, k) for k in range(len(again.run))]
    made = {frame.time: k for k, frame in enumerate(frames)}
    assert len(made) == len(again.run), "each moment once"
    for before, after in pairwise(frames):
        assert after.begins or after.time - before.time == pytest.approx(after.setup.settings.dt)
    for k in range(len(run)):
        frame = recording.frame(run, k)
        assert_same_state(again.recording.frame(again.run, made[frame.time]), frame, last=k == len(run) - 1)
    assert again.effort.shape == (1, len(again.run), frame.setup.model.nv)
    assert np.abs(again.effort[0, -1, 6:]).max() > 1, "gains hold its weight"


def assert_same_state(computed: engine.RecordedFrame, frame: engine.RecordedFrame, last: bool) -> None:
    if not computed.begins or frame.begins or last:
        assert_same(computed.checkpoint, frame.checkpoint)


@pytest.mark.parametrize("interval", [0.004, 0.0103])
def test_an_interval_takes_the_nearest_steps(interval, rng):
    simulation, recording = standing("arm7"), engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, 0.3, rng)
    (run,) = recording.runs
    made = engine.resample(recording, run, interval)
    time = engine.recorded_trajectory(made.recording, made.run).time
    begins = [made.recording.frame(made.run, k).begins for k in range(len(made.run))]
    grid = [t for t, begun in zip(time, begins, strict=True) if not begun]
    np.testing.assert_allclose(grid, interval * np.round(np.array(grid) / interval), atol=0.5001e-3)
    whole = engine.resample(recording, run)
    every = engine.recorded_trajectory(whole.recording, whole.run, whole.effort)
    coarse = engine.recorded_trajectory(made.recording, made.run, made.effort)
    at = np.searchsorted(every.time, time)
    np.testing.assert_array_equal(coarse.q, every.q[at])
    np.testing.assert_array_equal(coarse.tau[1:], every.tau[at][1:])
    with pytest.raises(ValueError, match="interval is 0; expected a time above 0"):
        engine.resample(recording, run, 0)


def test_files_have_the_efforts_and_wrenches_and_open_again(tmp_path, rng):
    recording = recorded(partial(standing, "arm7"), rng)
    made = engine.resample(recording, recording.runs[0], 0.01)
    path, table = tmp_path / "run.npz", tmp_path / "run.csv"
    written = engine.save_run(path, made.recording, made.run, {"robot": "arm7"}, effort=made.effort)
    engine.save_csv(table, made.recording.frame(made.run, 0).setup.model, written)
    with np.load(path) as arrays:
        names, rows = read_table(table)
        np.testing.assert_array_equal(arrays["tau"], rows[:, [k for k, name in enumerate(names) if "tau:" in name]])
        links = arrays["wrench_links"].tolist()
        columns = [names.index(f"wrench:{link}.nx [N m]") for link in links]
        for k, column in enumerate(columns):
            np.testing.assert_array_equal(arrays["wrench"][:, k], rows[:, column : column + 6])
        assert np.abs(arrays["tau"]).max() > 1
        assert np.abs(arrays["wrench"]).max() > 1
    read = engine.read_run(path).trajectory
    assert read.wrench_links == written.wrench_links
    np.testing.assert_array_equal(read.wrench, written.wrench)
    again = opened(path, "arm7")
    for index, computed in again.resimulate(again.runs[0], 0):
        assert_same(computed, made.recording.frame(made.run, index).checkpoint)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wrench": np.zeros((3, 1, 6))}, "its wrench has shape"),
        ({"wrench_links": np.zeros(2)}, "its wrench has shape"),
        ({"wrench": np.nan}, "its wrench has numbers that are not finite"),
        ({"wrench_links": None}, "it lacks the array 'wrench_links'"),
    ],
)
def test_a_file_whose_wrenches_do_not_fit_is_refused(tmp_path, rng, change, words):
    recording = recorded(partial(standing, "arm7"), rng)
    path = tmp_path / "run.npz"
    engine.save_run(path, recording, recording.runs[0], {"robot": "arm7"})
    with np.load(path) as found:
        arrays = dict(found)
    for name, value in change.items():
        if value is None:
            del arrays[name]
        else:
            arrays[name] = np.full_like(arrays[name], value) if np.ndim(value) == 0 else value
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=words):
        engine.read_run(path)


def read_table(path) -> tuple[list[str], np.ndarray]:
    names, *rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    return names, np.array(rows, float)


def test_a_batch_has_efforts_of_each_robot_and_too_much_is_refused(rng, monkeypatch):
    simulation, recording = standing("arm7", 3), engine.Recording()
    recording.begin(simulation)
    simulation.v[:] = rng.normal(size=simulation.v.shape)
    recording.add(simulation, begins=True)
    drive(simulation, recording, 0.05, rng)
    (run,) = recording.runs
    made = engine.resample(recording, run)
    assert made.effort.shape[0] == 3
    assert np.ptp(made.effort[:, -1], axis=0).max() > 0.01
    monkeypatch.setattr(engine.recording.resampling, "LIMIT", 20_000)
    with pytest.raises(ValueError, match="export it at a longer interval"):
        engine.resample(recording, run)
