"""Time in the window: a run is recorded, scrubbed, played back, and continued."""

import numpy as np
import pytest
from PyQt6.QtCore import QBuffer, QByteArray, QPoint, Qt
from PyQt6.QtWidgets import QInputDialog
from windows import case, frames_of, number_typed, play_for, settle, shown_time, slider_position, wait, wait_loaded

import engine
from app.features.attaching import TimeView, TimingView
from app.panels.joints import SEEN, VALUE
from app.panels.timeline import spacing
from app.simulation.batch_spread import BatchSpread
from app.window import Window

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def time_view(window) -> TimeView:
    return window.features[TimeView]


def play(qtbot, window: Window, seconds: float) -> None:
    """Space, until so much is simulated; Space."""
    play_for(qtbot, window, seconds)
    settle(qtbot, window)


def load(qtbot, window: Window, name: str = "arm7") -> engine.Recording:
    window.open(engine.find_robot(name))
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: not window.workbench.computation.compiling)
    return window.workbench.replay.recording


def image(action) -> bytes:
    """The picture of an action's icon."""
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    action.icon().pixmap(24, 24).save(buffer, "PNG")
    return data.data()


def test_both_transports_show_what_space_would_play(qtbot, window, time_view):
    """Green plays the simulation, blue the recording, wherever the button stands."""
    load(qtbot, window)
    simulation = image(window.run.play)
    play(qtbot, window, 0.4)
    assert image(window.run.play) == simulation != image(time_view.play)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    assert image(window.run.play) == image(time_view.play)
    assert "recording" in window.run.play.toolTip()
    qtbot.keyClick(window, Qt.Key.Key_End)
    assert image(window.run.play) == simulation
    assert "recording" not in window.run.play.toolTip()


def test_what_has_no_room_beside_the_timeline_is_left_out_whole(qtbot, window, time_view):
    load(qtbot, window)
    bar, branch = time_view.bar, time_view.bar._named[0]
    for width, style, there in (
        (1200, Qt.ToolButtonStyle.ToolButtonTextBesideIcon, True),
        (440, Qt.ToolButtonStyle.ToolButtonIconOnly, True),
        (290, Qt.ToolButtonStyle.ToolButtonIconOnly, False),
    ):
        bar.setFixedWidth(1200)
        bar.setFixedWidth(width)
        wait(qtbot, lambda width=width: bar.width() == width)
        assert branch.toolButtonStyle() == style, width
        assert branch.isVisibleTo(bar) == bar.memory.isVisibleTo(bar) == there, width
        assert bar._row.sizeHint().width() <= width


def scrub(qtbot, view: TimeView, share: float) -> None:
    """Press the track there."""
    track = view.bar.track
    qtbot.mouseClick(track, LEFT, pos=QPoint(round(track.place(share * track.end)), 12))


def test_what_plays_is_recorded_and_scrubbed(qtbot, window, time_view):
    recording = load(qtbot, window)
    assert not time_view.back.isEnabled()
    play(qtbot, window, 0.6)
    (run,) = recording.runs
    assert len(run) > 10
    assert recording.span(run) == (0.0, window.workbench.robot.time)
    assert "MB" in time_view.bar.memory.text()
    scrub(qtbot, time_view, 0.5)
    shown = window.workbench.replay.frame
    middle = 0.5 * window.workbench.robot.time
    times = [frame.time for frame in frames_of(recording, run)]
    before = max(time for time in times if time <= middle - 0.005)  # a pixel is less
    assert before <= shown.time <= middle + 0.005
    wait(qtbot, lambda: time_view.bar.time.text().startswith(f"{shown.time:.3f} /"))
    assert time_view.bar.state.text() == "recorded"
    np.testing.assert_allclose(
        window.viewport.view().poses, engine.link_poses(window.workbench.robot.model, shown.checkpoint.q[0]), atol=1e-12
    )
    qtbot.keyClick(window, Qt.Key.Key_End)
    assert not window.workbench.replay.active
    wait(qtbot, lambda: f"{window.workbench.robot.time:.3f} s" in shown_time(window))


def test_the_keyboard_moves_through_time(qtbot, window):
    recording = load(qtbot, window)
    window.workbench.set_speed(4.0)
    play(qtbot, window, 2.3)
    (run,), replay = recording.runs, window.workbench.replay
    qtbot.keyClick(window, Qt.Key.Key_Left)
    assert replay.frame.index == run.last - 1
    qtbot.keyClick(window, Qt.Key.Key_Left)
    qtbot.keyClick(window, Qt.Key.Key_Right)
    assert replay.frame.index == run.last - 1
    times = np.array([frame.time for frame in frames_of(recording, run)])
    for key, seconds in ((Qt.Key.Key_Left, -1.0), (Qt.Key.Key_Right, 1.0)):
        at_most = replay.frame.time + seconds
        qtbot.keyClick(window, key, Qt.KeyboardModifier.ShiftModifier)
        assert replay.frame.time == times[times <= at_most][-1]
    qtbot.keyClick(window, Qt.Key.Key_Home)
    assert replay.frame.index == run.first == 0
    qtbot.keyClick(window, Qt.Key.Key_Right)
    assert replay.frame.index == 1
    assert len(recording.runs) == 1, "moving takes no step"
    qtbot.keyClick(window, Qt.Key.Key_End)
    assert not replay.active


