"""Check that a robot's numbers are physically possible: masses, inertias, and joints that move no inertia.

An error is a problem that prevents a correct simulation. A problem of real files that leaves the equations of motion
well defined is a warning, with the value that is used instead.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from engine import lie
from engine.model import REVOLUTE, SPHERICAL, Model
from engine.model.joints import BODY_JOINTS, NV
from engine.urdf.assembly import tensors
from engine.urdf.elements import Description, Link
from engine.urdf.markup import Document, Element
from engine.urdf.topology import Topology

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""An eigenvalue this small relative to the largest counts as zero, written with few digits."""
TRIANGLE = 1e-3
"""Tolerance of the triangle inequality: real files are rounded to three digits."""
MAX_NEGATIVE_INERTIA = 0.5
"""Negative inertia beyond this share of the largest is an error; real files have up to a fifth."""
SINGULAR_RATIO = 1e-13
"""An articulated inertia this small relative to the rigid-body inertia is round-off."""


def negative_mass(document: Document, element: Element, mass: float) -> bool:
    """Whether a mass is negative, which is an error."""
    if mass < 0:
        document.error(element, f"the mass is {mass:g} kg", "give a mass that is positive, in kilograms")
    return mass < 0


def inertias(document: Document, links: Iterable[Link], beyond_error: set[str]) -> None:
    """Check each link's inertia about its centre of mass: positive definite, and that of a mass distribution."""
    inertials = [(link.name, link.inertial) for link in links if link.inertial is not None]
    moments = np.linalg.eigvalsh(tensors([entry.moments for _, entry in inertials]))
    for (name, entry), (a, b, c) in zip(inertials, moments.tolist(), strict=True):
        element = entry.element.find("inertia")
        if element is None or (entry.mass == 0 and not any(entry.moments)):
            continue
        scale = max(abs(a), abs(c))
        if a <= ROUNDING * scale:
            shown = ", ".join(f"{0.0 if abs(value) < ROUNDING * scale else value:.3g}" for value in (a, b, c))
            problem = f"not positive definite: the principal moments are {shown} kg m²"
            if a < -ROUNDING * scale and name in beyond_error:
                document.error(element, problem, "no rigid body has such an inertia; correct the <inertia> element")
            else:
                document.warning(element, problem, "these numbers are used")
        elif c > (a + b) * (1 + TRIANGLE):
            problem = f"the principal moments break the triangle inequality: {c:.3g} > {a:.3g} + {b:.3g} kg m²"
            document.warning(element, problem, "these numbers are used")


def impossible(model: Model) -> set[str]:
    """Return the links of bodies whose inertia about the centre of mass is negative beyond identification error."""
    mass = np.where(model.mass > 0, model.mass, 1.0)
    mc = lie.skew(model.first_moment)
    moments = np.linalg.eigvalsh(model.inertia + mc @ mc / mass[:, None, None])
    largest = np.abs(moments).max(-1, initial=0.0)
    round_off = ROUNDING * np.trace(model.inertia, axis1=1, axis2=2)
    negative = moments.min(-1, initial=np.inf) < -np.maximum(MAX_NEGATIVE_INERTIA * largest, round_off)
    bodies = {*np.flatnonzero(negative).tolist()}
    return {name for name, body in zip(model.link_names, model.link_body.tolist(), strict=True) if body in bodies}


def masses(document: Document, description: Description, topology: Topology) -> None:
    """Check for links that move by themselves without mass, or have inertia without it."""
    moved = {joint.child for joint in description.joints if joint.type != "fixed"}
    heavy = [bool(branch.link.inertial and branch.link.inertial.mass > 0) for branch in topology.branches]
    for index in reversed(range(len(heavy))):
        branch = topology.branches[index]
        if heavy[index] and branch.joint is not None and branch.joint.type == "fixed":
            heavy[branch.parent] = True
    light = moved - {branch.link.name for branch, mass in zip(topology.branches, heavy, strict=True) if mass}
    for link in description.links:
        if link.inertial is None and link.name in light:
            problem = "it moves, and neither it nor what is fixed to it has mass"
            document.warning(link.element, problem, "mass 0 is used; give it an <inertial>")
        elif link.inertial and link.inertial.mass == 0 and (link.name in moved or any(link.inertial.moments)):
            element = link.inertial.element.find("mass")
            document.warning(element, "the mass is 0", "mass 0 is used; give it in kilograms")


