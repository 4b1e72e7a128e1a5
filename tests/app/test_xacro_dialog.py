"""Arguments of a xacro file in the window: the dialog, sessions, runs, the command line."""

import json

import pytest
from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QApplication
from windows import play_for, second_state, wait, wait_loaded

import app
import engine
from app.features.attaching import Reloading, RunExports, SceneView, SecondRobotView, Sessions, XacroArguments
from app.features.xacro_arguments import NO_ARGUMENTS_TIP
from app.panels.xacro_dialog import XacroDialog
from tests.engine.xacro_arm import ARM, written_arm

pytest.importorskip("xacrodoc")


@pytest.fixture
def path(tmp_path):
    return written_arm(tmp_path)


def give(window, accept=True, **values):
    """Choose File › Xacro arguments, type values, and press Reload; return what the fields had."""
    had = {}

    def fill():
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, XacroDialog)
        had.update({name: field.text() for name, field in dialog.fields.items()})
        for name, value in values.items():
            dialog.fields[name].setText(value)
        (dialog.accept if accept else dialog.reject)()

    QTimer.singleShot(0, fill)
    window.feature(XacroArguments).action.trigger()
    return had


def test_the_dialog_has_the_file_s_arguments_and_reloads_it_with_others(qtbot, opened, path):
    window = opened(path)
    bench, view = window.workbench, window.feature(XacroArguments)
    assert view.action.isEnabled()
    assert give(window, n="4") == {"n": "2", "prefix": ""}
    wait(qtbot, lambda: bench.robot.model.nv == 4)
    wait_loaded(qtbot, window)
    assert give(window, accept=False, n="5") == {"n": "4", "prefix": ""}
    assert not bench.opening.loading
    window.feature(Reloading).action.trigger()
    wait(qtbot, lambda: bool(bench.opening.loading))
    wait_loaded(qtbot, window)
    assert bench.robot.model.nv == 4
    give(window, n="four")
    wait(qtbot, lambda: bench.findings.refused)
    assert give(window, n="3") == {"n": "four", "prefix": ""}
    wait(qtbot, lambda: bench.robot.model.nv == 3)
    opened(engine.find_robot("arm7"))
    assert not view.action.isEnabled()
    assert view.action.toolTip() == NO_ARGUMENTS_TIP


def test_a_file_that_needs_an_argument_is_given_it_where_it_was_refused(qtbot, window, path):
    path.write_text(ARM.replace('name="n" default="2"', 'name="n" default="none"'), "utf-8")
    window.open(path)
    wait(qtbot, lambda: window.workbench.findings is not None and window.workbench.findings.refused)
    assert give(window, n="3") == {"n": "none", "prefix": ""}
    wait(qtbot, lambda: window.workbench.robot.model is not None and window.workbench.robot.model.nv == 3)


def test_sessions_and_runs_keep_them(qtbot, opened, path, tmp_path):
    window = opened(path)
    bench = window.workbench
    give(window, n="4")
    wait(qtbot, lambda: bench.robot.model.nv == 4)
    wait_loaded(qtbot, window)
    window.feature(Sessions).save(str(tmp_path / "still.catena"))
    play_for(qtbot, window, 0.1)
    exports = window.feature(RunExports)
    exports.write(str(tmp_path / "run.npz"), "npz")
    wait(qtbot, lambda: not exports.writing.running)
    window.feature(Sessions).save(str(tmp_path / "s.catena"))
    wait(qtbot, lambda: not exports.writing.running)
    assert json.loads((tmp_path / "s.catena").read_text())["robot"]["xacro args"] == {"n": "4"}
    for name in ("still.catena", "run.npz", "s.catena"):
        opened(engine.find_robot("arm7"))
        bench.opening.set_xacro_args(path, {})
        window.open(tmp_path / name)
        wait(qtbot, lambda: bench.robot.model.nv == 4)
        wait_loaded(qtbot, window)


def test_the_same_file_beside_the_robot_has_them_too(qtbot, opened, path):
    window = opened(path)
    bench = window.workbench
    give(window, n="4")
    wait(qtbot, lambda: bench.robot.model.nv == 4)
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: bench.robot.newest is not None)
    window.feature(SecondRobotView).open(path)
    wait(qtbot, lambda: second_state(window) is not None)
    assert len(second_state(window).q) == 4
    window.feature(SceneView).add_robot(str(path), False)
    wait(qtbot, lambda: bench.robot.model.nv == 8)


@pytest.mark.parametrize("words", [["{}", "n:=5"], ["n:=5", "--trust-xacro", "{}"]])
def test_the_command_line_has_them(monkeypatch, path, words):
    shown = []
    monkeypatch.setattr(app, "no_screen", lambda: False)
    monkeypatch.setattr(app, "show_window", lambda *requested: shown.append(requested) or 0)
    assert app.run_app([word.format(path) for word in words]) == 0
    ((robot, _, _, _, lesson, given),) = shown
    assert (robot, lesson, given) == (str(path), None, {"n": "5"})
