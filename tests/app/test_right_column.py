"""The right column: tabs of full height; each message of a run is shown in one place."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication, QDockWidget, QLabel, QStyle, QTabBar, QToolButton
from test_overlays import robots_named
from test_run_files import open_run
from windows import in_simulation, press, shown_time, wait, wait_loaded

import engine
from app.acting.drives import Drive
from app.desktop import theme
from app.features.attaching import BatchView, RobotView, SecondRobotView, TimeView
from app.gl.glyphs import Explainer
from app.panels.inspection import mass_of, number_text, robot_facts
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Snapshot
from app.window import Window


def in_front(window: Window) -> list[str]:
    """The titles of docks that are seen."""
    docks = window.findChildren(QDockWidget)
    return [dock.windowTitle() for dock in docks if dock.isVisible() and not dock.visibleRegion().isEmpty()]


def test_joints_and_timing_are_tabs_of_full_height(qtbot, arm):
    wait(qtbot, lambda: in_front(arm) == ["Joints"])
    arm.resize(1280, 800)
    tabs = arm.findChild(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert [tabs.tabText(k) for k in range(tabs.count())] == ["Joints", "Timing"]
    column = arm.statusBar().y() - arm.toolbar.geometry().bottom()
    for title in ("Timing", "Joints"):
        arm.docks[title].raise_()
        wait(qtbot, lambda title=title: in_front(arm) == [title])
        assert arm.docks[title].height() > column - tabs.height() - 12


def tab_bar(window: Window, title: str) -> tuple[QTabBar, int]:
    """The bar that has a dock's tab, and the tab's number."""
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return next((bar, k) for bar in bars for k in range(bar.count()) if bar.tabText(k) == title)


def test_a_dock_is_named_once_by_its_tab_or_by_its_title(qtbot, arm):
    joints, compare = arm.docks["Joints"], arm.docks["Compare"]
    wait(qtbot, lambda: joints.titleBarWidget() is not None)  # an empty one: the tab above says its name
    bar, number = tab_bar(arm, "Joints")
    assert bar.geometry().bottom() <= joints.geometry().top()
    press(qtbot, arm, compare.toggleViewAction())
    wait(qtbot, compare.isVisible)
    assert compare.titleBarWidget() is None
    bar.tabBarDoubleClicked.emit(number)  # as a double click on a title does
    wait(qtbot, lambda: joints.isFloating() and joints.titleBarWidget() is None)
    joints.setFloating(False)
    wait(qtbot, lambda: joints.titleBarWidget() is not None)


def test_a_tab_is_closed_by_its_button(qtbot, arm):
    press(qtbot, arm, arm.docks["Forces"].toggleViewAction())
    wait(qtbot, lambda: in_front(arm) == ["Forces"])
    bar, number = tab_bar(arm, "Forces")
    wait(qtbot, bar.tabsClosable)
    side = QTabBar.ButtonPosition(bar.style().styleHint(QStyle.StyleHint.SH_TabBar_CloseButtonPosition))
    button = bar.tabButton(number, side)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: in_front(arm) == ["Joints"])
    assert not arm.docks["Forces"].toggleViewAction().isChecked()
    arm.docks["Timing"].hide()
    wait(qtbot, lambda: arm.docks["Joints"].titleBarWidget() is None)  # alone now, it has its title again


@pytest.mark.parametrize("title", ["Batch", "Forces", "Ghost", "Second robot"])
def test_what_is_opened_on_the_right_has_the_whole_column_too(qtbot, arm, title):
    wait(qtbot, lambda: in_front(arm) == ["Joints"])
    before = arm.docks["Joints"].height()
    arm.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: in_front(arm) == [title])
    assert arm.docks[title].height() == before
    arm.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: in_front(arm) == ["Joints"])


def test_time_algorithm_device_and_step_are_each_said_once(qtbot, arm):
    arm.resize(1400, 900)
    for _ in range(7):
        qtbot.keyClick(arm, Qt.Key.Key_S)
    wait(qtbot, lambda: shown_time(arm) == "0.007 s")
    for title in ("Joints", "Timing"):
        arm.docks[title].raise_()
        wait(qtbot, lambda title=title: in_front(arm) == [title])
        texts = [each.text() for kind in (QLabel, QToolButton) for each in arm.findChildren(kind) if each.isVisible()]
        for words in ("0.007 s", "1 ms", "ABA (auto)", "CPU (auto)"):
            assert sum(words in text for text in texts) == 1, (title, words)
        assert not any(text in ("ABA", "CPU") for text in texts)


def test_it_is_folded_until_there_is_a_robot_and_keeps_its_width_and_tabs(qtbot, make_window):
    window = make_window()
    window.resize(1280, 800)
    assert in_front(window) == []
    assert window.viewport.width() == window.width()
    window.open(engine.find_robot("arm7"))
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: in_front(window) == ["Joints"])
    tabs = window.findChild(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert [tabs.tabText(k) for k in range(tabs.count())] == ["Joints", "Timing"]
    assert window.docks["Joints"].width() == pytest.approx(430, abs=5)


def test_a_window_closed_without_a_robot_keeps_the_column_for_the_next(qtbot, make_window):
    first = make_window()
    assert in_front(first) == []
    first.close()
    second = make_window()
    second.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: in_front(second) == ["Joints"])


def test_the_left_column_is_folded_too_and_comes_back(qtbot, make_window):
    first = make_window()
    first.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: in_front(first) == ["Joints"])
    press(qtbot, first, first.docks["Robot"].toggleViewAction())
    first.close()
    second = make_window()
    assert in_front(second) == []
    assert not second.docks["Robot"].toggleViewAction().isChecked()
    second.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: set(in_front(second)) == {"Joints", "Robot"})
    tree = second.features[RobotView].panel.tree
    assert [tree.model().headerData(k, Qt.Orientation.Horizontal) for k in (0, 1)] == ["Link", "Joint"]


def test_what_is_opened_without_a_robot_stays_open(qtbot, make_window):
    window = make_window()
    window.docks["Joints"].toggleViewAction().trigger()
    window.refresh()
    wait(qtbot, lambda: in_front(window) == ["Joints"])
    for title in ("Joints", "Timing"):
        window.docks[title].hide()
    window.close()
    other = make_window()  # in which none was folded, since none was open
    other.docks["Forces"].toggleViewAction().trigger()
    other.refresh()
    wait(qtbot, lambda: in_front(other) == ["Forces"])


def test_what_the_user_hides_stays_hidden_when_a_robot_comes(qtbot, make_window):
    window = make_window()
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: in_front(window) == ["Joints"])
    for title in ("Joints", "Timing"):
        wait(qtbot, lambda title=title: in_front(window) == [title])
        window.docks[title].toggleViewAction().trigger()
    window.open(engine.find_robot("arm7"))
    wait_loaded(qtbot, window)
    assert in_front(window) == []


def test_nothing_of_the_robot_before_is_shown_until_the_first_frame_of_another(qtbot, arm):
    seen = []
    arm.workbench.configuring.set_spread(BatchSpread(3))
    wait(qtbot, lambda: robots_named(arm) == ["robot 0"] and bool(facts(arm)))
    arm.loaded.connect(lambda _: seen.append((arm.joint_column.facts.text(), robots_named(arm))))
    arm.open(engine.find_robot("scara"))
    wait(qtbot, lambda: arm.workbench.robot.model.name == "scara" and "size" in facts(arm))
    assert seen == [("", [])]
    assert facts(arm)["size"].startswith(f"{len(arm.workbench.robot.model.link_names)} links")


def test_a_load_at_its_limit_is_marked_until_it_is_less(qtbot, arm):
    bench, limit = arm.workbench, arm.workbench.robot.model.effort_limit
    for share in (1.0, 0.1, 1.0):
        bench.joints.set_joint_drive(6, Drive("effort", share * limit[6]))
        bench.step()
        wait(
            qtbot,
            lambda share=share: facts(arm).get("highest load", "").startswith(f"joint7: {share:.0%}") or share < 1,
        )
        wait(qtbot, lambda share=share: load_colour(arm) == (theme.color("warning").name() if share == 1 else None))
    theme.apply(QApplication.instance(), dark=not theme.is_dark())
    assert load_colour(arm) == theme.color("warning").name()


def load_colour(window: Window) -> str | None:
    """The colour of the highest load below the joints; None for that of other text."""
    (line,) = window.joint_column.facts.findItems("highest load", Qt.MatchFlag.MatchRecursive)
    return line.foreground(1).color().name() if line.foreground(1).style() != Qt.BrushStyle.NoBrush else None


def facts(window: Window) -> dict[str, str]:
    """The lines below the joints, by their labels."""
    lines = window.joint_column.facts.text().split("\n")
    return dict(line.split("\t") for line in lines if "\t" in line)


def test_below_the_joints_the_robot_is_described_and_then_the_link_that_is_clicked(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    window.resize(1500, 1100)
    bench, panel = window.workbench, window.joint_column.facts
    wait(qtbot, lambda: panel.isVisible() and bool(facts(window)))
    model = bench.robot.model
    assert facts(window)["size"] == f"{len(model.link_names)} links, {len(model.joints)} joints, {model.nv} DoF"
    assert float(facts(window)["moving mass"].split()[0]) == pytest.approx(model.mass.sum(), rel=1e-3)
    assert panel.viewport().rect().contains(panel.visualItemRect(panel.topLevelItem(1).child(0)))
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 1 and "contact" in facts(window) and "highest load" in facts(window))
    joint, _, share = facts(window)["highest load"].partition(": ")
    assert joint in model.coordinate_names
    assert 0 < int(share.split("%")[0]) < 100
    potential = engine.energy(model, bench.robot.newest.q, bench.robot.newest.v)[1]
    window.run.play.trigger()
    wait(qtbot, lambda: not bench.robot.playing)
    weight = -float(model.mass.sum() * model.gravity[2])
    wait(qtbot, lambda: abs(float(facts(window)["contact"].split(", net ")[1].split()[0]) / weight - 1) < 0.3)
    assert float(facts(window)["potential energy"].split()[0]) == pytest.approx(potential, rel=0.01)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    wait(qtbot, lambda: bench.replay.active and "highest load" in facts(window))
    window.selection.choose(2)
    wait(qtbot, lambda: "size" not in facts(window))
    assert facts(window)["mass"].endswith("kg")
    press(qtbot, window, window.docks["Robot"].toggleViewAction())  # which shows the link too
    wait(qtbot, lambda: "size" in facts(window))
    inspector = window.features[RobotView].panel.inspector
    assert "mass" in inspector.text()
    window.selection.choose(-1)
    wait(qtbot, lambda: inspector.text() == "" and "size" in facts(window))
    window.docks["Joints"].hide()
    window.selection.choose(2)
    window.selection.choose(-1)
    wait(qtbot, lambda: inspector.text().startswith("Model\nsize\t"))


def test_the_robot_dock_describes_the_robot_where_another_tab_covers_the_joints(qtbot, arm):
    view, docks, facts = arm.features[RobotView], arm.docks, arm.joint_column.facts
    view.action.trigger()
    inspector = view.panel.inspector
    wait(qtbot, inspector.isVisible)
    wait(qtbot, lambda: "kinetic energy" in facts.text())
    assert inspector.text() == ""  # the robot is described below its joints
    docks.show_in_front("Timing")
    wait(qtbot, lambda: "kinetic energy" in inspector.text())
    docks.show_in_front("Joints")
    wait(qtbot, lambda: inspector.text() == "")
    arm.selection.choose(2)
    assert "kinetic energy" in facts.text()
    docks.show_in_front("Scene")  # in front of the Robot dock
    wait(qtbot, lambda: "Joint joint2" in facts.text())


def test_facts_that_find_no_room_below_many_joints_are_opened_there(qtbot, opened):
    window = opened(engine.chain(60))
    column = window.joint_column
    window.resize(1280, 800)
    wait(qtbot, lambda: column.opening.isVisible() and not column.facts.isVisible())
    qtbot.mouseClick(column.opening, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: column.facts.isVisible() and "moving mass" in facts(window))
    wait(qtbot, lambda: window.joints.height() > column.facts.height() > 150)
    qtbot.mouseClick(column.opening, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: not column.facts.isVisible())
    window.selection.choose(3)
    wait(qtbot, lambda: column.facts.isVisible() and not column.opening.isVisible())
    window.selection.choose(-1)
    press(qtbot, window, window.docks["Robot"].toggleViewAction())
    inspector = window.features[RobotView].panel.inspector
    wait(qtbot, lambda: "moving mass" in inspector.text())
    for opened_there in (True, False, True):
        qtbot.mouseClick(column.opening, Qt.MouseButton.LeftButton)
        wait(qtbot, lambda on=opened_there: column.facts.isVisible() is on)
        assert ("moving mass" in inspector.text()) is not opened_there


def test_the_potential_energy_is_that_of_the_gravity_that_acts(qtbot, opened):
    window = opened(engine.find_robot("double_pendulum"))
    bench = window.workbench

    def energy() -> float:
        return float(facts(window)["potential energy"].split()[0])

    wait(qtbot, lambda: "potential energy" in facts(window))
    usual = energy()
    bench.configuring.set_gravity_vector((0.0, 0.0, -100.0))
    wait(qtbot, lambda: energy() == pytest.approx(usual * 100 / -bench.robot.model.gravity[2], rel=1e-3))
    bench.play()
    wait(qtbot, lambda: bench.robot.time > 0.05)
    bench.pause()
    bench.configuring.set_gravity(False)
    wait(qtbot, lambda: energy() == 0)
    bench.replay.seek(0.02)  # recorded before
    wait(qtbot, lambda: energy() > 5 * usual)


def test_the_facts_on_another_robot_of_a_batch_are_those_of_its_own_masses(qtbot, arm):
    """Which the model does not have; those of its links too."""
    wait(qtbot, lambda: "potential energy" in facts(arm))
    arm.workbench.configuring.set_spread(BatchSpread(9, mass=0.5))
    wait(qtbot, lambda: arm.workbench.shown.batch is not None)
    arm.feature(BatchView).panel.map.chosen.emit(4)
    wait(qtbot, lambda: "Model of robot 4" in arm.joint_column.facts.text())
    batch, own = arm.workbench.shown.batch, in_simulation(arm.workbench, lambda running: running.own_model)

    def number(label: str) -> float:
        return float(facts(arm)[label].split()[0])

    assert number("kinetic energy") + number("potential energy") == pytest.approx(batch.energy[4], abs=0.02)
    assert batch.energy[4] != pytest.approx(batch.energy[0], abs=0.1)
    assert number("moving mass") == pytest.approx(own.mass.sum(), abs=0.01)
    assert own.mass.sum() != pytest.approx(arm.workbench.robot.model.mass.sum(), abs=0.1)
    link = own.link_names.index("link4")
    arm.selection.choose(link)
    wait(qtbot, lambda: facts(arm).get("mass") == f"{number_text(mass_of(own, link).mass)} kg")


LOADED = """robot = "double_pendulum"\nseconds = 0.1\n[[vary]]\nwhat = "payload"\nof = "lower"\nvalues = [7.5]
[[keep]]\nquantity = "total energy"\n"""


def test_a_payload_counts_in_the_facts_also_after_a_branch(qtbot, window, tmp_path):
    """The simulation has it, and the numbers were those of the robot's file again."""
    (tmp_path / "loaded.toml").write_text(LOADED)
    engine.Study.read(tmp_path / "loaded.toml").save_run(0, tmp_path / "run.npz")
    open_run(qtbot, window, tmp_path / "run.npz")
    window.features[TimeView].last.trigger()
    bench = window.workbench

    def are_of_the_last_frame() -> bool:
        if bench.shown is None or not bench.replay.at_end or bench.shown.time != bench.replay.frame.time:
            return False
        whole = window.features[RobotView].whole.model
        rows = [row for section in robot_facts(bench.shown.model, bench.shown, whole=whole) for row in section.rows]
        return facts(window) == {row.label: row.text for row in rows}

    wait(qtbot, are_of_the_last_frame)
    before = facts(window)
    own = window.workbench.robot.model.mass.sum()
    assert float(before["moving mass"].split()[0]) == pytest.approx(own + 7.5, abs=0.01)
    window.features[TimeView].branch.trigger()
    wait(qtbot, lambda: window.workbench.shown is not None and not window.workbench.shown.recorded)
    wait(qtbot, lambda: facts(window) == before)


