"""Effort limits, friction and damping of joints that are set in the window in place of the file's."""

import json
import math

import numpy as np
import pytest
from test_drives import choose
from test_sessions import play, save
from windows import case, in_simulation, type_in, wait

import engine
from app.acting.drives import Drive
from app.desktop.context_menus import JOINT, Clicked
from app.features.plots_view import PlotsView
from app.features.sessions import Sessions
from app.features.undo_view import UndoView
from app.recording.run_files import describe, understand
from app.simulation.batch_spread import BatchSpread, OwnJoint
from app.simulation.ghost import GhostSettings
from app.simulation.messages import Settings

SCARA = engine.find_robot("scara")
ELBOW = 1


def parameters(window) -> engine.Parameters | None:
    return in_simulation(window.workbench, lambda running: running.simulation.parameters)


def test_an_effort_limit_is_typed_and_the_drive_keeps_to_it(qtbot, opened):
    window = opened(SCARA)
    bench, stack = window.workbench, window.features[UndoView].stack
    form = choose(qtbot, window, ELBOW)
    assert (form.effort_limit.value(), form.friction.value()) == (60.0, bench.robot.model.friction[ELBOW])
    type_in(qtbot, form.effort_limit, 2.5)
    wait(qtbot, lambda: (now := parameters(window)) is not None and now.effort_limit[0, ELBOW] == 2.5)
    bench.joints.set_joint_drive(ELBOW, Drive("effort", 9.0))
    assert bench.robot.set_drive(ELBOW).value == 2.5
    play(qtbot, window, 0.1)
    assert bench.robot.newest.effort[ELBOW] == pytest.approx(2.5)
    wait(qtbot, lambda: "2.5 of 2.5 N m, at its limit" in form.motion.text())
    while stack.canUndo():
        stack.undo()
    wait(qtbot, lambda: parameters(window) is None and form.effort_limit.value() == 60.0)
    assert bench.robot.model.effort_limit[ELBOW] == 60.0


def test_no_limit_is_a_number_too(qtbot, opened):
    window = opened(SCARA)
    form = choose(qtbot, window, ELBOW)
    type_in(qtbot, form.effort_limit, "1e9")
    wait(qtbot, lambda: (now := parameters(window)) is not None and math.isinf(now.effort_limit[0, ELBOW]))
    assert form.effort_limit.value() == 1e9


def test_friction_and_damping_of_several_joints_are_set_and_put_back(qtbot, opened):
    window = opened(SCARA)
    bench = window.workbench
    form = choose(qtbot, window, 0)
    window.joints.extended.emit(ELBOW, False)
    before = bench.robot.model.damping[:2].tolist()
    type_in(qtbot, form.friction, 3)
    limits = bench.robot.model.effort_limit.tolist()
    assert bench.robot.settings.joints == tuple(OwnJoint(v, limits[v], 3.0, before[v]) for v in (0, 1))
    type_in(qtbot, form.damping, 7)
    wait(qtbot, lambda: (now := parameters(window)) is not None and now.damping[0, :2].tolist() == [7.0, 7.0])
    assert window.features[UndoView].stack.undoText() == "Effort limit and friction of 2 joints"
    menu = window.menus.context.of(Clicked(JOINT, "shoulder", 0))
    (back,) = [each for each in menu.actions() if each.text() == "Effort limit and &friction of the file"]
    back.trigger()
    wait(qtbot, lambda: parameters(window) is None)
    assert not bench.robot.settings.joints
    assert form.damping.value() == before[0]


