"""The command palette over all actions, and right-click menus on links, things, joints, plots and frames."""

import os
from itertools import product

import numpy as np
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QContextMenuEvent, QGuiApplication
from PyQt6.QtWidgets import QApplication, QMenu
from test_dragging import place_of
from test_scene_view import entry, seen_at, settled, shown
from windows import case, wait

import engine
from app.desktop.actions import NO_ROBOT, is_offered, reason_of
from app.desktop.context_menus import LINK, PLOT, SPACE, Clicked
from app.features.attaching import PlotsView, PoseMenu, RobotView, SceneView, TimeView
from app.features.ground_view import FIXED_TIP
from app.features.palette import ALSO, PaletteView
from app.features.shortcuts_sheet import of_menus

RIGHT = Qt.MouseButton.RightButton
MENU_KEYS = (Qt.Key.Key_Menu, Qt.Key.Key_F10)


def names(menu: QMenu) -> list[str]:
    return [action.text().replace("&", "") for action in menu.actions() if action.text()]


def press(menu: QMenu, *path: str) -> None:
    """Trigger an entry, of a menu within it where there are several names."""
    for name in path[:-1]:
        menu = next(action.menu() for action in menu.actions() if action.text().replace("&", "") == name)
    next(action for action in menu.actions() if action.text().replace("&", "") == path[-1]).trigger()


def asked(widget, at: QPoint) -> None:
    """Send a right click as Qt does for a context menu."""
    QApplication.sendEvent(widget, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, widget.mapToGlobal(at)))


WORDS = {
    "Simulation › Friction and restitution": ("friction", "bounce"),
    "View › Angles in radians": ("degrees",),
    "View › Panels › Timing": ("fps",),
    "File › Export › Picture (.png)": ("screenshot",),
    "File › Export › Video of the run (.mp4)": ("record movie",),
    "View › Theme › Dark": ("dark mode",),
    "View › Fit": ("reset camera",),
    "View › Overlays › Contacts": ("contact forces",),
    "Simulation › Pose a link": ("ik",),
    "Simulation › Time step and integrator › semi-implicit": (
        "euler",
        "explicit euler",
        "semi-implicit euler",
        "symplectic",
    ),
    "Simulation › Time step and integrator › implicit": ("euler", "implicit euler"),
    "Simulation › Time step and integrator › rk4": ("runge-kutta", "runge kutta", "integrator"),
    "Simulation › Time step and integrator › Other": ("timestep", "dt"),
    "Simulation › Device › GPU": ("cuda",),
    "Simulation › Algorithm › ABA": ("featherstone",),
    "Simulation › Algorithm › CRBA": ("mass matrix",),
    "Simulation › Reset": ("restart",),
    "View › Panels › Forces": ("perturb",),
    "View › Panels › Joints": ("setpoint", "pd gains"),
    "View › Panels › Batch": ("envs",),
    "View › Panels › Compare": ("benchmark",),
    "Simulation › Terrain › Height field": ("hfield",),
    "Simulation › Ground": ("plane",),
    "Simulation › Floating base": ("fixed base",),
    "View › Overlays › Collision shapes": ("geoms",),
    "View › Overlays › Link frames": ("tf",),
    "View › Overlays › Centres of mass": ("com",),
    "View › Overlays › Transparent": ("xray",),
    "File › Open": ("load urdf",),
    "File › Quit": ("exit",),
    "Help › Documents › User guide": ("manual",),
    "Help › Keyboard shortcuts": ("hotkeys",),
    "Help › Log": ("console",),
    "View › Panels › Plots": ("graph",),
    "View › Panels › Robot": ("inertia",),
}
"""Commands, and words of other programs for them."""


def rows(view: PaletteView, words: str) -> list[str]:
    """The names of the commands that a new palette finds by words."""
    view.show()
    view.palette.line.setText(words)
    found = [view.palette.list.topLevelItem(k).text(0) for k in range(view.palette.list.topLevelItemCount())]
    return [name.removesuffix("  ✓").partition("\t")[0] for name in found]


def test_the_palette_finds_a_command_by_the_words_of_other_programs(arm):
    view = arm.features[PaletteView]
    asked = [(words, name) for name, several in WORDS.items() for words in several]
    assert [(words, found) for words, name in asked if name not in (found := rows(view, words)[:5])] == []