def test_moments_that_are_shown_again_are_no_steps(qtbot, window, time_view):
    load(qtbot, window)
    play(qtbot, window, 0.3)
    panel = window.feature(TimingView).panel
    counted, drawn = panel.steps.count, panel.frames.count
    assert counted > 0
    time_view.play.trigger()
    wait(qtbot, lambda: window.workbench.replay.at_end and panel.frames.count > drawn)
    assert panel.steps.count == counted
    assert not np.any(panel.frames.samples[drawn + 1 :, panel.frames.names.index("steps")])
    play(qtbot, window, 0.1)
    assert window.feature(TimingView).panel.steps.count > counted


def test_a_step_follows_the_last_frame(qtbot, window):
    recording = load(qtbot, window)
    play(qtbot, window, 0.2)
    (run,) = recording.runs
    last, end = run.last, window.workbench.robot.time
    qtbot.keyClick(window, Qt.Key.Key_Left)
    qtbot.keyClick(window, Qt.Key.Key_Right)
    assert window.workbench.replay.at_end
    qtbot.keyClick(window, Qt.Key.Key_Right)
    wait(qtbot, lambda: window.workbench.robot.time > end)
    assert window.workbench.robot.time == pytest.approx(end + window.workbench.robot.settings.dt)
    assert not window.workbench.replay.active
    assert run.last == last + 1


def test_it_is_played_back_to_its_end_at_any_speed_and_then_simulated(qtbot, window, time_view):
    load(qtbot, window)
    play(qtbot, window, 0.4)
    replay = window.workbench.replay
    for speed in (1.0, 4.0):
        end = window.workbench.robot.time
        window.workbench.set_speed(speed)
        qtbot.keyClick(window, Qt.Key.Key_Home)
        qtbot.keyClick(window, Qt.Key.Key_Space)
        with case(speed):
            assert replay.playing
            assert not window.workbench.robot.playing
            assert window.run.play.text() == "&Pause"
            wait(qtbot, lambda: not replay.playing)
            assert replay.frame.time == end
            wait(qtbot, lambda: window.run.play.text() == "&Play")
            assert time_view.play.text() == "&Play back"
            qtbot.keyClick(window, Qt.Key.Key_Space)
            wait(qtbot, lambda end=end: window.workbench.robot.time > end)
            assert not replay.active, "from the end on it is simulated"
            qtbot.keyClick(window, Qt.Key.Key_Space)
            settle(qtbot, window)


def test_a_branch_goes_on_from_a_moment(qtbot, window, time_view):
    recording = load(qtbot, window, "quadruped")
    play(qtbot, window, 0.8)
    end = window.workbench.robot.time
    scrub(qtbot, time_view, 0.5)
    here = window.workbench.replay.frame
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2)
    assert not window.workbench.replay.active
    assert window.workbench.robot.time == here.time
    said = window.statusBar().currentMessage()  # which stays true while it plays
    assert said == f"a new run starts at {here.time:.3f} s; Play continues it from there"
    play(qtbot, window, 0.2)
    first, branch = recording.runs
    assert recording.span(first) == (0.0, end)
    assert recording.span(branch) == (0.0, window.workbench.robot.time)
    assert branch.left == (1, here.time)
    for run in (first, branch):
        for index, computed in recording.resimulate(run, here.index):
            np.testing.assert_array_equal(computed.q, recording.frame(run, index).checkpoint.q)
    again = recording.frame(branch, here.index)
    assert again.checkpoint.q is here.checkpoint.q, "what was before is shared"
    assert time_view.bar.runs.count() == 2
    time_view.bar.run_chosen.emit(1)
    assert window.workbench.replay.frame.time == end


