"""Links are hidden in the picture by their menus and eyes, and shown again."""

import json

import numpy as np
from PyQt6.QtCore import Qt
from test_collision_shapes import pixels
from test_commands_at_hand import names, press
from test_dragging import place_of
from windows import wait

import engine
from app.desktop.context_menus import LINK, Clicked
from app.features.attaching import LinkHiding, OverlayView, PaletteView, RobotView, Sessions, UndoView
from app.panels.robot import EYE

RIGHT, LEFT = Qt.MouseButton.RightButton, Qt.MouseButton.LeftButton


def links_in(window) -> set[int]:
    """The links that can be picked in the picture."""
    viewport = window.viewport
    places = ((x, y) for y in range(4, viewport.height(), 16) for x in range(4, viewport.width(), 16))
    return {hit.link for x, y in places if (hit := viewport.under(x, y)) is not None}


def test_a_link_is_hidden_by_its_menu_in_the_picture_and_shown_again(qtbot, arm):
    hiding, menus = arm.features[LinkHiding], arm.menus.context
    hand, plain = arm.workbench.robot.model.link_names.index("hand"), pixels(arm)
    arm.selection.choose(hand)
    at = place_of(qtbot, arm, hand)
    qtbot.mouseClick(arm.viewport, RIGHT, pos=at)
    wait(qtbot, lambda: menus.shown.isVisible())
    press(menus.shown, "Hide")
    menus.shown.close()
    assert arm.selection.link == -1
    without = pixels(arm)
    assert (np.abs(without - plain) > 30).mean() > 5e-4
    assert hand not in links_in(arm)
    assert hiding.button.isVisible()
    assert hiding.button.text() == f"1 of {len(arm.workbench.robot.model.link_names)} links hidden: show all"
    film = arm.viewport.shot.view_of(arm.workbench.robot.newest, (320, 240))
    assert hand not in film.content.instances.link
    assert "Show" in names(menus.of(Clicked(LINK, "hand", hand)))
    qtbot.mouseClick(hiding.button, LEFT)
    assert not hiding.hidden
    assert not hiding.button.isVisible()
    assert np.abs(pixels(arm) - plain).max() < 20


def test_all_other_links_are_hidden_and_the_palette_shows_them(qtbot, arm):
    hiding, menus = arm.features[LinkHiding], arm.menus.context
    hand, every = arm.workbench.robot.model.link_names.index("hand"), links_in(arm)
    assert not hiding.show_all.isEnabled()
    press(menus.of(Clicked(LINK, "hand", hand)), "Hide others")
    assert links_in(arm) == {hand}
    arm.viewport.fit()
    palette = arm.features[PaletteView]
    palette.show()
    qtbot.keyClicks(palette.palette.line, "show all links")
    qtbot.keyClick(palette.palette.line, Qt.Key.Key_Return)
    arm.viewport.fit()
    assert links_in(arm) >= every - {-1}


def test_hiding_and_showing_links_is_undone(arm):
    hiding, stack = arm.features[LinkHiding], arm.features[UndoView].stack
    hand = arm.workbench.robot.model.link_names.index("hand")
    hiding.toggle(hand)
    hiding.hide_others(2)
    hiding.hide_others(2)  # as they are already
    hiding.show_all.trigger()
    hidden = []
    for text in ("Show all links", "Hide all links but link2", "Hide hand"):
        assert stack.undoText() == text
        arm.features[UndoView].undo.trigger()
        hidden.append(hiding.hidden)
    others = frozenset(range(len(arm.workbench.robot.model.link_names))) - {2}
    assert hidden == [others, {hand}, frozenset()]
    assert arm.statusBar().currentMessage() == "Undone: Hide hand"
    for _ in hidden:
        arm.features[UndoView].redo.trigger()
    assert not hiding.hidden
    assert not arm.features[UndoView].redo.isEnabled()


