"""Time in the window: the timeline, its actions, keyframes and branches."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from PyQt6.QtCore import QPoint, QSize, Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QMenu, QToolButton, QWidget

from app.desktop import theme, type_scale
from app.desktop.actions import MESSAGE, NO_ROBOT, NO_RUN, UNDRIVEN, make_action, offer
from app.desktop.context_menus import TIME, Clicked
from app.desktop.dialogs import ask_number
from app.desktop.layouts import NO_MARGINS, vertical
from app.desktop.menus import TopMenu
from app.desktop.settings import setting
from app.features.keyframes import Keyframe, Keyframes
from app.features.looping import Looping
from app.features.window_type import Window
from app.panels.number_box import WholeBox
from app.panels.timeline import Timeline
from app.recording.replay import run_name
from app.simulation.messages import Snapshot

REFRESH = 0.1  # s between two updates while the recording grows
SKIP = 1.0  # s
PICK_DISTANCE = 7  # px, from a keyframe's mark on the timeline
AT_END = "the last frame is shown"
BUDGETS, DEFAULT_BUDGET = (16, 65536), 512  # MB
FULL = "the recording has {} MB, its limit: the oldest frames are dropped; Time › Recording limit changes it"
KEEPS = "; those with a keyframe stay in Time › Keyframes"


class TimeView:
    """Shows the workbench's `Replay` on the timeline, and seeks in it."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self._replay = window.workbench.replay
        self._settings, self._due, self._played, self._full = window.settings, 0.0, False, False
        self._replay.recording.budget = max(setting(self._settings, "recording_megabytes", DEFAULT_BUDGET), 1) * 2**20
        self._make_actions()
        self.keyframes = Keyframes(
            window, lambda: self._replay.runs, self._jump, self._start_from, self._store_keyframes
        )
        self.keyframe_button = QToolButton()
        self.keyframe_button.setText("Keyframes")
        self.keyframe_button.setIcon(theme.icon("keyframe"))
        self.keyframe_button.setIconSize(QSize(type_scale.scaled(18), type_scale.scaled(18)))
        self.keyframe_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.keyframe_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.keyframe_button.setAutoRaise(True)
        self.keyframe_button.setToolTip("Named frames: go to one, or continue from it")
        self.keyframe_button.setMenu(self.keyframes)
        moves = (self.first, self.back, self.play, self.forward, self.last)
        self.bar = Timeline(moves, (self.branch, self.keyframe_button))
        self.bar.track.seek_requested.connect(self._seek)
        self.bar.run_chosen.connect(self._choose_run)
        self.loop = Looping(window, self.bar.track)
        self._place()
        self._make_menu()
        window.framed.connect(self._show)
        window.refreshed.connect(self._refresh)
        window.loaded.connect(lambda _: self.keyframes.restore(self._replay.recording, self._bench.named))
        window.menus.context.watch(self.bar.track, self._time_at)
        window.menus.context.offer("first", self._put_entries, TIME)

    def _make_actions(self) -> None:
        make, key = partial(make_action, self._window), Qt.Key
        self.first = make(
            "&Go to start", partial(self._to_end, False), key.Key_Home, icon="first", tip="The first frame"
        )
        self.back = make("&Back", partial(self._move, -1), key.Key_Left, icon="back", tip="One frame back")
        self.forward = make("&Forward", partial(self._move, 1), icon="forward", tip="One frame forward (→)")
        self.play = make("&Play back", self._toggle, icon="playback", tip="Play the recording, or pause")
        self.last = make(
            "Go to &end", partial(self._to_end, True), key.Key_End, icon="last", tip="Return to the live simulation"
        )
        self._live_tip = self.last.toolTip()
        self.branch = make(
            "B&ranch here", self._branch, "Ctrl+B", icon="branch",
            tip="Continue the simulation from this frame, as a new run",
        )  # fmt: skip
        self.keyframe = make("Add &keyframe", self._add_keyframe, key.Key_K, icon="keyframe", tip="Name this frame")
        self.skips = (
            make("Back 1 s", partial(self._skip, -SKIP), "Shift+Left"),
            make("Forward 1 s", partial(self._skip, SKIP), "Shift+Right"),
        )
        self.jumps = (
            make("Previous keyframe", partial(self._jump_on, False), "Ctrl+Left"),
            make("Next keyframe", partial(self._jump_on, True), "Ctrl+Right"),
        )
        self.memory = make("&Recording limit…", self._ask_budget)

    def _place(self) -> None:
        """Put the timeline below the viewport."""
        middle = QWidget()
        vertical((self._window.viewport, 1), self.bar, of=middle, margins=NO_MARGINS, spacing=0)
        middle.setFocusProxy(self._window.viewport)
        self._window.setCentralWidget(middle)

    def _make_menu(self) -> None:
        menu = self.menu = TopMenu("&Time", self._window)
        bar = self._window.menuBar()
        bar.insertMenu(self._window.menus.view.menuAction(), menu)
        menu.put(self.play, self.first, self.back, self.forward, self.last)
        menu.put(*self.skips, apart=True)
        menu.put(*self.loop.actions, apart=True)
        menu.put(self.branch, apart=True)
        menu.put(self.keyframe, self.keyframes, *self.jumps, apart=True)
        menu.put(self.memory, apart=True)

    def _time_at(self, at: QPoint) -> Clicked | None:
        if (run := self._replay.chosen) is None or len(run) < 2:
            return None
        seconds = self.bar.track.seconds(at.x())
        return Clicked(TIME, f"{seconds:.3f} s", seconds=seconds)

    def _put_entries(self, menu: QMenu, clicked: Clicked) -> None:
        track, seconds = self.bar.track, clicked.seconds
        for each in self.keyframes.seen_in(self._replay.chosen):
            if abs(track.place(each.frame.time) - track.place(seconds)) <= PICK_DISTANCE:
                self.keyframes.put_entries(menu.addMenu(each.name.replace("&", "&&")), each)
        menu.addAction("&Show this frame", lambda: self._seek(seconds))
        for action in (self.branch, self.keyframe, self.loop.start, self.loop.end):
            menu.addAction(action.text(), lambda: self._seek(seconds)).triggered.connect(action.trigger)
        menu.addAction("&Copy time", lambda: QGuiApplication.clipboard().setText(f"{seconds:.6g}"))

    # User input.

    def _seek(self, seconds: float) -> None:
        shown = self._replay.active, self._replay.playing
        self._bench.pause_for_replay()
        self._replay.playing = False
        self._replay.seek(seconds)
        if shown == (True, False):  # while the handle is dragged
            self._refresh()
        else:
            self._window.refresh()

    def _move(self, frames: int) -> None:
        self._bench.pause_for_replay()
        if frames > 0 and (not self._replay.active or self._replay.at_end):
            return
        self._replay.move(frames)
        self._window.refresh()

    def _skip(self, seconds: float) -> None:
        self._bench.pause_for_replay()
        self._replay.skip(seconds)
        self._window.refresh()

    def _to_end(self, last: bool, *_: object) -> None:
        if last:
            self._bench.to_present()
        else:
            self._bench.pause_for_replay()
            self._replay.playing = False
            self._replay.to_first()
        self._window.refresh()

    def _toggle(self) -> None:
        """Play or pause; from the live state, play the recording from its first frame."""
        if not self._replay.active:
            self._to_end(False)
        self._replay.toggle()
        self._window.refresh()

    def _choose_run(self, number: int) -> None:
        runs = [run for run in self._replay.runs if run.number == number]
        if not runs or (not self._replay.active and runs[0] is self._replay.newest):
            return
        self._bench.pause_for_replay()
        self._replay.show(runs[0].last, runs[0])
        self._window.refresh()

    def _branch(self) -> None:
        if not self._replay.active:
            return
        frame = self._replay.frame
        missing = self._bench.branch()
        bar = self._window.bar
        if frame is not None and missing:
            bar.showMessage(f"a new run starts at {frame.time:.3f} s; {UNDRIVEN.format(missing)}")
        elif frame is not None:
            bar.advise(f"a new run starts at {frame.time:.3f} s; Play continues it from there")
        self._window.refresh()

    def _add_keyframe(self) -> None:
        shown = self._replay
        run = shown.chosen
        if run is None or not len(run):
            return
        run.held = True
        frame = shown.frame or shown.recording.frame(run, run.last)
        numbered = {each.number: each for each in shown.runs}
        while run.left is not None and run.last < run.own and run.left[0] in numbered:
            run = numbered[run.left[0]]  # the frame's own run; files omit a branch without steps
        other = next((each for each in self.keyframes.all if each.run is run and each.frame.time == frame.time), None)
        if other is not None:
            self._window.statusBar().showMessage(f"{other.name} is at {frame.time:.3f} s already", MESSAGE)
            return
        keyframe = self.keyframes.add(run, frame)
        self._window.statusBar().showMessage(
            f"{keyframe.name} added at {frame.time:.3f} s; Keyframes › Rename names it", MESSAGE
        )

    def _jump(self, keyframe: Keyframe) -> None:
        self._bench.pause_for_replay()
        self._replay.playing = False
        self._replay.show_frame(keyframe.frame, keyframe.run)
        self._window.refresh()

    def _jump_on(self, on: bool) -> None:
        if (keyframe := self._next(on)) is not None:
            self._jump(replace(keyframe, run=self._replay.chosen))

    def _next(self, on: bool) -> Keyframe | None:
        """Return the nearest keyframe on the timeline after or before the current frame."""
        replay, run = self._replay, self._replay.chosen
        if run is None:
            return None
        here = replay.frame.time if replay.frame is not None else replay.recording.span(run)[1]
        seen = self.keyframes.seen_in(run)
        keyframes = [each for each in seen if (each.frame.time > here if on else each.frame.time < here)]
        return (keyframes[0] if on else keyframes[-1]) if keyframes else None

    def _start_from(self, keyframe: Keyframe) -> None:
        self._jump(keyframe)
        self._branch()

    @property
    def budget(self) -> int:
        """The recording limit, MB."""
        return self._replay.recording.budget // 2**20

    def set_budget(self, megabytes: int) -> None:
        """Set the recording limit, and remember it."""
        self._settings.setValue("recording_megabytes", megabytes)
        self._replay.recording.budget = megabytes * 2**20
        self._refresh()

    def _ask_budget(self) -> None:
        box = WholeBox()
        box.setRange(*BUDGETS)
        box.setSingleStep(64)
        box.setSuffix(" MB")
        box.setValue(self.budget)
        limit = ask_number(self._window, "Recording limit", "Beyond it the oldest frames are dropped:", box)
        if limit is not None:
            self.set_budget(int(limit))

    # Display.

    def _show(self, _: Snapshot) -> None:
        if self._played and not self._replay.playing:  # playback has ended
            self._window.refresh()
        now = time.perf_counter()
        if now > self._due or not self._bench.robot.playing:
            self._due = now + REFRESH
            self._refresh()

    def _store_keyframes(self) -> None:
        """Pass the keyframes to files written from now on, and update their marks."""
        self._bench.store_keyframes(self.keyframes.entries)
        self._show_marks()

    def _show_marks(self) -> None:
        seen = self.keyframes.seen_in(self._replay.chosen)
        self.bar.track.show_marks([each.frame.time for each in seen])
        for action, on in zip(self.jumps, (False, True), strict=True):
            offer(
                action, (self._next(on) is not None, f"there is no keyframe {'after' if on else 'before'} this frame")
            )

    def _refresh(self) -> None:
        replay, recording = self._replay, self._replay.recording
        run, there = replay.chosen, self._bench.robot.model is not None
        start, end = (0.0, 0.0) if run is None else recording.span(run)
        at = end if replay.frame is None else replay.frame.time
        self.bar.setVisible(there)
        self.bar.track.show_span(start, end, at, None if run is None or run.left is None else run.left[1])
        self.bar.track.show_live(not replay.active or replay.follows)
        shown = self._bench.robot.time if replay.frame is None else at  # the recording may be ahead of the view
        self.bar.show_time(shown, end, not replay.active or replay.follows, replay.script if replay.follows else "")
        self.bar.show_memory(recording.bytes, recording.budget, recording.room)
        before, self._full = self._full, any(each.first for each in replay.runs)
        if self._full and not before:
            text = FULL.format(recording.room // 2**20) + KEEPS * bool(self.keyframes.all)
            self._window.statusBar().showMessage(text, MESSAGE)
        self.bar.show_runs([(each.number, run_name(each)) for each in replay.runs], run.number if run else 0)
        recorded = end > start or replay.active
        for action in (self.first, self.back, self.play, *self.skips):
            offer(action, (recorded, NO_RUN))
        offer(self.last, (not replay.at_end if replay.opened else replay.active, AT_END))
        self.last.setToolTip(self._last_tip())
        offer(self.forward, (replay.active and not replay.at_end, AT_END))
        offer(self.branch, (replay.active, "no recorded frame is shown"))
        offer(self.keyframe, (there, NO_ROBOT), (run is not None, NO_RUN))
        self.play.setIcon(theme.icon("pause" if replay.playing else "playback"))
        self.play.setText("&Pause" if replay.playing else "&Play back")
        self.loop.refresh()
        self._played = replay.playing
        self._show_marks()

    def _last_tip(self) -> str:
        """Return the tooltip of Go to end."""
        if self._replay.driven:
            return f"Follow {self._replay.script} again (End)"
        return "The last frame of the recording (End)" if self._replay.opened else self._live_tip
