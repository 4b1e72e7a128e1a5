"""The compare panel, pressed as a user presses it."""

import csv
import io
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QColor, QImage
from PyQt6.QtWidgets import QApplication, QInputDialog, QListWidget
from windows import HEARD, answers, name_file, press, wait

import engine
from app import SWITCH_INTERVAL
from app.desktop import theme
from app.desktop.actions import algorithm_name
from app.features.compare_view import CompareView
from app.panels.bars import Finding, Heading
from app.panels.compare import LEFT_OUT, ComparePanel
from app.panels.compare_form import OVER_BATCH, OVER_LINKS, functions
from app.panels.growth import GrowthPlot, crossing_text
from app.window import Window

pytestmark = pytest.mark.usefixtures("two_processes")
TRIES = 5  # until two processes that other programs disturb agree on a time
OWN = """import engine

def wrong(model, q, v, tau):
    return 1.01 * engine.forward_dynamics(model, q, v, tau)

def failing(model, q, v, tau):
    return tau / missing

def hangs(model, q, v, tau):
    while True:
        pass

def slow(model, q, v, tau):
    return [engine.forward_dynamics(model, q, v, tau) for _ in range(25)][0]
"""
RESULT = engine.AlgorithmResult(
    model="arm", algorithm="abia", device="cpu", dtype="float64", batch=1, verdict="ok", reason="", residual=1e-15,
    first=0.1, turns=99, host=2e-6, host_interval=engine.Interval(1.9e-6, 2e-6, 2.2e-6), on_device=None,
    ratio=engine.Interval(1.0, 1.0, 1.0), level=True, winner=True,
)  # fmt: skip


@pytest.fixture
def panel(qtbot, opened) -> ComparePanel:
    """The panel in a window with a double pendulum, opened by its button; quick, and of one robot: the arm7."""
    window = opened()
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    wait(qtbot, window.feature(CompareView).panel.isVisible)
    window.feature(CompareView).panel.form.seconds.setValue(0.05)
    choose(qtbot, window.feature(CompareView).panel.form.robots, "arm7")
    return window.feature(CompareView).panel


@pytest.fixture
def own(tmp_path, monkeypatch) -> Callable[[str, str], Path]:
    """Write a user's file, and answer the dialogs for it and for its function."""

    def write(text: str, function: str) -> Path:
        path = tmp_path / "own.py"
        path.write_text(text, encoding="utf-8")
        name_file(monkeypatch, path)
        monkeypatch.setattr(QInputDialog, "getItem", lambda *_: (function, True))
        return path

    return write


def choose(qtbot, view: QListWidget, *names: str) -> None:
    """Open the list and click its boxes until just these are checked."""
    box = view.parent().parent()
    click(qtbot, box)
    wait(qtbot, view.isVisible)
    items = [view.item(row) for row in range(view.count())]
    names = tuple(algorithm_name(name) for name in names)
    assert {item.text() for item in items} >= set(names)
    for item in items:
        if (item.checkState() == Qt.CheckState.Checked) != (item.text() in names) and not item.isHidden():
            view.scrollToItem(item)
            place = view.visualItemRect(item)
            tick = QPoint(place.left() + 10, place.center().y())
            qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=tick)
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert not view.isVisible()


def chosen(view: QListWidget) -> list[str]:
    items = [view.item(row) for row in range(view.count())]
    return [item.text() for item in items if item.checkState() == Qt.CheckState.Checked]


def click(qtbot, button) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def start(qtbot, panel: ComparePanel) -> None:
    assert panel.start_button.isEnabled(), panel.start_button.toolTip()
    click(qtbot, panel.start_button)
    assert panel.comparing.running
    assert (panel.start_button.isVisible(), panel.stop_button.isVisible()) == (False, True)


def measure(qtbot, panel: ComparePanel) -> None:
    """Start, and wait for the end."""
    start(qtbot, panel)
    wait(qtbot, panel.start_button.isVisible)
    assert not panel.report.problem


