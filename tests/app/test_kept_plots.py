"""Plots that a robot has again: the next time that it is opened, and after its file has changed."""

from plotted import tick
from PyQt6.QtCore import Qt
from windows import wait

import engine
from app.features.plots_view import PlotsView
from app.panels.plots import PlotsPanel

Key = Qt.Key


def panel_of(window) -> PlotsPanel:
    return window.features[PlotsView].panel


def test_a_robot_has_its_plots_again_the_next_time(qtbot, make_window):
    window = make_window()
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    qtbot.keyClick(window, Key.Key_P)
    panel = panel_of(window)
    for text in ("joint2 position", "joint3 position", "total energy"):
        tick(panel, text)
    keys = panel.layout_keys
    window.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "double_pendulum")
    assert [each.label for each in panel.quantities] == ["total energy"]  # what it has as well
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "arm7" and not window.workbench.opening.loading)
    assert panel.layout_keys == keys
    window.close()
    again = make_window()
    again.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: again.workbench.robot.model is not None)
    assert panel_of(again).layout_keys == keys


def test_a_joint_that_slides_since_its_file_changed_has_a_plot_of_its_own(qtbot, opened, tmp_path):
    path = tmp_path / "arm.urdf"
    text = engine.find_robot("double_pendulum").read_text()
    path.write_text(text)
    window = opened(path)
    panel = panel_of(window)
    qtbot.keyClick(window, Key.Key_P)
    names = window.workbench.robot.model.joint_names
    for name in names:
        tick(panel, f"{name} position")
    assert len(panel.charts) == 1
    path.write_text(text.replace(f'name="{names[1]}" type="continuous"', f'name="{names[1]}" type="prismatic"'))
    wait(qtbot, lambda: len(panel.charts) == 2)
    assert [chart.unit.label for chart in panel.charts] == ["°", "m"]
    panel.draw()
