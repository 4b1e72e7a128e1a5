"""Helpers of the window's tests: waiting, pressing, and measuring delays."""

import queue
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from PyQt6.QtCore import QPointF, Qt, QTimer
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QAbstractSpinBox, QApplication, QDialog, QFileDialog, QLabel, QLineEdit

import engine
from app.features.attaching import LessonView, Status, TimeView
from app.features.autosaved_runs import AutosavedRuns
from app.panels import joint_sliders
from app.panels.joints import JointPanel
from app.panels.lesson import LessonPanel
from app.panels.run_dialog import INTERVAL, RunDialog
from app.picture.screens import CardScreen, ProcessorScreen, Screen
from app.picture.viewport import Viewport
from app.simulation.running import Running
from app.window import Window
from app.workbench import Workbench
from engine.urdf.srdf import find_srdf

PATIENCE = 60_000  # ms, for the first compilation of the engine
ANSWER = 0.050  # s within which the window responds
LOOKS = 40  # at whether it does: other programs may take the processor
HEARD = 20.0  # s within which what would continue for a minute or for ever has ended


def wait(qtbot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=PATIENCE)


def wait_loaded(qtbot, window: Window) -> None:
    wait(qtbot, lambda: not window.workbench.opening.loading and window.feature(Status).loading_label.text() == "")


def started(make_window: Callable[[], Window], folder: Path) -> Window:
    """The program's window once more, which keeps its runs where the others did."""
    window = make_window()
    window.kept = AutosavedRuns(window, folder)
    return window


def screen_of(viewport: Viewport) -> Screen:
    """What shows the viewport's frames."""
    return viewport.findChild((CardScreen, ProcessorScreen))


def in_simulation(bench: Workbench, look: Callable[[Running], Any]) -> Any:
    """What `look` returns in the simulation's thread, which has obeyed all that was asked of it before."""
    found: queue.Queue[Any] = queue.Queue()
    bench.probe.change(lambda running: found.put(look(running)))
    return found.get(timeout=PATIENCE / 1000)


def shown_time(window: Window) -> str:
    """Return the displayed time with its unit, without the end of the recording beside it."""
    return f"{window.features[TimeView].bar.time.text().split()[0]} s"


def slider_position(panel: JointPanel, row: int, value: float) -> QPointF:
    """The handle's position in the viewport for a row's value, rad or m."""
    groove = joint_sliders.groove_of(panel.visualRect(panel.table.index(row, joint_sliders.SLIDER)))
    return QPointF(joint_sliders.handle_place(panel.table.rows[row], value, groove), groove.center().y())


@contextmanager
def case(*words: object) -> Iterator[None]:
    """Name one of several cases of a test, which share its window, in what fails there."""
    try:
        yield
    except Exception as fault:
        fault.add_note(f"case: {', '.join(map(str, words))}")
        raise


def press(qtbot, window: Window, action) -> None:
    """Click the toolbar's button of an action."""
    button = window.toolbar.widgetForAction(action)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def play_for(qtbot, window: Window, seconds: float) -> None:
    """Play for that many simulated seconds, then pause."""
    until = window.workbench.robot.time + seconds
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: window.workbench.robot.time >= until)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: not window.workbench.robot.playing)


def settle(qtbot, window: Window) -> None:
    """Until the pause is obeyed, and the last frame shown."""
    in_simulation(window.workbench, lambda _: None)
    wait(qtbot, lambda: present(window) == window.workbench.robot.time)


def present(window: Window) -> float:
    """The time of the last frame of the newest run, s."""
    recording = window.workbench.replay.recording
    return recording.span(recording.runs[-1])[1]


def frames_of(recording: engine.Recording, run: engine.Run) -> list[engine.RecordedFrame]:
    """All frames of a run."""
    return [recording.frame(run, index) for index in range(run.first, run.last + 1)]


def second_state(window: Window):
    """The second robot's state, once the pause is obeyed."""
    return window.workbench.robot.newest.second_robot


def boxed(path: Path, folder: Path) -> Path:
    """Copy a robot's file, with small boxes in place of its meshes, and its SRDF."""
    text, copy = path.read_text("utf-8"), folder / path.name
    copy.write_text(re.sub(r"<mesh\b[^>]*/>", '<box size="0.05 0.05 0.05"/>', text), "utf-8")
    if (srdf := find_srdf(path, ElementTree.fromstring(text).get("name", ""))) is not None:
        shutil.copy(srdf, folder)
    return copy


def show_lesson(qtbot, view: LessonView, name: str, step: int = 0) -> LessonPanel:
    """Show a lesson in place of another one."""
    if view.panel.lesson.name != name:
        view.open(name, step)
        wait(qtbot, lambda: view.panel.lesson.name == name)
    return view.panel


def type_in(qtbot, box, value: object) -> None:
    """Type a value in place of the one in the box."""
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, str(value))
    qtbot.keyClick(box, Qt.Key.Key_Return)


def name_file(monkeypatch, path: Path) -> None:
    """Enter that name in every file dialog, for reading or writing."""

    def exec_(dialog: QFileDialog) -> int:
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
        dialog.findChild(QLineEdit, "fileNameEdit").setText(str(path))
        return QFileDialog.DialogCode.Accepted

    monkeypatch.setattr(QFileDialog, "exec", exec_)


@contextmanager
def number_typed(value: object) -> Iterator[list[str]]:
    """Type a value and Return into every dialog that opens for a number; yield the questions of those dialogs."""
    requested: list[str] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if dialog is not None and (box := dialog.findChild(QAbstractSpinBox)) is not None:
            requested.append(dialog.findChild(QLabel).text())
            QTest.keyClicks(box, str(value))  # in place of the number, which is selected
            QTest.keyClick(box, Qt.Key.Key_Return)

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(20)
    yield requested
    timer.stop()


def choose_rows(monkeypatch, choice: int, interval: float = 10.0) -> None:
    """Answer the dialog for the times of an exported run: `interval` in ms."""

    def exec_(dialog: RunDialog) -> int:
        if choice == INTERVAL:
            dialog.interval.setValue(interval)
        dialog.choices.button(choice).click()
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(RunDialog, "exec", exec_)


def answers(qtbot, count: int, percent: float) -> bool:
    """Whether in one of several looks that share of `count` waits is shorter than `ANSWER`; see `gaps`."""
    return any(np.percentile(gaps(qtbot, count), percent) < ANSWER for _ in range(LOOKS))


def gaps(qtbot, count: int) -> np.ndarray:
    """(count,): the delays of a timer of 2 ms in the event loop, s."""
    beats: list[float] = []
    timer = QTimer()
    timer.timeout.connect(lambda: beats.append(time.perf_counter()))
    timer.start(2)
    wait(qtbot, lambda: len(beats) > count)
    timer.stop()
    return np.diff(beats)