def shown(panel: ComparePanel) -> dict[tuple[str, str], engine.AlgorithmResult]:
    return {(row.model, row.algorithm): row for row in panel.bars.table.rows if isinstance(row, engine.AlgorithmResult)}


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "comparison"]


def test_two_algorithms_on_two_robots_by_clicking(qtbot, panel, tmp_path, monkeypatch):
    form = panel.form
    choose(qtbot, form.robots, "arm7", "humanoid")
    choose(qtbot, form.algorithms, "abia", "jsiia")
    assert not panel.copy_action.isEnabled()
    measure(qtbot, panel)
    rows = shown(panel)
    assert list(rows) == [(robot, name) for robot in ("arm7", "humanoid") for name in ("abia", "jsiia")]
    assert all(row.verdict == "ok" and row.ratio and row.residual < 1e-11 for row in rows.values())
    assert sum(isinstance(row, Heading) for row in panel.bars.table.rows) == 2
    found = [row.text for row in panel.bars.table.rows if isinstance(row, Finding)]
    assert len(found) == 2
    assert all("on CPU" in text for text in found)
    assert not panel.findings.isVisible()  # of what went wrong
    assert panel.status.text() == "done"

    panel.copy_action.trigger()
    assert QApplication.clipboard().text() == panel.report.command
    assert panel.report.command.startswith("main.py compare arm7 humanoid --algorithm abia --algorithm jsiia ")

    name_file(monkeypatch, tmp_path / "times")
    panel.csv_action.trigger()
    table = list(csv.DictReader(io.StringIO((tmp_path / "times.csv").read_text("utf-8"))))
    assert [(line["model"], line["algorithm"]) for line in table] == list(rows)
    assert [float(line["host"]) for line in table] == [row.host for row in rows.values()]
    panel.picture_action.trigger()
    picture = QImage(str(tmp_path / "times.png"))
    for name in ("abia", "jsiia"):  # a bar, or a dot where the busy machine's intervals are wide
        assert count(picture, engine.algorithm_color(name)) > 20


def count(picture: QImage, color: str) -> int:
    """The pixels of a colour."""
    picture = picture.convertToFormat(QImage.Format.Format_RGB32)
    bits = np.frombuffer(picture.constBits().asstring(picture.sizeInBytes()), np.uint32)
    return int(np.sum(bits & 0xFFFFFF == QColor(color).rgb() & 0xFFFFFF))


def test_bars_fill_in_as_results_come(qtbot, panel):
    choose(qtbot, panel.form.robots, "arm7", "scara")
    choose(qtbot, panel.form.algorithms, "abia", "jsiia")
    panel.form.seconds.setValue(0.4)
    start(qtbot, panel)
    wait(qtbot, lambda: bool(shown(panel)) and shown(panel)["arm7", "abia"].host is not None)
    assert shown(panel)["scara", "abia"].verdict == "waiting"
    assert 0 < panel.progress.value() < 1000
    assert not panel.form.isEnabled()
    wait(qtbot, panel.start_button.isEnabled)
    assert shown(panel)["scara", "abia"].host is not None


def test_stop_keeps_what_was_measured(qtbot, panel):
    panel.form.seconds.setValue(60.0)
    choose(qtbot, panel.form.algorithms, "abia", "jsiia")
    start(qtbot, panel)
    wait(qtbot, lambda: any(row.ratio is not None for row in shown(panel).values()))
    begun = time.perf_counter()
    click(qtbot, panel.stop_button)
    panel.form.changed.emit()  # as when a robot is opened meanwhile
    assert not panel.stop_button.isEnabled()
    wait(qtbot, panel.start_button.isEnabled)
    assert time.perf_counter() - begun < HEARD
    assert panel.status.text().startswith("stopped")
    assert any(row.host is not None for row in shown(panel).values())
    assert panel.csv_action.isEnabled()
    measured = panel.report.found
    panel.form.seconds.setValue(0.05)
    measure(qtbot, panel)
    assert panel.report.found is not measured