def test_all_that_acts_in_the_window_runs_again(qtbot, window, rng):
    """Targets, efforts, another step and integrator, placing by hand, and a reset."""
    recording = load(qtbot, window)
    bench = window.workbench
    qtbot.keyClick(window, Qt.Key.Key_Space)
    for number in range(12):
        until = bench.robot.time + 0.08
        wait(qtbot, lambda until=until: bench.robot.time >= until)
        bench.joints.set_drive(number % 7, float(rng.uniform(-0.5, 0.5)))
        before = recording.frame(recording.runs[0], recording.runs[0].last).setup
        if number == 4:
            bench.configuring.set_integrator("rk4")
        if number == 6:
            bench.joints.drive(2, by_effort=True)
        if number == 8:
            bench.configuring.set_dt(5e-4)
        if number in (4, 8):  # the code may have to be compiled, while the robot moves on as before
            wait(qtbot, lambda before=before: recording.frame(run := recording.runs[0], run.last).setup is not before)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    settle(qtbot, window)
    window.joints.moved.emit(3, 0.7)
    play(qtbot, window, 0.1)
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: len(recording.runs) == 2)
    run = recording.runs[0]
    frames = frames_of(recording, run)
    assert len({id(frame.setup) for frame in frames}) == 4
    for index, computed in recording.resimulate(run, 0):
        for name in ("q", "v", "tau", "target"):
            recorded = getattr(frames[index].checkpoint, name)
            np.testing.assert_array_equal(getattr(computed, name), recorded, err_msg=f"{name} of frame {index}")


def test_drags_wrenches_and_a_controller_run_again(qtbot, window, tmp_path):
    """A robot that stands is pulled by the mouse's spring, pushed in numbers, and driven by a file."""
    recording, bench = load(qtbot, window, "quadruped"), window.workbench
    file = tmp_path / "controller.py"
    file.write_text(
        "import numpy as np\n\ndef control(t, q, v):\n    return 0.5 * np.sin(9 * t) * (np.arange(18) > 5)\n"
    )
    bench.controller.load(str(file))
    qtbot.keyClick(window, Qt.Key.Key_Space)
    for number in range(10):
        until = bench.robot.time + 0.06
        wait(qtbot, lambda until=until: bench.robot.time >= until)
        if number == 2:
            bench.forces.grab(3, np.zeros(3), np.array([0.3, 0.2, 0.4]), 1.0)
            # There is code for it.
            wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.pull is not None)
        if number in (3, 4, 5):
            bench.forces.pull(np.array([0.3 + 0.05 * number, 0.2, 0.4]))
        if number == 6:
            bench.forces.release()
        if number == 7:
            bench.forces.set(0, np.array([0.0, 0.0, 1.0, 2.0, 0.0, 5.0]), world=True)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    settle(qtbot, window)
    (run,) = recording.runs
    frames = [frame.checkpoint for frame in frames_of(recording, run)]
    pulls = [frame.wrench for frame in frames if frame.wrench is not None and np.any(frame.wrench)]
    assert len(pulls) > 10
    assert len({frame.tau.tobytes() for frame in frames}) > 10
    for index, computed in recording.resimulate(run, 0):
        for name in ("q", "v", "tau", "wrench"):
            one, other = getattr(computed, name), getattr(frames[index], name)
            assert (one is None) == (other is None)
            np.testing.assert_array_equal(one, other, err_msg=f"{name} of frame {index}")
    middle = next(k for k, frame in enumerate(frames) if frame.wrench is not None and np.any(frame.wrench))
    bench.replay.show(middle, run)
    window.refresh()
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2)
    bench.forces.clear()
    bench.controller.unload()
    play(qtbot, window, 0.05)
    branch = recording.runs[-1]
    assert not np.any(recording.frame(branch, branch.last).checkpoint.wrench), "no hand pulls in the branch"


def test_joints_rest_while_a_recorded_moment_is_shown(qtbot, window, time_view):
    recording = load(qtbot, window)
    play(qtbot, window, 0.2)
    qtbot.keyClick(window, Qt.Key.Key_Home)
    panel = window.joints
    assert shown_time(window) == "0.000 s"
    first = window.workbench.replay.frame.checkpoint.q[0]
    wait(qtbot, lambda: np.allclose(panel.table.q, first, atol=SEEN))
    stood, number = panel.table.q.copy(), panel.table.index(1, VALUE)
    told = panel.table.data(number)
    place = slider_position(panel, 1, 0.5).toPoint()
    qtbot.mousePress(panel.viewport(), LEFT, pos=place)
    qtbot.mouseMove(panel.viewport(), place + QPoint(20, 0))
    np.testing.assert_allclose(panel.table.q, stood, atol=SEEN, err_msg="as in the picture while the mouse is down")
    qtbot.mouseRelease(panel.viewport(), LEFT, pos=place + QPoint(20, 0))
    panel.table.setData(number, 30.0)
    np.testing.assert_allclose(panel.table.q, stood, atol=SEEN)
    assert panel.table.data(number) == told
    hint = window.statusBar().currentMessage()
    assert "a recorded frame is shown" in hint
    assert time_view.branch.text().replace("&", "") in hint
    assert time_view.branch.shortcut().toString() in hint
    assert "End to return to the live simulation" in hint
    qtbot.keyClick(window, Qt.Key.Key_End)
    window.joints.moved.emit(1, 0.5)
    wait(qtbot, lambda: window.workbench.robot.newest.q[1] == 0.5)
    assert recording.frame(recording.runs[-1], recording.runs[-1].last).begins


