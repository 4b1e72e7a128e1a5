"""Two runs of a robot beside each other: the earlier one is the ghost, and the plots have its curves too."""

import numpy as np
from test_ghost import drawn
from test_time import play
from windows import frames_of, wait

import engine
from app.acting.drives import Drive
from app.features.attaching import GhostView, PlotsView, TimeView
from app.features.ghost_in_plots import NOT_RECORDED
from app.features.ghost_view import ONE_RUN

ARM = engine.ROBOTS / "arm7.urdf"


def there(window) -> np.ndarray:
    """(nq,): where the recorded ghost was at the time that the window shows."""
    ghost = window.features[GhostView].recorded
    frames = frames_of(ghost.recording, ghost.run)
    times, q = [frame.time for frame in frames], np.array([frame.checkpoint.q[0] for frame in frames])
    return np.array([np.interp(window.workbench.shown.time, times, each) for each in q.T])


def test_an_earlier_run_is_the_ghost_and_its_curves_stand_beside_those_of_the_run_shown(qtbot, opened, tmp_path):
    window = opened(ARM)
    ghosts, plots, menu = window.features[GhostView], window.features[PlotsView], window.features[TimeView].menu
    runs = next(action.menu() for action in menu.actions() if action.text().replace("&", "") == "Compare with run")
    runs.aboutToShow.emit()
    assert [action.text() for action in runs.actions() if not action.isEnabled()] == [ONE_RUN]
    plots.action.trigger()
    first = next(each for each in plots.panel.list.model.quantities if each.label == "joint1 position")
    plots.panel.plot(first)
    window.workbench.joints.set_joint_drive(0, Drive("velocity", 0.8))
    play(qtbot, window, 0.4)
    window.run.reset.trigger()
    wait(qtbot, lambda: window.workbench.robot.time == 0)
    window.workbench.joints.set_joint_drive(0, Drive("velocity", -0.4))
    play(qtbot, window, 0.3)
    runs.aboutToShow.emit()
    run = window.workbench.replay.runs[0]
    next(action for action in runs.actions() if action.text() == "Run 1").trigger()
    recording = window.workbench.replay.recording
    frames = {frame.time: frame for frame in (recording.frame(run, k) for k in range(run.first, run.last + 1))}
    wait(qtbot, lambda: len(plots.panel.compared[0].get(first, ())) == len(frames))
    shown = plots.panel.charts[0]
    wait(qtbot, lambda: [curve.name for curve in shown.canvas.curves] == [first.label, f"Run 1: {first.label}"])
    own, other = shown.canvas.curves
    assert other.color != own.color
    assert other.dash != own.dash
    q = [frame.checkpoint.q[0, 0] for frame in frames.values()]
    np.testing.assert_allclose(plots.panel.compared[0][first].value, q, rtol=0, atol=1e-12)
    assert own.value[-1] < 0 < other.value[-1]
    assert "Run 1" in shown.names.text()
    assert own.color in shown.names.text()
    assert other.color in shown.names.text()
    np.testing.assert_allclose(drawn(window), engine.link_poses(ghosts.recorded.model, there(window)), atol=1e-4)
    plots.panel.saving.save_csv(str(tmp_path / "two.csv"))
    heading = (tmp_path / "two.csv").read_text().splitlines()[0]
    assert heading == "time [s],joint1 position [rad],Run 1: joint1 position [rad]"
    runs.aboutToShow.emit()
    next(action for action in runs.actions() if action.text().startswith("&End comparison")).trigger()
    wait(qtbot, lambda: [curve.name for curve in shown.canvas.curves] == [first.label])
    assert ghosts.recorded is None


