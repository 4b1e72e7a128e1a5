"""Edit › Preferences: each control applies at once, follows the menus, and can be reset."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from PyQt6.QtCore import QSize, Qt
from PyQt6.QtWidgets import QDialogButtonBox, QFileDialog, QScrollArea
from test_time import load, play
from windows import wait

from app.desktop import theme, type_scale
from app.desktop.settings import setting
from app.features import text_size
from app.features.appearance import CHOICES, Appearance
from app.features.contact_view import ContactView
from app.features.idle_measuring import IdleMeasuring
from app.features.overlay_view import OverlayView
from app.features.palette import PaletteView
from app.features.preferences import Preferences
from app.features.reloading import Reloading
from app.features.time_view import TimeView
from app.panels.preferences import PreferencesDialog

CTRL, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def preferences(qtbot, window) -> Preferences:
    window.show()
    qtbot.keyClick(window, Qt.Key.Key_Comma, CTRL)
    made = window.features[Preferences]
    assert made.dialog.isVisible()
    assert not made.dialog.isModal()
    return made


def values(made: Preferences) -> tuple[object, ...]:
    """Return the values of all controls."""
    return (
        made.theme.currentData(),
        made.limit.value(),
        made.rate.currentData(),
        *(box.isChecked() for box in (*made.overlays, *made.automatic)),
    )


def test_a_theme_applies_at_once(window, preferences):
    for name in ("light", "dark", "system"):
        preferences.theme.setCurrentIndex(preferences.theme.findData(name))
        assert window.features[Appearance].choice == name
        if name != "system":
            assert theme.is_dark() == (name == "dark")
    window.features[Appearance].actions["light"].trigger()
    assert preferences.theme.currentData() == "light"
    assert [preferences.theme.itemData(k) for k in range(preferences.theme.count())] == list(CHOICES)


def test_all_controls_are_in_sight_at_once_on_a_small_screen(qtbot, window, monkeypatch):
    """It was as high as such a screen, and scrolled nevertheless."""
    monkeypatch.setattr(PreferencesDialog, "screen", lambda _: SimpleNamespace(availableSize=lambda: QSize(960, 560)))
    window.show()
    made = window.features[Preferences]
    made.action.trigger()
    qtbot.waitExposed(made.dialog)
    if folder := os.environ.get("CATENA_PICTURES"):
        made.dialog.grab().save(f"{folder}/preferences.png")
    for each in (made.theme, made.folders, made.add, *made.overlays, *made.automatic):
        assert each.visibleRegion().boundingRect() == each.rect()


@pytest.mark.parametrize("height", [300, 1200])
def test_the_controls_scroll_where_the_screen_is_too_low_for_them(qtbot, window, monkeypatch, height):
    monkeypatch.setattr(
        PreferencesDialog, "screen", lambda _: SimpleNamespace(availableSize=lambda: QSize(960, height))
    )
    window.show()
    made = window.features[Preferences]
    made.action.trigger()
    qtbot.waitExposed(made.dialog)
    area = made.dialog.findChild(QScrollArea)
    assert made.dialog.height() < height
    assert made.dialog.rect().contains(made.dialog.buttons.geometry())
    wait(qtbot, lambda: area.verticalScrollBar().isVisible() == (height == 300))
    assert not area.horizontalScrollBar().isVisible()


def test_what_another_window_remembers_meanwhile_is_left_to_the_next_start(window, preferences):
    preferences.theme.setCurrentIndex(preferences.theme.findData("light"))
    preferences.dialog.close()
    window.settings.setValue("theme", "dark")
    window.settings.setValue("frame_rate", "30")
    preferences.show()
    assert preferences.theme.currentData() == window.features[Appearance].choice == "light"
    assert preferences.rate.currentData() == "screen"
    assert not theme.is_dark()


def test_ticks_are_those_of_the_menus(window, preferences):
    kinds = window.features[OverlayView].actions.values()
    overlays = [window.features[ContactView].action, window.view_controls.collisions, *kinds]
    automatic = [window.features[Reloading].watching, window.feature(IdleMeasuring).action]
    for boxes, actions in ((preferences.overlays, overlays), (preferences.automatic, automatic)):
        assert len(boxes) == len(actions)
        for box, action in zip(boxes, actions, strict=True):
            assert box.text() == action.text().replace("&", "")
            before = action.isChecked()
            box.click()
            assert action.isChecked() != before
            action.toggle()
            assert box.isChecked() == before
    assert setting(window.settings, "contacts", False) is True


def test_the_recording_limit_is_taken_and_remembered(window, preferences):
    preferences.limit.setValue(128)
    assert window.workbench.replay.recording.budget == 128 * 2**20
    assert setting(window.settings, "recording_megabytes", 0) == 128
    window.features[TimeView].set_budget(256)
    preferences.show()
    assert preferences.limit.value() == 256


def test_package_folders_are_added_and_removed(qtbot, window, preferences, tmp_path, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    assert not preferences.remove.isEnabled()
    qtbot.mouseClick(preferences.add, LEFT)
    assert [preferences.folders.item(k).text() for k in range(preferences.folders.count())] == [str(tmp_path.resolve())]
    assert window.workbench.opening.package_dirs == (str(Path(tmp_path).resolve()),)
    preferences.folders.setCurrentRow(0)
    qtbot.mouseClick(preferences.remove, LEFT)
    assert preferences.folders.count() == 0
    assert window.workbench.opening.package_dirs == ()


def test_defaults_are_those_of_a_new_window(qtbot, preferences):
    fresh = values(preferences)  # the fixture's settings are empty
    preferences.theme.setCurrentIndex(preferences.theme.findData("light"))
    preferences.limit.setValue(64)
    preferences.rate.setCurrentIndex(2)
    for box in (*preferences.overlays, *preferences.automatic):
        box.click()
    assert all(now != before for now, before in zip(values(preferences), fresh, strict=True))
    changed, undo = values(preferences), preferences.dialog.undo
    assert not undo.isEnabled()
    restore = preferences.dialog.buttons.button(QDialogButtonBox.StandardButton.RestoreDefaults)
    qtbot.mouseClick(restore, LEFT)
    assert values(preferences) == fresh
    qtbot.mouseClick(restore, LEFT)  # there is nothing left to replace
    qtbot.mouseClick(undo, LEFT)
    assert values(preferences) == changed
    assert not undo.isEnabled()


def test_return_closes_the_dialog_and_changes_nothing(qtbot, preferences):
    preferences.theme.setCurrentIndex(preferences.theme.findData("light"))
    changed, dialog = values(preferences), preferences.dialog
    dialog.close()
    preferences.show()
    qtbot.waitActive(dialog)
    wait(qtbot, lambda: dialog.focusWidget() is preferences.theme)
    buttons = dialog.buttons.buttons()
    for focused in (preferences.theme, preferences.limit, *preferences.overlays, *buttons):
        focused.setFocus()
        qtbot.keyClick(focused, Qt.Key.Key_Return)
        assert values(preferences) == changed
        assert not dialog.isVisible()
        preferences.show()


def test_return_after_a_typed_number_enters_it_and_leaves_the_dialog_open(qtbot, preferences):
    dialog, limit = preferences.dialog, preferences.limit
    limit.setFocus()
    limit.selectAll()
    qtbot.keyClicks(limit, "640")
    qtbot.keyClick(limit, Qt.Key.Key_Return)
    assert (limit.value(), dialog.isVisible()) == (640, True)
    qtbot.keyClick(limit, Qt.Key.Key_Return)
    assert not dialog.isVisible()


def test_it_closes_and_opens_again_and_the_palette_has_it(qtbot, window, preferences):
    qtbot.keyClick(preferences.dialog, Qt.Key.Key_Escape)
    assert not preferences.dialog.isVisible()
    palette = window.features[PaletteView]
    palette.show()
    palette.palette.line.setText("prefer")
    assert palette.palette.list.topLevelItem(0).text(0) == "Edit › Preferences"
    qtbot.keyClick(palette.palette.line, Qt.Key.Key_Return)
    assert preferences.dialog.isVisible()
    qtbot.mouseClick(preferences.dialog.buttons.button(QDialogButtonBox.StandardButton.Close), LEFT)
    assert not preferences.dialog.isVisible()


def test_a_recording_that_reaches_its_limit_says_so_once(qtbot, window):
    recording = load(qtbot, window)
    bar = window.statusBar()
    bar.clearMessage()
    play(qtbot, window, 0.3)
    assert not bar.currentMessage()
    recording.budget = recording.bytes // 2
    play(qtbot, window, 0.3)
    assert "its limit: the oldest frames are dropped" in bar.currentMessage()
    bar.clearMessage()
    play(qtbot, window, 0.3)
    assert not bar.currentMessage()


def test_the_size_of_text_is_remembered_and_applies_at_the_next_start(qapp, window, preferences):
    preferences.size.setCurrentIndex(preferences.size.findData("150"))
    assert "next start" in window.statusBar().currentMessage()
    before = type_scale.points("body")
    try:
        text_size.apply(qapp, window.settings)
        assert type_scale.points("body") == pytest.approx(1.5 * before, abs=0.125)
        window.settings.setValue("text_size", "big")
        text_size.apply(qapp, window.settings)
        assert type_scale.points("body") == before
    finally:
        qapp.setProperty(type_scale.SCALE, None)