@pytest.mark.parametrize("name", ["arm7", "humanoid"])
def test_the_centre_of_mass_is_that_of_the_potential_energy(name, rng):
    model = engine.load(engine.find_robot(name))
    frame = Snapshot(model)
    frame.q[:] = model.random(rng)
    frame.link_poses[:] = engine.link_poses(model, frame.q)
    rows = dict(row[:2] for section in robot_facts(model, frame) for row in section.rows)
    center = np.array(rows["CoM, mm"].split(), float) / 1000
    potential = -float(model.mass.sum() * model.gravity @ center)
    assert float(rows["potential energy"].split()[0]) == pytest.approx(potential, abs=0.02 + 1e-4 * abs(potential))
    weighted = np.zeros(3)
    for body, mass in enumerate(model.mass):
        link = model.link_body.tolist().index(body)
        pose, found = frame.link_poses[link], mass_of(model, link)
        weighted += mass * (pose[:3, :3] @ found.center + pose[:3, 3])
    assert center == pytest.approx(weighted / model.mass.sum(), abs=2e-5)


def test_a_free_body_beside_the_robot_does_not_count_as_the_robot(qtbot, shown):
    arm, cube = engine.load(engine.find_robot("arm7")), engine.free_body("box", (0.1, 0.1, 0.1), 5.0, "body")
    both = engine.compose(engine.Part(arm, prefix=""), engine.Part(cube, (80, 0, 0), "cube/"))
    reported = []
    for model in (arm, both):
        frame = Snapshot(model)
        frame.q[:] = np.append(np.full(arm.nq, 0.3), model.neutral()[arm.nq :])
        frame.v[:] = np.append(np.full(arm.nv, 0.2), np.full(model.nv - arm.nv, 7.0))
        frame.link_poses[:] = engine.link_poses(model, frame.q)
        reported.append(robot_facts(model, frame))
    assert reported[0] == reported[1]
    at = engine.link_poses(both, both.neutral())
    balls = [Explainer(each, 1.0).glyphs(["masses"], at[: len(each.link_names)])["ball"].poses for each in (arm, both)]
    np.testing.assert_allclose(balls[1][-1, :3, 3], balls[0][-1, :3, 3], atol=1e-5)  # the whole robot's
    window = shown(both)
    view = window.features[SecondRobotView]
    view.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: view.panel.table.item(4, 0).text() != "")
    table = [view.panel.table.item(row, 0).text() for row in range(3)]
    assert table == [str(len(arm.link_names)), str(arm.nv), f"{arm.mass.sum():.3f} kg"]