def test_curves_of_another_run_have_colours_of_their_own_and_values_beside_them(qtbot, opened):
    """Of two joints in one plot all four curves differ, and each is named with its colour."""
    window = opened(ARM)
    ghosts, plots = window.features[GhostView], window.features[PlotsView]
    plots.action.trigger()
    for label in ("joint1 position", "joint2 position"):
        plots.panel.plot(next(each for each in plots.panel.list.model.quantities if each.label == label))
    for speed in (0.8, -0.4):
        window.workbench.joints.set_joint_drive(0, Drive("velocity", speed))
        play(qtbot, window, 0.2)
        window.run.reset.trigger()
        wait(qtbot, lambda: window.workbench.robot.time == 0)
    ghosts.show_run(window.workbench.replay.runs[0])
    (chart,) = plots.panel.charts
    wait(qtbot, lambda: len(chart.canvas.curves) == 4)
    colors = [curve.color for curve in chart.canvas.curves]
    assert len(set(colors)) == 4
    wait(qtbot, lambda: all(color in chart.names.text() for color in colors))
    assert chart.names.text().count("href") == 2
    assert chart.names.text().count("joint2") == 2


def test_a_recorded_ghost_has_curves_over_a_recorded_run_as_far_as_both_go(qtbot, opened):
    window = opened(ARM)
    ghosts, plots, bench = window.features[GhostView], window.features[PlotsView], window.workbench
    plots.action.trigger()
    wanted = [each for each in plots.panel.list.model.quantities if each.label in ("ghost deviation", "ghost energy")]
    for each in wanted:
        plots.panel.plot(each)
    for speed, seconds in ((0.8, 0.3), (-0.4, 0.5)):
        window.run.reset.trigger()
        wait(qtbot, lambda: bench.robot.time == 0)
        bench.joints.set_joint_drive(0, Drive("velocity", speed))
        play(qtbot, window, seconds)
    bench.pause_for_replay()
    bench.replay.seek(0.2)
    window.refresh()
    charts = {chart.quantities[0].kind: chart for chart in plots.panel.charts}
    wait(qtbot, lambda: all(NOT_RECORDED in chart.names.text() for chart in charts.values()))
    first, second = bench.replay.runs[0], bench.replay.chosen
    ghosts.show_run(first)
    ghost, recording = ghosts.recorded, bench.replay.recording
    end = min(recording.span(first)[1], recording.span(second)[1])
    wait(qtbot, lambda: all(len(plots.panel.series[each]) > 3 for each in wanted))
    wait(qtbot, lambda: NOT_RECORDED not in charts["ghost deviation"].names.text())
    assert [curve.name for curve in charts["ghost energy"].canvas.curves] == ["ghost energy"]
    by_kind = {each.kind: plots.panel.series[each] for each in wanted}
    deviation, energy = by_kind["ghost deviation"], by_kind["ghost energy"]
    assert deviation.time[0] == 0.0
    assert end - 0.05 < deviation.time[-1] <= end + 1e-9
    assert deviation.value[-1] > 0.01
    for k in (0, len(energy) // 2):
        frame = recording.frame(second, recording.at(second, energy.time[k]))
        here, there = engine.link_poses(ghost.model, frame.checkpoint.q[0]), ghost.at(frame.time)
        assert energy.value[k] == there.energy
        assert deviation.value[k] == ghost.deviation(np.asarray(here), there.poses).max()


def test_a_recorded_ghost_moves_on_a_line_between_its_frames(qtbot, opened):
    """Else two equal runs, whose frames are at other times, would deviate by what a frame's time moves them."""
    window = opened(ARM)
    bench = window.workbench
    bench.joints.set_joint_drive(0, Drive("velocity", 0.8))
    play(qtbot, window, 0.3)
    recording, run = bench.replay.recording, bench.replay.newest
    window.features[GhostView].show_run(run)
    ghost = window.features[GhostView].recorded
    one, other = (recording.frame(run, run.first + k) for k in (5, 6))
    between = ghost.at((one.time + other.time) / 2).poses
    q = (one.checkpoint.q[0] + other.checkpoint.q[0]) / 2
    np.testing.assert_allclose(between, engine.link_poses(bench.robot.model, q), atol=1e-12)
    np.testing.assert_array_equal(ghost.at(one.time).poses, engine.link_poses(bench.robot.model, one.checkpoint.q[0]))
