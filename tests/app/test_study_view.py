"""Studies in the window: all charts, samples clicked and repeated, tables written, and refusals."""

import json
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PyQt6.QtGui import QFontMetrics, QHelpEvent, QImage, QPainter
from PyQt6.QtWidgets import QApplication, QMessageBox, QToolTip
from windows import name_file, wait

import engine
from app.desktop import theme, type_scale
from app.desktop.panel_scroller import PanelScroller
from app.features.attaching import TimeView
from app.features.study_view import LOW, StudyView
from app.panels import axes, study_rasters
from app.panels.study_chart import StudyChart
from app.panels.study_kinds import KINDS, Wanted

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed; studies' results are Parquet")
SWUNG = """
title = "Swung"
robot = "double_pendulum"
seconds = 0.1
dt = 0.01
limits = false
samples = 20
[[vary]]
what = "velocity"
of = "shoulder"
uniform = [-3.0, 3.0]
[[vary]]
what = "damping"
of = "all"
values = [0.0, 0.5, 1e300]
[[keep]]
quantity = "shoulder position"
[[keep]]
name = "ahead"
quantity = "shoulder position"
above = 0.0
[[keep]]
quantity = "step time"
"""


@pytest.fixture(scope="module")
def swung(tmp_path_factory) -> Path:
    """The file of a study that has been run."""
    path = tmp_path_factory.mktemp("swung") / "swung.toml"
    path.write_text(SWUNG, "utf-8")
    engine.Study.read(path).run(path.with_suffix(".results"), processes=0)
    return path


@pytest.fixture
def studied(qtbot, window):
    """Opens a study, and waits until it is drawn."""

    def study(path: Path) -> StudyView:
        view = window.features[StudyView]
        window.open(path)
        wait(qtbot, lambda: view.panel.results is not None)
        wait(qtbot, view.panel.chart.isVisible)
        QApplication.processEvents()
        return view

    return study


def place_of(chart, row: int) -> QPoint:
    """Return the position of a sample's dot."""
    kind, area = chart.kind, chart.area
    return QPointF(area.left() + kind.x[row] * area.width(), area.top() + (1 - kind.y[row]) * area.height()).toPoint()


def test_the_panel_without_a_study_is_its_hint_alone_and_needs_no_scroll_bar(qtbot, window):
    window.show()
    window.resize(920, 570)
    window.docks.show_in_front("Study")
    panel = window.features[StudyView].panel
    wait(qtbot, panel.chart.isVisible)
    assert not panel.kind_box.isVisible()
    outer = panel.parentWidget().parentWidget()
    assert isinstance(outer, PanelScroller)
    wait(qtbot, lambda: not outer.verticalScrollBar().isVisible() and not outer.horizontalScrollBar().isVisible())
    panel.show_none("Reading study.json …")
    wait(qtbot, panel.summary.isVisible)


@pytest.mark.parametrize(("width", "whole"), [(700, True), (260, False)])
def test_words_of_the_vertical_axis_have_room_and_take_a_third_at_most(qtbot, width, whole):
    chart = StudyChart()
    qtbot.addWidget(chart)
    chart.resize(width, 300)
    chart.show_kind(SimpleNamespace(scale=None, y_axis=axes.Axis("integrator", 0.0, 1.0, ("semi-implicit", "rk4"))))
    room = chart.area.left() - axes.NAME - 8
    long = QFontMetrics(type_scale.font("small")).horizontalAdvance("semi-implicit")
    assert (room >= long) == whole
    assert chart.area.left() <= max(axes.LEFT, width / 3)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(("words", "colors"), [(("false", "true"), 2), ((), 100)])
def test_a_colour_scale_of_words_has_a_colour_for_each(words, colors):
    picture = QImage(200, 220, QImage.Format.Format_RGB32)
    picture.fill(0)
    painter = QPainter(picture)
    axes.draw_scale(painter, QRectF(10, 10, 100, 200), axes.Axis("fell", 0.0, 1.0, words))
    painter.end()
    found = {picture.pixel(130, y) for y in range(12, 208)}
    assert len(found) == colors if words else len(found) > colors


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("whole", [0.0, 1.0])
def test_a_predicate_that_is_the_same_for_all_has_its_colour_of_the_scale(whole):
    scale = axes.Axis.of("fell", np.full(9, whole), ("false", "true"), 0.0)
    picture = QImage(200, 220, QImage.Format.Format_RGB32)
    painter = QPainter(picture)
    axes.draw_scale(painter, QRectF(10, 10, 100, 200), scale)
    painter.end()
    drawn = study_rasters.colors_of(scale.share(whole))
    beside = picture.pixelColor(130, 60 if whole else 160)
    assert drawn[:3].tolist() == [beside.red(), beside.green(), beside.blue()]


