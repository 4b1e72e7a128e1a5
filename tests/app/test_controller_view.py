"""A user's controller in the window: opened, reloaded when saved, reported when it fails, ended when it hangs."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QPushButton
from windows import answers, name_file, press, wait

import engine
from app.acting.controlling import Controlling
from app.desktop import theme
from app.features.attaching import ControllerView, DiagnosticsView, LogView
from app.panels.joint_table import DRIVE

ROBOT = engine.find_robot("double_pendulum")


@pytest.fixture
def choose(monkeypatch, tmp_path):
    """Write a controller, and select it in the file dialog."""

    def choose(window, text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        name_file(monkeypatch, path)
        window.features[ControllerView].action.trigger()
        return path

    return choose


def test_a_chosen_file_drives_the_joints_until_it_is_ended(qtbot, shown, choose):
    window = shown(ROBOT)
    bench, view = window.workbench, window.features[ControllerView]
    assert not view.end_action.isEnabled()
    bench.joints.set_held(True)
    choose(window, "def control(t, q, v):\n    return [3 + t, -1]\n")
    wait(qtbot, lambda: view.label.text() == "mine.py")
    assert not bench.robot.settings.held
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: (frame := bench.robot.newest) is not None and frame.tau[1] == -1 and frame.tau[0] > 3.1)
    # It is held for one step.
    frame = bench.robot.newest
    assert frame.tau[0] == pytest.approx(3 + frame.time - bench.robot.settings.dt, abs=1e-9)
    view.end_action.trigger()
    wait(qtbot, lambda: bench.robot.newest is not None and not bench.robot.newest.tau.any())
    wait(qtbot, lambda: view.label.isHidden())
    assert bench.robot.settings.held, "as it was before"
    assert window.statusBar().currentMessage() == "mine.py is stopped; the joints are held again"


def test_a_run_after_a_reset_is_the_same_bit_for_bit_and_the_engines_own(qtbot, shown, choose):
    window = shown(ROBOT)
    bench = window.workbench
    text = "    global n\n    n += 1\n    return [random.random() - v[0], n / 99]\n"
    path = choose(window, "PERIOD = 0.004\nimport random\nn = 0\ndef control(t, q, v):\n" + text)
    wait(qtbot, lambda: bool(bench.controller.path))
    seen = []
    for _ in range(2):
        for _ in range(10):
            bench.step()
        wait(qtbot, lambda: bench.robot.time > 9.5 * bench.robot.settings.dt)
        seen.append((bench.robot.newest.q.copy(), bench.robot.newest.v.copy()))
        press(qtbot, window, window.run.reset)
        wait(qtbot, lambda: bench.robot.newest.time == 0)
    np.testing.assert_array_equal(seen[0], seen[1])
    dt, model = bench.robot.settings.dt, bench.robot.model
    alone = engine.Simulation(model, dt=dt, integrator=bench.robot.settings.integrator, q=bench.robot.initial)
    with engine.Controller(path, model) as controller:
        controller.wait()
        every = controller.every(dt)
        for step in range(10):
            if step % every == 0:
                alone.tau[0] = controller(alone.time, alone.q[0], alone.v[0])
            alone.step()
    np.testing.assert_array_equal(seen[0], (alone.q[0], alone.v[0]))


def test_a_fault_pauses_with_its_line_and_a_saved_file_goes_on(qtbot, shown, choose):
    window = shown(ROBOT)
    bench, view = window.workbench, window.features[ControllerView]
    path = choose(window, "def control(t, q, v):\n    return [1, 1] if t < 0.05 else missing\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bool(bench.controller.problem))
    assert "mine.py, line 2: NameError" in bench.controller.problem
    assert not bench.robot.playing
    assert view.label.text() == "mine.py has failed"
    assert "NameError" in view.label.toolTip()
    panel = window.feature(DiagnosticsView).panel
    (told,) = panel.diagnostics
    assert "mine.py, line 2" in told.problem
    assert told.line == 2
    assert "0.05 else missing" in panel.excerpt.toPlainText()  # of the controller, not of the robot's file
    press(qtbot, window, window.run.play)  # before the file is saved
    before = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > before)
    assert panel.isVisible()
    assert window.statusBar().currentMessage().startswith("mine.py has failed: no efforts of it act; fix and save it")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: not bench.robot.playing)
    path.write_text("def control(t, q, v):\n    return [2, -2]  # mended\n", encoding="utf-8")
    wait(qtbot, lambda: view.label.text() == "mine.py")
    assert not panel.isVisible()
    assert "has failed" not in window.statusBar().currentMessage()
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.tau.tolist() == [2, -2])


def test_a_file_that_python_cannot_read_is_reported_with_its_line(qtbot, shown, choose):
    window = shown(ROBOT)
    bench = window.workbench
    choose(window, "def control(t, q, v)\n    return q\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bool(bench.controller.problem))
    assert "mine.py, line 1: SyntaxError" in bench.controller.problem


def test_a_file_that_has_gone_is_told_in_a_sentence_and_cannot_be_opened(qtbot, shown, choose):
    window = shown(ROBOT)
    bench = window.workbench
    path = choose(window, "def control(t, q, v):\n    return [2, -2]\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.tau.tolist() == [2, -2])
    path.unlink()
    press(qtbot, window, window.run.reset)
    wait(qtbot, lambda: bool(bench.controller.problem))
    why = "it cannot be read: No such file or directory; put the file back, or load another one"
    assert bench.controller.problem == f"mine.py: {why}"
    opens = [each for each in window.docks["Diagnostics"].findChildren(QPushButton) if each.text() == "Open file"]
    assert not opens[0].isEnabled()
    path.write_text("def control(t, q, v):\n    return [3, -3]\n", encoding="utf-8")
    wait(qtbot, lambda: not bench.controller.problem)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("def control(t, q, v)\n    return q\n", "mine.py, line 1: SyntaxError"),
        ("import a_module_that_is_nowhere\n", "mine.py, line 1: ModuleNotFoundError"),
        ("x = 1\n", "control"),
        ("PERIOD = 0.0123456\ndef control(t, q, v):\n    return q\n", "PERIOD"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_reported_while_paused(qtbot, shown, choose, text, given):
    window = shown(ROBOT)
    bench, view = window.workbench, window.features[ControllerView]
    path = choose(window, text)
    wait(qtbot, lambda: given in bench.controller.problem)
    wait(qtbot, lambda: view.label.text() == "mine.py has failed")
    assert window.docks["Diagnostics"].isVisible()
    assert window.statusBar().currentMessage().startswith("The controller failed: ")
    assert bench.robot.time == 0
    assert not bench.robot.playing
    path.write_text("def control(t, q, v):\n    return [2, -2]  # mended\n", encoding="utf-8")
    wait(qtbot, lambda: view.label.text() == "mine.py")
    assert window.docks["Diagnostics"].isHidden()
    assert not window.statusBar().currentMessage()
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.tau.tolist() == [2, -2])


def test_one_that_does_not_suit_the_time_step_drives_again_with_one_that_it_suits(qtbot, shown, choose):
    window = shown(ROBOT)
    bench, view = window.workbench, window.features[ControllerView]
    choose(window, "PERIOD = 0.004\ndef control(t, q, v):\n    return [2, -2]\n")
    wait(qtbot, lambda: view.label.text() == "mine.py")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.newest.tau.tolist() == [2, -2])
    for dt in (0.005, 0.003):  # while it plays, and while it is paused
        bench.configuring.set_dt(dt)
        wait(qtbot, lambda words=f"of {dt:g} s; choose a time step that divides it": words in bench.controller.problem)
        assert not bench.robot.playing
    bench.configuring.set_dt(0.002)
    wait(qtbot, lambda: view.label.text() == "mine.py")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.newest.tau.tolist() == [2, -2])


def test_one_that_has_failed_is_read_again_at_a_reset(qtbot, shown, choose):
    window = shown(ROBOT)
    bench, view = window.workbench, window.features[ControllerView]
    choose(window, "def control(t, q, v):\n    return [1, 1] if t < 0.05 else missing\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bool(bench.controller.problem))
    press(qtbot, window, window.run.reset)
    wait(qtbot, lambda: view.label.text() == "mine.py")
    bench.set_speed(0.1)  # half a second of frames before it fails again
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.newest.tau.tolist() == [1, 1])


def test_played_on_after_a_fault_nothing_drives_the_joints(qtbot, shown, choose):
    window = shown(ROBOT)
    bench = window.workbench
    choose(window, "def control(t, q, v):\n    return [5, 1 / 0 if t > 0.02 else 5]\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bool(bench.controller.problem))
    before = bench.robot.time
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.time > before + 0.1)
    assert not bench.robot.newest.tau.any()


def test_efforts_that_no_robot_has_are_the_controllers_fault_which_its_label_shows(qtbot, shown, choose):
    window = shown(ROBOT)
    choose(window, "def control(t, q, v):\n    return [1e300, 0]\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bool(window.workbench.controller.problem))
    panel = window.features[DiagnosticsView].panel
    (found,) = panel.diagnostics
    assert found.element == "controller"
    assert "control returned 1e+300 at [0]; expected an effort up to 1e+12 N m or N" in found.problem
    window.docks["Diagnostics"].hide()
    qtbot.mouseClick(window.features[ControllerView].label, Qt.MouseButton.LeftButton)
    assert panel.isVisible()


def test_a_run_that_diverges_under_a_controller_names_it(qtbot, shown, choose):
    window = shown(ROBOT)
    choose(window, "def control(t, q, v):\n    return [1e11, 0]\n")
    press(qtbot, window, window.run.play)
    panel = window.features[DiagnosticsView].panel
    wait(qtbot, lambda: bool(panel.diagnostics) and not window.workbench.robot.playing)
    (found,) = panel.diagnostics
    assert found.element == "controller"
    assert found.fix.startswith("check the efforts of mine.py, which drives the joints; or press Reset, then select")


def test_one_whose_file_takes_long_to_execute_is_told_to_be_starting(qtbot, shown, choose, tmp_path):
    window, go = shown(ROBOT), tmp_path / "go"
    choose(
        window,
        "import pathlib, time\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.05)\n"
        "def control(t, q, v):\n    return q\n",
    )
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: "mine.py is still being started" in window.statusBar().currentMessage())
    go.touch()
    wait(qtbot, lambda: window.workbench.robot.time > 0.01)
    assert "being started" not in window.statusBar().currentMessage()
    assert window.features[ControllerView].label.text() == "mine.py"


def test_one_that_hangs_leaves_the_window_and_the_simulation_free(qtbot, shown, choose, monkeypatch):
    monkeypatch.setattr(engine, "Controller", partial(engine.Controller, patience=5.0))
    window = shown(ROBOT)
    bench = window.workbench
    choose(window, "def control(t, q, v):\n    while t > 0.03:\n        pass\n    return q\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.time > 0.02)
    wait(qtbot, lambda: window.features[ControllerView].label.text() == "waiting for mine.py")
    assert "has not returned for 1 s: the simulation waits" in window.statusBar().currentMessage()
    assert not bench.controller.problem, "the problem is reported before the controller ends"
    assert answers(qtbot, 50, 50)
    press(qtbot, window, window.run.reset)  # obeyed, although no answer has come
    wait(qtbot, lambda: bench.robot.newest.time < 0.02)
    assert not bench.controller.problem, "it was waited for"
    wait(qtbot, lambda: bool(bench.controller.problem))
    assert "has not come to an end" in bench.controller.problem
    assert not bench.robot.playing
    wait(qtbot, lambda: "has not returned" not in window.statusBar().currentMessage())


def test_one_that_hangs_is_stopped_and_the_run_goes_on(qtbot, shown, choose):
    window = shown(ROBOT)
    bench, view = window.workbench, window.features[ControllerView]
    choose(window, "def control(t, q, v):\n    while t > 0.03:\n        pass\n    return q\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: view.label.text() == "waiting for mine.py")
    view.end_action.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    assert window.statusBar().currentMessage() == "mine.py is stopped; no joint is held"
    assert view.label.isHidden()


def test_one_that_slows_the_simulation_down_is_named_with_its_time(qtbot, shown, choose):
    window = shown(ROBOT)
    view = window.features[ControllerView]
    path = choose(window, "import time\ndef control(t, q, v):\n    time.sleep(0.02)\n    return [0, 0]\n")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: view.label.text().startswith("mine.py takes "))
    assert view.label.text().endswith(f" ms for {1e3 * window.workbench.robot.settings.dt:g} ms of motion")
    assert "PERIOD" in view.label.toolTip()
    path.write_text("def control(t, q, v):\n    return [0, 0]\n")
    wait(qtbot, lambda: view.label.text() == "mine.py")


@pytest.mark.parametrize("failed", [False, True])
def test_no_file_runs_by_opening_a_robot(qtbot, shown, choose, failed):
    window = shown(ROBOT)
    bench = window.workbench
    choose(window, "def control(t, q, v):\n    return missing\n" if failed else "def control(t, q, v):\n    return q\n")
    wait(qtbot, lambda: bool(bench.controller.path))
    if failed:
        press(qtbot, window, window.run.play)
        wait(qtbot, lambda: bool(bench.controller.problem))
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: not bench.opening.loading and bench.robot.model.name == "arm7" and not bench.controller.path)
    (controlling,) = (each for each in bench._worker._loop._attachments if isinstance(each, Controlling))
    assert controlling._controller is None


def test_an_effort_beyond_its_limit_is_cut_reported_once_and_marked(qtbot, shown, choose):
    window = shown(engine.find_robot("arm7"))
    bench, table = window.workbench, window.joints.table
    choose(window, "def control(t, q, v):\n    return [500.0 if k == 2 and t > 0.05 else 0.0 for k in range(7)]\n")
    wait(qtbot, lambda: bool(bench.controller.path))
    window.run.play.trigger()
    limit = bench.robot.model.effort_limit[2]
    cell = table.index(2, DRIVE)
    wait(qtbot, lambda: table.data(cell) == f"{limit:.1f} N m")
    assert table.data(cell, Qt.ItemDataRole.ForegroundRole) == theme.color("warning")
    assert table.data(cell, Qt.ItemDataRole.ToolTipRole).endswith("; 500 is asked of it")
    assert table.data(table.index(3, DRIVE), Qt.ItemDataRole.ForegroundRole) == theme.color("faint")
    log = [each.text for each in window.features[LogView].entries if "asked" in each.text]
    assert len(log) == 1
    assert re.fullmatch(rf"joint3: effort 500 asked, its limit {limit:g} acts since 0\.\d+ s", log[0])
