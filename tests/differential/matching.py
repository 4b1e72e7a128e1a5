"""Match the kernels' contacts with the reference's, and report mismatches."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import engine
from engine.algorithms import step, touching
from engine.algorithms.convex import ContactPoint, PosedSolid, Solid, gaps_along, signed_distance
from engine.algorithms.pair_places import ORDER, places_of
from engine.algorithms.touching import Contact
from engine.lie import Array

if TYPE_CHECKING:
    from tests.differential.differences import Robot

APART = 0.01  # m: places of a pair that are nearer to each other the kernels may take for one


class Precision(NamedTuple):
    """A device's tolerances by number type: relative rounding, of a place in m, of a residual.

    `searched`, m: the allowed difference between the largest gap and that along the kernels' normal of a cylinder.
    docs/collision.md claims 1e-8; the curvature makes normals and places less accurate.
    """

    rounding: float
    place: float
    residual: float
    searched: float


DOUBLE = Precision(2.0**-52, 1e-8, 2e-9, 1e-6)
SINGLE = Precision(2.0**-23, 2e-4, 3e-4, 1e-3)

seen: Counter[str] = Counter()
"""Counts of compared features in this process."""


def told_contacts(
    robot: Robot, told: engine.scene.Contacts | None, exact: Precision
) -> tuple[list[Contact], list[Contact], list[str]]:
    """Return the reported contacts, each with the reference's law, in reported order; the held ones; and mismatches."""
    dt, scene = robot.settings.dt, robot.settings.scene
    every = touching.candidates(robot.model, scene, robot.at, dt)
    held = [x for near in every for x in near.contacts if not _moves(robot, x)]
    groups = [near._replace(contacts=[x for x in near.contacts if _moves(robot, x)]) for near in every]
    own: list[int] = list(range(0 if told is None else int(told.number[0])))
    matched: dict[int, Contact] = {}
    faults: list[str] = []
    known = [_matched(near.contacts, told, own, exact) for near in groups]
    for k, near in enumerate(groups):
        here = [c for c in own if c not in matched]
        found = _matched(near.contacts, told, here, exact)
        if near.pair is not None and near.contacts and len(found) < _of_the_same_two(near.contacts[0], told, here):
            free = [c for c in here if c in known[k] or not any(c in each for each in known)]  # nor of shapes beside it
            found = max(found, _by_their_normals(near, told, free, exact), key=len)
        certain = [x for x in near.contacts if not _borderline(robot, x, exact)]
        expected = len(certain) if near.all else min(len(certain), 1 if near.tilt else touching.KEPT)
        few = len(found) < (min(expected, 1) if near.pair else expected) and not _alike(near.contacts, exact)
        if few and (near.all or not found or _adds(certain, [*found.values()], exact)):
            x = certain[0]
            faults.append(
                f"link {x.link} and {x.other} touch in {len(found)} places that are told; the text has {expected}"
            )
        if near.pair is not None and found and (far := _spread([x.x for x in certain])) > APART:
            told_far = _spread([told.point[0, c] for c in found])
            if told_far < far / 2:
                x = certain[0]
                faults.append(
                    f"link {x.link} and {x.other} touch over {far:.2g} m; what is told spans {told_far:.2g} m"
                )
        slack = exact.searched if near.pair else exact.place
        deepest = min((x.gap for x in near.contacts), default=0.0)
        if (
            found and near.pair is not None
        ):  # along the best normal that is reported, which may be better than the text's
            deepest = max(_gap_along(*near.pair, told.normal[0, c].astype(float)) for c in found)
        if found and min(told.gap[0, c] for c in found) > deepest + slack and deepest <= touching.CONTACT_MARGIN:
            faults.append(f"the deepest contact of link {near.contacts[0].link} is not among those that are kept")
        matched |= found
    faults += [
        f"a contact of link {told.link[0, c]} with {told.other[0, c]} at {told.point[0, c]}, gap "
        f"{told.gap[0, c]:.3e}, n {told.normal[0, c]} is none of the text's"
        for c in own
        if c not in matched and not _at_the_border(told, c, exact)
    ]
    seen["contacts"] += len(matched)
    return [x._replace(x=told.point[0, c].astype(float), n=told.normal[0, c].astype(float), gap=float(told.gap[0, c]))
            for c, x in sorted(matched.items())], held, faults  # fmt: skip


def _adds(certain: list[Contact], kept: list[Contact], exact: Precision) -> bool:
    """Whether a place enlarges the area of those kept by more than the rounding of places: within it none need be."""
    n, rounding = min(kept, key=lambda x: x.gap).n, 2 * exact.place * _spread([x.x for x in certain])
    left = [x for x in certain if all(x is not y for y in kept)]
    return any(touching.area_gain(kept, x, n, 0.0) > rounding for x in left)


def _spread(places: list[Array]) -> float:
    """Return the largest distance between any two."""
    return max((float(np.linalg.norm(x - y)) for k, x in enumerate(places) for y in places[:k]), default=0.0)


