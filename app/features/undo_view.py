"""Edit › Undo and Redo: for the user's changes of poses, drives, forces, objects, settings, the base and views."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PyQt6.QtGui import QKeySequence, QUndoCommand, QUndoStack

import engine
from app.acting.loaded_robot import alone
from app.acting.undoing import Action, State
from app.desktop.actions import MESSAGE, UNDRIVEN, offer
from app.features.floating_base import FloatingBase
from app.features.scene_view import CHANGING, SceneView
from app.features.state_transfer import restore_state
from app.features.window_type import Window
from app.simulation.messages import Loaded

MAX_ACTIONS = 200
"""The maximum number of actions that can be undone."""
UNDO_TIP, REDO_TIP = "Undo the last change (Ctrl+Z)", "Redo the change that was undone last (Ctrl+Shift+Z)"
LOADS = "a robot is loading"
TOGETHER = 1.0  # s within which actions of one kind are merged, such as steps of a slider


class UndoView:
    """Adds the menu entries, and stacks the actions that the workbench reports."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self.stack = QUndoStack(window)
        self.stack.setUndoLimit(MAX_ACTIONS)
        self.undo, self.redo = (
            self.stack.createUndoAction(window, "&Undo"),
            self.stack.createRedoAction(window, "&Redo"),
        )
        self.undo.setShortcuts([QKeySequence("Ctrl+Z")])
        self.redo.setShortcuts([QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")])
        for action, name, tip in ((self.undo, "Undo", UNDO_TIP), (self.redo, "Redo", REDO_TIP)):
            action.setIconText(name)
            action.setToolTip(tip)
            window.addAction(action)
        window.menus.edit.put(self.undo, self.redo)
        for action, way in ((self.undo, -1), (self.redo, 0)):
            action.triggered.disconnect()  # from the stack
            action.triggered.connect(partial(self._step, way))
        self._robot: engine.Model | None = None
        self._bench.actions.done = self._note
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._refresh)

    def _refresh(self) -> None:
        """Disable undo and redo while another robot is loading."""
        composing = self._window.feature(SceneView).composing
        still = not self._bench.opening.loading or composing
        offer(self.undo, (still, LOADS), (composing or self.stack.canUndo(), "nothing has been changed"))
        offer(self.redo, (still, LOADS), (self.stack.canRedo(), "nothing has been undone"))

    def _step(self, way: int, _: bool) -> None:
        """Undo, with −1, or redo, with 0, in its turn."""
        self._window.feature(SceneView).turns.add(partial(self._take, way))

    def _take(self, way: int) -> None:
        step, command = (self.stack.undo, self.stack.redo)[way + 1], self.stack.command(self.stack.index() + way)
        if isinstance(command, _ActionCommand) and command.action.replaces_robot:
            self._window.files.start(step, CHANGING)
        else:
            step()

    def _on_loaded(self, event: Loaded) -> None:
        """Clear the stack for a new robot; keep it if only other parts changed, or the root link was freed or fixed."""
        robot = alone(event.model)
        if robot is not self._robot and not self._window.feature(FloatingBase).has_made(event):
            self.stack.clear()
            self._window.feature(SceneView).turns.waiting.clear()
        self._robot = robot

    def _note(self, action: Action) -> None:
        self.stack.push(_ActionCommand(action, self._put))

    def add(self, text: str, back: Callable[[], bool], again: Callable[[], bool]) -> None:
        """Add a change that was made to something other than the robot and its scene, by what undoes and repeats it.

        These return whether they could, and otherwise report why not.
        """
        self.stack.push(_Command(text, *(partial(self._change, each) for each in (back, again))))

    def _change(self, change: Callable[[], bool], text: str) -> None:
        if change():
            self._window.statusBar().showMessage(text, MESSAGE)

    def _put(self, state: State, text: str) -> None:
        bench = self._bench
        if bench.replay.active:
            bench.to_present()
            if bench.replay.active:  # an opened run's last frame, which has a scene of its own
                missing = bench.branch()
                text = f"{text}; {UNDRIVEN.format(missing)}" if missing else text
        with bench.actions.unnoted():
            if state.models != bench.actions.state.models:
                self._robot = alone(state.model)
                self._window.feature(SceneView).restore(state, text)
            else:
                restore_state(bench, state, bench.actions.state.q, state.posed)
                if state.wrenches:
                    wrenches = {**bench.forces.wrenches, **state.wrenches}
                    bench.forces.set_all({link: each for link, each in wrenches.items() if each is not None})
        self._window.refresh()
        self._window.statusBar().showMessage(text, MESSAGE)


class _Command(QUndoCommand):
    """A change that was already made when it was pushed; `back` and `again` are called with what they have done."""

    def __init__(self, text: str, back: Callable[[str], None], again: Callable[[str], None]):
        super().__init__(_for_menus(text))
        self._back, self._again, self._done = back, again, True

    def undo(self) -> None:
        self._back(f"Undone: {self.text()}")

    def redo(self) -> None:
        if self._done:
            self._done = False
        else:
            self._again(f"Redone: {self.text()}")


class _ActionCommand(_Command):
    """An action of the workbench; `put` restores a state."""

    def __init__(self, action: Action, put: Callable[[State, str], None]):
        super().__init__(
            action.text,
            lambda reported: put(self.action.before, reported),
            lambda reported: put(self.action.after, reported),
        )
        self.action, self._when = action, time.monotonic()

    def id(self) -> int:
        return hash(self.action.kind) & 0x7FFFFFFF

    def mergeWith(self, other: QUndoCommand | None) -> bool:
        """Merge with the next action of the same kind if it follows within `TOGETHER`."""
        if not isinstance(other, _ActionCommand) or not self.action.steady or other._when - self._when > TOGETHER:
            return False
        self.action, self._when = replace(self.action, text=other.action.text, after=other.action.after), other._when
        self.setText(_for_menus(other.text()))
        return True


def _for_menus(text: str) -> str:
    """Return a command's text, and after it as Qt wants it for menus, where & would underline a letter."""
    return f"{text}\n{text.replace('&', '&&')}"
