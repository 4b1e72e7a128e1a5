"""A quantity of all robots of a batch at one time, evaluated from a recorded frame. Free of Qt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.coordinates import Coordinate
from app.plotting.quantities import CONTACTS, OF_MASSES, Evaluation, Quantity, States
from app.plotting.recorded_curves import contact_in

Array = NDArray[np.float64]


def batch_values(
    frame: engine.RecordedFrame, before: engine.RecordedFrame | None, quantity: Quantity, rows: Sequence[Coordinate]
) -> Array:
    """Return a quantity of each robot in a frame, (robots,), SI; NaN where it has none.

    `before` is the frame before it, which accelerations need; `rows` are the model's `coordinates`. Each robot is
    evaluated with its own masses where these matter.
    """
    at, settings = frame.checkpoint, frame.setup.settings
    robots = len(at.q)
    q, v, tau, target = (x.astype(float) for x in (at.q, at.v, at.tau, at.target))
    rate = np.full_like(v, np.nan)
    if before is not None and before.checkpoint.v.shape == v.shape and frame.time > before.time:
        rate = (v - before.checkpoint.v) / (frame.time - before.time)
    effort, setpoint = settings.effort(q, v, tau, target), np.where(settings.kp > 0, target, np.nan)
    contact = [contact_in(frame, robot) for robot in range(robots)] if quantity.kind in CONTACTS else [None] * robots
    time = np.full(robots, frame.time)
    if settings.parameters is None or quantity.kind not in OF_MASSES:
        states = States(time, q, v, rate, effort, setpoint, contact)
        return Evaluation(frame.setup.model, rows, states).value(quantity)
    values = np.empty(robots)
    for k in range(robots):
        one = slice(k, k + 1)
        states = States(time[one], q[one], v[one], rate[one], effort[one], setpoint[one], contact[one])
        (values[k],) = Evaluation(settings.parameters.robot(k), rows, states).value(quantity)
    return values
