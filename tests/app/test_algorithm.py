"""Switching the algorithm of a running simulation, and both in the timing panel."""

import time
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QFontMetrics
from windows import in_simulation, shown_time, wait

import engine
from app.desktop import theme, type_scale
from app.desktop.actions import algorithm_words
from app.desktop.numbers import duration
from app.features.attaching import SimulationChoices, TimingView
from app.features.status import PLAYS_ON, Status
from app.panels.history import BEFORE, MEDIAN, History
from app.panels.stacked_plot import StackedPlot
from app.panels.timing import TIMED_BELOW, TimingPanel
from app.panels.timing_table import FRAME_COLORS, SHOWN, TimingTable
from app.simulation.changeover import Changeover
from app.simulation.messages import SPENT, Configured, Settings
from app.window import Window
from engine.cpu.stepping import integrators

LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>"""
MIMIC = f"""<robot name="pair"><link name="base"/>{LINK.format("one")}{LINK.format("two")}
  <joint name="lead" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/></joint>
  <joint name="follow" type="continuous"><parent link="one"/><child link="two"/><axis xyz="0 1 0"/>
    <mimic joint="lead"/></joint>
</robot>"""


def choose(window: Window, name: str) -> None:
    actions = window.feature(Status).algorithm_button.menu().actions()
    next(action for action in actions if action.data() == name).trigger()


def heads(timing: TimingPanel) -> list[str]:
    """Return the headings of the numeric columns."""
    return [timing.table.headerData(1 + column, Qt.Orientation.Horizontal) for column in range(len(SHOWN))]


def rows(table: TimingTable) -> list[list[str]]:
    """Return the texts of the cells."""
    return [[table.data(table.index(row, column)) for column in range(4)] for row in range(table.rowCount())]


def test_switching_while_it_plays(qtbot, arm):
    timing, bench = arm.feature(TimingView).panel, arm.workbench
    bench.configuring.set_ground(False)  # else collision and contact are among the phases
    assert arm.feature(Status).algorithm_button.text() == "ABA (auto)"
    assert timing.why.text().removesuffix(TIMED_BELOW) in algorithm_words(bench.computation.why)
    assert timing.why.toolTip() == algorithm_words(bench.computation.why) + TIMED_BELOW
    assert heads(timing) == ["ABA\nmedian", "\n99 %", "\nbefore"]
    qtbot.keyClick(arm, Qt.Key.Key_Space)
    wait(qtbot, lambda: timing.steps.count > 10)
    before = bench.robot.time
    choose(arm, "jsiia")
    wait(qtbot, lambda: bench.computation.algorithm == "jsiia" and timing.steps.count > timing.steps.marked + 10)
    assert bench.robot.playing
    assert bench.robot.time > before
    assert arm.feature(Status).algorithm_button.text() == "CRBA"
    assert timing.why.text() == "chosen by you"
    timing.table.refresh()
    names = engine.PHASES["cpu"]["jsiia"]
    assert timing.table.names == ["step", *names]
    steps = dict(zip(["step", *names], timing.table.seconds, strict=False))
    assert all(np.isfinite(row[MEDIAN]) for row in steps.values())
    known_before = {name for name, row in steps.items() if np.isfinite(row[BEFORE])}
    assert known_before == {*set(names) & set(engine.PHASES["cpu"]["abia"]), "step"}
    assert steps["step"][MEDIAN] != steps["step"][BEFORE]
    assert steps["step"][MEDIAN] == pytest.approx(sum(steps[name][MEDIAN] for name in names), rel=0.5)
    assert heads(timing) == ["CRBA\nmedian", "\n99 %", "ABA\nbefore"]
    choose(arm, "auto")
    wait(qtbot, lambda: arm.feature(Status).algorithm_button.text() == "ABA (auto)")


def test_a_snapshot_that_nobody_fetched_is_withdrawn_with_its_algorithm():
    reported = []
    changeover = Changeover(reported.append, lambda command: command(), lambda _: None)
    try:
        changeover.open(engine.chain(3), Settings(algorithm="abia", device="cpu"), engine.load)
        changes = (
            lambda: changeover.configure(1, replace(changeover.settings, algorithm="jsiia")),
            lambda: changeover.continue_on_cpu(RuntimeError("gone")),
        )
        for change in changes:
            changeover.frames.back.phases = {"bias": 1e-6}
            changeover.frames.publish()
            change()
            while not isinstance(reported[-1], Configured):  # code that is not on disk yet comes first
                changeover.await_code(playing=True)
                time.sleep(0.01)
            assert reported[-1].algorithm == "jsiia"
            assert changeover.frames.take() is None
    finally:
        changeover.end()


def test_the_robot_plays_on_while_another_algorithm_is_compiled(qtbot, opened, monkeypatch, tmp_path):
    monkeypatch.setattr(integrators.run, "_loaded", {})  # what other tests have compiled
    window = opened(engine.find_robot("arm7"))
    bench, status = window.workbench, window.feature(Status)
    bench.configuring.set_ground(False)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: not bench.computation.compiling and bench.robot.time > 0.1)
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / "cache"))
    choose(window, "jsiia")
    wait(qtbot, lambda: bench.computation.compiling > 0)
    began = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > began + 0.1)
    assert bench.computation.plays_on
    assert bench.computation.algorithm == "abia"
    assert status.loading_label.toolTip() == PLAYS_ON
    window.statusBar().showMessage("a message does not hide what the window waits for")
    assert status.loading_label.isVisible()
    assert status.loading_label.text().startswith("compiling (once per machine), about ")
    bench.configuring.set_gravity(False)  # what needs no other code acts at once
    wait(qtbot, lambda: not in_simulation(bench, lambda running: running.settings.gravity))
    assert bench.computation.algorithm == "abia"
    wait(qtbot, lambda: bench.computation.algorithm == "jsiia" and not bench.computation.compiling)
    assert not bench.robot.settings.gravity
    assert not status.loading_label.text()
    after = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > after)
    choose(window, "cfa")
    wait(qtbot, lambda: bench.computation.compiling > 0)
    choose(window, "jsiia")  # that is not wanted any more
    wait(qtbot, lambda: not bench.computation.compiling and bench.computation.algorithm == "jsiia")
    assert bench.robot.playing
    choose(window, "cfa")
    wait(qtbot, lambda: bench.computation.compiling > 0)
    bench.pause()
    wait(qtbot, lambda: bench.robot.newest is not None and not bench.robot.playing)
    bench.step()  # by what was chosen, also where that is still to come
    wait(qtbot, lambda: bench.computation.algorithm == "cfa" and not bench.computation.compiling)
    wait(qtbot, lambda: "elimination" in bench.robot.newest.phases)


def test_before_and_after_are_of_one_speed(qtbot, arm):
    timing = arm.feature(TimingView).panel
    qtbot.keyClick(arm, Qt.Key.Key_Space)
    wait(qtbot, lambda: timing.steps.count > 10)
    choose(arm, "jsiia")
    wait(qtbot, lambda: heads(timing)[2] == "ABA\nbefore")
    arm.workbench.set_speed(0.5)
    wait(qtbot, lambda: heads(timing)[2] == "\nbefore")
    assert np.all(np.isnan(timing.steps.before))


def test_no_figure_of_the_timing_table_is_cut(qtbot):
    timing = TimingPanel()
    qtbot.addWidget(timing)
    timing.resize(430, 700)
    timing.show()
    timing.show_algorithm("abia", "cpu", Settings(), "", False)
    for seconds in (2.34600, 234.6e-6, 99.94e-3, 888.4e-9):
        timing.add_step(dict.fromkeys(engine.PHASES["cpu"]["dca"], seconds), 1.0)
        timing.add_frame(seconds, seconds)
        timing.show_algorithm("jsiia" if timing.table.algorithm == "ABA" else "abia", "cpu", Settings(), "", False)
        timing.add_step(dict.fromkeys(engine.PHASES["cpu"]["dca"], seconds), 1.0)
        for table, view in ((timing.table, timing.view), (timing.frame_table, timing.frame_view)):
            table.refresh()
            for column in range(1, table.columnCount()):
                words = [row[column] for row in rows(table)]
                widest = max(map(QFontMetrics(type_scale.font(bold=True)).horizontalAdvance, words))
                assert view.columnWidth(column) >= widest + 10


def test_the_columns_of_both_groups_stay_where_they_are(qtbot):
    timing = TimingPanel()
    qtbot.addWidget(timing)
    timing.show()
    places = set()
    for width, name in ((430, "abia"), (600, "jsiia"), (900, "dca")):
        timing.resize(width, 700)
        timing.show_algorithm(name, "cpu", Settings(), "", False)
        timing.add_step(dict.fromkeys(engine.PHASES["cpu"][name], 1e-6), 1.0)
        for view in (timing.view, timing.frame_view):
            edges = [view.x() + view.columnViewportPosition(column) - timing.width() for column in (1, 2, 3)]
            places.add(tuple(edges))
            assert view.columnViewportPosition(3) + view.columnWidth(3) == view.viewport().width()
    assert len(places) == 1


def test_no_part_of_a_frame_has_the_colour_of_a_phase():
    phases = {theme.PHASE_COLORS[name] for names in engine.PHASES["cpu"].values() for name in names}
    assert not phases & set(FRAME_COLORS.values())
    saturations = [[QColor(name).hsvSaturation() for name in colors] for colors in (phases, FRAME_COLORS.values())]
    assert max(saturations[1]) < min(saturations[0])
    for device, of in engine.PHASES.items():
        for name in of:
            tints = [theme.PHASE_COLORS[phase] for phase in engine.phases.names(device, name, ground=True)]
            assert len(set(tints)) == len(tints), (device, name)


def test_units_suit_the_durations_and_rows_say_what_they_are(qtbot):
    assert [duration(x) for x in (float("nan"), 4.7e-8, 4.67e-6, 234.6e-6, 0.9996e-3, 1.1)] == [
        "–", "47.0 ns", "4.67 µs", "235 µs", "1.00 ms", "1.10 s",
    ]  # fmt: skip
    timing = TimingPanel()
    qtbot.addWidget(timing)
    timing.show()
    timing.add_frame(0.1, 1.0)
    qtbot.waitUntil(lambda: "frame: median 1.10 s, now 1.10 s" in timing.findChildren(StackedPlot)[1].toolTip())
    tip = timing.frame_table.data(timing.frame_table.index(0, 1), Qt.ItemDataRole.ToolTipRole)
    assert tip.startswith("frame: one frame on the screen and its simulation")
    assert "\nnow 1.10 s; minimum 1.10 s, median 1.10 s" in tip


def test_on_the_ground_the_row_of_contact_names_the_algorithm_within(qtbot):
    timing = TimingPanel()
    qtbot.addWidget(timing)
    timing.show_algorithm("abia", "cpu", Settings(), "", False)
    aba = dict.fromkeys(("kinematics", "bias", "inertia recursion", "acceleration"), 0.0)
    for _ in range(3):
        timing.add_step({**aba, "collision": 1e-6, "contact": 4e-6, "integration": 1e-7}, 1.0)
    timing.show()
    assert [row[0] for row in rows(timing.table)] == ["Step", "collision", "contact with ABA", "integration"]
    assert timing.note.isVisible()
    assert timing.note.text() == (
        "In contact, ABA is part of every iteration of the contact solver: its phases cannot be timed apart."
    )
    for _ in range(3):
        timing.add_step({**dict.fromkeys(aba, 1e-6), "contact": 4e-6, "integration": 1e-7}, 1.0)
    names = [row[0] for row in rows(timing.table)]
    assert "contact" in names
    assert "acceleration" in names
    assert not timing.note.isVisible()


def test_cleared_frame_times_are_shown_no_longer(qtbot):
    timing = TimingPanel()
    qtbot.addWidget(timing)
    timing.show()
    timing.add_frame(0.1, 1.0)
    qtbot.waitUntil(lambda: rows(timing.frame_table)[0][:2] == ["Frame", "1.10 s"])
    timing.frames.clear()  # another robot's come, as many
    timing.add_frame(0.001, 0.01)
    qtbot.waitUntil(lambda: rows(timing.frame_table)[0][1] == "11.0 ms")


def test_the_state_goes_on_where_it_was(qtbot, arm):
    qtbot.keyClick(arm, Qt.Key.Key_H)  # let go
    for _ in range(10):
        qtbot.keyClick(arm, Qt.Key.Key_S)
    wait(qtbot, lambda: shown_time(arm) == "0.010 s")
    q = arm.joints.table.q.copy()
    choose(arm, "jsiia")
    wait(qtbot, lambda: arm.feature(Status).algorithm_button.text() == "CRBA")
    np.testing.assert_array_equal(arm.joints.table.q, q)
    qtbot.keyClick(arm, Qt.Key.Key_S)
    wait(qtbot, lambda: shown_time(arm) == "0.011 s")
    reference = engine.Simulation(arm.workbench.robot.model, integrator="implicit")
    reference.step(11)
    np.testing.assert_allclose(arm.joints.table.q, reference.q[0], atol=1e-12)


def test_what_does_not_serve_the_robot_cannot_be_chosen(qtbot, opened, tmp_path):
    path = tmp_path / "pair.urdf"
    path.write_text(MIMIC, encoding="utf-8")
    window = opened(path)
    able = {action.data(): action.isEnabled() for action in window.feature(SimulationChoices).algorithms.actions()}
    assert able == {"auto": True, "abia": False, "jsiia": True, "cfa": False, "dca": False}
    window.workbench.configuring.set_algorithm("abia")
    wait(qtbot, lambda: "abia does not support pair" in window.statusBar().currentMessage())
    assert window.workbench.robot.settings.algorithm == "auto"
    assert window.workbench.computation.algorithm == "jsiia"


def test_another_robot_has_its_algorithm_chosen_anew(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    choose(window, "jsiia")
    wait(qtbot, lambda: window.workbench.computation.algorithm == "jsiia")
    opened(engine.find_robot("scara"))
    assert window.feature(Status).algorithm_button.text() == "ABA (auto)"
    assert heads(window.feature(TimingView).panel)[2] == "\nbefore"


def test_a_mark_parts_the_statistics_and_leaves_the_samples():
    history = History(("one", "other"))
    for number in (1, 2, 3):
        history.add({"one": number, "other": number})
    history.mark()
    assert np.isnan(history.statistics()[0, MEDIAN])
    for number in (10, 20):
        history.add({"one": number})
    np.testing.assert_array_equal(history.statistics()[:, MEDIAN], [15, 0, 15])
    np.testing.assert_array_equal(history.statistics()[:, BEFORE], [2, 2, 4])
    assert len(history.samples) == 5


def test_phases_with_other_names_are_set_beside_each_other_by_their_sum():
    history = History(("shared", "mine", "yours"), ("shared", "mine"))
    history.add({"shared": 1.0, "mine": 2.0})
    history.mark()
    assert history.show(("shared", "yours"))
    assert not history.show(("shared", "yours"))
    history.add({"shared": 4.0, "yours": 5.0})
    statistics = history.statistics()
    np.testing.assert_array_equal(statistics[:, MEDIAN], [4, 5, 9])
    np.testing.assert_array_equal(statistics[:, BEFORE], [1, np.nan, 3])


def test_what_a_frame_takes_is_shown_by_device(qtbot):
    timing = TimingPanel()
    qtbot.addWidget(timing)
    timing.resize(400, 900)
    timing.show()
    assert timing.frame_table.names == ["frame", "steps", "poses", "upload", "draw"]
    spent = dict(zip(SPENT["cuda"], (1e-3, 2e-3, 3e-3, 4e-3), strict=True))
    timing.add_spent(spent)
    timing.add_frame(5e-3, 6e-3)
    timing.frame_table.refresh()
    assert timing.frame_table.names == ["frame", *SPENT["cuda"], "upload", "draw"]
    np.testing.assert_allclose(timing.frame_table.seconds[:, 0], [21e-3, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3])
    timing.add_spent(dict.fromkeys(SPENT["cuda"], 0.0))  # while it rests
    timing.add_frame(5e-3, 6e-3)
    timing.frame_table.refresh()
    assert timing.frame_table.seconds[0, 0] == pytest.approx(11e-3)
    for row in range(timing.frame_table.rowCount()):
        assert timing.frame_table.data(timing.frame_table.index(row, 1), Qt.ItemDataRole.ToolTipRole)
        assert timing.frame_view.rowHeight(row) * timing.frame_table.rowCount() < timing.frame_view.height()
