"""Rollouts and their recorder: progress, results, and refusals."""

import sys

import numpy as np
import pytest

import engine
from engine.rollout import Recorder


@pytest.fixture
def clock(monkeypatch):
    """A wall clock on which each step takes a millisecond."""
    ticking = []
    monkeypatch.setattr(sys.modules["engine.rollout"], "perf_counter", lambda: ticking[0].steps * 1e-3)
    return ticking


def simulation(links=2, batch=1):
    return engine.Simulation(engine.chain(links), batch, dt=1e-3, device="cpu")


def test_one_is_told_how_far_it_is_about_as_often_as_asked(clock):
    clock.append(simulation())
    recorder, reported = Recorder(clock[0], 700, every=7), []
    recorder.run(reported.append, seconds=0.05)
    strides = np.diff([0, *reported])
    assert strides[0] == 7
    assert set(strides[1:-1]) <= {42, 49}
    assert reported[-1] == 700
    assert len(reported) >= 15


def test_one_is_told_at_least_at_every_sample_however_slow_a_step(clock):
    clock.append(simulation())
    recorder, reported = Recorder(clock[0], 21, every=7), []
    recorder.run(reported.append, seconds=1e-3)
    assert reported == [7, 14, 21]


class Pushing:
    """A controller of one robot that returns the time, in s, at every third step."""

    def __init__(self):
        self.asked, self.logged = [], {}

    def wait(self):
        pass

    def every(self, dt):
        assert dt == 1e-3
        return 3

    def __call__(self, time, q, v):
        self.asked.append((time, q.copy(), v.copy()))
        self.logged = {"asked": float(len(self.asked))}
        return np.full(v.size, time)


def test_a_controller_is_told_of_and_kept_as_its_steps_are_done(clock):
    clock.append(simulation())
    controller = Pushing()
    recorder, reported = Recorder(clock[0], 100, every=4, controller=controller), []
    recorder.run(reported.append, seconds=0.02)
    assert reported == [21, 42, 63, 84, 100]
    times = np.array([time for time, _, _ in controller.asked])
    np.testing.assert_allclose(times, 3e-3 * np.arange(34), atol=1e-15)
    held = np.repeat(times, 3)[:100]
    np.testing.assert_array_equal(recorder.controls, np.broadcast_to(held[None, :, None], (1, 100, 2)))
    trajectory = recorder.trajectory()
    again = engine.rollout(engine.chain(2), engine.chain(2).neutral(), None, recorder.controls[0], every=4)
    np.testing.assert_allclose(trajectory.time, again.time, atol=1e-15)
    for name in ("q", "v", "tau"):
        np.testing.assert_array_equal(getattr(trajectory, name), getattr(again, name))
    assert trajectory.logged_names == ("asked",)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"steps": 10, "every": 0}, "every is 0 and steps 10"),
        ({"steps": 0}, "every is 1 and steps 0"),
        ({"steps": 10, "every": 3}, "every is 3 and steps 10"),
        ({}, "steps is not given"),
        ({"steps": 2, "controls": [[1.0, 2.0]]}, r"controls has shape \(1, 2\).*, steps 2"),
        ({"controls": np.zeros((2, 4, 2))}, r"controls has shape \(2, 4, 2\)"),
        ({"steps": 4, "controls": [np.nan, 0.0]}, "controls holds a number that is not finite"),
        ({"steps": 4, "target": np.zeros(3)}, "target"),
        ({"steps": 4, "keep": ("x",)}, "keep"),
    ],
)
def test_what_cannot_be_rolled_out_is_refused(words, text):
    model = engine.chain(2)
    with pytest.raises(ValueError, match=text):
        engine.rollout(model, model.neutral(), **words)


def test_controls_that_are_no_numbers_are_refused():
    model = engine.chain(2)
    with pytest.raises(TypeError, match="controls are generalized forces, numbers of 2 velocities"):
        engine.rollout(model, model.neutral(), None, [["a", "b"]])


@pytest.mark.parametrize("keep", [True, False])
def test_a_recorder_keeps_what_a_rollout_answers_or_nothing(keep, rng):
    controls, robots = rng.uniform(-1, 1, (2, 8, 2)), simulation(batch=2)
    recorder = Recorder(robots, 8, every=2, controls=controls, keep=keep)
    assert set(recorder.phases().values()) == {0.0}
    recorder.run(lambda _: None, seconds=1e-9)
    found = recorder.trajectory()
    whole = engine.rollout(engine.chain(2), np.stack([engine.chain(2).neutral()] * 2), None, controls, every=2)
    samples = 5 if keep else 1
    np.testing.assert_array_equal(found.time, whole.time[:samples])
    for name in ("q", "v", "tau"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[:, :samples])
    assert set(recorder.phases()) == set(robots.phases)
    assert sum(recorder.phases().values()) < 0.1


def test_a_controller_whose_states_are_not_kept_is_asked_all_the_same(clock):
    clock.append(simulation())
    controller = Pushing()
    recorder = Recorder(clock[0], 9, controller=controller, keep=False)
    recorder.run(lambda _: None)
    assert len(controller.asked) == 3
    assert recorder.controls is None
    assert len(recorder.trajectory().time) == 1


@pytest.mark.parametrize("every", [1, 2])
def test_what_diverges_leaves_the_sound_samples_with_their_controls(every):
    controls = np.zeros((1, 12, 2))
    controls[0, :, 0], controls[0, 7, 0] = np.arange(12) * 1e-3, 1e300
    recorder = Recorder(simulation(), 12, every, controls)
    assert recorder.controls.shape == (1, 0, 2)
    with pytest.raises(engine.Diverged):
        recorder.run(lambda _: None, seconds=1.0)
    assert recorder.controls.shape == (1, 7, 2)
    trajectory = recorder.trajectory()
    sound = np.arange(0, 8, every)
    np.testing.assert_allclose(trajectory.time, sound * 1e-3)
    np.testing.assert_array_equal(trajectory.tau, controls[0, np.maximum(sound - 1, 0)])
    assert np.all(np.isfinite(trajectory.v))
    with pytest.raises(engine.Diverged) as cut:
        engine.rollout(engine.chain(2), engine.chain(2).neutral(), None, controls[0], every=every)
    np.testing.assert_array_equal(cut.value.trajectory.q, trajectory.q)


def test_without_more_words_every_state_is_kept():
    recorder = Recorder(simulation(), 3)
    recorder.run(lambda _: None)
    np.testing.assert_allclose(recorder.trajectory().time, [0, 1e-3, 2e-3, 3e-3])
