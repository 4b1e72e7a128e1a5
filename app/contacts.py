"""The contacts of the robot that is looked at, as a snapshot tells of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import engine


@dataclass(frozen=True, eq=False)
class Contacts:
    """C contacts: of the links `link` (C,); `point` (C, 3) in the world, m; `normal` (C, 3) towards the robot.

    `force` (C, 3) on the robot, N; `state` (C,) is "open", "stick" or "slip" for each.
    """

    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    state: np.ndarray
    link: np.ndarray


def contacts_of(touches: engine.Touches | None, dt: float, robot: int) -> Contacts | None:
    """Those of a robot of the batch in the last step, which took dt; None where it touched nothing."""
    count = 0 if touches is None else int(touches.number[robot])
    if touches is None or count == 0:
        return None
    return Contacts(
        touches.point[robot, :count].copy(),
        touches.normal[robot, :count].copy(),
        touches.impulse[robot, :count] / dt,
        np.array(touches.states(robot)),
        touches.link[robot, :count].copy(),
    )
