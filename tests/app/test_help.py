"""The Help menu: the list of shortcuts, generated from the actions, and the log."""

import threading
from collections import Counter
from pathlib import Path

from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QAction, QGuiApplication, QKeySequence
from PyQt6.QtWidgets import QLineEdit, QMessageBox, QPlainTextEdit, QPushButton, QTreeWidget
from windows import wait

import engine
from app.desktop import about, type_scale
from app.features.log_view import KEPT, LogView
from app.features.plots_view import PlotsView
from app.features.run_exports import RunExports
from app.features.shortcuts_sheet import NOTHING, OTHER, ShortcutsSheet, of_menus, shortcuts
from app.picture.pictures import renderer_name


def rows(tree):
    """Names and keys of all lines below the heads."""
    heads = [tree.topLevelItem(k) for k in range(tree.topLevelItemCount())]
    return {(head.child(k).text(0), head.child(k).text(1)) for head in heads for k in range(head.childCount())}


def test_the_sheet_lists_every_action_that_has_keys(qtbot, window):
    qtbot.keyClick(window, Qt.Key.Key_F1)
    sheet = window.features[ShortcutsSheet]
    assert sheet.dialog.isVisible()
    tree = sheet.dialog.findChild(QTreeWidget)
    listed = rows(tree)
    keys = {key for _, told in listed for key in told.split(" or ")}
    for action in window.findChildren(QAction):
        for key in action.shortcuts():
            assert key.toString(QKeySequence.SequenceFormat.NativeText) in keys
    assert {("Play", "Space"), ("Panels › Plots", "P"), ("Keyboard shortcuts", "F1")} <= listed
    assert ("Open second robot › File", "Ctrl+Alt+O") in listed
    qtbot.keyClicks(sheet.dialog.findChild(QLineEdit), "plot any")
    assert rows(tree) == {("Panels › Plots", "P")}
    search = sheet.dialog.findChild(QLineEdit)
    search.clear()
    qtbot.keyClicks(search, "no such thing")
    assert [tree.topLevelItem(k).text(0) for k in range(tree.topLevelItemCount())] == [NOTHING]
    sheet.dialog.close()


def test_about_names_licence_papers_and_renderer(window):
    window.about_action.trigger()
    (box,) = [each for each in window.findChildren(QMessageBox) if each.windowTitle() == "About Catena"]
    for words in ("Catena", "Apache 2.0", "Yang", "Bhalerao", renderer_name()):
        assert words
        assert words in box.text()
    box.close()


def test_help_leads_to_the_documents(window, monkeypatch):
    opened = []
    opens = "app.desktop.actions.QDesktopServices.openUrl"
    monkeypatch.setattr(opens, lambda url: opened.append(url.toLocalFile()) or True)
    actions = window.documents.actions()
    assert len(actions) == len(about.DOCUMENTS)
    for action in actions:
        action.trigger()
    assert all(Path(each).is_file() for each in opened)
    assert [Path(each).name for each in opened][:2] == ["README.md", "scheme.md"]
    assert not window.statusBar().currentMessage()
    monkeypatch.setattr(opens, lambda _: False)
    actions[0].trigger()
    assert window.statusBar().currentMessage() == (
        f"this system has no program that opens .md files; open {opened[0]} yourself"
    )


def test_no_two_actions_have_the_same_key(window):
    keys = Counter(key.toString() for action in window.findChildren(QAction) for key in action.shortcuts())
    assert [key for key, count in keys.items() if count > 1] == []


def test_actions_with_keys_are_in_menus(window):
    assert [each.name for each in shortcuts(window) if each.menu == OTHER] == []


def test_the_sheet_follows_a_key_that_changes(window):
    window.run.play.setShortcuts([QKeySequence("Ctrl+Shift+Y")])
    assert {each.name: each.keys for each in shortcuts(window)}["Play"] == "Ctrl+Shift+Y"


def test_no_letter_that_is_typed_into_a_field_is_taken_for_a_key(qtbot, opened):
    window = opened()
    panel = window.features[PlotsView].panel
    qtbot.keyClick(window, Qt.Key.Key_P)
    panel.list.search.setFocus()
    letters = "".join(
        sorted(
            {
                key.toString().lower()
                for a in window.findChildren(QAction)
                for key in a.shortcuts()
                if len(key.toString()) == 1
            }
        )
    )
    assert "p" in letters
    before = window.workbench.robot.settings
    for letter in letters:
        qtbot.keyClick(panel.list.search, letter)
    assert panel.list.search.text() == letters
    assert panel.isVisible()
    assert window.workbench.robot.settings == before


def test_the_log_keeps_what_was_told_and_copies_it(qtbot, opened, tmp_path):
    window = opened(engine.find_robot("double_pendulum"))
    log = window.features[LogView]
    window.statusBar().showMessage("something passes")
    window.statusBar().clearMessage()
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot name='x'>")
    window.open(broken)
    wait(qtbot, lambda: any("refused" in entry.text for entry in log.entries))
    log.action.trigger()
    text = log.dialog.findChild(QPlainTextEdit)
    copy, clear, _ = log.dialog.findChildren(QPushButton)
    assert text.font().family() == type_scale.fixed_font().family()
    for words in ("double_pendulum.urdf", "something passes", f"refused {broken}"):
        assert words in text.toPlainText()
    assert str(log.entries[0].when.year) in text.toPlainText()
    window.statusBar().showMessage("while it is open")
    assert "while it is open" in text.toPlainText()
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == log.text == text.toPlainText()
    qtbot.mouseClick(clear, Qt.MouseButton.LeftButton)
    assert text.toPlainText() == log.text == ""
    log.dialog.close()


def test_how_far_an_export_is_stays_out_of_the_log(qtbot, opened):
    window, seen = opened(), threading.Event()
    exports, told = window.features[RunExports], window.statusBar().currentMessage

    def work(_: threading.Event) -> str:
        exports.report_progress("run.npz: 0.1 of 7.8 s")
        seen.wait()
        return "2 rows written"

    exports.begin(work, "writing run.npz …")
    wait(qtbot, lambda: told() == "run.npz: 0.1 of 7.8 s")
    seen.set()
    wait(qtbot, lambda: told() == "2 rows written")
    said = [entry.text for entry in window.features[LogView].entries]
    assert said[-2:] == ["writing run.npz …", "2 rows written"]


def test_the_log_is_bounded_and_does_not_repeat_itself(window):
    log = window.features[LogView]
    log.entries.clear()
    for _ in range(3):
        log.add("again")
    assert len(log.entries) == 1
    for number in range(KEPT + 10):
        log.add(f"message {number}")
    assert len(log.entries) == KEPT
    assert log.entries[-1].text == f"message {KEPT + 9}"


def test_menus_fit_a_screen_of_600_px_and_show_a_box_for_what_can_be_checked(qtbot, arm):
    """1920 × 1200 at scale 2; a menu that does not fit is broken into columns."""
    for action in arm.menuBar().actions():
        menu = action.menu()
        menu.popup(QPoint(0, 0))
        qtbot.waitUntil(menu.isVisible)
        assert menu.height() < 600, menu.title()
        menu.close()
    checked = [action for _, _, action in of_menus(arm) if action.isCheckable() and not action.icon().isNull()]
    assert len(checked) > 9
    assert not any(action.isIconVisibleInMenu() for action in checked)
