"""Export images of the view and videos of the run, in any size, with the overlays."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QDialog

import engine
from app.desktop.actions import MESSAGE, NO_ROBOT, NO_RUN, make_action, offer
from app.desktop.dialogs import ask_path, file_name
from app.features.batch_view import BatchView
from app.features.window_type import Window
from app.gl.view import View
from app.panels.picture_dialogs import FilmDialog, FilmOrder, PictureDialog
from app.picture.studio import MAX_SIZE, Studio, encode, save_picture, times, why_no_film
from app.recording.replay import snapshot

if TYPE_CHECKING:
    from app.features.run_exports import RunExports

BUSY = "an export is running"
AHEAD = 3  # views queued for the thread
FEED = 5  # ms between two views
WAIT = 0.1  # s between two checks by the thread for a stop request


class _Stopped(Exception):
    """Raised when the user cancels the export."""


class PictureExports:
    """The entries of File › Export for images and videos; `exports` writes one file at a time, of any kind."""

    def __init__(self, window: Window, exports: RunExports):
        self._window, self._bench, self._exports = window, window.workbench, exports
        make = partial(make_action, window)
        self.picture = make("&Picture (.png)…", self._ask_picture, "Ctrl+P", tip="The current view, in any size")
        self.film = make("&Video of the run (.mp4)…", self._ask_film, tip="The run, seen from the current camera")
        self._views: queue.Queue[View | None] = queue.Queue(AHEAD)
        self._remaining: Iterator[View] = iter(())
        self._feeder = QTimer(window, timeout=self._feed)
        window.loaded.connect(self._stop_feeding)

    @property
    def needs_robot(self) -> bool:
        """Whether a video has frames left that only the robot that is open can be drawn in."""
        return self._feeder.isActive()

    def refresh(self, busy: bool) -> None:
        """Enable the actions that are available."""
        run = self._bench.replay.chosen
        offer(self.picture, (self._bench.robot.model is not None, NO_ROBOT), (not busy, BUSY))
        offer(self.film, (not busy, BUSY), (run is not None and len(run) > 1, NO_RUN))

    # Images.

    def _ask_picture(self) -> None:
        dialog = PictureDialog(self._window, self._shown_size(), MAX_SIZE)
        if dialog.exec() == QDialog.DialogCode.Accepted and (path := self._ask_path("png", "Pictures (*.png)")):
            self.save_picture(path, dialog.choice.size_asked, dialog.transparent.isChecked())
        dialog.deleteLater()

    def save_picture(self, path: str, size: tuple[int, int], transparent: bool) -> None:
        """Write the current view as PNG."""
        view = self._window.viewport.view_of(size, batch=self._window.feature(BatchView).pictured)
        studio = Studio(self._window.viewport.font())

        def work(_: threading.Event) -> str:
            with studio.open(), engine.replacing(path) as file:
                save_picture(file, studio.draw(view, transparent), transparent)
            return f"{size[0]} × {size[1]} pixels written to {_written(path, '.png', 'a PNG image')}"

        self._exports.begin(work, f"rendering {Path(path).name} …", studio.close)

    # Videos.

    def _ask_film(self) -> None:
        if (reason := why_no_film()) is not None:
            self._window.statusBar().showMessage(reason, MESSAGE)
            return
        replay, run = self._bench.replay, self._bench.replay.chosen
        span = replay.recording.span(run)
        loop = loop if (loop := replay.loop_of(run)) is not None and loop[1] > span[0] else None
        dialog = FilmDialog(self._window, self._shown_size(), MAX_SIZE, span, loop)
        if dialog.exec() == QDialog.DialogCode.Accepted and (path := self._ask_path("mp4", "Videos (*.mp4)")):
            self.save_film(path, dialog.order)
        dialog.deleteLater()

    def save_film(self, path: str, order: FilmOrder) -> None:
        """Write the timeline's run as MP4; views are made here, a few at a time, and drawn in a thread."""
        run = self._bench.replay.chosen
        if run is None:
            return
        frame_times = times(order.start, order.end, order.rate, order.speed)
        studio, views = Studio(self._window.viewport.font()), queue.Queue[View | None](AHEAD)
        self._views, self._remaining = views, self.views_of(run, frame_times, order.size)
        name = Path(path).name

        def work(stop: threading.Event) -> str:
            def report_progress(count: int) -> None:
                self._exports.report_progress(f"{name}: {count} of {len(frame_times)} frames")

            try:
                with studio.open(), engine.replacing(path) as file:
                    count = encode(file, _pictures(studio, views, stop), order.rate, report_progress)
            except _Stopped:
                return f"stopped: {name} was not written"
            return f"{count} frames written to {_written(path, '.mp4', 'an MP4 video')}"

        self._exports.begin(work, f"rendering {name} …", studio.close, stoppable=True)
        self._feeder.start(FEED)

    def views_of(self, run: engine.Run, frame_times: NDArray[np.float64], size: tuple[int, int]) -> Iterator[View]:
        """Yield the views at these times, s, all seen as now, whatever is changed on the screen meanwhile."""
        recording, robot = self._bench.replay.recording, self._bench.replay.robot
        shot, batch_of = self._window.viewport.shot.still(), self._window.feature(BatchView).still
        last, view = -1, None
        for frame_time in frame_times:
            index = recording.at(run, float(frame_time))
            if index != last or view is None:
                frame = snapshot(recording.frame(run, index), robot)
                last, view = index, shot.view_of(frame, size, batch_of(frame))
            yield view

    def _feed(self) -> None:
        """Give the thread its next view, if the queue has room; None after the last."""
        if not self._exports.writing.running:
            self._feeder.stop()
        elif not self._views.full() and self._window.viewport.reading is None:  # else links would lack their meshes
            try:
                view = next(self._remaining, None)
            except Exception:  # the video is incomplete
                self._stop_feeding()
                raise
            self._views.put(view)
            if view is None:
                self._feeder.stop()

    def _stop_feeding(self, *_: object) -> None:
        """Cancel a video with views still to be made: they would show another scene."""
        if self._feeder.isActive():
            self._feeder.stop()
            self._exports.writing.stop()

    def _shown_size(self) -> tuple[int, int]:
        viewport = self._window.viewport
        ratio = viewport.devicePixelRatioF()
        return round(viewport.width() * ratio), round(viewport.height() * ratio)

    def _ask_path(self, suffix: str, kinds: str) -> str:
        name = file_name(self._bench.robot.model.name, f".{suffix}")
        return ask_path(self._window, "Export", name, kinds, suffix)


def _written(path: str, ending: str, kind: str) -> str:
    """Return a file's name; where it does not end as its kind does, by which programs open it, say so."""
    name = Path(path).name
    return name if name.lower().endswith(ending) else f"{name}, which is {kind}: other programs expect {ending}"


def _pictures(studio: Studio, views: queue.Queue[View | None], stop: threading.Event) -> Iterator[NDArray[np.uint8]]:
    """Yield the drawn views of the queue; repeated views are drawn once."""
    drawn: tuple[View, NDArray[np.uint8]] | None = None

    def check_stop() -> None:
        if stop.is_set():
            raise _Stopped

    while True:
        check_stop()
        try:
            view = views.get(timeout=WAIT)
        except queue.Empty:
            continue
        if view is None:
            return
        if drawn is None or drawn[0] is not view:
            drawn = view, studio.draw(view, after_piece=check_stop)
        yield drawn[1]