def test_the_palette_finds_a_lesson_by_its_name_on_the_command_line_and_shows_its_title_in_full(qtbot, arm):
    view = arm.features[PaletteView]
    for name in engine.Lesson.names():
        view.show()
        qtbot.keyClicks(view.palette.line, name)
        tree = view.palette.list
        title = f"Help › Lessons › {engine.Lesson.title_of(name)}"
        item = next(each for each in map(tree.topLevelItem, range(tree.topLevelItemCount())) if each.text(0) == title)
        assert item.isFirstColumnSpanned()
        room = tree.viewport().width() - tree.visualItemRect(item).left() - tree.iconSize().width()
        assert tree.fontMetrics().horizontalAdvance(title) < room


def unexplained(window) -> list[str]:
    """The disabled entries of a window's menus without a reason, which is what the palette says."""
    return [name for _, name, action in of_menus(window) if not is_offered(action) and not reason_of(action)]


def test_every_disabled_command_says_why(qtbot, window, opened):
    assert unexplained(window) == []
    assert reason_of(window.run.play) == NO_ROBOT
    fixed = opened(engine.find_robot("arm7"))
    assert unexplained(fixed) == []
    fixed.run.play.trigger()
    wait(qtbot, lambda: fixed.workbench.robot.time > 0.1)
    assert unexplained(fixed) == []
    fixed.run.play.trigger()
    fixed.features[TimeView].first.trigger()
    wait(qtbot, lambda: fixed.workbench.replay.active)
    assert unexplained(fixed) == []
    assert unexplained(opened(engine.find_robot("double_pendulum"))) == []


def test_the_palette_says_why_there_is_no_height_field(qtbot, arm):
    arm.workbench.configuring.set_ground(False)
    arm.refresh()
    view = arm.features[PaletteView]
    view.show()
    qtbot.keyClicks(view.palette.line, "height field")
    item = view.palette.list.topLevelItem(0)
    assert item.isDisabled()
    assert item.text(1) == FIXED_TIP.split(":")[0]
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)
    assert arm.statusBar().currentMessage() == f"Height field: {' '.join(FIXED_TIP.split())}"
    view.palette.line.setText("yet")  # the line of an empty menu is no command
    assert not view.palette.list.findItems("yet", Qt.MatchFlag.MatchContains)


def test_a_panel_behind_another_comes_forward_by_its_command_and_is_then_closed_by_it(qtbot, arm):
    action, dock, joints = arm.docks["Timing"].toggleViewAction(), arm.docks["Timing"], arm.docks["Joints"]
    wait(qtbot, lambda: joints.toggleViewAction().isChecked() and not dock.isHidden())
    assert not action.isChecked()
    action.trigger()
    wait(qtbot, lambda: action.isChecked() and not dock.visibleRegion().isEmpty())
    wait(qtbot, lambda: not joints.toggleViewAction().isChecked())
    action.trigger()
    wait(qtbot, lambda: dock.isHidden() and joints.toggleViewAction().isChecked())
    compare, study = (arm.docks[title].toggleViewAction() for title in ("Compare", "Study"))
    compare.trigger()
    study.trigger()
    wait(qtbot, lambda: study.isChecked() and not compare.isChecked())
    qtbot.keyClick(arm, Qt.Key.Key_C)
    wait(qtbot, lambda: compare.isChecked() and not arm.docks["Study"].isHidden())
    view = arm.features[PaletteView]
    view.show()
    qtbot.keyClicks(view.palette.line, "view study")
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)
    wait(qtbot, lambda: study.isChecked() and not compare.isChecked())


def test_plots_behind_another_panel_go_on_with_their_curves(qtbot, arm):
    panel = arm.features[PlotsView].panel
    arm.docks["Compare"].toggleViewAction().trigger()
    arm.docks["Plots"].toggleViewAction().trigger()
    panel.plot_group("robot", ("energy drift",))
    wait(qtbot, lambda: bool(arm.workbench.probe.quantities))
    arm.docks["Compare"].raise_()
    wait(qtbot, lambda: not panel.seen)
    assert arm.workbench.probe.quantities
    arm.docks["Plots"].hide()
    wait(qtbot, lambda: not arm.workbench.probe.quantities)


def test_words_of_what_is_in_a_panel_never_close_it(qtbot, arm):
    view, dock = arm.features[PaletteView], arm.docks["Scene"]
    for words in ("restitution", "mass color"):
        dock.hide()
        for _ in range(2):
            view.show()
            qtbot.keyClicks(view.palette.line, words)
            qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)
            with case(words):
                wait(qtbot, lambda: not dock.visibleRegion().isEmpty())


