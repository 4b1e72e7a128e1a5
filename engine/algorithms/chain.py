"""The arrays of a serial chain for the algorithms, on the device where they run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from engine import lie
from engine.blocks.arrays import dot, mv, symmetrised, t
from engine.blocks.stages import stage
from engine.lie import Array
from engine.model import REVOLUTE, Model
from engine.model.features import SERIAL, first_occurrence


@dataclass(frozen=True, eq=False)
class Chain:
    """A serial chain of n links with revolute and prismatic joints on a fixed base.

    ============  ==========  ===================================================================
    name          shape       meaning
    ============  ==========  ===================================================================
    S             (n, 6)      screw axes: e₃ for a revolute joint, e₆ for a prismatic one
    W             (n, 6, 5)   basis of the joint's constraint directions: WᵀS = 0
    R0            (n, 3, 3)   home poses, link i's frame in its parent's at q = 0: R
    p0            (n, 3)      and p, m
    J             (n, 6, 6)   spatial inertias about the links' origins
    a0            (6,)        the base's acceleration against free fall, (0, −gravity)
    ============  ==========  ===================================================================
    """

    model: Model
    S: Array
    W: Array
    R0: Array
    p0: Array
    J: Array
    a0: Array

    @classmethod
    def of(cls, model: Model, xp: ModuleType = np, dtype: str = "float64") -> Chain:
        """Return the chain of a model as arrays of the library `xp` (numpy or cupy).

        Raises ValueError for anything but a serial chain of 1-DoF joints on a fixed base, naming the joint or link, and
        an algorithm that supports it.
        """
        refuse_unless_serial(model)
        axes = np.where(model.kind == REVOLUTE, 2, 5)
        others = np.array([[k for k in range(6) if k != axis] for axis in axes])
        unit, a0 = np.eye(6), np.concatenate([np.zeros(3), -model.gravity])
        W = np.swapaxes(unit[others], 1, 2)
        arrays = (unit[axes], W, model.home_rotation, model.home_position, model.J, a0)
        return cls(model, *(xp.asarray(np.ascontiguousarray(array, dtype)) for array in arrays))

    @property
    def n(self) -> int:
        return len(self.S)

    @cached_property
    def on_host(self) -> Chain:
        """Return the chain as NumPy arrays."""
        return Chain.of(self.model, np, str(self.S.dtype))

    @cached_property
    def J_inv(self) -> Array:
        """J⁻¹ (n, 6, 6), for `cfa`; raises ValueError naming a link with singular inertia."""
        if place := first_occurrence("massless", self.model):
            raise ValueError(f"cfa does not support {self.model.name}: {place}; use abia")
        J = self.model.J
        # Scaled by each link's own mass and size, the entries of J are of similar magnitude.
        diagonal = np.sqrt(np.diagonal(J, axis1=1, axis2=2))
        scale = diagonal[:, :, None] * diagonal[:, None, :]
        inverse = symmetrised(np.linalg.inv(J / scale)) / scale
        return np.asarray(inverse.astype(str(self.S.dtype)), like=self.S)

    @cached_property
    def own_inertia(self) -> Array:
        """SᵀJS (n,), on the host: each link's own inertia about its joint axis, kg m² or kg."""
        axis = np.where(self.model.kind == REVOLUTE, 2, 5)
        return self.model.J[np.arange(self.n), axis, axis]

    def check(self, q: Array, v: Array, tau: Array) -> None:
        """Raise ValueError unless all shapes are (batch, n); values are not read, since that would wait for a GPU."""
        for name, array in (("q", q), ("v", v), ("tau", tau)):
            if array.ndim != 2 or array.shape != (len(q), self.n) or len(q) == 0:
                raise ValueError(f"{name} has shape {array.shape}; expected (batch, {self.n}), one row for each robot")

    def X(self, q: Array) -> Array:
        """Return Xᵢ = Ad(Tᵢ⁻¹), (batch, n, 6, 6), which transforms twists from the parent to link i, from q (batch, n).

        Tᵢ is the home pose followed by a rotation about z or a translation along z.
        """
        angle, shift = q * self.S[:, 2], q * self.S[:, 5]
        c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
        x, y, z = self.R0[..., 0], self.R0[..., 1], self.R0[..., 2]
        R = np.stack([c * x + s * y, c * y - s * x, np.broadcast_to(z, (*q.shape, 3))], -1)
        p = self.p0 + shift[..., None] * z
        X = lie.Ad(t(R), -mv(t(R), p))
        stage("transforms", range(self.n), X)
        return X

    def along(self, x: Array) -> Array:
        """Return S x: each joint's value along its screw axis, (batch, n) -> (batch, n, 6)."""
        return self.S * x[..., None]

    def onto(self, F: Array) -> Array:
        """Return SᵀF: the component of twists or wrenches on the joint axes, (batch, n, 6) -> (batch, n)."""
        return dot(self.S, F)


def refuse_unless_serial(model: Model) -> None:
    """Raise ValueError, with the place and the algorithm to use, unless the model is such a chain."""
    for feature in SERIAL:
        if place := first_occurrence(feature, model):
            raise ValueError(
                f"{model.name}: {place}; the parallel algorithms serve serial chains of revolute and prismatic joints "
                f"on a fixed base; use {'jsiia' if model.has_mimic else 'abia'}"
            )
