"""Batches in the simulation's thread and in the window, pressed as a user presses them."""

import math
import re
import time
from collections.abc import Callable

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtTest import QTest
from windows import frames_of, play_for, press, settle, wait

import engine
from app.features.attaching import BatchView, GroundView, PlotsView, Status
from app.panels.inspection import robot_facts
from app.picture.crowd import ARRANGEMENTS, DEVIATION
from app.plotting.catalogue import catalogue
from app.simulation.batch_spread import BatchSpread
from app.simulation.grounds import ROUGH
from app.simulation.messages import Snapshot, Stopped
from app.workbench import Workbench

PATIENCE = 60.0  # s, for the first compilation of the engine
Left = Qt.MouseButton.LeftButton


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    bench.open(engine.find_robot("double_pendulum"))
    until(bench, lambda: bench.robot.model is not None)
    return bench


def until(bench: Workbench, condition: Callable[[], object]) -> list:
    """Process events until the condition holds."""
    events, end = [], time.monotonic() + PATIENCE
    while not condition():
        events += bench.poll()
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.002)
    return events


def frame(bench: Workbench, condition: Callable[[Snapshot], object]) -> Snapshot:
    """The next snapshot like that."""
    found: list[Snapshot] = []

    def look() -> bool:
        newest = bench.frame()
        if newest is not None and condition(newest):
            found.append(newest)
        return bool(found)

    until(bench, look)
    return found[0]


def of(robots: int) -> Callable[[Snapshot], bool]:
    """Return a batch of `robots` robots with known energies."""
    return lambda frame: (
        frame.batch is not None and len(frame.batch.energy) == robots and bool(np.all(np.isfinite(frame.batch.energy)))
    )


def test_a_batch_spreads_from_the_robot_and_plays(bench):
    bench.configuring.set_spread(BatchSpread(20, pose=0.3, mass=0.2))
    first = frame(bench, of(20))
    np.testing.assert_allclose(first.batch.link_poses[0], first.link_poses, atol=1e-6)
    assert first.batch.deviation[0] == 0
    assert np.all(first.batch.deviation[1:] > 0)
    assert not np.any(first.batch.diverged)
    assert len(set(first.batch.energy.tolist())) == 20
    apart = first.batch.deviation.copy()
    bench.play()
    later = frame(bench, lambda each: each.time > 0.5 and of(20)(each))
    assert np.abs(later.batch.deviation - apart).max() > 0.05
    expected = engine.link_poses(bench.robot.model, later.q)
    np.testing.assert_allclose(later.link_poses, expected, atol=1e-6)


def test_the_robot_that_is_looked_at_is_told_of(bench):
    bench.configuring.set_spread(BatchSpread(5, pose=0.5, seed=3))
    alone = frame(bench, of(5)).q.copy()
    bench.select_robot(4)
    other = frame(bench, lambda each: each.robot == 4)
    np.testing.assert_allclose(other.q, BatchSpread(5, pose=0.5, seed=3).poses(bench.robot.model, alone)[4])
    np.testing.assert_allclose(other.link_poses, other.batch.link_poses[4], atol=1e-6)
    bench.select_robot(17)  # there is none
    bench.configuring.set_spread(BatchSpread(3, pose=0.5, seed=3))
    assert frame(bench, of(3)).robot == 2


def test_a_reset_spreads_anew_and_another_robot_stands_alone(bench):
    bench.configuring.set_spread(BatchSpread(6, pose=0.4))
    start = frame(bench, of(6)).batch.link_poses.copy()
    bench.play()
    frame(bench, lambda each: each.time > 0.2)
    bench.pause()
    bench.reset()
    again = frame(bench, lambda each: each.time == 0 and each.batch is not None)
    np.testing.assert_allclose(again.batch.link_poses, start, atol=1e-6)
    bench.open(engine.find_robot("pendulum"))
    until(bench, lambda: not bench.opening.loading)
    assert bench.robot.settings.spread == BatchSpread()
    assert frame(bench, lambda _: True).batch is None