def test_friction_brakes_the_run_is_kept_and_a_branch_has_what_was_then(qtbot, opened, make_window, tmp_path):
    window = opened(engine.find_robot("double_pendulum"))
    bench = window.workbench
    bench.joints.set_held(False)
    bench.joints.set_coordinate(0, 1.0)
    play(qtbot, window, 0.1)
    bench.joints.set_own({0: OwnJoint(0, math.inf, 0.0, 50.0)})
    play(qtbot, window, 1.0)
    assert abs(bench.robot.newest.v[0]) < 0.3  # without damping it would fall at a few rad/s
    save(qtbot, window, tmp_path / "mine.catena")
    again = make_window()
    again.open(tmp_path / "mine.catena")
    other = again.workbench
    wait(qtbot, lambda: other.robot.newest is not None and other.robot.time == bench.robot.time)
    assert other.robot.settings.joints == bench.robot.settings.joints
    np.testing.assert_array_equal(other.robot.newest.q, bench.robot.newest.q)
    assert parameters(again).damping[0, 0] == 50.0
    bench = other
    bench.pause_for_replay()
    bench.replay.seek(0.05)
    bench.branch()
    wait(qtbot, lambda: parameters(again) is None and not bench.robot.settings.joints)


def test_limits_in_the_plots_are_those_in_force(opened):
    window = opened(SCARA)
    panel = window.features[PlotsView].panel
    window.docks.show_in_front("Plots")
    panel.plot_group("joint", ("torque",))

    def shown() -> list[tuple[float, float]]:
        return [each.limits for each in panel.quantities if each.name == "elbow"]

    assert shown() == [(-60.0, 60.0)]
    window.workbench.joints.set_own({ELBOW: OwnJoint(ELBOW, 8.0, 0.0, 0.0)})
    window.refresh()
    assert shown() == [(-8.0, 8.0)]


def test_a_ghost_has_the_same_joints(qtbot, opened):
    window = opened(engine.find_robot("double_pendulum"))
    bench = window.workbench
    bench.joints.set_held(False)
    bench.joints.set_coordinate(0, 1.0)
    bench.joints.set_own({0: OwnJoint(0, math.inf, 0.5, 2.0)})
    bench.ghost.set(GhostSettings())
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.ghost is not None)
    play(qtbot, window, 0.3)
    assert bench.robot.newest.ghost.worst == 0.0


def test_settings_with_own_joints_are_read_as_they_were_written():
    settings = Settings(joints=(OwnJoint(1, math.inf, 0.5, 2.0),))
    assert understand(describe(settings)) == settings


def test_robots_of_a_batch_differ_about_the_numbers_that_were_set():
    model = engine.load(SCARA)
    made = BatchSpread(5, friction=0.2, seed=3).parameters(model, (OwnJoint(ELBOW, 4.0, 2.0, 0.0),))
    assert made.effort_limit[:, ELBOW].tolist() == [4.0] * 5
    assert made.friction[0, ELBOW] == 2.0
    assert np.ptp(made.friction[:, ELBOW]) > 0
    assert np.abs(made.friction[:, ELBOW] - 2.0).max() <= 0.4


def test_a_session_without_a_run_has_them_too(qtbot, opened, make_window, tmp_path):
    window = opened(SCARA)
    own = (OwnJoint(0, math.inf, 0.5, 2.0), OwnJoint(ELBOW, 4.0, 0.0, 1.0))
    window.workbench.joints.set_own({each.v: each for each in own})
    window.features[Sessions].save(str(tmp_path / "mine.catena"))
    kept = json.loads((tmp_path / "mine.catena").read_text())
    assert kept["joints"] == {"shoulder": [None, 0.5, 2.0], "elbow": [4.0, 0.0, 1.0]}
    again = make_window()
    again.open(tmp_path / "mine.catena")
    wait(qtbot, lambda: again.workbench.robot.settings.joints == own)
    wait(qtbot, lambda: (now := parameters(again)) is not None and now.effort_limit[0, ELBOW] == 4.0)
    for wrong in ("all", [1], [-1, 0, 0], [None, None, 0], [1, 2, True]):
        with case(wrong):
            (tmp_path / "mine.catena").write_text(json.dumps(kept | {"joints": {"elbow": wrong}}))
            again.open(tmp_path / "mine.catena")
            said = "part of the session cannot be read: the numbers of elbow came as "
            wait(qtbot, lambda said=said: again.statusBar().currentMessage().startswith(said))
