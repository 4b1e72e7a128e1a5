"""Curves of the second robot beside the first one's: live, of recorded frames, and again with it."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from windows import play_for, settle, wait

from app.features.attaching import PlotsView, SecondRobotView
from app.panels.second_robot import ROWS

POSITION = "second joint/second: joint2/position/"


@pytest.fixture
def two(qtbot, second):
    """The same arm twice, falling, with the plots visible; and what opens the second one."""
    window, put = second
    put("arm7")
    window.run.hold.trigger()
    window.features[PlotsView].action.trigger()
    panel = window.features[PlotsView].panel
    wait(qtbot, panel.isVisible)
    return window, panel, put


def plotted(panel, key):
    quantity = panel.list.model.quantities.named(key)
    panel.plot(quantity)
    return quantity


def test_it_is_found_and_plotted_while_it_plays_and_in_recorded_frames(qtbot, two):
    window, panel, _ = two
    panel.list.search.setText("second joint2 position")
    assert [each.label for each in panel.list.model.shown] == ["second: joint2 position"]
    own, other = plotted(panel, "joint/joint2/position/"), plotted(panel, POSITION)
    place = plotted(panel, "second link/second: hand/position/x")
    play_for(qtbot, window, 0.5)
    settle(qtbot, window)
    sampled = panel.series[other]
    assert len(sampled) > 3
    first = panel.series[own]
    np.testing.assert_allclose(sampled.value, np.interp(sampled.time, first.time, first.value), atol=0.02)
    assert np.ptp(sampled.value) > 0.1
    late = plotted(panel, "second robot/second:/total energy/")
    replay = window.workbench.replay
    replay.seek(0.3)
    for each in (late, place, other):
        wait(qtbot, lambda each=each: len(panel.series[each]) > len(replay.run) // 2)
        assert panel.series[each].time[0] == 0
        assert np.isfinite(panel.series[each].value).all()
    then = window.workbench.shown.second_robot
    hand = then.model.link_names.index("hand")
    assert panel.series[place].at(then.time) == pytest.approx(then.link_poses[hand, 0, 3], abs=1e-9)
    assert panel.series[other].at(then.time) == pytest.approx(then.q[1], abs=1e-9)


def test_a_head_of_the_table_too_narrow_for_a_name_says_whose_it_is(two):
    table = two[0].features[SecondRobotView].panel.table
    assert [table.horizontalHeaderItem(k).toolTip() for k in (0, 1)] == ["arm7, first", "arm7, second"]
    assert table.horizontalHeader().textElideMode() == Qt.TextElideMode.ElideMiddle


def test_its_curves_go_and_come_with_it(two):
    window, panel, put = two
    plotted(panel, "joint/joint2/position/")
    plotted(panel, POSITION)
    view = put("double_pendulum")
    assert [each.label for each in panel.quantities] == ["joint2 position"]
    plotted(panel, "second joint/second: elbow/velocity/")
    view.close()
    assert [each.label for each in panel.quantities] == ["joint2 position"]
    assert not panel.list.model.quantities.found("second elbow")
    put("double_pendulum")
    assert [each.label for each in panel.quantities] == ["joint2 position", "second: elbow velocity"]
    window.run.reset.trigger()


def test_its_energy_is_that_under_the_gravity_that_is_set(qtbot, two):
    window, panel, _ = two
    energy = [plotted(panel, key) for key in ("robot//potential energy/", "second robot/second:/potential energy/")]
    window.workbench.configuring.set_gravity_vector((0.0, 0.0, -1.62))
    table, row = window.features[SecondRobotView].panel.table, ROWS.index("potential energy")
    wait(qtbot, lambda: window.workbench.robot.newest.model.gravity[2] == -1.62)
    play_for(qtbot, window, 0.2)
    settle(qtbot, window)
    assert table.item(row, 0).text() == table.item(row, 1).text()
    own, other = (panel.series[each] for each in energy)
    wait(qtbot, lambda: own.time[-1] == other.time[-1] == window.workbench.robot.time)
    assert other.value[-1] == pytest.approx(own.value[-1], rel=1e-6)
