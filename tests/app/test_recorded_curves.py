"""Curves of recorded runs: opened from a file, scrubbed, gone on from, and worked out from frames."""

import math
import threading

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtTest import QTest
from test_plotting import panel_of, tick
from test_run_files import open_run
from windows import wait

import engine
from app.acting.coordinates import coordinates
from app.features.attaching import PlotsView, TimeView
from app.plotting import recorded_curves
from app.plotting.catalogue import catalogue
from app.plotting.recorded_curves import FRAMES, RecordedCurves, Wanted, evaluate
from app.simulation.messages import Settings
from app.simulation.recorder import Recorder
from app.simulation.running import for_new, running_of
from app.workbench import SPEEDS
from engine.cli import main as command

Key, Left = Qt.Key, Qt.MouseButton.LeftButton
SECONDS = 12.0


@pytest.fixture(scope="module")
def swing(tmp_path_factory):
    """A file of 12 s of the double pendulum, written by `main.py run`."""
    path = tmp_path_factory.mktemp("runs") / "swing.npz"
    words = ["run", "double_pendulum", "--seconds", str(SECONDS), "--dt", "0.001", "--every", "20", "--out", str(path)]
    assert command([*words, "--q", "0.5,0.2"]) == 0
    return path


def scrub(qtbot, window, seconds):
    """Press the timeline at a time."""
    track = window.features[TimeView].bar.track
    qtbot.mouseClick(track, Left, pos=QPoint(round(track.place(seconds)), 12))


def told(panel):
    """The number in the first plot's names."""
    return panel.charts[0].names.text()


def whole(panel, count):
    return all(len(line) >= count for line in panel.series.values())


def test_an_opened_run_has_curves_and_the_view_follows_the_scrubbed_moment(qtbot, window, swing):
    open_run(qtbot, window, swing)
    window.workbench.set_speed(SPEEDS[1])  # it plays at once, and its curves are whole once that is over
    panel, saved = panel_of(window), np.load(swing)
    qtbot.keyClick(window, Key.Key_P)
    name = window.workbench.robot.model.joint_names[0]
    tick(panel, f"{name} position")
    count = len(saved["time"])
    wait(qtbot, lambda: whole(panel, count))
    (line,) = panel.series.values()
    np.testing.assert_array_equal(line.time, saved["time"])
    np.testing.assert_array_equal(line.value, saved["q"][:, 0])
    canvas = panel.charts[0].canvas
    for seconds in (10.5, 4.0):
        scrub(qtbot, window, seconds)
        wait(qtbot, lambda seconds=seconds: abs(canvas.marked - seconds) < 0.2)
        panel.draw()
        assert canvas.time[0] < canvas.marked < canvas.time[1]
        assert np.diff(canvas.time)[0] == pytest.approx(10.0)
        assert not panel.follow.isChecked()
        angle = math.degrees(window.workbench.replay.frame.checkpoint.q[0, 0])
        assert canvas.wording(angle).replace(" ", "&nbsp;") in told(panel)
    qtbot.mouseClick(panel.follow, Left)
    wait(qtbot, lambda: canvas.marked == SECONDS)  # there is no present to go back to
    assert not panel.follow.isChecked()
    scrub(qtbot, window, 8.0)
    wait(qtbot, lambda: abs(canvas.marked - 8.0) < 0.2)
    qtbot.keyClick(window, Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    (sampled,) = panel.sampled.values()
    wait(qtbot, lambda: not window.workbench.replay.active and len(sampled) > 350)
    assert sampled.time[-1] == pytest.approx(8.0, abs=0.2)
    np.testing.assert_array_equal(sampled.value[:350], saved["q"][:350, 0])


def test_what_is_ticked_after_a_run_is_worked_out_where_it_was_not_sampled(qtbot, opened):
    window = opened()
    panel, replay = panel_of(window), window.workbench.replay
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.6 and len(replay.newest) > 25)  # fewer frames a second if busy
    window.run.play.trigger()
    qtbot.keyClick(window, Key.Key_P)
    tick(panel, "total energy")
    wait(qtbot, lambda: whole(panel, 1))
    scrub(qtbot, window, 0.2)
    wait(qtbot, lambda: whole(panel, 20))
    (line,) = panel.series.values()
    assert line.time[0] == 0.0
    run, recording = replay.run, replay.recording
    for index in (run.first, run.last):
        at = recording.frame(run, index)
        energy = np.add(*engine.energy(at.setup.model, at.checkpoint.q, at.checkpoint.v))[0]
        assert line.at(at.time) == pytest.approx(energy, rel=1e-12)
    wait(qtbot, lambda: not panel.follow.isChecked())  # as it is drawn
    window.viewport.setFocus()
    qtbot.keyClick(window, Key.Key_End)
    wait(qtbot, lambda: panel.follow.isChecked())
    wait(qtbot, lambda: not whole(panel, 20))  # those that were sampled


