"""The user's settings before and after each action, so that it can be undone. Free of Qt."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

import engine
from app.acting.drives import Drive
from app.acting.forces import ForceControls, SetWrench
from app.acting.loaded_robot import LoadedRobot
from app.simulation.messages import Settings

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class State:
    """The undoable state: the model, its settings, the drives by coordinate name, q (nq,), and the wrenches by link.

    `parts` are those of a composed model, empty for a robot alone. `posed` is whether q was set by the user, rather
    than reached by the simulation; `floating` whether the file's root link was set free of the world. In an action,
    `wrenches` are those of the links whose wrench it changed, None where there is none: undoing it brings back no
    other, which a reset has removed.
    """

    model: engine.Model
    settings: Settings
    drives: dict[str, Drive]
    q: np.ndarray
    parts: tuple[engine.Part, ...]
    posed: bool = False
    floating: bool = False
    wrenches: Mapping[int, SetWrench | None] = field(default_factory=dict)

    @property
    def models(self) -> list[object]:
        """What identifies the robot and the parts around it, which are new objects in each composed model."""
        parts = self.parts or (engine.Part(self.model, prefix=""),)
        return [(id(part.model), part.prefix, np.asarray(part.pose).tobytes()) for part in parts]


@dataclass(frozen=True, eq=False)
class Action:
    """An undoable action: its text, and the states before and after it.

    A `steady` action, such as moving a slider, is one action per step, with the same `kind` as the previous step.
    """

    text: str
    before: State
    after: State
    steady: bool = False
    kind: str = ""

    @property
    def changes(self) -> bool:
        """Whether it changed a setting, a drive, the robot, its parts or its pose."""
        one, other = self.before, self.after
        moved = other.posed and not np.array_equal(one.q, other.q)
        inputs_set = (one.settings, one.drives, one.wrenches) != (other.settings, other.drives, other.wrenches)
        return moved or inputs_set or self.replaces_robot

    @property
    def replaces_robot(self) -> bool:
        """Whether it changed the robot or the parts around it, so that a new run begins."""
        return self.before.models != self.after.models


class Actions:
    """Reports the user's actions, with the robot's state before and after each."""

    def __init__(self, robot: LoadedRobot, forces: ForceControls):
        self.robot, self._forces = robot, forces
        self.done: Callable[[Action], None] = lambda _: None
        """Called with each action; an action composed of others is reported once."""
        self.silent = False
        """Whether actions are not reported now."""

    @property
    def state(self) -> State:
        """The current state."""
        robot = self.robot
        drives = {row.name: robot.set_drive(k) for k, row in enumerate(robot.coordinates) if row.driveable}
        parts, wrenches = robot.model.parts, self._forces.wrenches
        return State(robot.model, robot.settings, drives, robot.q, parts, floating=robot.floating, wrenches=wrenches)

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Report no action within the block."""
        before, self.silent = self.silent, True
        try:
            yield
        finally:
            self.silent = before

    @contextmanager
    def as_one(self, text: str) -> Iterator[None]:
        """Report all actions within the block as one."""
        before = self.state
        with self.unnoted():
            yield
        self.report(Action(text, before, self.state))

    def report(self, action: Action) -> None:
        """Report an action, unless it changed nothing."""
        before, after = action.before, action.after
        both = before.wrenches, after.wrenches
        changed = [link for link in {**both[0], **both[1]} if both[0].get(link) is not both[1].get(link)]
        one, other = ({link: each.get(link) for link in changed} for each in both)
        action = replace(action, before=replace(before, wrenches=one), after=replace(after, wrenches=other))
        if action.changes and not self.silent:
            self.done(action)

    def report_pose(self, text: str, before: State) -> None:
        """Report that the user has put the robot elsewhere since `before`."""
        self.report(Action(text, replace(before, posed=True), replace(self.state, posed=True)))


class Actor(Protocol):
    """An object whose methods are actions."""

    actions: Actions


def on_or_off(on: bool) -> str:
    return "on" if on else "off"


def undoable(
    text: str | Callable[..., str], steady: bool = False
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Mark a method as an action, with the text `text`, or `text` called with the robot and the method's arguments.

    A method that places the robot returns q (nq,).
    """

    def wrap(method: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(method)
        def call(actor: Actor, *args: Any, **named: Any) -> Result:
            actions = actor.actions
            if actions.silent or actions.robot.model is None:
                return method(actor, *args, **named)
            before = actions.state
            with actions.unnoted():
                result = method(actor, *args, **named)
            after = actions.state
            if isinstance(result, np.ndarray):
                before, after = replace(before, posed=True), replace(after, posed=True, q=np.array(result))
            reported = text if isinstance(text, str) else text(actions.robot, *args, **named)
            actions.report(Action(reported, before, after, steady, f"{method.__name__} {args[:1] if steady else ''}"))
            return result

        return call

    return wrap
