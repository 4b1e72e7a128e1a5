"""Time › Loop: play a span of a recorded run again and again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.desktop.actions import MESSAGE, NO_RUN, check, make_action, offer
from app.features.window_type import Window
from app.panels.timeline import Track

if TYPE_CHECKING:
    import engine

TOO_LATE = "a loop cannot start at the end of the run; go back to an earlier frame first"
BEGUN = "the loop begins at {:.3f} s; Loop until here, at a later frame, ends it"
TOO_EARLY = "a loop cannot end at the start of the run; go to a later frame first"


class Looping:
    """The actions that mark a span of the run shown, and that loop it; the timeline shows the span."""

    def __init__(self, window: Window, track: Track):
        self._window, self._replay, self._track = window, window.workbench.replay, track
        self._begun: tuple[engine.Run, float] | None = None  # a run, and where its loop begins
        make = partial(make_action, window)
        self.start = make("Loop &from here", partial(self._mark, 0), tip="The loop starts at this frame")
        self.end = make("Loop &until here", partial(self._mark, 1), tip="The loop ends at this frame")
        tip = "Play the marked span of the recording, or the whole run, again and again"
        self.on = make("&Loop", self._set, tip=tip, checkable=True)
        self.actions = self.start, self.end, self.on

    def _mark(self, which: int) -> None:
        """Start or end the loop at the frame shown; the other end stays if it can."""
        replay = self._replay
        if (run := replay.chosen) is None:
            return
        first, last = replay.recording.span(run)
        here = last if replay.frame is None else replay.frame.time
        loop = replay.loop_of(run) or (first, last)
        if which == 0 and here == last and not replay.active:  # the run continues
            self._begun = run, here
            self._window.statusBar().showMessage(BEGUN.format(here), MESSAGE)
            return
        begun, self._begun = self._begun, None
        if which == 1 and begun is not None and begun[0] is run and begun[1] < here:
            loop = begun[1], here
        start, end = (here, loop[1]) if which == 0 else (loop[0], here)
        if start >= end:
            start, end = (here, last) if which == 0 else (first, here)
        if start >= end:
            self._window.statusBar().showMessage(TOO_EARLY if which else TOO_LATE, MESSAGE)
            return
        replay.loop = run, start, end
        text = f"the loop is from {start:.3f} to {end:.3f} s; Play back plays it, Time › Loop ends it"
        self._window.statusBar().showMessage(text, MESSAGE)
        self.refresh()

    def _set(self, on: bool) -> None:
        replay, run = self._replay, self._replay.chosen
        replay.loop = None
        if on and run is not None:
            first, last = replay.recording.span(run)
            replay.loop = (run, first, last) if last > first else None
        self.refresh()

    def refresh(self) -> None:
        """Show the loop of the run shown, and enable what can be done."""
        replay, run = self._replay, self._replay.chosen
        there = run is not None and replay.recording.span(run)[1] > replay.recording.span(run)[0]
        for action in self.actions:
            offer(action, (there, NO_RUN))
        loop = replay.loop_of(run)
        check(self.on, loop is not None)
        self._track.show_loop(loop)