def test_a_variable_drawn_log_uniformly_has_a_logarithmic_axis_with_whole_labels(qtbot, tmp_path):
    path = tmp_path / "log.toml"
    path.write_text(SWUNG.replace("values = [0.0, 0.5, 1e300]", "log_uniform = [1e-2, 1e6]"), "utf-8")
    engine.Study.read(path).run(path.with_suffix(".results"), processes=0)
    found = engine.StudyResults(path.with_suffix(".results"))
    assert found.logarithmic == {"damping"}
    scatter, heat = (KINDS[name](found, Wanted("damping", "ahead", "damping")) for name in ("Scatter", "Heat map"))
    assert [text for _, text in scatter.x_axis.marks(4)][-3:] == ["1e0", "1e2", "1e4"]
    assert all(1e-2 <= float(text) <= 1e6 for _, text in heat.x_axis.marks(9))
    share = KINDS["Scatter"](found, Wanted("damping", "shoulder position", "")).x
    assert 0.2 < np.median(share) < 0.8
    chart = StudyChart()
    qtbot.addWidget(chart)
    chart.resize(500, 300)
    chart.show_kind(SimpleNamespace(scale=None, y_axis=axes.Axis("force", 0.0, 8e5)))
    metrics = QFontMetrics(type_scale.font("small"))
    labels = [text for _, text in axes.marks_upwards(chart.kind.y_axis, chart.area.height())]
    assert "800000" in labels
    assert chart.area.left() - axes.NAME - 8 >= max(map(metrics.horizontalAdvance, labels))


def test_a_click_on_a_sample_shows_its_run(qtbot, window, studied, swung):
    view = studied(swung)
    panel = view.panel
    assert panel.title.text() == "Swung"
    assert panel.summary.text().startswith("60 samples\nahead: ")
    row = 43
    qtbot.mouseClick(panel.chart, Qt.MouseButton.LeftButton, pos=place_of(panel.chart, row))
    chosen = panel.chart.row
    assert panel.results.columns["damping"][chosen] == panel.results.columns["damping"][row]
    assert panel.sample.value() == chosen
    robot = window.workbench.robot
    wait(qtbot, lambda: robot.model is not None and robot.model.name == "double_pendulum")
    wait(qtbot, lambda: "the same numbers" in window.statusBar().currentMessage())
    assert window.statusBar().currentMessage() == f"sample {chosen}, the same numbers as in the results"
    replay = window.workbench.replay
    wait(qtbot, lambda: replay.opened and replay.chosen is not None)
    run = replay.recording.runs[0]  # beside it one that has not begun
    end = replay.recording.frame(run, run.last)
    assert end.time == pytest.approx(0.1)
    written = engine.read_run(Path(view._folder.name) / f"sample-{chosen}.npz").trajectory
    assert written.q[-1, 0] == panel.results.columns["shoulder position"][chosen]
    assert window.workbench.recent == [] or not any("sample" in path for path in window.workbench.recent)
    assert end.setup.settings.dt == 0.01


