"""The user's settings before and after each action, so that it can be undone. Free of Qt."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

import engine
from app.acting.coordinates import Coordinate
from app.acting.drives import Drive
from app.simulation.messages import Settings, Snapshot

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class State:
    """The undoable state: the model, its settings, the drives by coordinate name, and q (nq,).

    `parts` are those of a composed model, empty for a robot alone. `posed` is whether q was set by the user, rather
    than reached by the simulation.
    """

    model: engine.Model
    settings: Settings
    drives: dict[str, Drive]
    q: np.ndarray
    parts: tuple[engine.Part, ...]
    posed: bool = False


@dataclass(frozen=True, eq=False)
class Deed:
    """An undoable action: its text, and the states before and after it.

    A `steady` action, such as moving a slider, is one action per step, with the same `kind` as the previous step.
    """

    text: str
    before: State
    after: State
    steady: bool = False
    kind: str = ""


class Undoing:
    """The part of a `Workbench` that reports actions."""

    model: engine.Model | None
    coordinates: tuple[Coordinate, ...]
    settings: Settings
    newest: Snapshot | None
    initial: np.ndarray

    def __init__(self) -> None:
        self.done: Callable[[Deed], None] = lambda _: None
        """Called with each action; an action composed of others is reported once."""
        self._unnoted = False
        self._set: dict[int, Drive] = {}  # by row of coordinates, drives not yet in a frame
        self._placed: np.ndarray | None = None  # q (nq,) set by hand, not yet in a frame

    def drive_of(self, index: int) -> Drive:
        raise NotImplementedError

    @property
    def state(self) -> State:
        """The current state."""
        rows = enumerate(self.coordinates)
        drives = {row.name: self._set.get(k) or self.drive_of(k) for k, row in rows if row.driveable}
        return State(self.model, self.settings, drives, self._here, self.model.parts)

    @property
    def _here(self) -> np.ndarray:
        """A copy of the robot's q (nq,)."""
        if self._placed is not None:
            return self._placed.copy()
        return (self.initial if self.newest is None else self.newest.q).copy()

    def _forget_placed(self, frame: Snapshot | None = None) -> None:
        """Drop the q set by hand, if the frame shows it, or the robot moves on."""
        if frame is None or (self._placed is not None and np.array_equal(frame.q, self._placed)):
            self._placed = None

    @contextmanager
    def unnoted(self) -> Iterator[bool]:
        """Report no action within the block; yield whether actions would have been reported."""
        before, self._unnoted = self._unnoted, True
        try:
            yield not before
        finally:
            self._unnoted = before

    @contextmanager
    def as_one(self, text: str) -> Iterator[None]:
        """Report all actions within the block as one."""
        before = self.state
        with self.unnoted() as noted:
            yield
        after = self.state
        if noted and (before.settings != after.settings or before.drives != after.drives):
            self.done(Deed(text, before, after))


def on_or_off(on: bool) -> str:
    return "on" if on else "off"


def undoable(
    text: str | Callable[..., str], steady: bool = False
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Have a workbench method report its action, with the text `text`, or `text` called with its arguments.

    A method that places the robot returns q (nq,).
    """

    def wrap(method: Callable[..., Answer]) -> Callable[..., Answer]:
        @functools.wraps(method)
        def call(bench: Any, *args: Any, **named: Any) -> Answer:
            with bench.unnoted() as noted:
                if not noted or bench.model is None:
                    return method(bench, *args, **named)
                before = bench.state
                answer = method(bench, *args, **named)
                posed, after = isinstance(answer, np.ndarray), bench.state
            if posed:
                before, after = replace(before, posed=True), replace(after, posed=True, q=np.array(answer))
            if posed or before.settings != after.settings or before.drives != after.drives:
                told = text if isinstance(text, str) else text(bench, *args, **named)
                bench.done(Deed(told, before, after, steady, f"{method.__name__} {args[:1] if steady else ''}"))
            return answer

        return call

    return wrap
