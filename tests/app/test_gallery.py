"""The gallery on the empty view: its content, opened by click and keys."""

import pytest
from PyQt6.QtCore import QRect, QSettings, Qt
from PyQt6.QtGui import QColor, QImage, QPixmap
from PyQt6.QtWidgets import QApplication, QWidget
from windows import wait, wait_loaded

import engine
from app.desktop import theme
from app.features.gallery_view import GalleryView
from app.panels.gallery import BACKGROUND_OPACITY, EDGE, LINES, PICTURES, Gallery
from app.window import Window


def gallery(window) -> Gallery:
    return window.features[GalleryView].gallery


def test_every_robot_that_ships_has_its_picture_and_its_line():
    shipped = {path.stem for path in engine.ROBOTS.glob("*.urdf")}
    assert set(LINES) == shipped
    assert {path.stem for path in PICTURES.glob("*.png")} == shipped
    assert max(path.stat().st_size for path in PICTURES.iterdir()) < 16_000


def test_enter_opens_the_robot_that_the_arrows_chose(qtbot, window):
    cards = gallery(window).cards
    wait(qtbot, cards.hasFocus)  # so that the keyboard alone is enough
    qtbot.keyClick(cards, Qt.Key.Key_Right)
    qtbot.keyClick(cards, Qt.Key.Key_Return)
    assert not gallery(window).isVisible()  # at once, not when the robot is there
    wait_loaded(qtbot, window)
    assert window.workbench.path.endswith(f"{list(LINES)[1]}.urdf")
    assert QApplication.focusWidget() is window.viewport


def test_keys_play_the_robot_that_the_program_was_started_with(qtbot, window, tmp_path):
    window.docks["Plots"].toggleViewAction().trigger()
    window.close()  # which has the layout remembered
    again = Window(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    with qtbot.waitActive(again):
        again.show()
        again.open(engine.find_robot("double_pendulum"))  # before it has the keyboard
        again.activateWindow()
    assert again.docks["Plots"].isVisible()
    wait_loaded(qtbot, again)
    assert QApplication.focusWidget() is again.viewport
    again.close()


def test_a_click_opens_a_robot(qtbot, window):
    cards = gallery(window).cards
    names = [cards.item(k).text() for k in range(cards.count())]
    scara = cards.item(names.index("scara"))
    assert not scara.data(Qt.ItemDataRole.DecorationRole).isNull()
    cards.scrollToItem(scara)
    place = cards.visualItemRect(scara).center()
    qtbot.mouseClick(cards.viewport(), Qt.MouseButton.LeftButton, pos=place)
    wait_loaded(qtbot, window)
    assert window.workbench.path.endswith("scara.urdf")


def test_the_cards_stand_in_whole_columns(window):
    shown = gallery(window)
    for width in (260, 420, 700, 1300):
        shown.fit(shown.rect().adjusted(0, 0, width - shown.width(), 0))
        QApplication.processEvents()
        rects = [shown.cards.visualItemRect(shown.cards.item(k)) for k in range(shown.cards.count())]
        assert min(rect.left() for rect in rects) >= 0, width
        assert max(rect.right() for rect in rects) <= shown.cards.viewport().width(), width


@pytest.mark.parametrize(("height", "titled", "low"), [(520, True, False), (430, False, False), (208, False, True)])
def test_all_cards_are_seen_in_a_low_picture(qtbot, window, height, titled, low):
    shown = gallery(window)
    shown.fit(QRect(0, 0, 900, height))
    assert (not shown._words[0].isHidden(), shown._card.low) == (titled, low)
    wait(qtbot, lambda: shown.cards.viewport().height() > 0 and shown.cards.verticalScrollBar().maximum() == 0)
    rects = [shown.cards.visualItemRect(shown.cards.item(k)) for k in range(shown.cards.count())]
    assert all(shown.cards.viewport().rect().contains(rect) for rect in rects)
    assert shown.rect().contains(shown._column.geometry().adjusted(-EDGE, -EDGE, EDGE, EDGE))


def test_a_robot_without_a_picture_is_offered_by_name(qtbot, tmp_path, monkeypatch):
    (tmp_path / "strange.urdf").write_text("<robot/>")
    monkeypatch.setattr("engine.ROBOTS", tmp_path)
    shown = Gallery()
    qtbot.addWidget(shown)
    assert [shown.cards.item(k).text() for k in range(shown.cards.count())] == ["strange"]
    shown.resize(500, 400)
    shown.fit(shown.rect())
    assert isinstance(shown.grab(), QPixmap)


def test_a_file_that_is_refused_brings_the_gallery_back(qtbot, window, tmp_path):
    bad = tmp_path / "bad.urdf"
    bad.write_text("<robot name='bad'>")
    window.open(bad)
    assert not gallery(window).isVisible()
    wait_loaded(qtbot, window)
    assert gallery(window).isVisible()


def test_its_words_stand_on_a_veil_and_its_link_follows_the_theme(qtbot, qapp, window):
    shown = gallery(window)
    wait(qtbot, shown.isVisible)
    image = QImage(shown.size(), QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    shown.render(image, flags=QWidget.RenderFlag.DrawChildren)
    column = shown._column.geometry()
    assert image.pixelColor(2, 2).alpha() == 0  # the picture is seen beside it
    assert image.pixelColor(column.left() + 1, column.center().y()).alpha() == pytest.approx(
        255 * BACKGROUND_OPACITY, abs=2
    )

    def link_pixels(name: str) -> int:
        picture, wanted = shown._words[-1].grab().toImage(), QColor(name)
        places = ((x, y) for x in range(picture.width()) for y in range(picture.height()))
        return sum(picture.pixelColor(x, y) == wanted for x, y in places)

    dark, light = theme.DARK["accent"], theme.LIGHT["accent"]
    try:
        assert link_pixels(dark)
        theme.apply(qapp, dark=False)
        wait(qtbot, lambda: link_pixels(light) > 0)
        assert not link_pixels(dark)
    finally:
        theme.apply(qapp)
