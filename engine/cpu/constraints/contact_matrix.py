"""The workspace of the dense contact solver on the CPU, for one robot at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.chains import jsiia
from engine.cpu.chains.jsiia import Dense
from engine.cpu.constraints.contact_law import System
from engine.cpu.constraints.contact_rounds import RoundsWorkspace, rounds_workspace
from engine.cpu.rigid_body import ltdl
from engine.kernels.contact.workspace import ContactWorkspace
from engine.model import Model
from engine.model.layout import pack_coupling


class Matrix(NamedTuple):
    """N rows of a robot: J (N, nv), `half` (nv, N) (J L⁻¹)ᵀ, `offset` (N,) c; `overlap` is the overlap problem."""

    above: NDArray[np.int64]
    dense: Dense
    coupling_index: NDArray[np.int64]
    coupling_factor: NDArray[np.floating]
    J: NDArray[np.floating]
    half: NDArray[np.floating]
    offset: NDArray[np.floating]
    system: System
    overlap: System
    solver: RoundsWorkspace


def matrix(model: Model, ground: ContactWorkspace) -> Matrix:
    """Return the workspace for the rows of robots of a model."""
    N, C, nv, coupling = len(ground.impulses), len(ground.contacts.gap), model.nv, pack_coupling(model)
    system = System(np.zeros((N, N)), np.zeros(N), np.zeros(C), np.zeros((max(nv + C, 1), 3)))
    overlap = System(np.zeros((C, C)), np.zeros(C), np.zeros(1), np.tile([0.0, 0.0, np.inf], (C, 1)))
    return Matrix(
        ltdl.velocities_above(model), jsiia.dense(model), coupling.v_index, coupling.v_factor, np.zeros((N, nv)),
        np.zeros((nv, N)), np.zeros(N), system, overlap, rounds_workspace(N),
    )  # fmt: skip


def example() -> Matrix:
    """Return arrays of the types that kernels are compiled for."""
    real, whole = np.zeros(1), np.zeros(1, np.int64)
    matrix, cube = real[None], real[None, None]
    system = System(matrix, real, real, matrix)
    dense, solver = Dense(matrix, matrix, cube, matrix, matrix), rounds_workspace(1)
    return Matrix(whole, dense, whole, real, matrix, matrix, real, system, system, solver)
