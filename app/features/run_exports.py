"""The File menu's entries that export runs, images and videos; also plays opened runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PyQt6.QtCore import QTimer
from PyQt6.QtGui import QCloseEvent
from PyQt6.QtWidgets import QDialog, QMenu, QMessageBox

import engine
from app.desktop.actions import MESSAGE, NO_RUN, make_action, offer
from app.desktop.dialogs import ask, ask_path, file_name
from app.features.picture_exports import BUSY, PictureExports
from app.features.time_view import TimeView
from app.features.window_type import Window
from app.jobs.background import Background
from app.panels.run_dialog import RunDialog
from app.reasons import reason
from app.recording import run_files

if TYPE_CHECKING:
    from app.simulation.messages import Loaded, Snapshot

POLL_INTERVAL = 50  # ms between two checks of the export's progress
WRITING = 30.0  # s, at most, to wait on closing for a file being written
WAIT = " &when it is done"  # ends the button of a question that has an export end first
NUMBER = 8  # bytes
ACTS = QMessageBox.ButtonRole.AcceptRole


class _Stopped(Exception):
    """Raised when the user cancels the export."""


@dataclass(frozen=True)
class Written:
    """The progress or result of an export."""

    message: str
    over: bool = True


class RunExports:
    """Exports the timeline's run in a thread, and plays opened runs."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        make = partial(make_action, window)
        self.trajectory = make(
            "Run as &trajectory (.npz)…", partial(self._ask, "npz"), "Ctrl+E",
            tip="The run on the timeline, with efforts and external wrenches; opens in Catena and in NumPy",
        )  # fmt: skip
        self.table = make(
            "Run as ta&ble (.csv)…",
            partial(self._ask, "csv"),
            tip="Positions, velocities and efforts of all joints, external wrenches",
        )
        self.menu = QMenu("&Export", window, toolTipsVisible=True)
        self.pictures = PictureExports(window, self)
        self.stop = make("&Stop exporting", self._stop, tip="Cancel the export that is running")
        self.menu.addActions([self.pictures.picture, self.pictures.film, self.trajectory, self.table])
        self.menu.addSeparator()
        self.menu.addAction(self.stop)
        self._finish: Callable[[], None] = lambda: None
        self._stoppable = self._given_up = False
        self.question: QMessageBox | None = None
        self._then: Callable[[], object] | None = None  # what quits or replaces the robot once the export is done
        window.files.hold_back = self._hold_back_opening
        window.menus.file.put(self.menu, apart=True)
        self.writing: Background[Written] = Background(
            "export", lambda problem: Written(f"nothing was written: {problem}")
        )
        self._saving: Background[Written] = Background(
            "session", lambda problem: Written(f"the session is without its recording: {problem}")
        )
        self._timer = QTimer(window, timeout=self._poll)
        window.refreshed.connect(self._refresh)
        window.framed.connect(self._follow)
        window.loaded.connect(self._play_opened)
        window.asked_to_close.connect(self._hold_back)
        window.closing.connect(self._close)

    def _refresh(self) -> None:
        run = self._bench.replay.chosen
        there = run is not None and len(run) > 1
        for action in (self.trajectory, self.table):
            offer(action, (not self.writing.running, BUSY), (there, NO_RUN))
        offer(self.stop, (self.writing.running and self._stoppable, "no export is running that can be stopped"))
        self.pictures.refresh(self.writing.running)

    def _follow(self, _: Snapshot) -> None:
        """Enable the export of a run that has just begun."""
        if not self.trajectory.isEnabled():
            self._refresh()

    def _ask(self, kind: str) -> None:
        name = file_name(self._bench.robot.model.name, f".{kind}")
        filters = {"npz": "Trajectories (*.npz)", "csv": "Tables (*.csv)"}[kind]
        replay, run = self._bench.replay, self._bench.replay.chosen
        title = f"Export {run_files.identify(run, replay.runs)}"
        (begin, end), setup = replay.recording.span(run), replay.recording.frame(run, run.last).setup
        first = engine.first_resampled(replay.recording, run)
        start, rows = replay.recording.frame(run, first).time, run.last - first + 1
        loop = loop if (loop := replay.loop_of(run)) is not None and loop[1] > start else None
        robots, sampled = setup.settings.batch, replay.recording.is_sampled(run) or setup.watched
        one = f"A table holds one robot: robot {replay.robot} of {robots}. A trajectory (.npz) holds all."
        notes = {"csv": one, "npz": f"All {robots} robots are written."} if robots > 1 else {}
        (newest,) = replay.recording.stored(run, run.last, 1)
        row_size = newest.bytes + NUMBER * robots * setup.model.nv  # with the efforts
        dialog = RunDialog(
            self._window, title, end - start, setup.settings.dt, rows, max(start - begin, 0.0), loop, sampled,
            notes.get(kind, ""), row_size if kind == "npz" else 0,
        )  # fmt: skip
        if dialog.exec() == QDialog.DialogCode.Accepted and (
            path := ask_path(self._window, title, name, filters, kind)
        ):
            self.write(path, kind, dialog.seconds, dialog.span)
        dialog.deleteLater()

    def write(
        self, path: str, kind: str, interval: float | None = None, span: tuple[float, float] | None = None
    ) -> None:
        """Write the current run as "npz" or "csv", whatever the file's name; `interval` and `span` as for `writer`."""
        if self._bench.replay.chosen is not None and not self.writing.running:
            work = self.writer(path, kind, interval, span)
            self.begin(work, f"writing {Path(path).name} …", stoppable=interval is not None)

    def writer(
        self, path: str, kind: str, interval: float | None = None, span: tuple[float, float] | None = None
    ) -> Callable[[threading.Event], str]:
        """Return a function that writes the current run in a thread, and returns a message on the result.

        `interval`: between rows, s; 0 for each step, None for the frames as recorded, of which none is left out;
        `span`: of the times that are written, s; None for all.
        """
        bench, recording, run = self._bench, self._bench.replay.recording, self._bench.replay.chosen
        model = bench.robot.model
        robot, floating, folders = bench.path, bench.robot.floating, bench.opening.package_dirs
        seen = self._window.feature(TimeView).keyframes.seen_in(run)
        first, end = recording.span(run) if span is None else span
        named = [[run.number, each.frame.time, each.name] for each in seen if first <= each.frame.time <= end]
        selected, which = bench.replay.robot, run_files.identify(run, bench.replay.runs)
        reported = run_files.lasting(model, robot) | ({run_files.KEYFRAMES: named} if named else {})
        reported |= run_files.controllers(bench.controllers_of(run))
        name = Path(path).name

        def write(stop: threading.Event) -> str:
            engine.require_place(path)

            def report_time(time: float) -> None:
                if stop.is_set():
                    raise _Stopped
                self.report_progress(f"{name}: {min(time, end):.1f} of {end:.1f} s")

            rows, source, effort = recording, run, None
            if interval is not None:
                try:
                    rows, source, effort = engine.resample(recording, run, interval or None, report_time, span)
                except _Stopped:
                    return f"stopped: {name} was not written"
            self.report_progress(f"{name}: all rows are computed, and the file is being written …")
            setup = rows.frame(source, source.last).setup
            whose = ""
            if kind == "csv":
                robots = setup.settings.batch
                whose = f"robot {selected} of {robots}, " if robots > 1 else ""
                written = engine.recorded_trajectory(rows, source, effort)
                engine.save_csv(path, setup.model, written, selected)
            else:
                facts = run_files.facts(setup, robot, floating, folders) | reported
                written = engine.save_run(path, rows, source, facts, run_files.describe, effort)
            states = bench.inputs.second_robot_during(run, first, end)
            also = f"; the second robot to {run_files.save_second_robot(path, states)}" if states else ""
            return f"{len(written.time)} rows written to {name}: {whose}{which}, {run_files.extent(run, written)}{also}"

        def work(stop: threading.Event) -> str:
            try:
                return write(stop)
            except OSError as error:
                if error.strerror is None:
                    raise  # with a sentence of its own
                folder = Path(path).absolute().parent
                reported = (
                    f"{name} cannot be written to {folder}: {error.strerror}; choose another folder, or free space"
                )
                raise OSError(reported) from error

        return work

    def begin(
        self,
        work: Callable[[threading.Event], str],
        message: str,
        finish: Callable[[], None] = lambda: None,
        stoppable: bool = False,
    ) -> None:
        """Run `work` in a thread, then `finish` here; show the message that `work` returns.

        With `stoppable`, `work` checks the event that it is passed.
        """

        def attempt(stop: threading.Event) -> Written:
            try:
                return Written(work(stop))
            except (OSError, RuntimeError, ValueError, MemoryError, IndexError, ArithmeticError) as error:
                return Written(f"nothing was written: {reason(error)}")

        self._finish, self._stoppable = finish, stoppable
        self.writing.run(attempt)
        self._window.statusBar().showMessage(message)
        self._timer.start(POLL_INTERVAL)
        self._refresh()

    def require_turn(self) -> None:
        """Raise OSError while another recording is being written, beside which `save` writes none."""
        if self._saving.running or (self.writing.running and not self._stoppable):
            raise OSError("another file is being written; save the session when it is done")

    def save(self, work: Callable[[threading.Event], str], message: str) -> None:
        """Run `work` as `begin` does, also beside an export that takes long."""
        if not self.writing.running:
            self.begin(work, message)
            return
        self._saving.run(lambda stop: Written(work(stop)))
        self._window.statusBar().showMessage(message, MESSAGE)

    def report_progress(self, message: str) -> None:
        """Report progress from the export's thread."""
        self.writing.publish(Written(message, over=False))

    def _stop(self) -> None:
        self.writing.stop()

    def _hold_back(self, event: QCloseEvent) -> None:
        """Ask before closing discards a long export."""
        if not (self.writing.running and self._stoppable) or self._given_up:
            return
        event.ignore()
        if self.question is None or not self.question.isVisible():
            text = "An export is running. Quit and discard it?"
            self._ask_whether("Quit", text, self._window.close, {"&Discard and quit": self._give_up})

    def _hold_back_opening(self, opens: Callable[[], None], doing: str) -> bool:
        """Ask before `opens`, which replaces the robot, discards a video; return whether that is the case."""
        if not self.pictures.needs_robot:
            return False

        def discard() -> None:
            self.writing.stop()
            opens()

        if self.question is not None:
            self.question.close()
        text = f"A video is being exported. {doing} and discard it?"
        self._ask_whether(doing.partition(" ")[0], text, opens, {"&Discard the video": discard})
        return True

    def _ask_whether(
        self, verb: str, text: str, act: Callable[[], object], discard: dict[str, Callable[[], None]]
    ) -> None:
        """Ask whether to act once the export is done, or at once without its file."""

        def wait() -> None:
            if self.writing.running:
                self._then = act
            else:  # the export ended while the question stood open
                act()

        waiting = f"{verb}{WAIT}"
        self.question = ask(self._window, text, {waiting: wait} | discard, default=waiting)

    def _update_question(self, result: str) -> None:
        """Say in an open question that the export has ended: there is nothing left to wait for or to discard."""
        if (question := self.question) is None or not question.isVisible():
            return
        question.setText(f"The export has ended: {result}.")
        wait, *others = [each for each in question.buttons() if question.buttonRole(each) == ACTS]
        wait.setText(wait.text().replace(WAIT, ""))
        for button in others:
            question.removeButton(button)

    def _give_up(self) -> None:
        self._given_up = True
        self._window.close()

    def _close(self) -> None:
        """On closing, finish the file of a run, but cancel a video, which takes long.

        Wait for the thread in either case: drawing while the program exits would crash it.
        """
        self.writing.close(patience=WRITING)
        self._saving.close(patience=WRITING)

    def _poll(self) -> None:
        bar = self._window.bar
        if (saved := self._saving.poll()) is not None:
            bar.showMessage(saved.message, MESSAGE)
        if not (self.writing.running or self._saving.running):
            self._timer.stop()
        if (report := self.writing.poll()) is None:
            return
        if not report.over:
            bar.show_progress(report.message)
        else:
            bar.showMessage(report.message, MESSAGE)
            self._finish()
            self._refresh()
            self._update_question(report.message)
            then, self._then = self._then, None
            if then is not None:
                then()

    def _play_opened(self, event: Loaded) -> None:
        """Play a run opened from a file; show saved or growing runs at their end."""
        replay = self._bench.replay
        if replay.opened:
            run = replay.runs[-1]
            if event.path.endswith(run_files.KEPT_SUFFIX) or run_files.is_live(event.path):
                replay.show(run.last, run)
            else:
                replay.show(run.first, run)
                replay.toggle()
            self._window.refresh()