def test_where_rows_fill_the_column_the_joints_have_all_of_it_until_a_link_is_selected(qtbot, arm):
    arm.resize(1280, 800)
    column, table = arm.joint_column, arm.joints
    wait(qtbot, column.facts.isVisible)
    wait(qtbot, lambda: not table.verticalScrollBar().isVisible())
    arm.resize(1280, 470)
    wait(qtbot, lambda: not column.facts.isVisible())
    line = column.opening.height()
    wait(qtbot, lambda: table.height() + line == column.height())
    link = arm.workbench.robot.model.link_names.index("link4")
    arm.selection.choose(link)
    wait(qtbot, column.facts.isVisible)
    wait(qtbot, lambda: "mass" in facts(arm))
    wait(qtbot, table.verticalScrollBar().isVisible)
    arm.selection.choose(-1)
    wait(qtbot, lambda: not column.facts.isVisible() and table.height() + line == column.height())


def test_after_a_robot_whose_joints_fill_the_column_the_next_one_is_described(qtbot, opened):
    window = opened(engine.find_robot("humanoid"))
    window.resize(1280, 800)
    wait(qtbot, lambda: not window.joint_column.facts.isVisible())
    window = opened(engine.find_robot("arm7"))
    wait(qtbot, window.joint_column.facts.isVisible)
    wait(qtbot, lambda: facts(window).get("size") == "9 links, 7 joints, 7 DoF")


def test_a_robot_without_joints_has_its_table_at_the_top_and_its_facts_below(qtbot, opened, tmp_path):
    path = tmp_path / "stone.urdf"
    path.write_text('<robot name="stone"><link name="stone"/></robot>', encoding="utf-8")
    window = opened(path)
    column = window.joint_column
    wait(qtbot, lambda: column.facts.isVisible() and "size" in column.facts.text())
    assert window.joints.y() == 0
    assert window.joints.height() < column.height() / 2
