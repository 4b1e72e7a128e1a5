"""How a block of robots lies in memory for the kernels; `engine.model.layout` says how a model does.

``w`` (n, WIDTH · L) float: the workspace of a block of L robots, a row a body, the quantities below,
each L numbers wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# fmt: off
R = 0         # 9  rotation of T_i
P = 9         # 3  position of T_i
Q = 12        # 1  coordinate
QD = 13       # 1  its velocity q̇
V = 14        # 6  twist
VXS = 20      # 6  c = ad_V S q̇; before that, a free joint's q̇
I = 26        # 21 articulated or composite inertia [A B; Bᵀ C], A first; once sent to the parent, seen from there
I_B = 32      # 9  its block B
I_C = 41      # 6  its block C
BIAS = 47     # 6  bias force p; follows I, so that both go to the parent in one pass
U = 53        # 6  U = I S; a free joint's τ before and q̈ after
TAU = 59      # 1  τ
D = 60        # 1  SᵀU + E
DINV = 61     # 1  1/D, or 0 where the joint is locked
UD = 62       # 1  u/D, or the prescribed acceleration where it is locked
ACC = 63      # 6  acceleration
QDD = 69      # 1  q̈
E = 70        # 1  added to the diagonal of the mass matrix
LOCK = 71     # 1  1 where the acceleration is prescribed, else 0
TARGET = 72   # 1  the prescribed acceleration
REACTION = 73 # 1  the force that prescribing it takes
WIDTH = 74
# fmt: on

ONE: tuple[int, ...] = (0,)
EIGHT: tuple[int, ...] = (0,) * 8


def workspace(bodies: int, lanes: tuple[int, ...], dtype: str = "float64") -> NDArray[np.floating]:
    """A workspace for a block of robots, zeroed."""
    return np.zeros((bodies, WIDTH * len(lanes)), dtype)
