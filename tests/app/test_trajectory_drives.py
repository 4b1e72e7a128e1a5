"""Drives that follow a table in a file."""

import math

import numpy as np
import pytest
from test_drives import choose, pick
from test_sessions import play, save
from test_window import drop
from windows import in_simulation, name_file, type_in, wait

import engine
from app.acting.coordinates import coordinates
from app.acting.drives import Drive
from app.acting.trajectories import read
from app.features.run_exports import RunExports
from app.features.trajectory_drives import TrajectoryDrives
from app.features.undo_view import UndoView

SCARA = engine.find_robot("scara")
GOOD = "time [s],shoulder [deg],elbow,stroke [mm]\n0.1,10,0.1,-20\n0.2,20,0.3,-40\n"


def table(path, text: str):
    path.write_text(text, "utf-8")
    return path


def setpoints(bench) -> tuple[float, np.ndarray]:
    """The time of the last step's start, and the setpoints that it had."""
    return in_simulation(bench, lambda now: (now.next_time - now.simulation.dt, now.target.copy()))


def test_joints_follow_the_lines_between_rows_and_stay_at_the_last(qtbot, opened, tmp_path):
    window = opened(SCARA)
    bench = window.workbench
    assert drop(window, table(tmp_path / "moves.csv", GOOD))
    wait(qtbot, lambda: bench.robot.drive_of(0).wave == "trajectory")
    said = "moves.csv drives 3 joints from 0.1 to 0.2 s of simulated time"
    assert window.statusBar().currentMessage() == said
    expected = [math.radians(10), math.radians(20)], [0.1, 0.3], [-0.02, -0.04]
    for until in (0.05, 0.15, 0.25):
        while (state := setpoints(bench))[0] < until:
            bench.step()
        t, target = state
        np.testing.assert_allclose(target[:3], [np.interp(t, [0.1, 0.2], each) for each in expected])
    assert bench.robot.drive_of(3).wave == "constant"


def test_an_exported_table_drives_its_robot_again(qtbot, opened, tmp_path):
    window = opened(engine.find_robot("quadruped"))
    bench, exports = window.workbench, window.features[RunExports]
    rows = bench.robot.coordinates
    k = next(k for k, row in enumerate(rows) if row.holdable)
    bench.joints.set_joint_drive(k, Drive("target", 0.1, "sine", 0.2, 0.5))
    play(qtbot, window, 0.2)
    path = tmp_path / "run.csv"
    exports.write(str(path), "csv", 0.0)
    wait(qtbot, lambda: not exports.writing.running and path.exists())
    drives = read(str(path), rows, bench.robot.model)
    assert sorted(drives) == [k for k, row in enumerate(rows) if row.holdable]
    replay, run = bench.replay, bench.replay.newest
    frame = replay.recording.frame(run, run.first + 10)
    for k, drive in drives.items():
        assert drive.at(frame.time) == pytest.approx(float(frame.checkpoint.q[0, rows[k].q]), abs=1e-12)


def test_a_trajectory_is_chosen_as_a_wave_undone_kept_and_ended_by_a_number(
    qtbot, opened, make_window, tmp_path, monkeypatch
):
    window = opened(SCARA)
    bench, stack = window.workbench, window.features[UndoView].stack
    name_file(monkeypatch, table(tmp_path / "moves.csv", GOOD))
    form = choose(qtbot, window, 1)
    pick(form.wave, "trajectory")
    wait(qtbot, lambda: form.wave.currentData() == "trajectory" and form.drive().wave == "trajectory")
    assert not any(box.isEnabled() for box in (form.value, form.amplitude, form.period, form.phase))
    assert stack.undoText() == "Trajectory of 3 joints: moves.csv"
    form.weight.click()
    wait(qtbot, lambda: bench.robot.drive_of(1).weight)
    assert bench.robot.drive_of(1).at(0.15) == pytest.approx(0.2)
    stack.undo()
    stack.undo()
    wait(qtbot, lambda: all(bench.robot.set_drive(k).wave == "constant" for k in range(4)))
    stack.redo()
    wait(qtbot, lambda: bench.robot.drive_of(2).at(0.2) == pytest.approx(-0.04))
    play(qtbot, window, 0.05)
    save(qtbot, window, tmp_path / "mine.catena")
    again = make_window()
    again.open(tmp_path / "mine.catena")
    other = again.workbench
    wait(qtbot, lambda: other.robot.newest is not None and other.robot.time == bench.robot.time)
    assert [other.robot.drive_of(k) for k in range(3)] == [bench.robot.drive_of(k) for k in range(3)]
    other.joints.set_drive(1, 0.5)
    wait(qtbot, lambda: other.robot.drive_of(1) == Drive("target", 0.5))
    assert other.robot.drive_of(0).wave == "trajectory"