def test_a_slider_at_time_zero_moves_all_robots_and_keeps_their_spread(bench):
    bench.configuring.set_spread(BatchSpread(4, pose=0.2))
    before = frame(bench, of(4))
    apart = before.batch.deviation.copy()
    bench.joints.set_coordinate(0, 0.7)
    after = frame(bench, lambda each: each.q[0] == 0.7)
    np.testing.assert_allclose(after.batch.deviation, apart, atol=0.1)
    assert np.all(after.batch.deviation[1:] > 0.01)


def test_robots_that_diverge_are_frozen_and_counted_while_the_others_go_on(bench):
    bench.configuring.set_integrator("rk4")
    bench.configuring.set_dt(0.2)  # too long for those that swing fast
    bench.configuring.set_spread(BatchSpread(40, pose=3.0, seed=1))
    frame(bench, of(40))
    bench._worker.set_speed(50.0)  # a user may ask for 10
    bench.play()
    events = until(bench, lambda: (each := bench.frame()) is not None and each.time > 25)
    newest = bench.robot.newest
    assert not any(isinstance(event, Stopped) for event in events)
    assert np.all(np.isfinite(newest.batch.link_poses))
    assert 0 < np.count_nonzero(newest.batch.diverged) < 40
    bench.configuring.set_spread(BatchSpread(3, pose=3.0, seed=1))
    bench.configuring.set_dt(2.0)
    frame(bench, of(3))
    bench.play()
    (stopped,) = (each for each in until(bench, lambda: not bench.robot.playing) if isinstance(each, Stopped))
    assert re.fullmatch(r"all 3 robots have diverged by [\d.]+ s", stopped.problem)
    frame(bench, lambda each: np.all(each.batch.diverged))


def test_the_user_makes_a_batch_plays_it_and_looks_at_one(qtbot, opened):
    window = opened()
    window.resize(1000, 650)
    press(qtbot, window, window.docks["Batch"].toggleViewAction())
    wait(qtbot, window.feature(BatchView).panel.isVisible)
    panel = window.feature(BatchView).panel
    panel.robots.selectAll()
    QTest.keyClicks(panel.robots, "12")
    panel.pose.selectAll()
    QTest.keyClicks(panel.pose, "36")
    QTest.keyClick(panel.pose, Qt.Key.Key_Tab)
    wait(qtbot, lambda: len(panel.map.values) == 12)
    assert window.workbench.robot.settings.spread == BatchSpread(12, pose=math.pi / 5)
    panel.coloring.setCurrentText(DEVIATION)
    wait(qtbot, lambda: window.feature(Status).loading_label.text() == "")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: window.workbench.robot.time > 0.2)
    press(qtbot, window, window.run.play)
    qtbot.mouseClick(panel.map, Left, pos=panel.map.cell(7).center().toPoint())
    wait(qtbot, lambda: panel.count.text().startswith("robot 7: deviation "))
    assert window.workbench.robot.newest.robot == 7
    np.testing.assert_allclose(window.joints.table.q, window.workbench.robot.newest.q)
    assert panel.map.values[0] == 0
    assert panel.map.values.max() > 0


def test_a_click_in_the_picture_picks_a_robot_and_a_drag_does_not(qtbot, opened):
    window = opened()
    window.feature(BatchView).panel.show_spread(BatchSpread(9))
    window.workbench.configuring.set_spread(BatchSpread(9, pose=0.2))
    view = window.viewport
    wait(qtbot, lambda: view.view().batch is not None and len(view.view().batch) == 9)
    clip = view.camera.projection(view.width() / view.height()) @ view.camera.view()
    place = clip @ np.append(view.view().batch.origins[5, 1], 1.0)
    x, y = (0.5 + 0.5 * place[0] / place[3]) * view.width(), (0.5 - 0.5 * place[1] / place[3]) * view.height()
    point = QPoint(round(x), round(y))
    with qtbot.assertNotEmitted(view.picked):
        qtbot.mousePress(view, Left, pos=point)
        qtbot.mouseMove(view, point + QPoint(30, 0))
        qtbot.mouseRelease(view, Left, pos=point + QPoint(30, 0))
    view.fit()
    view.camera.orbit(-30 * -np.radians(0.35), 0.0)
    with qtbot.waitSignal(view.picked) as picked:
        qtbot.mouseClick(view, Left, pos=point)
    wait(qtbot, lambda: window.workbench.robot.newest.robot == picked.args[0])