def test_an_eye_of_the_tree_hides_its_link_and_nothing_is_selected(qtbot, arm):
    hiding, view = arm.features[LinkHiding], arm.features[RobotView]
    view.action.trigger()
    wait(qtbot, lambda: view.panel.tree.isVisible() and view.panel.tree.model().rowCount() > 0)
    tree, hand = view.panel.tree, arm.workbench.robot.model.link_names.index("hand")
    tree.choose(hand)
    row = tree.currentIndex()
    tree.choose(-1)
    eye = row.siblingAtColumn(EYE)
    before = eye.data(Qt.ItemDataRole.ToolTipRole)
    for hidden in ({hand}, set()):
        tree.scrollTo(eye)
        qtbot.mouseClick(tree.viewport(), LEFT, pos=tree.visualRect(eye).center())
        assert hiding.hidden == hidden
        assert (eye.data(Qt.ItemDataRole.ToolTipRole) != before) == bool(hidden)
        assert arm.selection.link == -1


def test_frames_and_contacts_of_hidden_links_are_hidden(qtbot, shown):
    window = shown(engine.find_robot("quadruped"))
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.newest.contacts is not None)
    window.run.play.trigger()
    window.features[OverlayView].actions["frames"].setChecked(True)
    viewport = window.viewport
    wait(qtbot, lambda: viewport.view().marks is not None and len(viewport.view().marks.state) > 0)
    before, glyphs = viewport.view().marks, len(viewport.view().extras.glyphs["rod"].poses)
    link = int(window.workbench.shown.contacts.link[0])
    window.features[LinkHiding].hide({link})
    assert len(viewport.view().extras.glyphs["rod"].poses) == glyphs - 3
    assert len(viewport.view().marks.state) == (window.workbench.shown.contacts.link != link).sum() < len(before.state)
    count = len(window.workbench.robot.model.link_names)
    window.features[LinkHiding].hide(range(count))
    assert viewport.view().marks is None
    pixels(window)
    assert links_in(window) == set()


def test_a_session_and_a_reload_keep_hidden_links_and_another_robot_has_none(qtbot, arm, tmp_path):
    hiding, sessions, bench = arm.features[LinkHiding], arm.features[Sessions], arm.workbench
    hiding.hide_named(["hand", "no such link"])
    assert hiding.names == ["hand"]
    path = tmp_path / "a.catena"
    sessions.save(str(path))
    assert json.loads(path.read_text())["hidden"] == ["hand"]
    model = bench.robot.model
    arm.open(bench.path)
    wait(qtbot, lambda: bench.robot.model is not model and not bench.opening.loading)
    assert hiding.names == ["hand"]
    model = bench.robot.model
    arm.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: bench.robot.model is not model and not bench.opening.loading)
    assert not hiding.hidden
    model = bench.robot.model
    sessions.open(str(path))
    wait(qtbot, lambda: bench.robot.model is not model and not bench.opening.loading)
    assert hiding.names == ["hand"]


def test_the_same_robot_from_elsewhere_keeps_hidden_links_also_with_a_body_beside_it(qtbot, arm):
    """As where a run of a script's robot is branched, and a body is added."""
    hiding, bench = arm.features[LinkHiding], arm.workbench
    hiding.hide_named(["hand"])
    own, cube = bench.robot.model, engine.free_body("box", (0.1, 0.1, 0.1), 1.0, "body")
    for model in (engine.compose(engine.Part(own, prefix=""), engine.Part(cube, (1, 0, 0), "cube/")), own):
        bench.open(model)
        wait(qtbot, lambda model=model: bench.robot.model is model and not bench.opening.loading)
        assert hiding.names == ["hand"]
    bench.open(engine.chain(5))
    wait(qtbot, lambda: bench.robot.model is not own and not bench.opening.loading)
    assert not hiding.hidden


def test_hide_others_says_in_the_palette_to_select_a_link_first(qtbot, arm):
    hiding = arm.features[LinkHiding]
    arm.features[PaletteView].action.trigger()
    palette = arm.features[PaletteView].palette
    qtbot.keyClicks(palette.line, "hide others")
    item = palette.list.topLevelItem(0)
    assert item.isDisabled()
    assert [item.text(0).rpartition(" › ")[2], item.text(1)] == ["Hide others", "select a link first"]
    palette.close()
    arm.selection.choose(2)
    hiding.hide_rest.trigger()
    assert hiding.hidden == frozenset(range(len(arm.workbench.robot.model.link_names))) - {2}