def played(qtbot, window):
    """The window after 0.6 s that were plotted, and its plots."""
    panel = panel_of(window)
    qtbot.keyClick(window, Key.Key_P)
    tick(panel, "total energy")
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.6)
    window.run.play.trigger()
    return window, panel


def test_what_is_ticked_late_in_a_live_run_is_worked_out_from_all_its_frames(qtbot, opened, monkeypatch):
    """Also where the curve of a few frames was finished long before that of all."""
    window = opened(engine.find_robot("double_pendulum"))
    bench, view, looked = window.workbench, window.features[PlotsView], threading.Event()
    evaluate, poll, calls = recorded_curves.evaluate, RecordedCurves.poll, []

    def evaluate_slowly(*arguments):
        calls.append(arguments)
        assert len(calls) == 1 or looked.wait(60)
        return evaluate(*arguments)

    def look(self):
        found = poll(self)
        looked.set() if found is not None else None
        return found

    monkeypatch.setattr(recorded_curves, "evaluate", evaluate_slowly)
    monkeypatch.setattr(RecordedCurves, "poll", look)
    bench.joints.set_held(False)
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 1)
    view.action.trigger()
    tick(view.panel, "kinetic energy")
    wait(qtbot, lambda: looked.is_set() and not view._recorded.running)
    wait(qtbot, lambda: len(next(iter(view.panel.series.values()))) > 40)
    (line,) = view.panel.series.values()
    assert line.time[0] == 0
    assert len(calls) > 1, "those of a few frames came first"
    assert np.diff(line.time[line.time < 0.9]).max() < 0.2, "the distance of sixteen frames"


def test_a_press_with_ctrl_shows_that_moment_of_the_recording(qtbot, opened):
    window, panel = played(qtbot, opened())
    panel.draw()
    (chart,) = panel.charts
    canvas = chart.canvas
    place = QPoint(round(float(canvas.x_of(0.3))), int(canvas.area.center().y()))
    QTest.mouseClick(canvas, Left, Qt.KeyboardModifier.ControlModifier, place)
    wait(qtbot, lambda: window.workbench.replay.active and math.isfinite(canvas.marked))
    assert canvas.marked == pytest.approx(0.3, abs=0.05)
    assert window.workbench.replay.frame.time == canvas.marked
    qtbot.keyClick(window, Key.Key_Left)
    before = canvas.marked
    wait(qtbot, lambda: canvas.marked < before)
    qtbot.keyClick(window, Key.Key_End)
    wait(qtbot, lambda: math.isnan(canvas.marked))


def test_a_branch_begins_anew_from_its_moment(qtbot, opened):
    window, panel = played(qtbot, opened())
    (line,) = panel.series.values()
    panel.seek_requested.emit(0.3)
    wait(qtbot, lambda: window.workbench.replay.active)
    assert line.time[-1] > 0.5
    qtbot.keyClick(window, Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: line.time[-1] < 0.35)
    assert line.time[-1] == pytest.approx(0.3, abs=0.05)


def recorded(name, settings, steps):
    """A recording of that many steps, and what ran."""
    model = engine.load(engine.find_robot(name))
    running, recorder = running_of(model, settings(model)), Recorder()
    recorder.after_jump(running)
    for _ in range(steps):
        recorder.before_steps(running, 1)
        running.advance(1)
        recorder.after_steps(running, 1)
    return model, running, recorder.recording


