"""What a person has set, before and after each thing done, so that it can be undone. Free of Qt."""

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
    """What is set: of which model, the settings, the drives by the names of their coordinates, and q (nq,).

    `parts` are those that the model is to be composed of, none where it is the robot alone. `posed` says whether q is
    part of what was set, and not where the simulation has brought the robot.
    """

    model: engine.Model
    settings: Settings
    drives: dict[str, Drive]
    q: np.ndarray
    parts: tuple[engine.Part, ...]
    posed: bool = False


@dataclass(frozen=True, eq=False)
class Deed:
    """Something that was done, in a few words, and what was set before and after it.

    Of what is `steady`, as a slider is moved, each step is a deed, of one `kind` with the step before.
    """

    text: str
    before: State
    after: State
    steady: bool = False
    kind: str = ""


class Undoing:
    """The part of a `Workbench` that tells of what is done."""

    model: engine.Model | None
    coordinates: tuple[Coordinate, ...]
    settings: Settings
    newest: Snapshot | None
    initial: np.ndarray

    def __init__(self) -> None:
        self.done: Callable[[Deed], None] = lambda _: None
        """Called with each deed; what one deed does by others is one."""
        self._unnoted = False
        self._set: dict[int, Drive] = {}  # by the rows of coordinates, what frames do not show yet
        self._placed: np.ndarray | None = None  # q (nq,) where it was put by hand, which no frame shows yet

    def drive_of(self, index: int) -> Drive:
        raise NotImplementedError

    @property
    def state(self) -> State:
        """What is set now."""
        rows = enumerate(self.coordinates)
        drives = {row.name: self._set.get(k) or self.drive_of(k) for k, row in rows if row.driveable}
        return State(self.model, self.settings, drives, self._here, self.model.parts)

    @property
    def _here(self) -> np.ndarray:
        """q (nq,) where the robot is, a copy."""
        if self._placed is not None:
            return self._placed.copy()
        return (self.initial if self.newest is None else self.newest.q).copy()

    def _forget_placed(self, frame: Snapshot | None = None) -> None:
        """A frame has come that shows where the robot was put, or it moves on from there."""
        if frame is None or (self._placed is not None and np.array_equal(frame.q, self._placed)):
            self._placed = None

    @contextmanager
    def unnoted(self) -> Iterator[bool]:
        """What is done within tells of no deed; whether it would have."""
        before, self._unnoted = self._unnoted, True
        try:
            yield not before
        finally:
            self._unnoted = before

    @contextmanager
    def as_one(self, text: str) -> Iterator[None]:
        """All that is done within is one deed."""
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
    """Have a method of a workbench tell of its deed: `text`, or what that returns for the method's arguments.

    One that places the robot returns its q (nq,).
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
