"""Two runs of a robot beside each other: the earlier one is the ghost, and the plots have its curves too."""

import numpy as np
from test_ghost import drawn
from test_time import play
from windows import wait

import engine
from app.acting.drives import Drive
from app.features.attaching import GhostView, PlotsView, TimeView
from app.features.ghost_view import ONE_RUN

ARM = engine.ROBOTS / "arm7.urdf"


def there(window) -> np.ndarray:
    """(nq,): where the recorded ghost was at the time that the window shows."""
    ghost = window.features[GhostView].recorded
    at = ghost.recording.at(ghost.run, window.workbench.shown.time)
    return ghost.recording.frame(ghost.run, at).checkpoint.q[0]


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