def test_every_word_of_other_programs_is_for_a_command(arm):
    assert {name.rpartition("› ")[2] for _, name, _ in of_menus(arm)} >= set(ALSO)


def test_the_palette_finds_any_command_and_runs_it(qtbot, arm):
    view = arm.features[PaletteView]
    qtbot.keyClick(arm, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    wait(qtbot, lambda: view.palette is not None and view.palette.isVisible())
    palette = view.palette
    assert palette.list.topLevelItemCount() > 80
    qtbot.keyClicks(palette.line, "grav")
    first = palette.list.topLevelItem(0)
    assert (first.text(0), first.text(1)) == ("Simulation › Gravity  ✓", "G")
    if folder := os.environ.get("CATENA_PICTURES"):
        palette.grab().save(f"{folder}/palette.png")
    assert arm.workbench.robot.settings.gravity
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert not arm.workbench.robot.settings.gravity
    assert not palette.isVisible()
    view.show()
    assert view.palette.list.topLevelItem(0).text(0).startswith("Simulation › Gravity")  # which was used last
    qtbot.keyClicks(view.palette.line, "ball obstacle")
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)
    assert [each.shape for each in arm.workbench.robot.settings.scene.obstacles] == ["sphere"]
    view.show()
    qtbot.keyClicks(view.palette.line, "wirefrm")  # letters were left out
    assert [view.palette.list.topLevelItem(k).text(0) for k in range(view.palette.list.topLevelItemCount())] == [
        "View › Overlays › Wireframe"
    ]
    view.show()
    view.palette.line.clear()
    qtbot.keyClicks(view.palette.line, "export")  # "Stop exporting" begins a word with it too, but is disabled
    found = [view.palette.list.topLevelItem(k) for k in range(view.palette.list.topLevelItemCount())]
    enabled = [not item.isDisabled() for item in found]
    assert any(enabled)
    assert enabled == sorted(enabled, reverse=True)
    view.palette.line.clear()
    qtbot.keyClicks(view.palette.line, "no such thing")
    assert view.palette.list.topLevelItemCount() == 1
    assert view.palette.list.topLevelItem(0).text(0) == "No command has these words"
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Escape)
    assert not view.palette.isVisible()


def test_the_palette_has_the_exact_name_first(arm):
    view = arm.features[PaletteView]
    for words, name in (
        ("robots › pendulum", "File › Robots › pendulum"),
        ("ghost", "View › Panels › Ghost"),
        ("reset", "Simulation › Reset"),
        ("second robot", "View › Panels › Second robot"),
    ):
        assert rows(view, words)[0] == name
        assert view.palette.list.topLevelItem(0) is view.palette.list.currentItem(), words
        view.palette.close()


def test_every_entry_of_a_plots_menu_has_a_name(arm):
    panel = arm.features[PlotsView].panel
    panel.plot_group("robot", ("energy drift",))
    menu = arm.menus.context.of(Clicked(PLOT, number=0))
    assert all(action.text() for action in menu.actions() if not action.isSeparator())
    assert names(menu)[-2:] == ["Save", "Compare with run"]


def test_a_command_that_cannot_be_is_there_and_does_nothing(qtbot, window):
    view = window.features[PaletteView]
    view.show()
    qtbot.keyClicks(view.palette.line, "branch here")
    assert view.palette.list.topLevelItemCount() == 1
    assert view.palette.list.currentItem() is None
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)
    assert view.palette.isVisible()
    view.palette.close()


def test_the_palette_finds_what_menus_have_made_again_since_it_was_opened(qtbot, arm):
    """A robot that is loaded meanwhile brings its own poses, and the entries of the former one's are deleted."""
    view, menu = arm.features[PaletteView], arm.features[PoseMenu].menu
    view.show()
    qtbot.keyClicks(view.palette.line, "pose neutral")
    menu.clear()
    qtbot.keyClick(view.palette.line, Qt.Key.Key_Return)  # the row is of an entry that is no more
    assert not view.palette.isVisible()
    assert view.palette.last[0] == "Simulation › Pose › neutral"
    view.show()
    menu.clear()
    qtbot.keyClicks(view.palette.line, "reset layout")
    assert view.palette.list.currentItem().text(0) == "View › Reset layout"
    view.palette.close()