def test_keyframes_are_named_jumped_to_and_started_from(qtbot, window, time_view, monkeypatch):
    recording = load(qtbot, window)
    play(qtbot, window, 0.4)
    scrub(qtbot, time_view, 0.3)
    here = window.workbench.replay.frame
    qtbot.keyClick(window, Qt.Key.Key_K)
    (keyframe,) = time_view.keyframes.all
    assert keyframe.frame is here
    qtbot.keyClick(window, Qt.Key.Key_End)
    qtbot.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: window.workbench.replay.frame is here)
    asked, answers = [], [" ", "Reach"]
    monkeypatch.setattr(QInputDialog, "getText", lambda *told, **_: (asked.append(told[2]), (answers.pop(0), True))[1])
    menu = time_view.keyframes
    menu.aboutToShow.emit()
    entries = {action.text(): action for action in menu.actions()[0].menu().actions()}
    entries["&Rename…"].trigger()
    assert asked[1] == f"A keyframe at {here.time:.3f} s needs a name; type at least one letter.\n{asked[0]}"
    menu.aboutToShow.emit()
    assert menu.actions()[0].text().startswith("Reach")
    entries = {action.text(): action for action in menu.actions()[0].menu().actions()}
    entries["&Continue from here"].trigger()
    wait(qtbot, lambda: len(recording.runs) == 2)
    wait(qtbot, lambda: window.workbench.robot.time == here.time)
    recording.clear()  # the run that it is of is gone
    window.workbench.reset()
    wait(qtbot, lambda: len(recording.runs) == 1)
    entries["&Go to"].trigger()
    wait(qtbot, lambda: window.workbench.replay.frame is keyframe.frame)
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: recording.span(recording.runs[-1])[0] == pytest.approx(here.time))
    entries["Re&move"].trigger()
    assert time_view.keyframes.all == []


def test_the_memory_is_chosen_and_remembered(qtbot, window, time_view):
    recording = load(qtbot, window)
    play(qtbot, window, 0.3)
    with number_typed("1e3") as asked:
        time_view.memory.trigger()
    assert len(asked) == 1
    assert recording.budget == 1000 * 2**20
    assert window.settings.value("recording_megabytes", 0, int) == 1000


def test_another_robot_has_a_recording_of_its_own(qtbot, window):
    load(qtbot, window)
    play(qtbot, window, 0.2)
    qtbot.keyClick(window, Qt.Key.Key_Home)
    recording = load(qtbot, window, "scara")
    assert not window.workbench.replay.active
    assert [len(run) for run in recording.runs] == [1]
    assert recording.frame(recording.runs[0], 0).setup.model.name == "scara"
    assert window.workbench._recorder.opened is None


def test_resets_before_any_step_leave_no_runs(qtbot, window):
    recording = load(qtbot, window)
    for _ in range(3):
        qtbot.keyClick(window, Qt.Key.Key_R)
    play(qtbot, window, 0.1)
    assert [run.number for run in recording.runs] == [1]


@pytest.mark.parametrize(("span", "most", "step"), [(60.0, 7, 10.0), (0.3, 6, 0.05), (1.0, 1, 1.0), (3600.0, 8, 500.0)])
def test_times_on_the_track_are_round(span, most, step):
    assert spacing(span, most) == pytest.approx(step)


def test_a_batch_is_scrubbed_and_gone_on_from(qtbot, window, time_view):
    recording = load(qtbot, window)
    window.workbench.configuring.set_spread(BatchSpread(robots=5, pose=0.3, mass=0.1))
    wait(qtbot, lambda: window.workbench.robot.newest is not None and window.workbench.robot.newest.batch is not None)
    wait(qtbot, lambda: not window.workbench.computation.compiling)
    play(qtbot, window, 0.3)
    (run,) = recording.runs
    scrub(qtbot, time_view, 0.5)
    frame = window.workbench.replay.frame
    assert frame.checkpoint.q.shape == (5, 7)
    wait(qtbot, lambda: window.workbench.shown.recorded)
    assert len(window.viewport.view().batch) == 5
    window.workbench.select_robot(3)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    shown = window.workbench.replay.frame
    wait(qtbot, lambda: window.workbench.shown.time == shown.time)
    np.testing.assert_array_equal(window.workbench.shown.q, shown.checkpoint.q[3])
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2)
    play(qtbot, window, 0.05)
    branch = recording.runs[-1]
    for index, computed in recording.resimulate(branch, 3):
        np.testing.assert_array_equal(computed.q, recording.frame(branch, index).checkpoint.q)
    assert len(run) > 5