def _of_the_same_two(x: Contact, told: engine.scene.Contacts, own: list[int]) -> int:
    """Return the number of reported contacts of that link with the other surface there."""
    return sum(bool(told.link[0, c] == x.link and told.other[0, c] == x.other) for c in own)


def _matched(
    contacts: list[Contact], told: engine.scene.Contacts, own: list[int], exact: Precision
) -> dict[int, Contact]:
    """Match reported contacts with the reference's, each at most once."""
    found: dict[int, Contact] = {}
    for x in contacts:
        near = [c for c in own if c not in found and _is_same(x, told, c, exact)]
        if near:
            found[min(near, key=lambda c: _apart(x, told, c))] = x
    return found


def _by_their_normals(
    near: touching.Near, told: engine.scene.Contacts, own: list[int], exact: Precision
) -> dict[int, Contact]:
    """Match along the reported normals, if several directions are equally good."""
    one, other = near.pair
    law = near.contacts[0]
    gap = signed_distance(one, other)  # of cylinders the kernels' own is less exact: their normals are searched, too
    found: dict[int, Contact] = {}
    for c in own:
        if told.link[0, c] != law.link or told.other[0, c] != law.other or c in found:
            continue
        n = told.normal[0, c].astype(float)
        n = n / np.linalg.norm(n)
        if _gap_along(one, other, n) > gap - exact.searched:
            places = [law._replace(x=x, n=n, gap=own_gap) for x, _, own_gap in _places_along(one, other, n)]
            left = [k for k in own if k not in found]
            found |= _matched(places, told, left, exact._replace(place=exact.searched))
            closest = abs(told.gap[0, c] - gap) <= exact.searched and _holds(near, told, c, n, exact)
            if c not in found and closest:
                found[c] = law
    for c in own:  # a place that a corner and a search both find counts twice
        here = told.link[0, c] == law.link and told.other[0, c] == law.other and c not in found
        if here and any(np.linalg.norm(told.point[0, c] - told.point[0, k]) < 10 * exact.searched for k in found):
            found[c] = law
    return found


def _gap_along(one: PosedSolid, other: PosedSolid, n: Array) -> float:
    return float(gaps_along(one, other, n[None])[0])


def _places_along(one: PosedSolid, other: PosedSolid, n: Array) -> list[ContactPoint]:
    """Return the places along a normal, where several normals are equally good."""
    swapped = ORDER.index(one.solid.kind) > ORDER.index(other.solid.kind)
    a, b, m = (other, one, -n) if swapped else (one, other, n)
    places = places_of(a, b, m, _gap_along(a, b, m))
    return [place._replace(n=n) for place in places]


def _holds(near: touching.Near, told: engine.scene.Contacts, c: int, n: Array, exact: Precision) -> bool:
    """Whether a contact is at the closest points: each solid has a point half the gap away on its side."""
    x, half = told.point[0, c].astype(float), told.gap[0, c] / 2 * n
    points = [PosedSolid(Solid("sphere", (1e-9,)), np.eye(3), x + side * half, np.eye(3)) for side in (1, -1)]
    return all(signed_distance(*pair) <= 10 * exact.searched for pair in zip(points, near.pair, strict=True))


def _moves(robot: Robot, x: Contact) -> bool:
    return bool(np.max(np.abs(x.n @ step.point_row(robot.model, robot.at, x)), initial=0.0) > step.IMMOBILE)


def _alike(group: list[Contact], exact: Precision) -> bool:
    """Whether two places of a group are so near to each other that they may count as one."""
    return any(np.linalg.norm(x.x - y.x) < 1e3 * exact.place for k, x in enumerate(group) for y in group[:k])


def _borderline(robot: Robot, x: Contact, exact: Precision) -> bool:
    """Whether rounding decides if it takes part."""
    further = x._replace(gap=x.gap + 10 * exact.place)
    return not touching.is_near(touching.with_next_gap(robot.model, robot.at, further, robot.settings.dt))


def _at_the_border(told: engine.scene.Contacts, c: int, exact: Precision) -> bool:
    """Whether only rounding decides that it is reported, and it has no effect."""
    return bool(told.gap[0, c] > touching.CONTACT_MARGIN - exact.place and not np.any(told.impulse[0, c]))


def _is_same(x: Contact, told: engine.scene.Contacts, c: int, exact: Precision) -> bool:
    if x.link != told.link[0, c] or x.other != told.other[0, c] or abs(x.gap - told.gap[0, c]) > exact.place:
        return False
    return _apart(x, told, c) < 100 * exact.place and float(np.linalg.norm(x.n - told.normal[0, c])) < 1e3 * exact.place


def _apart(x: Contact, told: engine.scene.Contacts, c: int) -> float:
    same = x.link == told.link[0, c] and x.other == told.other[0, c]
    return float(np.linalg.norm(x.x - told.point[0, c])) if same else np.inf
