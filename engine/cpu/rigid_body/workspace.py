"""The layout of a block's workspace; that of a model is in `engine.model.layout`.

``w`` (n, WIDTH · L) float: the workspace of a block of L robots, a row a body, the quantities below, each L numbers
wide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# fmt: off
R = 0         # 9  rotation of T_i
P = 9         # 3  position of T_i
Q = 12        # 1  coordinate
QD = 13       # 1  its velocity q̇
V = 14        # 6  twist
VXS = 20      # 6  c = ad_V S q̇; before that, the q̇ of a free joint or a ball joint
I = 26        # 21 articulated or composite inertia [A B; Bᵀ C], A first; in the parent's frame once passed on
I_B = 32      # 9  its block B
I_C = 41      # 6  its block C
BIAS = 47     # 6  bias force p; next to I, so that both are passed on together
U = 53        # 6  U = I S; a free joint's τ before and q̈ after
TAU = 59      # 1  τ
D = 60        # 1  SᵀU + added inertia
DINV = 61     # 1  1/D, or 0 where the joint is held
UD = 62       # 1  u/D, or the prescribed acceleration where it is held
QDD = 63      # 1  q̈
ADDED_INERTIA = 64  # 1  added to the diagonal of the mass matrix
HELD = 65     # 1  1 where the acceleration is prescribed, else 0
TARGET_ACCELERATION = 66  # 1  that acceleration
REACTION = 67 # 1  the force that holds the joint
ACC = 68      # 6  acceleration
BALL_DINV = 74  # 3 like DINV, of a ball joint
WIDTH = 77

# A ball joint has three of each, in the same places:
BALL_TAU = U          # 3  τ
BALL_QDD = U + 3      # 3  q̈
BALL_ADDED_INERTIA = U + 6  # 3
BALL_HELD = U + 9     # 3
BALL_TARGET_ACCELERATION = U + 12  # 3  its acceleration where held; after that u/D, and then the reaction
BALL_U = I            # 18 U of its axes x, y and z, once the inertia is passed on
BALL_D = I + 18       # 3  their D
# fmt: on


class Axis(NamedTuple):
    """The places of the quantities of one axis, see above."""

    U: int
    D: int
    DINV: int
    TAU: int
    UD: int
    QDD: int
    ADDED_INERTIA: int
    HELD: int
    TARGET_ACCELERATION: int
    REACTION: int


JOINT = Axis(U, D, DINV, TAU, UD, QDD, ADDED_INERTIA, HELD, TARGET_ACCELERATION, REACTION)
BALL = tuple(
    Axis(
        BALL_U + 6 * k, BALL_D + k, BALL_DINV + k, BALL_TAU + k, BALL_TARGET_ACCELERATION + k, BALL_QDD + k,
        BALL_ADDED_INERTIA + k, BALL_HELD + k, BALL_TARGET_ACCELERATION + k, BALL_TARGET_ACCELERATION + k,
    )
    for k in range(3)
)  # fmt: skip

# By kind of joint: where its q̇, τ, q̈, and the rest are. A free joint takes no additions.
OF_QD = (QD, QD, VXS, VXS)
OF_TAU = (TAU, TAU, U, BALL_TAU)
OF_QDD = (QDD, QDD, U, BALL_QDD)
OF_REACTION = (REACTION, REACTION, U, BALL_TARGET_ACCELERATION)
OF_ADDED_INERTIA, OF_HELD, OF_TARGET_ACCELERATION = (
    (ADDED_INERTIA, ADDED_INERTIA, U, BALL_ADDED_INERTIA),
    (HELD, HELD, U, BALL_HELD),
    (TARGET_ACCELERATION, TARGET_ACCELERATION, U, BALL_TARGET_ACCELERATION),
)

ONE: tuple[int, ...] = (0,)
EIGHT: tuple[int, ...] = (0,) * 8


def workspace(bodies: int, lanes: tuple[int, ...], dtype: str = "float64") -> NDArray[np.floating]:
    """Return a zeroed workspace for a block of robots."""
    return np.zeros((bodies, WIDTH * len(lanes)), dtype)
