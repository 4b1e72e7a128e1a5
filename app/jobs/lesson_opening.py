"""A lesson worked out in the background: the engine may have to be compiled for it first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial

import numpy as np

import engine
from app.jobs.background import Background


@dataclass(frozen=True)
class Opened:
    """The lesson, or why there is none; it is measured once all is over."""

    lesson: engine.Lesson | None = None
    fault: str = ""
    over: bool = True


class LessonOpening(Background[Opened]):
    """Makes one lesson at a time."""

    def __init__(self) -> None:
        super().__init__("lesson", lambda fault: Opened(fault=fault))

    def start(self, name: str, model: engine.Model, state: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Make a lesson of one state, q, v and tau; nothing happens while another is made."""
        self.run(partial(self._make, name, model, state))

    def _make(
        self, name: str, model: engine.Model, state: tuple[np.ndarray, np.ndarray, np.ndarray], stop: threading.Event
    ) -> Opened:
        try:
            lesson = engine.Lesson(name, model, *state)
        except ValueError as refusal:
            return Opened(fault=str(refusal))
        self.tell(Opened(lesson, over=False))
        if not stop.is_set():
            lesson.measure()
        return Opened(lesson)
