"""Quantities of the second robot: those that its positions and velocities give. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

import engine
from app.acting.coordinates import coordinates
from app.plotting.quantities import GHOST, Evaluation, Quantity, States
from app.simulation.messages import SecondRobotState

SECOND = "second "
"""The beginning of the subjects of its quantities."""
_ENERGIES = "kinetic energy", "potential energy", "total energy", "energy drift"
KINDS = frozenset(("position", "velocity", "angular velocity", "centre of mass", "momentum", *_ENERGIES))


def is_of_second(quantity: Quantity) -> bool:
    """Whether it is the second robot's."""
    return quantity.subject.startswith(SECOND)


def is_sampled(quantity: Quantity) -> bool:
    """Whether the states of the robot itself give it."""
    return quantity.subject != GHOST and not is_of_second(quantity)


@dataclass(frozen=True, eq=False)
class SecondFrames:
    """The second robot's `model`, and a function that returns its state, if any, in a frame of a run by its index."""

    model: engine.Model
    state: Callable[[engine.Run, int], SecondRobotState | None]

    def values(self, run: engine.Run, indices: Sequence[int], quantities: Sequence[Quantity]) -> np.ndarray:
        """Return the values of its `quantities`, SI, in these frames; see `values_of_second`."""
        return values_of_second(self.model, [self.state(run, index) for index in indices], quantities)


def values_of_second(
    model: engine.Model, states: Sequence[SecondRobotState | None], quantities: Sequence[Quantity]
) -> np.ndarray:
    """Return (states, quantities): values, SI, of the second robot; NaN where it was not there, or was another one."""
    found = np.full((len(states), len(quantities)), np.nan)
    there = [(k, state) for k, state in enumerate(states) if state is not None and state.model is model]
    of_first = [replace(each, subject=each.subject.removeprefix(SECOND)) for each in quantities]
    for _, group in groupby(there, key=lambda each: id(each[1].simulated)):
        places, some = zip(*group, strict=True)
        time, q, v, offset = (np.stack([getattr(each, name) for each in some]) for name in ("time", "q", "v", "place"))
        evaluation = Evaluation(some[0].simulated, coordinates(model), States(time, q, v, np.full_like(v, np.nan)))
        poses = evaluation.link_poses.copy()
        poses[..., :3, 3] += offset[:, None]
        evaluation.link_poses = poses
        found[list(places)] = np.stack([evaluation.value(each) for each in of_first], 1)
    return found
