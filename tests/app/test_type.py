"""The window's type: the font that ships, in a few sizes defined once, with tabular figures."""

import re

from plotted import fill, make_panel
from PyQt6.QtGui import QFontInfo, QFontMetricsF, QTextDocument
from PyQt6.QtWidgets import QApplication, QDockWidget, QWidget
from windows import wait

from app.desktop import theme, type_scale
from app.panels.chart import DASHES


def test_all_that_is_written_is_in_the_font_that_ships_and_in_one_of_its_sizes(qtbot, arm):
    for dock in arm.findChildren(QDockWidget):
        if not dock.isVisible():
            dock.toggleViewAction().trigger()
    wait(qtbot, lambda: not arm.docks._fitting.isActive())
    sizes = {type_scale.points(size) for size in type_scale.SIZES}
    fonts = {QApplication.font(), *(each.font() for each in arm.findChildren(QWidget))}
    message = {(font.family(), font.pointSizeF()) for font in fonts}
    others = {(type_scale.fixed_font().family(), type_scale.points("body"))}
    assert message <= {(type_scale.FAMILY, size) for size in sizes} | others
    assert QFontInfo(arm.font()).family() == type_scale.FAMILY, "it was replaced by another"
    assert len({size for _, size in message}) >= 2


def test_the_style_sheet_names_sizes_and_writes_none():
    text = (theme.RESOURCES / "theme.qss").read_text(encoding="utf-8")
    sizes = re.findall(r"font(?:-size)?:\s*([^;]+);", text)
    assert sizes
    assert {size.removeprefix("@") for size in sizes} <= set(type_scale.SIZES)


def test_sizes_are_told_apart_and_follow_the_systems(qapp, monkeypatch):
    points = [type_scale.points(size) for size in ("small", "body", "heading", "title")]
    assert points == sorted(set(points))
    larger = qapp.font()
    larger.setPointSizeF(2 * type_scale.points("body"))
    monkeypatch.setattr(type_scale.QFontDatabase, "systemFont", lambda _: larger)
    assert type_scale.points("body") == 2 * points[1]
    assert type_scale.font("title").pointSizeF() == type_scale.points("title") > 2 * points[1]


def test_figures_have_one_width_and_so_has_the_space_between_them(qapp):
    type_scale.install(qapp)
    for bold in (False, True):
        metrics = QFontMetricsF(type_scale.font(bold=bold))
        assert len({metrics.horizontalAdvance(each) for each in "0123456789" + type_scale.FIGURE_SPACE}) == 1
        assert all(map(metrics.inFont, "°µτ→×²"))
    widths = [QFontMetricsF(type_scale.font(bold=bold)).horizontalAdvance("hand") for bold in (False, True)]
    assert widths[0] < widths[1]


def test_its_licence_lies_beside_it():
    files = {path.name for path in type_scale.FONTS.iterdir()}
    assert "OFL.txt" in files
    assert sum(path.stat().st_size for path in type_scale.FONTS.glob("*.otf")) < 300_000
    assert "SIL OPEN FONT LICENSE Version 1.1" in (type_scale.FONTS / "OFL.txt").read_text(encoding="utf-8")


def test_the_names_of_a_plot_break_between_curves_alone(qtbot):
    """However wide it is: no value is parted from its name, and no unit at its slash."""
    panel = make_panel(qtbot)
    panel.plot_group("joint", ("velocity",))
    fill(panel)
    chart, broken = panel.charts[0], 0
    for width in range(200, 900, 35):
        chart.resize(width, 300)
        text = chart.names.text()
        document = QTextDocument()
        document.setDefaultFont(chart.names.font())
        document.setDocumentMargin(0)
        document.setTextWidth(chart.names.contentsRect().width())
        document.setHtml(text)
        document.size()
        block = document.begin()
        while block.isValid():  # a cell, or the line of all names
            for k in range(1, block.layout().lineCount()):
                begun = block.text()[block.layout().lineAt(k).textStart() :]
                assert begun.startswith(tuple(dash for _, dash in DASHES)), (width, begun)
                broken += 1
            block = block.next()
        broken += max(text.count("<tr>") - 1, 0)
    assert broken > 20