def test_the_camera_follows_the_robot_that_is_looked_at(qtbot, opened):
    window = opened()
    window.workbench.configuring.set_spread(BatchSpread(4))
    view = window.viewport
    wait(qtbot, lambda: view.view().batch is not None)
    view.follow = True
    before = view.camera.target.copy()
    window.workbench.select_robot(3)
    wait(qtbot, lambda: window.workbench.robot.newest.robot == 3)
    np.testing.assert_allclose(view.camera.target - before, view.view().batch.offsets[3], atol=1e-5)


def test_one_robot_of_a_batch_is_fitted_and_all_of_them_fill_the_picture(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    window.resize(1600, 800)
    view, batches = window.viewport, window.feature(BatchView)
    wait(qtbot, lambda: window.workbench.shown is not None)
    assert not batches.near.isEnabled()
    window.workbench.configuring.set_spread(BatchSpread(64, pose=0.2))
    wait(qtbot, lambda: view.view().batch is not None and batches.near.isEnabled())
    wait(qtbot, lambda: view.reading is None)
    view.fit()

    def places(robots: slice) -> np.ndarray:
        clip = view.camera.projection(view.width() / view.height()) @ view.camera.view()
        origins = view.view().batch.origins[robots].reshape(-1, 3)
        seen = np.c_[origins, np.ones(len(origins))] @ clip.T
        return seen[:, :2] / seen[:, 3:]

    everything = places(slice(None))
    assert np.all(np.abs(everything) < 1)
    assert np.ptp(everything, axis=0).max() > 1.0, "they fill half of the width or of the height"
    window.docks.show_in_front("Batch")
    wait(qtbot, batches.panel.map.isVisible)
    menu = window.menus.context.at(batches.panel.map, batches.panel.map.cell(63).center().toPoint())
    assert menu.actions()[0].text() == "robot 63"
    next(each for each in menu.actions() if each.text() == "&Select and fit").trigger()
    wait(qtbot, lambda: window.workbench.shown.robot == 63)

    def is_near(robot: int) -> bool:
        own = places(slice(robot, robot + 1))
        return bool(np.all(np.abs(own) < 1) and np.ptp(own, axis=0).max() > 0.5)

    assert is_near(63)
    assert not is_near(0)
    window.workbench.select_robot(0)
    wait(qtbot, lambda: window.workbench.shown.robot == 0)
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ShiftModifier)
    assert is_near(0)


