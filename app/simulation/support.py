"""`Support`: whether a robot tips over its contacts: the polygon that they span, and the pressure in each link's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import engine
from app.simulation.contacts import Contacts

Floats = NDArray[np.floating]

STEEPEST = 0.5  # least cosine of a normal's angle from the vertical; what presses on steeper faces carries nothing
WEAKEST = 1e-6  # least share of the largest pressure


@dataclass(frozen=True, eq=False)
class Support:
    """The support of a robot that rests on what is around it.

    `corners` (K, 3), m, go around the convex hull of the contact points that carry it, as seen along gravity.
    `below` (3,) is the centre of mass projected along gravity onto the plane that fits the corners best, and `margin`,
    m, its distance from the hull's edge as seen along gravity, negative outside: at rest the robot tips then.
    `links` (L,) are those that are pressed, and `pressed` (L, 3), m, the centre of pressure of each.
    """

    corners: Floats
    below: Floats
    margin: float
    links: NDArray[np.int64]
    pressed: Floats


def support_of(robot: engine.Model, contacts: Contacts | None, center: Floats, gravity: Floats) -> Support | None:
    """Return the support of a robot, whose links are the first, with its centre of mass at `center` (3,), m.

    What it rests on is the ground, obstacles and the links of other robots. None without support, without `gravity`
    (3,), m/s², and for a robot that is fixed to the world.
    """
    strength, links = float(np.linalg.norm(gravity)), len(robot.link_names)
    if contacts is None or not strength or not any(joint.kind == "floating" for joint in robot.joints):
        return None
    up = -gravity / strength
    own, others = contacts.link < links, (contacts.other >= 0) & (contacts.other < links)
    pressure = np.einsum("ij,ij->i", contacts.force, contacts.normal)
    lifts = np.where(own, 1.0, -1.0) * (contacts.normal @ up) > STEEPEST
    carries = (own != others) & lifts & (pressure > WEAKEST * pressure.max(initial=0.0))
    if not carries.any():
        return None
    point, pressure = contacts.point[carries], pressure[carries]
    link = np.where(own, contacts.link, contacts.other)[carries]
    pressed = np.unique(link)
    centers = [np.average(point[link == each], axis=0, weights=pressure[link == each]) for each in pressed]
    across = np.linalg.svd(up[None])[2][1:]  # (2, 3): two axes of the plane across gravity
    corners = point[_hull(point @ across.T)]
    flat, here = corners @ across.T, center @ across.T
    slope = np.linalg.lstsq(flat - flat.mean(0), (corners - corners.mean(0)) @ up, rcond=1e-6)[0]
    height = corners.mean(0) @ up + (here - flat.mean(0)) @ slope
    return Support(corners, here @ across + height * up, _margin(flat, here), pressed, np.array(centers))


def _hull(points: Floats) -> list[int]:
    """Return the numbers of the points (N, 2) that are corners of their convex hull, anticlockwise.

    SciPy's would halt the window for a quarter of a second at the first contact, while it is imported.
    """
    order = np.unique(points, axis=0, return_index=True)[1].tolist()  # by x, then by y
    least = 1e-9 * float(np.ptp(points, axis=0).max()) ** 2
    around: list[int] = []
    for way in (order, order[::-1]):
        half: list[int] = []
        for k in way:
            while len(half) > 1 and _turn(*points[[half[-2], half[-1], k]]) <= least:
                half.pop()
            half.append(k)
        around += half[:-1]
    return around or order


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    """Return twice the area of a triangle, positive if its corners (2,) are anticlockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _margin(corners: Floats, point: Floats) -> float:
    """Return a point's (2,) distance from the edge of a convex polygon (K, 2), anticlockwise; negative outside."""
    ends = np.roll(corners, -1, axis=0)
    edge, away = ends - corners, point - corners
    squared = np.einsum("ij,ij->i", edge, edge)
    share = np.clip(np.einsum("ij,ij->i", away, edge) / np.where(squared > 0, squared, 1.0), 0.0, 1.0)
    distance = float(np.linalg.norm(away - share[:, None] * edge, axis=1).min())
    inside = len(corners) > 2 and np.all(edge[:, 0] * away[:, 1] >= edge[:, 1] * away[:, 0])
    return distance if inside else -distance
