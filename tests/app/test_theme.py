"""Dark and light themes: selection, persistence, and legibility."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QLocale, QObject, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDockWidget,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

import engine
from app.desktop import theme
from app.features.appearance import Appearance
from app.gl.contact_marks import COLORS
from app.gl.pushes import PUSH
from app.panels.ghost import SCALE
from app.panels.number_box import DecimalBox
from app.panels.timing_table import FRAME_COLORS

PALETTES = {"dark": theme.DARK, "light": theme.LIGHT}
GROUNDS = ("ground", "panel", "raised")
WORDS = ("text", "faint", "accent", "error", "warning", "good")


@pytest.fixture(params=list(PALETTES))
def dressed(request, qapp):
    """The application in one palette after the other, dark again in the end."""
    theme.apply(qapp, request.param == "dark")
    yield request.param
    theme.apply(qapp)


@pytest.mark.parametrize("name", list(PALETTES))
def test_words_are_read_on_every_ground(name):
    """WCAG 2.1, level AA: 4.5 to 1."""
    palette = PALETTES[name]
    for word, ground in itertools.product(WORDS, GROUNDS):
        assert theme.contrast(palette[word], palette[ground]) >= 4.5, (word, ground)
    assert theme.contrast(palette["text"], palette["chosen"]) >= 4.5
    assert set(theme.DARK) == set(theme.LIGHT)


def test_contrast_is_that_of_the_guidelines():
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert theme.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert theme.contrast("#ffffff", "#777777") == theme.contrast("#777777", "#ffffff")


@pytest.mark.usefixtures("dressed")
def test_marks_are_seen_on_their_ground():
    """WCAG 2.1, 1.4.11: 3 to 1."""
    marks = [theme.curve_color(k) for k in range(theme.CURVE_COUNT)]
    made_for_dark = (
        *theme.PHASE_COLORS.values(),
        *FRAME_COLORS.values(),
        *map(engine.algorithm_color, ("abia", "cfa")),
    )
    marks += map(theme.legible, made_for_dark)
    for mark in marks:
        assert theme.contrast(mark, theme.COLORS["ground"]) >= theme.LEAST_CONTRAST
    for ground in ("ground", "panel"):
        assert theme.contrast(theme.COLORS["handle"], theme.COLORS[ground]) >= theme.LEAST_CONTRAST


# What who lacks the middle or the long cones sees: Machado, Oliveira and Fernandes 2009, severity 1, linear RGB.
SIGHTS = {
    "all colours": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}


def lab(name, sight):
    """CIELAB of an sRGB colour under D65, as it is seen."""
    rgb = np.array([int(name[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(SIGHTS[sight]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x = to_xyz @ linear / [0.9505, 1.0, 1.089]
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize(("sight", "least"), [("all colours", 45.0), ("deuteranopia", 20.0), ("protanopia", 20.0)])
def test_curves_are_told_apart(sight, least):
    """CIE76 differences of every two colours; 2.3 can just be noticed."""
    colors = [lab(theme.curve_color(k), sight) for k in range(theme.CURVE_COUNT)]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(colors, 2)) > least


@pytest.mark.parametrize("sight", list(SIGHTS))
@pytest.mark.parametrize("colors", [SCALE, (COLORS["stick"], COLORS["slip"], PUSH)], ids=["ghost", "forces"])
def test_colours_of_the_picture_are_told_apart(colors, sight):
    """CIE76 differences; only by its colour is it said how far a ghost is, and which arrow slips or is applied."""
    names = ["#" + "".join(f"{round(255 * part):02x}" for part in color[:3]) for color in colors]
    seen = [lab(name, sight) for name in names]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 30.0


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize("name", ["play", "gravity", "plots", "warning"])
def test_icons_have_the_palettes_colours(name):
    image = theme.icon(name).pixmap(QSize(48, 48)).toImage()
    seen = [image.pixelColor(x, y) for x in range(48) for y in range(48) if image.pixelColor(x, y).alpha() > 250]
    assert len(seen) > 40
    for color in seen[:: len(seen) // 20]:
        assert theme.contrast(color.name(), theme.COLORS["panel"]) > 2.5
    faded = theme.icon(name).pixmap(QSize(48, 48), theme.QIcon.Mode.Disabled).toImage()
    assert max(faded.pixelColor(x, y).alpha() for x in range(48) for y in range(48)) < 200


CONTROLS = (QPushButton, QToolButton, QComboBox, QSpinBox, QDoubleSpinBox, QLineEdit, QCheckBox, QSlider)


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize("kind", CONTROLS, ids=lambda kind: kind.__name__)
def test_the_control_that_has_the_keyboard_is_seen(qtbot, kind):
    around = QWidget()
    qtbot.addWidget(around)
    layout = QVBoxLayout(around)
    control, other = kind(), QPushButton("another")
    if isinstance(control, QSlider):
        control.setOrientation(Qt.Orientation.Horizontal)
    for each in (control, other):
        each.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        layout.addWidget(each)
    around.show()
    around.activateWindow()
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    without = control.grab().toImage()
    control.setFocus()
    qtbot.waitUntil(control.hasFocus)
    image = control.grab().toImage()
    changed = [
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(image.height())
        if image.pixel(x, y) != without.pixel(x, y)
    ]
    assert max((changed.count(name) for name in set(changed)), default=0) > 20
    mark = max(set(changed), key=changed.count)
    assert theme.contrast(mark, theme.COLORS["panel"]) >= theme.LEAST_CONTRAST


def test_no_widget_keeps_a_colour_in_a_style_sheet_of_its_own():
    """It would not follow the palette: `theme.tint` does."""
    folder = Path(theme.__file__).parent
    baked = [
        path.name for path in folder.rglob("*.py") if re.search(r"setStyleSheet\(f?[\"'].*COLORS", path.read_text())
    ]
    assert baked == []


def test_an_icon_that_is_missing_is_named():
    with pytest.raises(FileNotFoundError, match="no icon 'nothing'"):
        theme.icon("nothing")


def test_a_tinted_label_follows_the_palette(qtbot, qapp):
    label = QLabel("words")
    qtbot.addWidget(label)
    theme.apply(qapp)
    theme.tint(label, "warning")
    label.show()
    role = label.foregroundRole()
    assert label.palette().color(role) == QColor(theme.DARK["warning"])
    theme.apply(qapp, dark=False)
    assert label.palette().color(role) == QColor(theme.LIGHT["warning"])
    theme.tint(label, "faint")
    assert label.palette().color(role) == QColor(theme.LIGHT["faint"])
    theme.apply(qapp)


class Hints(QObject):
    """A system that says how it is."""

    colorSchemeChanged = pyqtSignal(Qt.ColorScheme)  # noqa: N815, Qt's name
    scheme = Qt.ColorScheme.Light

    def colorScheme(self):
        return self.scheme


def ticked(appearance):
    return [name for name, action in appearance.actions.items() if action.isChecked()]


@pytest.fixture
def system(monkeypatch, qapp):
    hints = Hints()
    monkeypatch.setattr(QApplication, "styleHints", lambda: hints)
    yield hints
    theme.apply(qapp)


def test_the_window_follows_the_system_until_the_user_chooses(system, make_window):
    window = make_window()
    assert not theme.is_dark()
    appearance = window.features[Appearance]
    assert ticked(appearance) == ["system"]
    system.scheme = Qt.ColorScheme.Dark
    system.colorSchemeChanged.emit(system.scheme)
    assert theme.is_dark()
    appearance.actions["light"].trigger()
    assert not theme.is_dark()
    assert ticked(appearance) == ["light"]
    system.colorSchemeChanged.emit(system.scheme)
    assert not theme.is_dark()
    assert window.palette().color(window.backgroundRole()).name() == theme.LIGHT["panel"]
    window.close()
    again = make_window()
    assert not theme.is_dark()
    appearance = again.features[Appearance]
    assert ticked(appearance) == ["light"]
    appearance.choose("dark")
    assert ticked(appearance) == ["dark"]
    appearance.actions["system"].trigger()
    assert ticked(appearance) == ["system"]


def test_a_window_begins_with_the_same_docks_in_both(make_window):
    widths = []
    for name in ("dark", "light"):
        window = make_window()
        window.features[Appearance].choose(name)
        window.close()
        window.settings.remove("layout")  # as at the first start
        again = make_window()
        widths.append(again.docks["Joints"].width())
        again.close()
    assert widths[0] == widths[1]


def test_everything_can_be_dressed_while_it_is_open(arm):
    for dock in arm.findChildren(QDockWidget):
        dock.show()
    arm.run.play.trigger()
    for name in ("light", "dark", "light"):
        arm.features[Appearance].actions[name].trigger()
        picture = arm.grab().toImage()
        corner = picture.pixelColor(3, picture.height() - 3)
        assert corner.name() == PALETTES[name]["panel"]
    arm.features[Appearance].actions["dark"].trigger()


def test_numbers_have_a_point_in_every_language(qapp):
    QLocale.setDefault(QLocale("de_DE"))
    assert DecimalBox().locale().decimalPoint() == ","
    theme.apply(qapp, theme.is_dark())
    box = DecimalBox()
    assert box.textFromValue(1.5) == "1.50"


def test_a_disabled_field_has_the_ground_of_its_panel_and_no_arrow(qtbot, dressed):
    """So that it is seen at once not to take anything, also in the light theme."""
    for make in (QComboBox, QSpinBox, QDoubleSpinBox, DecimalBox, QLineEdit):
        box, grounds = make(), []
        qtbot.addWidget(box)
        if isinstance(box, QComboBox):
            box.addItem("Flat")
        box.resize(140, 30)
        for on in (True, False):
            box.setEnabled(on)
            image = box.grab().toImage()
            grounds.append({image.pixelColor(x, 15).name() for x in range(100, 138)})
        assert PALETTES[dressed]["ground"] in grounds[0]
        assert grounds[1] == {PALETTES[dressed]["panel"]}, make.__name__
