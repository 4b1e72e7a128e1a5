"""Impulses of contacts, joint friction and joint limits under the exact law of `contact_law`.

Rounds from a warm start (`contact_rounds`); where these do not reach the tolerance the interior point, from cold, and
rounds again; once more with shorter steps; at last sweeps alone. The best iterate of all of them is the answer.
"""

from __future__ import annotations

from engine.cpu.constraints.contact_rounds import rounds, velocities
from engine.cpu.constraints.interior_point import interior_point
from engine.cpu.runtime.native import kernel

_ROUNDS, _STEPS, _LAST = 4, 30, 50  # rounds, steps of an interior point, sweeps at the end


@kernel
def solve(system, contacts, joints, impulses, room, tolerance, count):
    """The impulses (N,) that obey the law, in place of a warm start, and u = G λ + b in `room.u`.

    Answers the residual that is left. `count` (3,) grows by the sweeps, Newton steps and interior-point steps it took.
    """
    n = 3 * contacts + joints
    for k in range(n):
        room.impulses[k] = impulses[k]
    least = rounds(system, contacts, joints, room, tolerance, _ROUNDS, True, count)
    for k in range(n):
        impulses[k] = room.best[k]
    for attempt in range(3):
        if least <= tolerance:
            break
        if attempt < 2:
            shorter = attempt == 1
            count[2] += interior_point(
                system, contacts, joints, room, tolerance, _STEPS, 0.1 if shorter else 1e-4, 0.9 if shorter else 0.99
            )
            left = rounds(system, contacts, joints, room, tolerance, _ROUNDS, True, count)
        else:
            for k in range(n):
                room.impulses[k] = impulses[k]
            left = rounds(system, contacts, joints, room, tolerance, _LAST, False, count)
        if left < least:
            least = left
            for k in range(n):
                impulses[k] = room.best[k]
    velocities(system, n, impulses, room.u)
    return least
