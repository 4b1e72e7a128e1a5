"""The skeleton of a robot without visuals: a ball at each link's frame, and bars between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import engine

BALL, BAR = 0.07, 0.025
"""Radii, relative to a long bar's length: the 80th percentile of all."""
LONE = 0.5
"""The length assumed if there are no bars, m."""
BALL_COLOR = (0.93, 0.52, 0.16, 1.0)
BAR_COLOR = (0.78, 0.80, 0.83, 1.0)


def shown(model: engine.Model) -> tuple[engine.Visual, ...]:
    """Return a model's visuals, and the skeleton of each of its parts that has none."""
    part = model.part_of_link
    seen = {part[visual.link] for visual in model.visuals}
    bare = () if seen.issuperset(part) else visuals(model)
    return (*model.visuals, *(each for each in bare if part[each.link] not in seen))


def visuals(model: engine.Model) -> tuple[engine.Visual, ...]:
    """Return balls at the frames of links that move or carry others, and bars from each to those it carries.

    A last link has a bar to its centre of mass. Bars are fixed to the link where they begin, with their length at
    `model.neutral()`. In a composed model each part has those that it has alone.
    """
    first = np.searchsorted(model.part_of_link, range(len(model.parts))).tolist()
    alone = [(each, link) for part, link in zip(model.parts, first, strict=True) for each in visuals(part.model)]
    return tuple(replace(each, link=link + each.link) for each, link in alone) if alone else _of_one(model)


def _of_one(model: engine.Model) -> tuple[engine.Visual, ...]:
    poses = np.asarray(engine.link_poses(model, model.neutral()))
    bars = [(link, _seen_from(poses[link], poses[child, :3, 3])) for child, link in _parents(model).items()]
    bars += _tips(model, {link for link, _ in bars})
    bars = [(link, end) for link, end in bars if np.linalg.norm(end) > 1e-6]
    unit = float(np.percentile([np.linalg.norm(end) for _, end in bars], 80)) if bars else LONE
    shown = sorted({link for link, _ in bars} | set(np.flatnonzero(model.link_body >= 0).tolist()))
    balls = (engine.Visual(link, "sphere", (BALL * unit,), np.eye(4), BALL_COLOR) for link in shown)
    return (*balls, *(_bar(link, end, BAR * unit) for link, end in bars))


def _parents(model: engine.Model) -> dict[int, int]:
    """Return the parent link of each link, if any: the first of its body's, or of the nearest ancestor with links."""
    free = {joint.bodies.start for joint in model.joints if joint.kind == "floating"}
    first: dict[int, int] = {}
    for link, body in enumerate(model.link_body):
        first.setdefault(int(body), link)
    parents = {}
    for link, body in enumerate(int(body) for body in model.link_body):
        if first[body] != link:
            parents[link] = first[body]
            continue
        while body >= 0 and body not in free:
            body = int(model.parent[body])
            if body in first:
                parents[link] = first[body]
                break
    return parents


def _tips(model: engine.Model, carriers: set[int]) -> list[tuple[int, NDArray[np.floating]]]:
    """Return the centre of mass, in the link's frame, of each body with one link that carries no other."""
    links = np.bincount(model.link_body + 1)
    tips = []
    for link, body in enumerate(model.link_body):
        if link not in carriers and body >= 0 and links[body + 1] == 1 and model.mass[body] > 0:
            center = model.first_moment[body] / model.mass[body] - model.link_position[link]
            tips.append((link, model.link_rotation[link].T @ center))
    return tips


def _seen_from(pose: NDArray[np.floating], point: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a world point (3,) in the frame of that pose (4, 4)."""
    return pose[:3, :3].T @ (point - pose[:3, 3])


def _bar(link: int, end: NDArray[np.floating], radius: float) -> engine.Visual:
    """Return a bar from a link's frame to a point in it."""
    length = float(np.linalg.norm(end))
    z = end / length
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3] = np.stack([x, np.cross(z, x), z, end / 2], axis=1)
    return engine.Visual(link, "cylinder", (radius, length), pose, BAR_COLOR)