def test_the_number_of_a_sample_is_typed_or_reached_by_keys(qtbot, studied, swung):
    panel = studied(swung).panel
    requests = []
    panel.requested.disconnect()
    panel.requested.connect(requests.append)
    panel.sample.setFocus()
    panel.sample.selectAll()
    qtbot.keyClicks(panel.sample, "17")
    qtbot.keyClick(panel.sample, Qt.Key.Key_Return)
    assert panel.chart.row == 17
    qtbot.keyClick(panel.chart, Qt.Key.Key_Right)
    qtbot.keyClick(panel.chart, Qt.Key.Key_PageUp)
    assert panel.chart.row == panel.sample.value() == 8
    qtbot.mouseClick(panel.open_run, Qt.MouseButton.LeftButton)
    assert requests == [8]


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_every_chart_is_drawn_tells_and_is_clicked(qtbot, studied, swung, name, dark):
    theme.apply(QApplication.instance(), dark)
    panel = studied(swung).panel
    requests = []
    panel.requested.disconnect()
    panel.requested.connect(requests.append)
    chart = panel.chart
    plain = chart.grab().toImage()
    panel.kind_box.setCurrentText(name)
    panel.color_box.setCurrentText("damping" if name == "Success rate" else "ahead")
    QApplication.processEvents()
    drawn = chart.grab().toImage()
    colors = {drawn.pixelColor(x, y).name() for x in range(0, drawn.width(), 3) for y in range(0, drawn.height(), 3)}
    assert len(colors) > 3
    assert name == "Scatter" or drawn != plain
    area = chart.area
    for x in np.linspace(area.left() + 2, area.right() - 2, 40):
        for y in np.linspace(area.top() + 2, area.bottom() - 2, 20):
            if len(chart.kind.rows_at(QPointF(x, y), area)):
                place = QPoint(round(x), round(y))
                break
    QApplication.sendEvent(chart, QHelpEvent(QEvent.Type.ToolTip, place, chart.mapToGlobal(place)))
    wait(qtbot, lambda: "sample" in QToolTip.text())
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=place)
    assert requests == [panel.sample.value()]
    QToolTip.hideText()
    theme.apply(QApplication.instance(), True)


def test_what_is_on_top_is_taken_first_and_each_further_click_takes_the_next(qtbot, studied, swung):
    """Samples 6, 26 and 46 differ in damping only."""
    panel = studied(swung).panel
    results, chart = panel.results, panel.chart
    results.columns["diverged"][46], results.columns["ahead"][46] = True, False
    results.columns["shoulder position"][46] = np.nan
    panel.show_results(results)
    assert "1 diverged" in panel.summary.text()
    assert panel.summary.text().endswith(" of the 59 that did not diverge")
    requests = []
    panel.requested.disconnect()
    panel.requested.connect(requests.append)
    panel.y_box.setCurrentText("shoulder velocity")
    assert panel.note.text() == "up to 3 samples on a dot: each click takes the next"
    place = place_of(chart, 6)
    QApplication.sendEvent(chart, QHelpEvent(QEvent.Type.ToolTip, place, chart.mapToGlobal(place)))
    wait(qtbot, lambda: QToolTip.text().startswith("3 samples here; each click opens the next:\nsample 46, diverged\n"))
    assert "ahead: –" in QToolTip.text()
    drawn = chart.grab().toImage()
    assert drawn.pixelColor(place).red() > 200 > drawn.pixelColor(place).green()
    below = QPointF(chart.area.right() + 20, chart.area.bottom() + 14).toPoint()
    assert drawn.pixelColor(below) == drawn.pixelColor(place)
    for _ in range(4):
        qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=place)
    assert requests == [46, 6, 26, 46]
    for name in ("Histogram", "Heat map", "Parallel coordinates"):
        panel.kind_box.setCurrentText(name)
        left, top, right, bottom = map(int, chart.area.getCoords())
        spots = [QPoint(x, y) for x in range(left + 3, right, 3) for y in range(bottom - 3, top, -9)]
        here = next(spot for spot in spots if len(chart.kind.rows_at(QPointF(spot), chart.area)) > 1)
        requests.clear()
        for _ in range(3):
            qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=here)
        assert len(set(requests)) > 1
        assert 46 not in requests
    QToolTip.hideText()


