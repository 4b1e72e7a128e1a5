"""The Compare panel's growth of times over links or robots: measured, seen whole, and marked where curves cross."""

import math
from dataclasses import replace
from html import unescape

import pytest
from PyQt6.QtCore import QPointF
from PyQt6.QtGui import QImage
from test_compare_panel import RESULT, choose, count, measure
from windows import name_file, press, wait

import engine
from app.desktop import theme
from app.features.compare_view import CompareView
from app.panels.compare import ComparePanel
from app.panels.compare_form import OVER_BATCH, OVER_LINKS
from app.panels.growth import GrowthPlot, crossing_text


@pytest.fixture
def panel(qtbot, opened) -> ComparePanel:
    """The panel in a window, opened by its button; quick."""
    window = opened()
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    panel = window.feature(CompareView).panel
    wait(qtbot, panel.isVisible)
    panel.form.seconds.setValue(0.05)
    return panel


def test_growth_with_the_links(qtbot, panel, tmp_path, monkeypatch):
    form = panel.form
    choose(qtbot, form.algorithms, "abia", "jsiia")
    form.measure.setCurrentIndex(OVER_LINKS)
    assert not form.robot_box.isEnabled()
    form.links.setValue(4 * 16)
    assert (form.links_label.text(), form.length.text()) == ("Chain up to", "16 links")
    measure(qtbot, panel)
    assert panel.pages.currentWidget() is panel.growth
    plot = panel.growth.plot
    curves = panel.report.found.curves()
    assert {of: sorted(curve) for of, curve in curves.items()} == {
        ("abia", "cpu"): [1, 2, 4, 8, 16], ("jsiia", "cpu"): [1, 2, 4, 8, 16],
    }  # fmt: skip
    assert "--over links" in panel.report.command
    box = plot.getPlotItem().vb
    place = QPointF(math.log10(4), math.log10(curves["jsiia", "cpu"][4]))
    plot.scene().sigMouseMoved.emit(box.mapViewToScene(place) + QPointF(2, 2))
    assert plot.note.toPlainText().startswith("CRBA on CPU, float64, chain4")
    plot.scene().sigMouseMoved.emit(QPointF(-500, -500))
    assert plot.note.scene() is None
    name_file(monkeypatch, tmp_path / "growth.png")
    panel.picture_action.trigger()
    picture = QImage(str(tmp_path / "growth.png"))
    assert picture.width() == 2 * panel.growth.width()
    with theme.palette(theme.LIGHT):
        tint = theme.legible(engine.algorithm_color("jsiia"))
    assert theme.is_dark()
    assert picture.pixelColor(2, 2).name() == theme.LIGHT["ground"]
    assert count(picture, tint) > 100
    for drawing, suffix in zip(panel.drawings, (".svg", ".pdf"), strict=True):
        name_file(monkeypatch, tmp_path / f"growth{suffix}")
        drawing.trigger()
    lines, page = (tmp_path / "growth.svg").read_text(), (tmp_path / "growth.pdf").read_bytes()
    assert f'viewBox="0 0 {panel.growth.width()} {panel.growth.height()}"' in lines
    assert tint in lines
    assert theme.LIGHT["ground"] in lines
    assert "links of the chain" in lines
    assert "CRBA on CPU" in unescape(lines).replace("\xa0", " ")
    assert "<image" not in lines
    assert page.startswith(b"%PDF")
    assert b"/Subtype /Image" not in page
    assert plot.backgroundBrush().color().name() == theme.COLORS["ground"]


def test_the_whole_growth_is_seen_in_a_panel_below_the_picture(qtbot, panel):
    panel.window().resize(1280, 800)
    choose(qtbot, panel.form.algorithms, "abia", "jsiia")
    panel.form.measure.setCurrentIndex(OVER_LINKS)
    panel.form.links.setValue(4 * 16)
    measure(qtbot, panel)
    room, plot = panel.parentWidget(), panel.growth.plot
    wait(qtbot, lambda: plot.mapTo(room, plot.rect().bottomLeft()).y() < room.height())
    assert panel.growth.names.height() > 0
    title = plot.getAxis("left").label.mapRectToScene(plot.getAxis("left").label.boundingRect())
    assert title.top() >= 0
    assert title.bottom() <= plot.height()


def test_growth_with_the_batch(qtbot, panel):
    form = panel.form
    choose(qtbot, form.algorithms, "abia")
    form.measure.setCurrentIndex(OVER_BATCH)
    form.links.setValue(2 * 16)
    form.batch.setValue(20)
    measure(qtbot, panel)
    assert sorted(panel.report.found.curves()["abia", "cpu"]) == [1, 4, 16, 20]


def test_a_crossing_is_marked_with_its_size(qtbot):
    plot = GrowthPlot()
    qtbot.addWidget(plot)

    def labels(points):
        plot.show_growth(engine.Growth("links", points, 1.0, None, "done"))
        return [mark for mark in plot._marks if hasattr(mark, "toPlainText")]

    def points_of(curves):
        return tuple(
            engine.Point(size, replace(RESULT, algorithm=name, host=seconds, host_interval=None))
            for name, curve in curves.items()
            for size, seconds in curve.items()
        )

    rising = {2: 1e-6, 8: 4e-6, 32: 16e-6}
    points = points_of({"abia": rising, "cfa": {2: 4e-6, 8: 4.0001e-6, 32: 4e-6}})
    assert [mark.toPlainText() for mark in labels(points)] == ["CFA = ABA at 8"]
    vague = tuple(
        replace(point.result, host_interval=engine.Interval(*(point.result.host * x for x in (0.7, 1, 1.4))))
        for point in points
    )
    (label,) = labels(tuple(engine.Point(point.size, row) for point, row in zip(points, vague, strict=True)))
    assert label.toPlainText() == "CFA = ABA at 8 (4 to 16)"
    assert 0 < label.anchor.x() < 1
    label = labels(points_of({"abia": rising, "cfa": {2: 9e-6, 8: 12e-6, 32: 15e-6}}))[0]
    assert label.anchor.x() > 0.9  # it ends where the picture does


@pytest.mark.parametrize(
    ("size", "axis", "words"), [(35.1, "links", "about 35 links on"), (1.2, "batch", "about 1 robot on")]
)
def test_a_crossing_in_words(size, axis, words):
    crossing = engine.Crossing(size, ("dca", "cuda"), ("abia", "cpu"), size, size)
    assert crossing_text(crossing, axis) == f"DCA-ABA on GPU is faster than ABA on CPU from {words}"
