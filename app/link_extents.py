"""The extents of links from their inertias: points of each, some off any rotation axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import engine

POINTS = 7


def link_points(model: engine.Model) -> NDArray[np.float64]:
    """(links, POINTS, 3): each link's origin, and the face centres of its body's equivalent box, m.

    A uniform box of half lengths a has I₁ = m (a₂² + a₃²)/3, and so on. In link frames; for links without mass all
    points are the origin.
    """
    points = np.zeros((len(model.link_names), POINTS, 3))
    links = np.flatnonzero(model.link_body >= 0)
    links = links[model.mass[model.link_body[links]] > 0]
    body = model.link_body[links]
    mass = model.mass[body][:, None]
    center = model.first_moment[body] / mass
    across = (center**2).sum(1)[:, None, None] * np.eye(3) - center[:, :, None] * center[:, None]
    principal, axes = np.linalg.eigh(model.inertia[body] - mass[:, None] * across)
    half = np.sqrt(np.maximum(1.5 * (principal.sum(1, keepdims=True) - 2 * principal) / mass, 0.0))
    arms = (axes * half[:, None]).transpose(0, 2, 1)
    faces = (center - model.link_position[links])[:, None] + np.concatenate([arms, -arms], 1)
    points[links, 1:] = faces @ model.link_rotation[links]
    return points


def world_points(poses: NDArray[np.floating], points: NDArray[np.floating]) -> NDArray[np.float64]:
    """(links, POINTS, 3): the world positions of link points for link poses (links, 4, 4), m."""
    there: NDArray[np.float64] = np.einsum("lij,lpj->lpi", poses[:, :3, :3], points) + poses[:, None, :3, 3]
    return there


def ends(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """(links, 3): the point of each link that is farthest from its origin."""
    farthest = np.linalg.norm(points, axis=2).argmax(1)
    tips: NDArray[np.float64] = points[np.arange(len(points)), farthest]
    return tips