def values_of(model, recording, labels):
    """Times, and the values of these quantities by their names."""
    (run,) = recording.runs
    quantities = {each.label: each for each in catalogue(model)}
    wanted = Wanted(run, run.first, run.last, 0, tuple(quantities[each] for each in labels), coordinates(model))
    time, values = evaluate(recording, wanted, range(run.first, run.last + 1))
    return time, dict(zip(labels, values.T, strict=True))


def test_frames_tell_of_contacts():
    """Of all else test_laws_of_time.py compares frames with what was sampled live."""
    model, running, recording = recorded("quadruped", lambda model: for_new(model, Settings(automatic=True)), 50)
    _, value = values_of(model, recording, ["contact force z", "contacts"])
    now = running.contact_forces()
    assert value["contact force z"][-1] == pytest.approx(now.force[:, 2].sum())
    assert value["contacts"][-1] == now.number > 0
    assert np.isnan(value["contacts"][0])


def test_a_sampled_run_does_not_tell_setpoints(swing):
    model = engine.load(engine.find_robot("double_pendulum"))
    recording = engine.recording_of(engine.read_run(str(swing)), model)
    name = model.joint_names[0]
    time, value = values_of(model, recording, [f"{name} position setpoint", f"{name} acceleration", f"{name} velocity"])
    assert np.all(np.isnan(value[f"{name} position setpoint"]))
    rate = np.diff(value[f"{name} velocity"]) / np.diff(time)
    np.testing.assert_allclose(value[f"{name} acceleration"][1:], rate, rtol=1e-9)


def test_the_run_of_a_sample_has_the_efforts_of_its_controller_and_gains(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")
    (tmp_path / "control.py").write_text("def control(t, q, v):\n    return 1.0 - q\n")
    text = 'robot = "double_pendulum"\ncontroller = "control.py"\nhold = true\nseconds = 0.1\nsamples = 1\n'
    vary = '[[vary]]\nwhat = "velocity"\nof = "shoulder"\nuniform = [1.0, 3.0]\n'
    (tmp_path / "own.toml").write_text(text + vary + '[[keep]]\nquantity = "shoulder position"\n')
    engine.Study.read(tmp_path / "own.toml").save_run(0, tmp_path / "run.npz")
    model = engine.load(engine.find_robot("double_pendulum"))
    recording = engine.recording_of(engine.read_run(tmp_path / "run.npz"), model)
    (run,) = recording.runs
    first, last = (recording.frame(run, index) for index in (run.first, run.last))
    settings, at = last.setup.settings, last.checkpoint
    assert settings.kp.min() > 0
    _, value = values_of(model, recording, ["shoulder torque", "shoulder position setpoint"])
    effort = at.tau + settings.kp * (first.checkpoint.q - at.q) - settings.kd * at.v
    assert value["shoulder torque"][-1] == pytest.approx(effort[0, 0], rel=1e-9)
    assert np.abs(at.tau).min() > 0
    assert value["shoulder position setpoint"][-1] == first.checkpoint.q[0, 0]


def test_frames_that_go_meanwhile_are_left_out(monkeypatch):
    model, _, recording = recorded("double_pendulum", lambda model: for_new(model, Settings(automatic=True)), 20)

    def gone(run, index):
        raise IndexError(f"run {run.number} has no frame {index}")

    monkeypatch.setattr(recording, "frame", gone)
    time, _ = values_of(model, recording, [f"{model.joint_names[0]} velocity"])
    assert time.size == 0


def test_a_long_run_is_worked_out_from_some_of_its_frames(qtbot, swing, monkeypatch):
    monkeypatch.setattr("app.plotting.recorded_curves.FRAMES", 100)
    assert FRAMES <= 5000
    model = engine.load(engine.find_robot("double_pendulum"))
    recording = engine.recording_of(engine.read_run(str(swing)), model)
    (run,) = recording.runs
    energy = tuple(each for each in catalogue(model) if each.label == "total energy")
    curves, found = RecordedCurves(recording), []
    curves.want(Wanted(run, run.first, run.last, 0, energy, coordinates(model)))

    def look():
        if (some := curves.poll()) is not None:
            found.append(some)
        return not curves.running

    wait(qtbot, look)
    curves.close()
    assert found[-1].over
    assert found[-1].values.shape == (100, 1)
    assert found[-1].time[[0, -1]] == pytest.approx([0.0, SECONDS])
