"""The named tuples in which a step's settings, states and controls are given to kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.joint_rows import JointRows
from engine.kernels.robot import Robot


class GivenForces(NamedTuple):
    """Given forces τ (nv,) on the joints of one robot."""

    tau: Any


class KnownSettings(NamedTuple):
    """The settings of a robot's steps that are known at compile time, with `JointRows` but for dt."""

    robot: Robot
    has_limits: bool
    has_constraints: bool
    q_of_v: NDArray[np.int64]
    joints: NDArray[np.floating]
    implicit: bool
    freezes: bool
    has_wrenches: bool
    timed: bool


class StepInputs(NamedTuple):
    """The inputs of a step of one robot: its settings and rows, the initial state, and each joint's mode (nv,)."""

    known: KnownSettings
    rows: JointRows
    q: Any
    v: Any
    tau: Any
    target: Any
    mode: Any


class Robots(NamedTuple):
    """A batch's state and controls: q (batch, nq), and v, tau and the gains' targets, (batch, nv) each."""

    q: NDArray[np.floating]
    v: NDArray[np.floating]
    tau: NDArray[np.floating]
    target: NDArray[np.floating]


class ActiveSet(NamedTuple):
    """The active set of a block of L robots: the rows' modes (L, nv), and a table for `active_set` of each robot.

    `settled` (L,) is 1 for robots whose modes agree with their solution.
    """

    mode: NDArray[np.floating]
    table: NDArray[np.floating]
    settled: NDArray[np.int64]