def joints_to_lock(document: Document, topology: Topology, model: Model) -> dict[str, float]:
    """Return the joints to be locked, with positions: joints that move no inertia, so that q̈ is undefined.

    Such a joint moves only massless links, or moves about the axis of another joint. Locking it does not change the
    motion of the others. It is an error if locking is impossible: a free body without inertia, a body of negative
    inertia, or a robot without any joint left to move.
    """
    D = _articulated(model)
    shares = np.minimum.reduceat(D, [joint.bodies.start for joint in model.joints]) if model.joints else D
    largest_shares: dict[str, float] = {}
    for joint, share in zip(model.joints, shares.tolist(), strict=True):
        name = joint.leader or joint.name
        largest_shares[name] = max(largest_shares.get(name, -np.inf), share * (joint.multiplier != 0))
    singular = [joint for joint in model.joints if largest_shares[joint.leader or joint.name] <= SINGULAR_RATIO]
    moved = {
        carrier.name: (branch.link.name, carrier.element) for branch in topology.branches if (carrier := branch.joint)
    }
    q, idle = model.neutral(), {}
    for joint in singular:
        link, element = moved[joint.name]
        problem = f"nothing that it moves (link {link!r} onwards) has inertia against it: its acceleration is undefined"
        fix = f"give link {link!r} mass and inertia"
        if D[joint.bodies].min() < -SINGULAR_RATIO:
            document.error(element, f"link {link!r} and what it carries have negative inertia against it", fix)
        elif joint.type.parts or len(singular) == len(model.joints):
            document.error(element, problem, fix)
        else:
            leader = model.joint(joint.leader or joint.name)
            idle[joint.name] = position = joint.multiplier * q[leader.q.start] + joint.offset
            document.warning(element, problem, f"it is held at {position:g}; {fix}")
    return idle


def _articulated(model: Model) -> Array:
    """(n,): each joint's smallest articulated inertia at a generic q, relative to the rigid-body inertia.

    Zero, up to round-off, means that some joint force has no defined acceleration. Source: R. Featherstone, "Rigid Body
    Dynamics Algorithms" (2008), section 7.3: ``D = Sᵀ I^A S``.
    """
    n = len(model.parent)
    angle = np.random.default_rng(0).uniform(-1, 1, n)
    tilt, turn = (np.where(np.isin(model.kind, kinds), angle, 0.0) for kinds in (SPHERICAL, (REVOLUTE, SPHERICAL)))
    rolled = np.stack([tilt, tilt, turn], -1)
    R = model.home_rotation @ lie.rotation_from_rpy(rolled)
    X = lie.Ad(*lie.inverse(R, model.home_position))
    articulated = model.J.copy()
    several, parent, kind = (NV[model.kind] > 1).tolist(), model.parent.tolist(), model.kind.tolist()
    shares = np.zeros(n)
    for i in reversed(range(n)):
        I_A = articulated[i]
        columns = BODY_JOINTS[kind[i]].columns
        if several[i]:
            block = I_A[np.ix_(columns, columns)]
            moments = np.linalg.eigvalsh(block)
            shares[i] = share = moments[0] / (np.abs(moments).max() or 1.0)
            if parent[i] >= 0 and len(columns) < 6:
                U = I_A[:, columns]
                if share > SINGULAR_RATIO:
                    I_A = I_A - U @ np.linalg.solve(block, U.T)
                articulated[parent[i]] += X[i].T @ I_A @ X[i]
            continue
        k = columns[0]
        a, b, D = I_A.diagonal()[k - 2 : k + 1].tolist()
        shares[i] = share = D / (abs(a + b + D) or 1.0)
        if parent[i] >= 0:
            if share > SINGULAR_RATIO:
                row = I_A[k]
                I_A = I_A - row[:, None] * (row / D)
            articulated[parent[i]] += X[i].T @ I_A @ X[i]
    return shares