def test_stop_ends_a_function_that_hangs(qtbot, panel, own, monkeypatch):
    monkeypatch.setattr("engine.bench.compare.comparison.LONG", 0.6)
    own(OWN, "hangs")
    click(qtbot, panel.form.own)
    own(OWN, "slow")
    click(qtbot, panel.form.own)
    choose(qtbot, panel.form.algorithms, "abia", "own.py:hangs", "own.py:slow")
    start(qtbot, panel)
    wait(qtbot, lambda: "own.py:hangs on CPU in float64 (2 of 3), " in panel.status.text())  # for a while now
    assert panel.status.fontMetrics().horizontalAdvance(panel.status.text()) < panel.status.contentsRect().width()
    begun = time.perf_counter()
    click(qtbot, panel.stop_button)
    wait(qtbot, panel.start_button.isEnabled)
    assert time.perf_counter() - begun < HEARD
    rows = shown(panel)
    assert rows["arm7", "abia"].verdict == "ok"
    assert rows["arm7", "own.py:hangs"].reason == "it was being prepared when all was stopped"
    assert panel.bars.table.rows[3].reason == LEFT_OUT, "no row says that it waits for its turn"
    choose(qtbot, panel.form.algorithms, "abia")
    measure(qtbot, panel)


def test_closing_the_window_during_a_comparison_leaves_no_thread(qtbot, panel):
    panel.form.seconds.setValue(60.0)
    start(qtbot, panel)
    wait(qtbot, lambda: bool(shown(panel)))
    assert threads()
    begun = time.perf_counter()
    panel.window().close()
    assert time.perf_counter() - begun < HEARD
    assert not threads()


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads hand the interpreter's lock over as often as in the application."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_the_window_and_the_simulation_answer_during_a_comparison(qtbot, panel):
    window: Window = panel.window()
    panel.form.seconds.setValue(60.0)
    choose(qtbot, panel.form.robots, "arm7", "humanoid")
    qtbot.keyClick(window, Qt.Key.Key_Space)
    start(qtbot, panel)
    wait(qtbot, lambda: any(row.host is not None for row in shown(panel).values()))
    begun = window.workbench.robot.time
    window.viewport.hide()  # without a graphics card, drawing takes the processor
    assert answers(qtbot, 100, 95)
    assert window.workbench.robot.playing
    assert window.workbench.robot.time > begun
    assert panel.comparing.running


def test_own_algorithms_wrong_failing_and_slow(qtbot, panel, own):
    for name in ("wrong", "failing", "slow"):
        own(OWN, name)
        click(qtbot, panel.form.own)
    click(qtbot, panel.form.own)  # once more adds nothing
    assert panel.form.algorithms.count() == len(engine.algorithms(engine.chain(1))) + 3
    choose(qtbot, panel.form.algorithms, "abia", "own.py:wrong", "own.py:failing", "own.py:slow")
    panel.form.seconds.setValue(0.4)  # so that two processes agree on a busy machine
    rows: dict[str, engine.AlgorithmResult] = {}
    for _ in range(TRIES):
        measure(qtbot, panel)
        rows = {name: row for (_, name), row in shown(panel).items()}
        assert {name: row.verdict for name, row in rows.items()} == {
            "abia": "ok", "own.py:wrong": "wrong", "own.py:failing": "failed", "own.py:slow": "ok",
        }  # fmt: skip
        if rows["abia"].winner:
            break
    assert rows["own.py:wrong"].host is None
    assert rows["abia"].winner
    assert rows["own.py:slow"].ratio.middle > 2
    assert "NameError" in panel.findings.text()
    assert "own.py, line 7" in panel.findings.text()
    picture = panel.bars.picture().toImage()
    assert count(picture, theme.COLORS["error"]) > 50


