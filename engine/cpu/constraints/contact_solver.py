"""Impulses of contacts, joint friction and joint limits under the exact law of `contact_law`.

Rounds from a warm start (`contact_rounds`); if they miss the tolerance, rounds from zero, then the interior point from
cold and rounds again; then both with shorter steps along a smoother path. The best iterate of all is returned.
"""

from __future__ import annotations

from engine.compile import rare
from engine.cpu.constraints.contact_rounds import rounds, velocities
from engine.cpu.constraints.interior_point import interior_point
from engine.kernels.contact.workspace import INTERIOR_COUNT

_ROUNDS, _FROM_NOTHING, _STEPS = 4, 6, 40  # rounds, rounds from zero, steps of an interior point
_DAMPING, _STRONG_DAMPING = 1.0, 10.0  # of rounds, and of those from zero
_LEAST_CENTRING, _LONGEST, _SMOOTHING = 1e-4, 0.99, 1.0  # of the first interior point
_MORE_CENTRING, _SHORTER, _SMOOTHER = 0.1, 0.9, 1000.0  # of the second


@rare
def solve(system, contacts, joints, impulses, room, tolerance, count):
    """Compute the impulses (N,) in place of a warm start, and u = G λ + b in `room.u`.

    Returns the residual. `count` (3,) grows by the sweeps, Newton steps and interior-point steps taken.
    """
    n = 3 * contacts + joints
    for k in range(n):
        room.impulses[k] = impulses[k]
    least = rounds(system, contacts, joints, room, tolerance, _ROUNDS, _DAMPING, count)
    for k in range(n):
        impulses[k] = room.best[k]
    for attempt in range(3):
        if least <= tolerance:
            break
        if attempt == 0:
            for k in range(n):
                room.impulses[k] = 0.0
        elif attempt == 1:
            count[INTERIOR_COUNT] += interior_point(
                system, contacts, joints, room, tolerance, _STEPS, _LEAST_CENTRING, _LONGEST, _SMOOTHING
            )
        else:
            count[INTERIOR_COUNT] += interior_point(
                system, contacts, joints, room, tolerance, _STEPS, _MORE_CENTRING, _SHORTER, _SMOOTHER
            )
        many, damping = (_FROM_NOTHING, _STRONG_DAMPING) if attempt == 0 else (_ROUNDS, _DAMPING)
        left = rounds(system, contacts, joints, room, tolerance, many, damping, count)
        if left < least:
            least = left
            for k in range(n):
                impulses[k] = room.best[k]
    velocities(system, n, impulses, room.u)
    return least
