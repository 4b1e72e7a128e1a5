"""A controller's own numbers and printed lines in the window: plotted, recorded, replayed, exported, read."""

import csv

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from windows import name_file, press, wait

import engine
from app.features.attaching import ControllerOutput, ControllerView, PlotsView, RunExports

TEXT = """
print("gains", 3)
def control(t, q, v):
    if t > 0.1 and t < 0.1015:
        print("half way")
    return [3 * t, -1], {"reference [rad]": 2 * t, **({"phase": 0.5} if t > 0.05 else {})}
"""


@pytest.fixture
def driven(qtbot, shown, monkeypatch, tmp_path):
    """A window whose robot a controller has driven for a moment, with the plots open, paused."""
    window = shown(engine.find_robot("double_pendulum"))
    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    name_file(monkeypatch, path)
    window.features[PlotsView].action.trigger()
    window.features[ControllerView].action.trigger()
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: window.workbench.robot.time > 0.2)
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: not window.workbench.robot.playing)
    wait(qtbot, lambda: len(window.features[PlotsView].panel.list.model.quantities.of_kinds("logged", ("",))) == 2)
    return window


def test_its_numbers_are_plotted_with_their_units_also_of_the_time_before(qtbot, driven):
    panel, replay = driven.features[PlotsView].panel, driven.workbench.replay
    panel.plot_group("logged", ("",))
    reference, phase = panel.quantities
    assert (reference.label, reference.unit.si, phase.label) == ("reference", "rad", "phase")
    wait(qtbot, lambda: len(panel.series[reference]) > 10)
    time, value = panel.series[reference].time, panel.series[reference].value
    known = np.isfinite(value)
    dt = driven.workbench.robot.settings.dt
    np.testing.assert_allclose(value[known], 2 * (time[known] - dt), atol=1e-9)
    assert np.isnan(panel.series[phase].value[: len(time) // 8]).all(), "none before it was logged"
    replay.seek(0.1)
    driven.refresh()
    wait(qtbot, lambda: "0.50" in panel.charts[-1].names.text())  # and no count, which would have no decimals
    frame = replay.frame
    assert frame.logged == {"reference [rad]": pytest.approx(2 * (frame.time - dt), abs=1e-9), "phase": 0.5}


def test_they_continue_in_a_branch_and_end_with_the_controller(qtbot, driven):
    bench = driven.workbench
    bench.replay.seek(0.1)
    driven.refresh()
    left, dt = bench.replay.frame.time, bench.robot.settings.dt
    bench.branch()
    wait(qtbot, lambda: not bench.replay.active)
    for _ in range(5):
        bench.step()
    wait(qtbot, lambda: bench.replay.newest.left is not None and bench.robot.newest.time > left + 4.5 * dt)
    run = bench.replay.newest
    frame = bench.replay.recording.frame(run, run.last)
    assert frame.logged["reference [rad]"] == pytest.approx(2 * (frame.time - dt), abs=1e-9)
    driven.features[ControllerView].end_action.trigger()
    wait(qtbot, lambda: not bench.controller.path)
    bench.step()
    wait(qtbot, lambda: bench.replay.recording.frame(run, run.last).time > frame.time)
    assert not bench.replay.recording.frame(run, run.last).logged


def test_they_are_columns_of_the_exported_table(qtbot, driven, tmp_path):
    exports, path = driven.features[RunExports], tmp_path / "run.csv"
    exports.begin(exports.writer(str(path), "csv", 0), "writing", stoppable=True)
    wait(qtbot, lambda: not exports.writing.running and path.exists())
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert rows[-1]["log:phase"] == "0.5"
    assert rows[1]["log:phase"] == ""
    assert float(rows[-1]["log:reference [rad]"]) == pytest.approx(2 * float(rows[-2]["time [s]"]), abs=1e-9)


def test_its_printed_lines_are_read_with_the_time_of_the_call(qtbot, driven):
    output, label = driven.features[ControllerOutput], driven.features[ControllerView].label
    wait(qtbot, lambda: any("half way" in line for line in output.lines))
    assert output.lines[0].split(maxsplit=1) == ["loading", "gains 3"]
    assert next(line for line in output.lines if "half way" in line).split()[0] == "0.101"
    qtbot.mouseClick(label, Qt.MouseButton.LeftButton)
    assert output.dialog.isVisible()
    output.dialog.close()
