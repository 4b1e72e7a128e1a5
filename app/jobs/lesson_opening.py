"""Compute a lesson in the background, since the engine may have to be compiled for it first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial

import numpy as np

import engine
from app.jobs.background import Background


@dataclass(frozen=True)
class Opened:
    """The lesson, or the reason for its failure; it is measured once `over` is true."""

    lesson: engine.Lesson | None = None
    problem: str = ""
    over: bool = True


class LessonOpening(Background[Opened]):
    """Makes one lesson at a time."""

    def __init__(self) -> None:
        super().__init__("lesson", lambda problem: Opened(problem=problem))

    def start(self, name: str, model: engine.Model, state: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Make a lesson of one state q, v, tau; does nothing while another is being made."""
        self.run(partial(self._make, name, model, state))

    def _make(
        self, name: str, model: engine.Model, state: tuple[np.ndarray, np.ndarray, np.ndarray], stop: threading.Event
    ) -> Opened:
        try:
            lesson = engine.Lesson(name, model, *state)
        except ValueError as refusal:
            return Opened(problem=str(refusal))
        self.publish(Opened(lesson, over=False))
        if not stop.is_set():
            lesson.measure()
        return Opened(lesson)