def test_a_trajectory_that_is_not_chosen_leaves_the_wave(qtbot, opened, monkeypatch):
    window = opened(SCARA)
    monkeypatch.setattr("app.desktop.dialogs.ask_file", lambda *_: "")
    form = choose(qtbot, window, 1)
    pick(form.wave, "sine")
    type_in(qtbot, form.amplitude, 5)
    pick(form.wave, "trajectory")
    assert form.wave.currentData() == "sine"
    assert window.workbench.robot.drive_of(1).wave == "sine"


def test_a_trajectory_beyond_limits_is_said(qtbot, opened, tmp_path):
    window = opened(SCARA)
    assert drop(window, table(tmp_path / "far.csv", "t,elbow\n0,0\n1,9\n"))
    said = "it goes beyond the limits of elbow, where they stop"
    wait(qtbot, lambda: window.statusBar().currentMessage().endswith(said))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rows of numbers; expected a row of names"),
        ("time [s],elbow\n", "has no rows of numbers; expected a row of names"),
        ("elbow,stroke\n1,2\n", "has no column of times: its first is 'elbow'"),
        ("0,1\n1,2\n", "has no column of times: its first is '0'"),
        ("time [min],elbow\n0,1\n", "has a column 'time [min]' in min; expected s or ms"),
        ("time,wrist\n0,1\n", "has a column 'wrist', which no joint has; the joints are shoulder, elbow"),
        ("time,elbow [mm]\n0,1\n", "has a column 'elbow [mm]' in mm; expected rad or deg"),
        ("time,elbow,q:elbow [rad]\n0,1,1\n", "has two columns of elbow"),
        ("time,v:elbow\n0,1\n", "has no column of a joint's position"),
        ("time,elbow\n0,1\n1\n", "line 3: it has 1 values; expected 2"),
        ("time,elbow\n0,1\n1,nan\n", "line 3: elbow is 'nan'; expected a finite number"),
        ("time,elbow\n0,1\n1,far\n", "line 3: elbow is 'far'; expected a finite number"),
        ("time,elbow\n0,1\ninf,1\n", "line 3: time is 'inf'; expected a finite number"),
        ("time,elbow\n0,1\n\n2,1\n2,1\n", "line 5: the time 2 s follows 2 s; expected times that grow"),
        ('time,"elbow\n' + "x" * 200_000, "is not a table with commas"),
    ],
)
def test_of_a_wrong_table_one_sentence_says_what_is_wrong(tmp_path, text, said):
    model, path = engine.load(SCARA), table(tmp_path / "wrong.csv", text)
    with pytest.raises(ValueError, match=r"^wrong\.csv") as caught:
        read(str(path), coordinates(model), model)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_refused_table_is_said_in_the_status_bar(qtbot, opened, tmp_path):
    window = opened(SCARA)
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    window.features[TrajectoryDrives].take(str(tmp_path / "picture.csv"))
    wait(qtbot, lambda: window.statusBar().currentMessage().startswith("picture.csv is not text; expected a table"))
    window.features[TrajectoryDrives].take(str(tmp_path / "missing.csv"))
    absent = "missing.csv cannot be read: No such file or directory"
    wait(qtbot, lambda: window.statusBar().currentMessage().endswith(absent))


@pytest.mark.parametrize("text", ["", "0 1 2", "0 1 0 2", "0 nan", "a b"])
def test_a_trajectory_without_samples_is_refused(text):
    with pytest.raises(ValueError, match="the trajectory is "):
        Drive("target", 0.0, "trajectory", samples=text)


def test_a_table_of_semicolons_may_have_decimal_commas(tmp_path):
    model, path = engine.load(SCARA), table(tmp_path / "comma.csv", "\ufefft;elbow [deg]\n0;0\n0,5;22,5\n")
    assert read(str(path), coordinates(model), model)[1].at(0.25) == pytest.approx(math.radians(11.25))