def test_a_file_that_is_no_python_is_told_with_its_line(qtbot, panel, own):
    own("import engine\n\ndef broken(model, q v):\n    return q\n", "")
    before = panel.form.algorithms.count()
    click(qtbot, panel.form.own)
    assert panel.form.algorithms.count() == before
    assert "own.py, line 3" in panel.findings.text()
    assert panel.status.text() == panel.findings.text(), "the cause is in the red line itself"
    assert panel.findings.isHidden()


def test_the_functions_of_a_file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN + "\ndef _helper():\n    pass\n", encoding="utf-8")
    assert functions(path) == ["wrong", "failing", "hangs", "slow"]
    path.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no function"):
        functions(path)


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


@pytest.mark.parametrize("part", ["robots", "algorithms"])
def test_nothing_chosen_is_nothing_to_start(qtbot, panel, part):
    choose(qtbot, getattr(panel.form, part))
    assert f"no {part}" in (panel.form.robot_box.text, panel.form.algorithm_box.text)
    assert not panel.start_button.isEnabled()
    assert part[:-1] in panel.start_button.toolTip()


def test_the_robot_in_the_window_is_offered(opened):
    window = opened(engine.chain(5))
    form = window.feature(CompareView).panel.form
    assert form.loaded.text() == "chain5 (shown)"
    opened(engine.find_robot("scara"))
    assert form.loaded.isHidden()
    assert chosen(form.robots) == ["scara", form.chain.text()]
    opened(engine.find_robot("arm6"))
    assert chosen(form.robots) == ["arm6", form.chain.text()]


def test_a_robot_ticked_by_hand_stays_so_when_another_is_shown(qtbot, panel, opened):
    choose(qtbot, panel.form.robots, "arm7", "scara")
    for name in ("scara", "arm6"):
        opened(engine.find_robot(name))
    assert set(chosen(panel.form.robots)) >= {"scara", "arm6"}


def test_a_click_on_a_name_checks_it_too(qtbot, panel):
    view = panel.form.robots
    click(qtbot, panel.form.robot_box)
    wait(qtbot, view.isVisible)
    item = next(view.item(row) for row in range(view.count()) if view.item(row).text() == "humanoid")
    view.scrollToItem(item)
    place = view.visualItemRect(item)
    for checked in (True, False):
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place.left() + 40, place.center().y()))
        assert ("humanoid" in chosen(view)) == checked
        assert ("humanoid" in panel.form.robot_box.text) == checked


def test_a_complaint_goes_once_what_it_was_about_is_over(qtbot, panel, own, tmp_path, monkeypatch):
    choose(qtbot, panel.form.algorithms, "abia")
    measure(qtbot, panel)
    assert panel.findings.text() == ""
    messages = []
    panel.message.connect(messages.append)
    name_file(monkeypatch, tmp_path / "nowhere" / "times.csv")
    panel.csv_action.trigger()
    assert "was not written" in panel.findings.text()
    assert messages == []
    name_file(monkeypatch, tmp_path / "times.csv")
    panel.csv_action.trigger()
    assert panel.findings.text() == ""
    assert messages == [f"Written: {tmp_path / 'times.csv'}"]
    own("x = 1", "")
    click(qtbot, panel.form.own)
    assert "has no function" in panel.findings.text()
    own(OWN, "slow")
    click(qtbot, panel.form.own)
    assert (panel.findings.text(), panel.status.text()) == ("", "done")


def test_the_slider_gives_powers_of_two_and_of_ten_and_numbers_of_two_digits(panel):
    form = panel.form
    lengths = []
    for place in range(form.links.minimum(), form.links.maximum() + 1):
        form.links.setValue(place)
        lengths.append(form.chain_length)
    assert {1 << power for power in range(13)} <= set(lengths)
    assert {10, 100, 150, 200, 1000} <= set(lengths)
    assert lengths == sorted(lengths)