def test_a_link_has_a_menu_in_the_picture_and_in_the_tree(qtbot, arm):
    menus, hand = arm.menus.context, arm.workbench.robot.model.link_names.index("hand")
    qtbot.mouseClick(arm.viewport, RIGHT, pos=place_of(qtbot, arm, hand))
    wait(qtbot, lambda: menus.shown.isVisible())
    assert names(menus.shown) == ["hand", "Inspect", "Mass…", "Apply a force…", "Plot", "Centre the view here", "Hide",
                                  "Hide others", "Copy name"]  # fmt: skip
    shown(qtbot, arm, "link menu")
    if folder := os.environ.get("CATENA_PICTURES"):
        menus.shown.grab().save(f"{folder}/menu.png")
    press(menus.shown, "Plot", "Velocity")
    panel = arm.features[PlotsView].panel
    assert [each.key for each in panel.quantities] == [f"link/hand/velocity/{axis}" for axis in ("x", "y", "z", "norm")]
    press(menus.shown, "Copy name")
    assert QGuiApplication.clipboard().text() == "hand"
    before = arm.viewport.camera.target.copy()
    press(menus.shown, "Centre the view here")
    assert not np.array_equal(arm.viewport.camera.target, before)
    press(menus.shown, "Apply a force…")
    assert arm.docks["Forces"].isVisible()
    assert arm.selection.link == hand
    menus.shown.close()
    press(menus.shown, "Inspect")
    tree = arm.features[RobotView].panel.tree
    wait(qtbot, tree.isVisible)
    asked(tree.viewport(), tree.visualRect(tree.currentIndex()).center())
    wait(qtbot, lambda: names(menus.shown)[0] == "hand")
    assert "Centre the view here" not in names(menus.shown)
    menus.shown.close()


def ask_by_key(qtbot, widget, key: Qt.Key) -> None:
    """Press a key that opens a context menu on a widget; of the menu key Qt makes an event by itself."""
    widget.setFocus()
    if key == Qt.Key.Key_Menu:
        at = widget.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()
        by_key = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(widget, QContextMenuEvent(by_key, at, widget.mapToGlobal(at)))
    else:
        qtbot.keyClick(widget, key, Qt.KeyboardModifier.ShiftModifier)


def menu_by_key(qtbot, window, widget, key: Qt.Key) -> list[str]:
    """Press a key on a widget; return the names of the menu that opens, and close it."""
    menus = window.menus.context
    before = menus.shown
    ask_by_key(qtbot, widget, key)
    wait(qtbot, lambda: menus.shown is not before and menus.shown.isVisible())
    found = names(menus.shown)
    menus.shown.close()
    return found


def test_the_menu_key_opens_the_menu_of_what_is_selected(qtbot, arm):
    scene, links = arm.features[SceneView], arm.workbench.robot.model.link_names
    arm.docks.show_in_front("Robot")
    tree = arm.features[RobotView].panel.tree
    wait(qtbot, lambda: tree.isVisible() and tree.model().rowCount() > 0)
    for key in MENU_KEYS:
        for link in (2, len(links) - 1):
            arm.selection.choose(link)
            assert menu_by_key(qtbot, arm, tree, key)[0] == links[link], key
            found = menu_by_key(qtbot, arm, arm.viewport, key)
            assert (found[0], "Plot" in found, "Centre the view here" in found) == (links[link], True, True), key
        for row in (1, 3):
            arm.joints.setCurrentIndex(arm.joints.table.index(row, 0))
            ask_by_key(qtbot, arm.joints, key)
            wait(qtbot, lambda: isinstance(QApplication.activePopupWidget(), QMenu))
            press(QApplication.activePopupWidget(), "Copy name")
            QApplication.activePopupWidget().close()
            assert QGuiApplication.clipboard().text() == arm.joints.table.rows[row].name, key
        arm.selection.choose(-1)
        assert "Add to the scene" in menu_by_key(qtbot, arm, arm.viewport, key), key
    entry(scene, "Obstacle: box")
    settled(qtbot, scene)
    for key, widget in product(MENU_KEYS, (arm.viewport, scene.panel.list)):
        scene.panel.choose(0)
        assert menu_by_key(qtbot, arm, widget, key)[0] == "Box 1", key


