"""Articulated inertias of serial chains, sequentially: the CPU's part of hybrid ABIA."""

from __future__ import annotations

import numpy as np

from engine.compile import kernel
from engine.kernels.robot import KIND
from engine.kernels.sines import MAX_ANGLE, sincos
from engine.kernels.spatial import add, inertia_to_parent, load3, load6, load9, minus_rank_one, rotated_about_z, scale
from engine.model import REVOLUTE, layout


@kernel
def axial_inertias(topology, constants, q, out):
    """Compute U = Ĵ S into `out` (batch, n, 6) from q (batch, n), for revolute and prismatic joints on a fixed base.

    D = SᵀU is one of the six numbers. `topology` and `constants` are those of `engine.model.layout`.
    """
    n = topology.shape[0]
    for k in range(q.shape[0]):
        A = C = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        B = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for i in range(n - 1, -1, -1):
            c, U, revolute = constants[i], out[k, i], topology[i, KIND] == REVOLUTE
            m, (x, y, z), own = c[layout.MASS], load3(c, layout.FIRST_MOMENT), load6(c, layout.INERTIA)
            A = (A[0] + own[0], A[1] + own[1], A[2] + own[2], A[3] + own[3], A[4] + own[4], A[5] + own[5])
            B = (B[0], B[1] - z, B[2] + y, B[3] + z, B[4], B[5] - x, B[6] - y, B[7] + x, B[8])
            C = (C[0] + m, C[1], C[2], C[3] + m, C[4], C[5] + m)
            x, y = ((A[2], A[4], A[5]), (B[6], B[7], B[8])) if revolute else ((B[2], B[5], B[8]), (C[2], C[4], C[5]))
            U[0], U[1], U[2], U[3], U[4], U[5] = x[0], x[1], x[2], y[0], y[1], y[2]
            if i == 0:
                continue
            A, B, C = minus_rank_one(A, B, C, x, y, 1 / (x[2] if revolute else y[2]))
            R, p = load9(c, layout.HOME_ROTATION), load3(c, layout.HOME_POSITION)
            angle = q[k, i]
            if revolute:
                s, o = sincos(angle) if abs(angle) <= MAX_ANGLE else (np.sin(angle), np.cos(angle))
                R = rotated_about_z(R, s, o)
            else:
                p = add(p, scale(angle, (R[2], R[5], R[8])))
            A, B, C = inertia_to_parent(R, p, A, B, C)
