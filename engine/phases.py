"""The timed phases of a step: their names, and those of each algorithm on a device.

A kernel adds a phase's time to the counter of that index, so their order is the same for all; each algorithm has those
of `PHASES`, in execution order. `Simulation.phases` has these names.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "kinematics": "the links' poses and velocities, from the root to the tips",
    "bias": "the forces due to velocities and gravity",
    "inertia recursion": "the articulated inertias, from the tips to the root",
    "acceleration": "the accelerations of the joints",
    "integration": "the next positions and velocities",
    "chunks": "the equations of each chunk of the chain, by the recursion over its links",
    "joins": "chunks joined in pairs, to the equations of all links beyond each chunk",
    "mass matrix": "the joint-space inertia matrix, by composite bodies",
    "factorisation": "the Cholesky factor of the mass matrix",
    "solve": "the accelerations of the joints from the mass matrix, on the GPU with its factorisation",
    "assembly": "the blocks of the system that the forces in the joints solve",
    "elimination": "the elimination of those blocks",
    "refinement": "the accelerations, refined until the residual of inverse dynamics is small",
    "collision": "where the robot touches the ground, or nearly does",
    "contact": "the impulses of contacts, joint limits and friction, and the velocities after them",
    "constraints": "which joint limits and frictions are active: the decisions between the accelerations",
}
"""Descriptions by name, in the order of the counters."""
NAMES = tuple(MEANINGS)
COUNT = len(NAMES)
(
    KINEMATICS, BIAS, INERTIA_RECURSION, ACCELERATION, INTEGRATION, CHUNKS, JOINS, MASS_MATRIX, FACTORISATION, SOLVE,
    ASSEMBLY, ELIMINATION, REFINEMENT, COLLISION, CONTACT, CONSTRAINTS,
) = range(COUNT)  # fmt: skip

_ABA = ("kinematics", "bias", "inertia recursion", "acceleration")
_ENDS = ("constraints", "integration")
PHASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cpu": {
        "abia": (*_ABA, *_ENDS),
        "jsiia": ("kinematics", "bias", "mass matrix", "factorisation", "solve", *_ENDS),
        "cfa": ("kinematics", "bias", "assembly", "elimination", "refinement", *_ENDS),
        "dca": ("kinematics", "bias", "chunks", "joins", "inertia recursion", "acceleration", *_ENDS),
    },
    "cuda": {
        "abia": (*_ABA, "integration"),
        "jsiia": ("kinematics", "bias", "mass matrix", "solve", *_ENDS),
        "cfa": ("kinematics", "bias", "assembly", "elimination", "refinement", *_ENDS),
        "dca": ("kinematics", "chunks", "joins", "inertia recursion", "acceleration", *_ENDS),
    },
}
"""By device and algorithm, in execution order; an algorithm without a row has ABIA's."""
WRITTEN_OUT = ("acceleration", "integration")
"""Phases of ABIA on a GPU where its kernel is unrolled for the robot and not split further."""


def names(device: str, algorithm: str, ground: bool = False) -> tuple[str, ...]:
    """Return the names of an algorithm's phases on a device; `ground`: the robot can have contacts."""
    phases = PHASES[device].get(algorithm, PHASES[device]["abia"])
    return (*phases[:-1], "collision", "contact", phases[-1]) if ground else phases