def test_entries_of_another_feature_stand_in_their_group(arm):
    menus, hand, asked_of = arm.menus.context, arm.workbench.robot.model.link_names.index("hand"), []
    menus.offer("hide", lambda menu, link: menu.addAction("&Paint", lambda: asked_of.append(link.title)), LINK)
    menu = menus.of(Clicked(LINK, "hand", hand))
    assert names(menu)[-3:] == ["Hide others", "Paint", "Copy name"]
    press(menu, "Paint")
    assert asked_of == ["hand"]
    assert "Paint" not in names(menus.of(Clicked(SPACE)))


def test_things_of_the_scene_have_menus(qtbot, arm):
    menus, scene = arm.menus.context, arm.features[SceneView]
    entry(scene, "Obstacle: box")
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    arm.viewport.fit()
    box = scene.obstacles[0].pose[:3, 3]
    qtbot.mouseClick(arm.viewport, RIGHT, pos=seen_at(arm, box))
    wait(qtbot, lambda: menus.shown.isVisible())
    assert names(menus.shown) == ["Box 1", "Centre the view here", "Edit…", "Duplicate", "Remove"]
    press(menus.shown, "Duplicate")
    assert len(scene.obstacles) == 2
    menus.shown.close()
    link = arm.workbench.robot.model.link_names.index("cube/body")
    menu = menus.of(Clicked(LINK, "cube/body", link))
    assert names(menu)[-3:] == ["Edit…", "Duplicate", "Remove"]
    press(menu, "Edit…")
    assert scene.panel.isVisible()
    assert scene.panel.row == 2
    press(menu, "Remove")
    wait(qtbot, lambda: not arm.workbench.robot.parts and not arm.workbench.opening.loading)
    qtbot.mouseClick(arm.viewport, RIGHT, pos=QPoint(3, arm.viewport.height() - 3))
    wait(qtbot, lambda: menus.shown.isVisible() and "Fit" in names(menus.shown))
    menus.shown.close()


def test_a_joint_has_a_menu(qtbot, arm):
    bench, menus = arm.workbench, arm.menus.context
    bench.joints.set_coordinate(1, 0.3)
    wait(qtbot, lambda: bench.robot.newest.q[1] == 0.3)
    menu = arm.joints.row_menu(1)
    assert [name for name in names(menu) if name] == [
        "Hold position", "Drive by effort", "Save pose…", "Copy q", "Copy q and v", "Paste q",
        "Move to zero", "Plot", "Automatic gains", "Effort limit and friction of the file", "Drive…", "Copy name",
    ]  # fmt: skip
    press(menu, "Move to zero")
    wait(qtbot, lambda: bench.robot.newest.q[1] == 0.0)
    press(menu, "Plot", "Position")
    assert [each.key for each in arm.features[PlotsView].panel.quantities] == ["joint/joint2/position/"]
    chart = arm.features[PlotsView].panel.charts[0]
    asked(chart.canvas, chart.canvas.rect().center())
    wait(qtbot, lambda: menus.shown.isVisible() and names(menus.shown)[0].startswith("Remove joint2"))
    press(menus.shown, names(menus.shown)[0])
    assert not arm.features[PlotsView].panel.quantities
    menus.shown.close()


def test_a_moment_of_the_run_has_a_menu(qtbot, arm):
    bench, menus, view = arm.workbench, arm.menus.context, arm.features[TimeView]
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.4)
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.replay.chosen is not None and len(bench.replay.chosen) > 10)
    track = view.bar.track
    middle = QPoint(track.width() // 2, track.height() // 2)
    asked(track, middle)
    wait(qtbot, lambda: menus.shown.isVisible())
    assert names(menus.shown) == [f"{track.seconds(middle.x()):.3f} s", "Show this frame", "Branch here",
                                  "Add keyframe", "Loop from here", "Loop until here", "Copy time"]  # fmt: skip
    shown(qtbot, arm, "moment menu")
    press(menus.shown, "Add keyframe")
    (keyframe,) = view.keyframes.all
    recording, run = bench.replay.recording, bench.replay.chosen
    assert keyframe.frame.time == recording.frame(run, recording.at(run, track.seconds(middle.x()))).time
    menus.shown.close()
    asked(track, QPoint(round(track.place(keyframe.frame.time)), middle.y()))
    wait(qtbot, lambda: "Keyframe 1" in names(menus.shown))
    press(menus.shown, "Keyframe 1", "Remove")
    assert not view.keyframes.all
    press(menus.shown, "Branch here")
    wait(qtbot, lambda: len(bench.replay.runs) == 2)
    menus.shown.close()
