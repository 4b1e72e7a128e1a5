"""Other libraries, where they are installed, given the very same model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import lie
from engine.arguments import Array
from engine.model import FREE, PRISMATIC, Model


@dataclass(frozen=True)
class Pinocchio:
    """Pinocchio's model of one of ours, built body by body: no file stands between the two."""

    model: Any
    aba: Callable[[Array, Array, Array], Array]
    order: Array
    """Where Pinocchio's velocities stand in ours: its free joints put the linear part first."""

    def states(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Our q, v and τ as Pinocchio's."""
        return q.copy(), v[self.order], tau[self.order]


def pinocchio_aba(model: Model) -> Pinocchio | None:
    """Pinocchio's articulated-body algorithm for a model without mimic joints; None where it is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    if model.has_mimic:
        raise ValueError(
            f"{model.name} has mimic joints, which Pinocchio's aba does not serve; load it with mimic=False"
        )
    theirs, order = pin.Model(), []
    theirs.gravity.linear[:] = model.gravity
    for i, parent in enumerate(model.parent):
        kind, start = model.kind[i], int(model.v_start[i])
        free = kind == FREE
        joint = pin.JointModelFreeFlyer() if free else (pin.JointModelPZ() if kind == PRISMATIC else pin.JointModelRZ())
        index = theirs.addJoint(
            int(parent) + 1, joint, pin.SE3(model.home_rotation[i], model.home_position[i]), f"joint{i}"
        )
        center = model.first_moment[i] / model.mass[i] if model.mass[i] > 0 else np.zeros(3)
        c = lie.skew(center)
        about_center = model.inertia[i] + model.mass[i] * c @ c
        theirs.appendBodyToJoint(index, pin.Inertia(float(model.mass[i]), center, about_center), pin.SE3.Identity())
        order += [start + 3, start + 4, start + 5, start, start + 1, start + 2] if free else [start]
    data = theirs.createData()
    return Pinocchio(theirs, lambda q, v, tau: pin.aba(theirs, data, q, v, tau), np.array(order))