@pytest.mark.parametrize("width", [60, 120, 600])
def test_marks_of_parallel_axes_lie_on_no_others(studied, swung, width):
    panel = studied(swung).panel
    panel.kind_box.setCurrentText("Parallel coordinates")
    marks = panel.chart.kind.marks(QRectF(0, 0, width, 120), QFontMetrics(type_scale.font("small")))
    boxes = [box for box, _ in marks]
    assert len(marks) > 2
    assert not any(a.intersects(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_axes_colours_and_predicates_are_chosen(studied, swung):
    panel = studied(swung).panel
    panel.x_box.setCurrentText("damping")
    panel.y_box.setCurrentText("shoulder position")
    panel.color_box.setCurrentText("(none)")
    assert panel.wanted == ("damping", "shoulder position", "")
    assert panel.chart.kind.scale is None
    panel.color_box.setCurrentText("ahead")
    panel.kind_box.setCurrentText("Success rate")
    assert panel.y_box.currentText() == "ahead"
    assert panel.wanted.color == ""
    (line,) = panel.chart.kind.lines
    columns = panel.results.columns
    assert line.x.tolist() == [0.0, 0.5, 1e300]
    panel.x_box.setCurrentText("shoulder velocity")
    panel.color_box.setCurrentText("ahead")
    assert panel.wanted.color == "damping"
    for at, share in zip(line.x, line.share, strict=True):
        assert share == columns["ahead"][(columns["damping"] == at) & ~columns["diverged"]].mean()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_results_are_exported(qtbot, window, studied, swung, tmp_path, monkeypatch, suffix):
    view, path = studied(swung), tmp_path / f"out{suffix}"
    name_file(monkeypatch, path)
    qtbot.mouseClick(view.panel.export, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: "60 rows written" in window.statusBar().currentMessage())
    if suffix == ".parquet":
        assert parquet.read_table(path).num_rows == 60
    else:
        assert len(path.read_text().splitlines()) == 61


def test_file_open_study_asks_for_the_file(qtbot, window, swung, monkeypatch):
    view = window.features[StudyView]
    for file in (swung, swung.with_suffix(".results") / "study.json"):
        name_file(monkeypatch, file)
        view.action.trigger()
        wait(qtbot, lambda: view.panel.results is not None)
        view.panel.show_none("")


def test_what_has_no_results_is_told(qtbot, window, tmp_path):
    view = window.features[StudyView]
    path = tmp_path / "own.toml"
    path.write_text(SWUNG)
    window.open(path)
    wait(qtbot, lambda: "has no results yet" in view.panel.summary.text())
    assert view.panel.summary.text() == f"own.toml has no results yet; run it here, or by main.py study {path}"
    assert not view.panel.open_run.isEnabled()
    (tmp_path / "own.results").mkdir()
    (tmp_path / "own.results" / "study.json").write_text("{")
    window.open(path)
    wait(qtbot, lambda: "is damaged" in view.panel.summary.text())


def test_results_of_a_study_that_runs_come_by_themselves_and_what_is_chosen_stays(qtbot, window, swung, tmp_path):
    window.resize(1400, 900)
    window.show()
    view, folder = window.features[StudyView], tmp_path / "own.results"
    shutil.copytree(swung.with_suffix(".results"), folder)
    table = parquet.read_table(folder / "samples").sort_by("sample")
    for part in folder.glob("samples/*.parquet"):
        part.unlink()
    view.open(str(folder))
    wait(qtbot, lambda: "no result is in " in view.panel.summary.text())
    assert view.panel.summary.text().endswith(" yet; run the study, or wait until its run has ended a batch")
    wait(qtbot, lambda: window.docks["Study"].height() <= LOW)
    view.open(str(swung))  # while the other may be being read
    view.open(str(folder))
    parquet.write_table(table.slice(0, 20), folder / "samples" / "part-0000000000.parquet")
    wait(qtbot, lambda: view.panel.summary.text().startswith("20 of 60 samples"))
    assert view.panel.results.folder == folder
    view.panel.color_box.setCurrentText("damping")
    view.panel.sample.setValue(7)
    parquet.write_table(table.slice(20), folder / "samples" / "part-0000000020.parquet")
    wait(qtbot, lambda: view.panel.summary.text().startswith("60 samples"))
    assert (view.panel.color_box.currentText(), view.panel.sample.value(), view.panel.chart.row) == ("damping", 7, 7)
    assert not view._checking.isActive()
    assert window.docks["Study"].height() > 1.5 * LOW


def test_a_damaged_study_leaves_the_one_before_as_it_is_shown(qtbot, window, studied, swung, tmp_path):
    view = studied(swung)
    panel, bar = view.panel, window.statusBar()
    panel.sample.setValue(43)
    panel.color_box.setCurrentText("damping")
    shown, results, chart = panel.summary.text(), panel.results, panel.chart.kind
    damaged = tmp_path / "own.results"
    shutil.copytree(swung.with_suffix(".results"), damaged)
    (damaged / "study.json").write_text("{")
    view.open(str(damaged))
    wait(qtbot, lambda: bar.currentMessage().startswith("the study was not opened: "))
    assert "is damaged" in bar.currentMessage()
    assert (panel.results, panel.summary.text(), panel.sample.value()) == (results, shown, 43)
    assert panel.chart.kind is chart
    assert panel.export.isEnabled()
    view.open(str(swung))
    wait(qtbot, lambda: panel.results is not results)
    assert panel.title.text() == "Swung"


def test_runs_of_a_robot_that_is_missing_are_refused_and_charts_stay(studied, tmp_path):
    shutil.copy(engine.find_robot("double_pendulum"), tmp_path / "own.urdf")
    (tmp_path / "own.toml").write_text(SWUNG.replace('"double_pendulum"', '"own.urdf"'))
    engine.Study.read(tmp_path / "own.toml").run(tmp_path / "own.results", processes=0)
    (tmp_path / "own.urdf").unlink()
    panel = studied(tmp_path / "own.toml").panel
    assert panel.note.text().startswith("Runs cannot be shown: ")
    assert not panel.open_run.isEnabled()
    assert panel.chart.kind is not None


def test_a_controller_runs_once_it_is_allowed_to(qtbot, window, studied, tmp_path):
    mark = tmp_path / "mark"
    (tmp_path / "control.py").write_text(
        f"KP = 1.0\ndef control(t, q, v):\n    open({str(mark)!r}, 'w')\n    return -KP * q\n"
    )
    (tmp_path / "own.toml").write_text('controller = "control.py"\n' + SWUNG.replace("samples = 20", "samples = 2"))
    engine.Study.read(tmp_path / "own.toml").run(tmp_path / "own.results", processes=0)
    mark.unlink()
    view = studied(tmp_path / "own.toml")
    for button in ("Cancel", "Run it"):
        qtbot.mouseClick(view.panel.open_run, Qt.MouseButton.LeftButton)
        assert not mark.exists()
        (chosen,) = (each for each in view.question.buttons() if each.text().replace("&", "") == button)
        qtbot.mouseClick(chosen, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: "the same numbers" in window.statusBar().currentMessage())
    assert mark.exists()
    assert isinstance(view.question, QMessageBox)
    replay = window.workbench.replay
    wait(qtbot, lambda: replay.active)
    window.features[TimeView].branch.trigger()
    assert f"{tmp_path / 'control.py'} drove the joints" in window.statusBar().currentMessage()


def test_a_run_that_comes_to_other_numbers_is_told(qtbot, window, studied, swung, tmp_path):
    """This happens on another kind of processor."""
    folder = tmp_path / "s.results"
    shutil.copytree(swung.with_suffix(".results"), folder)
    for part in folder.glob("samples/part-*"):
        table = parquet.read_table(part)
        at = table.column_names.index("shoulder position")
        moved = [x if x is None else x + 1e-15 for x in table["shoulder position"].to_pylist()]
        parquet.write_table(table.set_column(at, "shoulder position", [moved]), part)
    assert json.loads((folder / "study.json").read_text())["about"]["folder"] == str(swung.parent)
    view = studied(folder)
    view.show_run(3)
    wait(qtbot, lambda: "other numbers" in window.statusBar().currentMessage())
    message = window.statusBar().currentMessage()
    assert message == "sample 3, other numbers than in the results: shoulder position"


def test_a_million_samples_are_drawn_in_a_moment(rng):
    """By the processor's time: pixels of dots and of lines."""
    x, y, value = rng.random((3, 10**6))
    value[:100] = np.nan
    began = time.process_time()
    dots = study_rasters.dots(x * 900, y * 300, value, (300, 900), 0)
    lines = study_rasters.lines(np.stack([x, y, value, x]), value, (300, 900))
    assert time.process_time() - began < 3.0
    assert (dots[..., 3] > 0).mean() > 0.9
    assert (lines[..., 3] > 0).mean() > 0.9


def test_dots_and_lines_are_where_their_numbers_are():
    picture = study_rasters.dots(np.array([10.0, 30.0]), np.array([5.0, 20.0]), np.array([0.0, np.nan]), (40, 60), 1)
    there = np.argwhere(picture[..., 3] > 0)
    assert len(there) == 10
    assert there.mean(0).tolist() == [12.5, 20.0]
    assert picture[20, 30].tolist() == [237, 51, 61, 255]
    both = study_rasters.lines(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0]), (50, 80))
    assert (both[0, :, 3] > 0).all()
    assert both[-1, 0, 3] > 0
    assert both[-1, 40, 3] == 0
    assert not (both[:, 40, 3] > 0)[30:].any()
