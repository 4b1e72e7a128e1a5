"""A study that runs in a process of its own, with its progress in the window."""

import re
import shutil

from PyQt6.QtCore import Qt
from test_study_view import SWUNG
from windows import wait

import engine
from app.features.study_view import StudyView


def test_a_study_is_run_watched_cancelled_and_continued_in_the_window(qtbot, window, tmp_path):
    window.resize(1000, 650)
    window.show()
    view, path = window.features[StudyView], tmp_path / "own.toml"
    path.write_text(SWUNG.replace("samples = 20", "samples = 400000"))
    window.open(path)
    wait(qtbot, lambda: view.panel.start.isVisible())
    assert view.panel.chart.isVisible(), "it says why there are no results"
    assert (view.panel.start.text(), view.panel.work.text()) == ("&Run study", "0 of 1,200,000 samples")
    wait(qtbot, lambda: view.panel.start.visibleRegion().boundingRect().height() == view.panel.start.height())
    qtbot.mouseClick(view.panel.start, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: view.panel.results is not None)
    wait(qtbot, lambda: re.fullmatch(r"Running: [1-9][\d,]* of 1,200,000 samples", view.panel.work.text()) is not None)
    assert view.panel.start.text() == "&Cancel study"
    qtbot.mouseClick(view.panel.start, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: "was cancelled" in window.statusBar().currentMessage())
    wait(qtbot, lambda: view.panel.start.isVisible() and view.panel.start.text() == "&Continue study")
    done = len(engine.Study.results(tmp_path / "own.results")["sample"])
    assert 0 < done < 1_200_000
    path.write_text(SWUNG.replace("samples = 20", "samples = 1"))
    shutil.rmtree(tmp_path / "own.results")
    view.panel.show_none("")
    window.open(path)
    wait(qtbot, lambda: view.panel.work.text() == "0 of 3 samples")
    qtbot.mouseClick(view.panel.start, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: view.panel.results is not None and not view.panel.work.isVisible())
    assert len(view.panel.results.columns["sample"]) == 3