def test_a_batch_on_a_height_field_says_why_it_is_in_one_place(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    panel = window.feature(BatchView).panel
    window.docks.show_in_front("Batch")
    window.workbench.configuring.set_spread(BatchSpread(4, pose=0.2))
    wait(qtbot, lambda: window.viewport.view().batch is not None and "robots" in panel.note.text())
    assert "one place" not in panel.note.text()
    window.feature(GroundView).choose(ROUGH)
    wait(qtbot, lambda: "on flat ground they have a grid" in panel.note.text())


def test_robots_in_one_place_are_all_drawn_there(qtbot, opened):
    window = opened()
    window.workbench.configuring.set_spread(BatchSpread(4, pose=0.2))
    view = window.viewport
    wait(qtbot, lambda: view.view().batch is not None)
    assert np.any(view.view().batch.offsets)
    window.feature(BatchView).panel.arrangement.setCurrentText(ARRANGEMENTS[1])
    assert not np.any(view.view().batch.offsets)


def test_plots_have_the_energy_of_the_clicked_robot_by_its_own_masses(qtbot, arm):
    bench, plots = arm.workbench, arm.features[PlotsView]
    (energy,) = (each for each in catalogue(bench.robot.model) if each.label == "total energy")
    wait(qtbot, lambda: bench.shown is not None)
    plots.action.trigger()
    plots.panel.plot(energy)
    bench.configuring.set_spread(BatchSpread(5, mass=0.5))
    wait(qtbot, lambda: bench.shown.batch is not None)

    def clicked(robot: int) -> None:
        arm.feature(BatchView).panel.map.chosen.emit(robot)
        wait(qtbot, lambda: bench.shown.robot == robot)

    clicked(4)
    for _ in range(200):
        bench.step()
    wait(qtbot, lambda: bench.robot.time == pytest.approx(200 * bench.robot.settings.dt))
    own = bench.robot.settings.spread.parameters(bench.robot.model)
    live = plots.panel.sampled[energy]
    wait(qtbot, lambda: len(live) and live.time[-1] == pytest.approx(bench.robot.time))
    assert live.value[-1] == pytest.approx(sum(engine.energy(own.robot(4), bench.robot.newest.q, bench.robot.newest.v)))

    qtbot.keyClick(arm, Qt.Key.Key_Left)  # a recorded frame is shown
    wait(qtbot, lambda: bench.replay.active)
    for robot in (3, 4, 0):
        clicked(robot)
        at, seconds = bench.replay.frame.checkpoint, bench.replay.frame.time
        expected = sum(engine.energy(own.robot(robot), at.q[robot], at.v[robot]))

        def is_plotted(seconds=seconds, expected=expected) -> bool:
            curve = plots.panel.series[energy]
            return len(curve) > 0 and np.interp(seconds, curve.time, curve.value) == pytest.approx(expected, rel=1e-6)

        wait(qtbot, is_plotted)


def test_a_click_on_another_robot_plots_its_whole_run_and_names_it(qtbot, arm):
    bench, plots = arm.workbench, arm.features[PlotsView]
    plots.action.trigger()
    plots.panel.plot(next(each for each in catalogue(bench.robot.model) if each.label == "joint2 position"))
    bench.configuring.set_spread(BatchSpread(4, pose=0.5))
    play_for(qtbot, arm, 0.5)
    settle(qtbot, arm)
    arm.feature(BatchView).panel.map.chosen.emit(3)
    wait(qtbot, lambda: bench.shown.robot == 3)

    def is_whole() -> bool:
        (curve,) = plots.panel.series.values()
        return len(curve) > 10 and curve.time[0] == 0 and curve.time[-1] > 0.45

    wait(qtbot, is_whole)
    assert not bench.replay.active
    recording, run = bench.replay.recording, bench.replay.newest
    (curve,) = plots.panel.series.values()
    first = next(each for each in frames_of(recording, run) if len(each.checkpoint.q) == 4)
    assert float(np.interp(first.time, curve.time, curve.value)) == pytest.approx(first.checkpoint.q[3, 1], abs=1e-3)
    plots.panel.draw()
    (chart,) = plots.panel.charts
    assert "robot 3" in chart.names.text()
    bench.configuring.set_spread(BatchSpread(1))
    wait(qtbot, lambda: bench.shown.batch is None)
    plots.panel.draw()
    assert "robot" not in chart.names.text()


def test_a_batch_is_coloured_by_a_plotted_quantity_and_by_what_differs(qtbot, opened):
    """Live and in a recorded frame, for which nothing is sampled."""
    window = opened(engine.find_robot("quadruped"))
    bench, plots, panel = window.workbench, window.feature(PlotsView), window.feature(BatchView).panel
    window.docks.show_in_front("Batch")
    plots.action.trigger()
    labels = "trunk position z", "kinetic energy"
    every = {each.label: each for each in catalogue(bench.robot.model)}
    plots.panel.plot(every[labels[0]])
    plots.panel.plot(every[labels[1]])
    wait(qtbot, lambda: bench.shown is not None)
    bench.configuring.set_spread(BatchSpread(6, 0.4, 0.3, 0.5, seed=2))
    wait(qtbot, lambda: bench.shown.batch is not None)
    names = [panel.coloring.itemText(k) for k in range(panel.coloring.count())]
    assert names == ["own colours", "energy", "deviation", "moving mass", "joint friction", labels[0], labels[1]]
    play_for(qtbot, window, 0.3)
    settle(qtbot, window)
    parameters = bench.robot.settings.spread.parameters(bench.robot.model)

    def shows(name: str, numbers: Callable[[engine.RecordedFrame, int], float]) -> None:
        panel.coloring.setCurrentText(name)
        run, replay = bench.replay.chosen, bench.replay
        frame = replay.frame or replay.recording.frame(run, run.last)
        expected = [numbers(frame, robot) for robot in range(6)]
        wait(qtbot, lambda: np.allclose(panel.map.values, expected, rtol=1e-5))
        assert name in panel.count.text()
        tints = window.viewport.view().batch.tints
        order = [k for k in np.argsort(expected) if k != bench.shown.robot]
        assert np.all(np.diff(tints[order, :3] @ (0.2126, 0.7152, 0.0722)) > 0)

    def height(frame: engine.RecordedFrame, robot: int) -> float:
        return engine.link_poses(bench.robot.model, frame.checkpoint.q[robot])[every[labels[0]].index, 2, 3]

    def kinetic(frame: engine.RecordedFrame, robot: int) -> float:
        return engine.energy(parameters.robot(robot), frame.checkpoint.q[robot], frame.checkpoint.v[robot])[0]

    def total(frame: engine.RecordedFrame, robot: int) -> float:
        return sum(engine.energy(parameters.robot(robot), frame.checkpoint.q[robot], frame.checkpoint.v[robot]))

    rubs = bench.robot.model.friction > 0
    friction = 100 * (parameters.friction[:, rubs] / bench.robot.model.friction[rubs]).mean(1)
    for _ in range(2):
        shows(labels[0], height)
        shows(labels[1], kinetic)
        shows("moving mass", lambda _, robot: 1e3 * parameters.mass[robot].sum())
        shows("joint friction", lambda _, robot: friction[robot])
        qtbot.keyClick(window, Qt.Key.Key_Left)
        wait(qtbot, lambda: bench.replay.active)
    shows("energy", total)
    panel.coloring.setCurrentText(labels[0])
    plots.panel.remove(every[labels[0]])
    assert panel.coloring.currentText() == "own colours"
    bench.select_robot(4)
    wait(qtbot, lambda: bench.shown.robot == 4)
    facts = {row.label: row.text for row in robot_facts(bench.shown.model, bench.shown, bench.robot.model)[0].rows}
    mass = parameters.mass[4].sum()
    assert facts["moving mass"].startswith(f"{mass:.5g}"[:4])
    assert facts["moving mass"].endswith(f"{100 * mass / bench.robot.model.mass.sum():.1f} %")
    assert facts["joint friction"].startswith(f"{friction[4]:.1f} %")


@pytest.mark.parametrize(("width", "height"), [(1000, 650), (1440, 900)])
def test_the_panel_fits_the_window(qtbot, opened, width, height):
    window = opened()
    window.resize(width, height)
    press(qtbot, window, window.docks["Batch"].toggleViewAction())
    wait(qtbot, window.feature(BatchView).panel.isVisible)
    assert (window.width(), window.height()) == (width, height)
    panel = window.feature(BatchView).panel
    window.workbench.configuring.set_spread(BatchSpread(4, pose=0.2))
    wait(qtbot, panel.map.isVisible)  # one robot has none
    assert panel.width() >= panel.minimumSizeHint().width()
    for control in (panel.robots, panel.pose, panel.mass, panel.friction, panel.seed, panel.coloring, panel.map):
        corner = control.mapTo(window, QPoint(control.width(), control.height()))
        assert corner.x() <= width
        assert corner.y() <= height
    assert panel.map.height() >= 60


def test_plots_end_at_the_state_at_which_steps_end(qtbot, arm):
    """Also where a sample is not due: at a high speed, or on a busy machine, one is taken of several steps."""
    bench, plots = arm.workbench, arm.features[PlotsView]
    plots.action.trigger()
    plots.panel.plot(next(each for each in catalogue(bench.robot.model) if each.label == "total energy"))
    wait(qtbot, lambda: len(bench.probe.quantities) == 1)
    bench.set_speed(10.0)
    for _ in range(7):
        bench.step()
    wait(qtbot, lambda: bench.robot.time == pytest.approx(7 * bench.robot.settings.dt))
    (live,) = plots.panel.sampled.values()
    wait(qtbot, lambda: len(live) and live.time[-1] == pytest.approx(bench.robot.time))
