"""Gravity as a vector in the window: the menu, the numbers, undo, sessions and runs."""

import json

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_run_files import open_run
from windows import in_simulation, type_in, wait

import engine
from app.features.attaching import GravityView, Sessions
from app.panels.gravity import OTHER, STANDARD
from app.recording import run_files
from app.simulation.messages import Settings

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def view(qtbot, arm) -> GravityView:
    arm.docks["Scene"].show()
    wait(qtbot, arm.docks["Scene"].isVisible)
    return arm.features[GravityView]


def simulated(view: GravityView) -> list[float]:
    bench = view.form.window().workbench
    return in_simulation(bench, lambda running: running.simulation.model.gravity.tolist())


def test_the_standard_entries_reach_the_simulation_and_are_undone(qtbot, window, view):
    bench = window.workbench
    assert view.form.kind.currentText() == "Earth"
    assert view.entries["Earth"].isChecked()
    view.entries["Moon"].trigger()
    wait(qtbot, lambda: simulated(view) == [0, 0, -1.62])
    assert [box.value() for box in view.form.boxes] == [0, 0, -1.62]
    assert [name for name, action in view.entries.items() if action.isChecked()] == ["Moon"]
    view.form.kind.setCurrentText("none")
    view.form.kind.textActivated.emit("none")
    wait(qtbot, lambda: simulated(view) == [0, 0, 0])
    assert not window.run.gravity.isChecked()
    window.run.gravity.trigger()  # back on, as it was
    wait(qtbot, lambda: simulated(view) == [0, 0, -1.62])
    for expected in ([0, 0, 0], [0, 0, -1.62], [0, 0, -9.81]):
        qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
        wait(qtbot, lambda expected=expected: simulated(view) == expected)
    assert bench.robot.settings == Settings(**{**vars(bench.robot.settings), "gravity_vector": None})


def test_numbers_are_typed_and_pull_the_robot(qtbot, window, view):
    bench = window.workbench
    bench.joints.set_held(False)
    for box, text in zip(view.form.boxes, ("3", "-1.5", "0"), strict=True):
        type_in(qtbot, box, text)
    wait(qtbot, lambda: simulated(view) == [3, -1.5, 0])
    assert view.form.kind.currentText() == OTHER
    alone = engine.Simulation(
        bench.robot.model.with_gravity((3, -1.5, 0)), q=bench.robot.initial, dt=bench.robot.settings.dt,
        integrator=bench.robot.settings.integrator, scene=bench.robot.settings.touched,
    )  # fmt: skip
    window.run.step.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0)
    alone.step()
    np.testing.assert_allclose(bench.robot.newest.v, alone.v[0], atol=1e-12)
    assert np.abs(alone.v).max() > 1e-4


def test_a_session_and_a_run_keep_it_and_another_robot_has_its_own(qtbot, window, view, tmp_path):
    bench = window.workbench
    view.set((0.5, 0.0, -3.0))
    path = tmp_path / "own.catena"
    window.features[Sessions].save(str(path))
    assert run_files.understand(json.loads(json.dumps(run_files.describe(bench.robot.settings)))) .gravity_vector == (
        0.5, 0.0, -3.0)  # fmt: skip
    window.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: bench.robot.model.name != "arm7" and not bench.opening.loading)
    assert view.vector == STANDARD["Earth"]
    window.files.open(path)
    wait(qtbot, lambda: bench.robot.model.name == "arm7" and view.vector == (0.5, 0.0, -3.0))
    text = json.loads(path.read_text())
    text["settings"]["gravity vector"] = [1.0, 2.0]
    path.write_text(json.dumps(text))
    window.files.open(path)
    wait(qtbot, lambda: "the gravity vector" in window.statusBar().currentMessage())


def test_a_run_whose_parameters_set_it_shows_it_also_in_its_branch(qtbot, window, view, tmp_path):
    bench, model = window.workbench, engine.load(engine.find_robot("scara"))
    own = engine.Parameters(model, 2)
    own.gravity[:] = (0, 0, -1.62), (0, 0, -3.73)
    own.mass[1] *= 2
    simulation, recording = engine.Simulation(model, 2, dt=1e-3, parameters=own), engine.Recording()
    recording.begin(simulation)
    simulation.step(3)
    recording.add(simulation)
    engine.save_run(tmp_path / "run.npz", recording, recording.runs[0], {"robot": "scara", "dt": 1e-3})
    open_run(qtbot, window, tmp_path / "run.npz")
    wait(qtbot, lambda: view.entries["Moon"].isChecked())
    assert (view.form.kind.currentText(), view.vector) == ("Moon", (0, 0, -1.62))
    for robot in (0, 1):
        bench.select_robot(robot)
        wait(qtbot, lambda robot=robot: bench.shown_model.gravity.tolist() == own.gravity[robot].tolist())
        assert bench.shown_model.mass.tolist() == own.mass[robot].tolist()
    qtbot.keyClick(window, "B", CTRL)
    wait(qtbot, lambda: not bench.replay.active)
    assert (view.form.kind.currentText(), view.vector) == ("Moon", (0, 0, -1.62))
    bench.configuring.set_dt(5e-4)
    wait(qtbot, lambda: in_simulation(bench, lambda running: running.simulation.dt) == 5e-4)
    assert simulated(view) == [0, 0, -1.62]
