"""`Parameters`: model parameters that may differ between the robots of a batch."""

from __future__ import annotations

import dataclasses

import numpy as np

from engine import validation
from engine.model import Model
from engine.model.layout import FIRST_MOMENT, INERTIA, MASS, pack
from engine.real_numbers import reals
from engine.validation import Array

_BODY = {"mass": (), "first_moment": (3,), "inertia": (3, 3)}
_JOINT = ("damping", "friction", "effort_limit")


class Parameters:
    """The parameters of `batch` robots of one model, a row a robot, initialised from the model: write what differs.

    ==================  ==================  ==========================================================
    name                shape               meaning
    ==================  ==================  ==========================================================
    mass                (batch, n)          kg
    first_moment        (batch, n, 3)       mass × centre of mass in the body's frame, kg m
    inertia             (batch, n, 3, 3)    rotational inertia about the body's origin, kg m²
    gravity             (batch, 3)          m/s²
    damping             (batch, nv)         viscous, N m s/rad or N s/m
    friction            (batch, nv)         Coulomb, N m or N
    effort_limit        (batch, nv)         N m or N; inf where there is none
    ==================  ==================  ==========================================================

    n is the number of the model's bodies, see `Model`. A simulation reads the arrays once, when it is made.
    """

    def __init__(self, model: Model, batch: int):
        self.model, self.batch = model, validation.integer("batch", batch, 1)
        self.mass, self.first_moment, self.inertia, self.gravity, self.damping, self.friction, self.effort_limit = (
            np.repeat(getattr(model, name)[None], self.batch, 0) for name in (*_BODY, "gravity", *_JOINT)
        )

    def copy(self) -> Parameters:
        """Return a copy with arrays of its own."""
        other = Parameters.__new__(Parameters)
        other.model, other.batch = self.model, self.batch
        for name in (*_BODY, "gravity", *_JOINT):
            setattr(other, name, np.array(getattr(self, name), float))
        return other

    def check(self) -> None:
        """Raise ValueError with one sentence about the first invalid number or shape."""
        n = len(self.model.parent)
        shapes = {name: (n, *shape) for name, shape in _BODY.items()}
        shapes |= {"gravity": (3,)} | dict.fromkeys(_JOINT, (self.model.nv,))
        for name, shape in shapes.items():
            try:
                value = reals(getattr(self, name))
            except (TypeError, ValueError) as error:
                raise TypeError(f"parameters.{name} holds no real numbers ({error})") from None
            if value.shape != (self.batch, *shape):
                raise ValueError(f"parameters.{name} has shape {value.shape}; expected {(self.batch, *shape)}")
            valid = value == value if name == "effort_limit" else np.isfinite(value)
            self._require(name, value, valid, "every number must be finite")
        for name in ("mass", *_JOINT):
            value = np.asarray(getattr(self, name), float)
            self._require(name, value, value >= 0, "it cannot be negative")
        self._check_inertia()

    def _require(self, name: str, value: Array, sound: np.ndarray, rule: str) -> None:
        if not np.all(sound):
            where = tuple(int(index) for index in np.argwhere(~sound)[0])
            raise ValueError(f"parameters.{name}{list(where)} is {value[where]}; {rule}")

    def _check_inertia(self) -> None:
        """Require symmetric inertias that are positive semidefinite by their principal minors, up to rounding."""
        I = np.asarray(self.inertia, float)
        xx, yy, zz, xy, xz, yz = (I[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        size = np.abs(I).max((-2, -1)) if I.size else np.zeros(I.shape[:2])
        symmetric = np.all(np.abs(I - np.swapaxes(I, -1, -2)) <= 1e-9 * size[..., None, None], (-2, -1))
        pairs = np.minimum(np.minimum(xx * yy - xy**2, xx * zz - xz**2), yy * zz - yz**2)
        whole = xx * (yy * zz - yz**2) - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy)
        positive = (np.minimum(np.minimum(xx, yy), zz) >= 0) & (pairs >= -1e-9 * size**2) & (whole >= -1e-9 * size**3)
        for sound, rule in ((symmetric, "symmetric"), (positive, "positive semidefinite")):
            if not np.all(sound):
                robot, body = (int(index) for index in np.argwhere(~sound)[0])
                raise ValueError(
                    f"parameters.inertia[{robot}, {body}] is not {rule}; expected an inertia about a point"
                )

    def robot(self, robot: int) -> Model:
        """Return the model of one robot: the batch's model with that robot's parameters."""
        numbers = {name: np.asarray(getattr(self, name), float)[robot] for name in (*_BODY, "gravity", *_JOINT)}
        return dataclasses.replace(self.model, **numbers)

    def constants(self) -> Array:
        """Return (batch, n + 1, CONSTANTS): the rows of `engine.model.layout` for each robot."""
        n = len(self.model.parent)
        constants = np.repeat(pack(self.model).constants[None], self.batch, 0)
        rows, columns = np.triu_indices(3)
        constants[:, :n, MASS] = self.mass
        constants[:, :n, FIRST_MOMENT:INERTIA] = self.first_moment
        constants[:, :n, INERTIA:] = np.asarray(self.inertia)[:, :, rows, columns]
        constants[:, n, :3] = self.gravity
        return constants
