"""Setting wrenches on links by hand, as actions that can be undone."""

from __future__ import annotations

import math

import numpy as np

from app.acting.forces import ForceControls
from app.acting.undoing import Actions, undoable


class Wrenching:
    """Sets and removes the wrenches of `ForceControls`; a reset, which removes lasting ones, is no action."""

    def __init__(self, forces: ForceControls, actions: Actions):
        self._forces, self.actions = forces, actions

    @undoable(lambda robot, link, *_: f"Force on {robot.model.link_names[link]}", steady=True)
    def set(self, link: int, wrench: np.ndarray, world: bool, begin: float = 0.0, end: float = math.inf) -> None:
        """Set a wrench (6,) on a link, as `ForceControls.set`."""
        self._forces.set(link, wrench, world, begin, end)

    @undoable(lambda robot, link: f"Remove the force on {robot.model.link_names[link]}")
    def unset(self, link: int) -> None:
        """Remove the link's wrench."""
        self._forces.set_all({number: each for number, each in self._forces.wrenches.items() if number != link})

    @undoable("Remove all forces")
    def clear(self) -> None:
        """Remove all wrenches."""
        self._forces.clear()
