"""Energies of a batch of robots on the CPU."""

from __future__ import annotations

import numpy as np

from engine.cpu.rigid_body import rnea
from engine.cpu.rigid_body.workspace import ONE, workspace
from engine.model import Model
from engine.model.layout import pack
from engine.validation import Array


def energies(model: Model, q: Array, v: Array, constants: Array) -> tuple[Array, Array]:
    """Compute kinetic and potential energy, (batch,) each, J, of robots at q (batch, nq) and v (batch, nv).

    Their `constants` are (1 or batch, n + 1, CONSTANTS), see `Parameters.constants`.
    """
    n, coupling = len(model.parent), model.coupling
    q, v = (coupling.expand_q(q), coupling.expand_v(v)) if model.has_mimic else (q, v)
    kinetic, potential = np.empty(len(q)), np.empty(len(q))
    rotations, positions = np.empty((len(q), n, 9)), np.empty((len(q), n, 3))
    rnea.energies(
        np.ascontiguousarray(q), np.ascontiguousarray(v), kinetic, positions, rotations, potential,
        pack(model).topology, constants, workspace(n, ONE), ONE,
    )  # fmt: skip
    return kinetic, potential
