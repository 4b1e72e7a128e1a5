"""Keyframes: named frames, which remain even if the recording drops them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from PyQt6.QtWidgets import QMenu, QWidget

import engine
from app.desktop.actions import say_empty
from app.desktop.dialogs import ask_name

NAMELESS = "Keyframe {}"
NONE_YET = "No keyframes yet"
TAKEN = "there is a keyframe {!r} already, at {:.3f} s of run {}; type another name, or rename that one first"


@dataclass(eq=False)
class Keyframe:
    """A name for a frame of a run."""

    name: str
    run: engine.Run
    frame: engine.RecordedFrame


class Keyframes(QMenu):
    """The menu of all keyframes of `runs`; `jump` and `start` are called with one, `changed` after any change."""

    def __init__(
        self,
        parent: QWidget,
        runs: Callable[[], Sequence[engine.Run]],
        jump: Callable[[Keyframe], None],
        start: Callable[[Keyframe], None],
        changed: Callable[[], None],
    ):
        super().__init__("&Keyframes", parent)
        self.all: list[Keyframe] = []
        self._runs, self._jump, self._start, self._changed = runs, jump, start, changed
        self.aboutToShow.connect(self._fill)
        self._fill()

    def add(self, run: engine.Run, frame: engine.RecordedFrame) -> Keyframe:
        """Add a keyframe with a default name."""
        taken = [each.name for each in self.all]
        name = next(name for k in count(len(taken) + 1) if (name := NAMELESS.format(k)) not in taken)
        keyframe = Keyframe(name, run, frame)
        self.all.append(keyframe)
        self._sort()
        return keyframe

    @property
    def entries(self) -> tuple[tuple[int, float, str], ...]:
        """The run number, time in s and name of each keyframe, as in files."""
        return tuple((each.run.number, each.frame.time, each.name) for each in self.all)

    def restore(self, recording: engine.Recording, entries: Sequence[tuple[int, float, str]]) -> None:
        """Replace all keyframes by those of a file whose times the recording contains."""
        runs = {run.number: run for run in recording.runs}
        self.all.clear()
        for number, time, name in entries:
            run = runs.get(number)
            if run is not None and run.first <= run.last:
                start, end = recording.span(run)
                if start <= time <= end:
                    self.all.append(Keyframe(name, run, recording.frame(run, recording.at(run, time))))
        self._sort()

    def _sort(self) -> None:
        self.all.sort(key=lambda each: (each.run.number, each.frame.time))
        self._changed()

    def seen_in(self, run: engine.Run | None) -> list[Keyframe]:
        """Return the keyframes of a run, and of its ancestors before the branch, sorted by time."""
        keyframes, until, numbered = [], math.inf, {each.number: each for each in self._runs()}
        while run is not None:
            keyframes += [each for each in self.all if each.run is run and each.frame.time <= until]
            number, left = run.left or (0, until)
            run, until = numbered.get(number), min(until, left)
        return sorted(keyframes, key=lambda each: each.frame.time)

    def _fill(self) -> None:
        self.clear()
        several = len(self._runs()) > 1
        for each in self.all:
            of = f" of run {each.run.number}" if several else ""
            self.put_entries(self.addMenu(f"{each.name}  ·  {each.frame.time:.3f} s{of}".replace("&", "&&")), each)
        if not self.all:
            say_empty(self, NONE_YET)

    def put_entries(self, menu: QMenu, keyframe: Keyframe) -> None:
        """Add the commands for a keyframe to a menu."""
        for text, slot in (
            ("&Go to", self._jump),
            ("&Continue from here", self._start),
            ("&Rename…", self._rename),
            ("Re&move", self._remove),
        ):
            menu.addAction(text).triggered.connect(lambda _, slot=slot: slot(keyframe))

    def _rename(self, keyframe: Keyframe) -> None:
        def refuse(name: str) -> str:
            same = (each for each in self.all if each is not keyframe and each.name == name)
            return next((TAKEN.format(name, each.frame.time, each.run.number) for each in same), "")

        what = f"keyframe at {keyframe.frame.time:.3f} s"
        name = ask_name(self.parentWidget(), "Rename a keyframe", what, keyframe.name, refuse)
        if name is not None:
            keyframe.name = name
            self._changed()

    def _remove(self, keyframe: Keyframe) -> None:
        self.all.remove(keyframe)
        self._changed()
