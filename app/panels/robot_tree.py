"""A robot's links as a readable tree: an entry for each, below the link that carries it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import engine

WORLD = -1
DEEPEST = 16  # levels


@dataclass(frozen=True)
class Entry:
    """A link, the joint that carries it, and its parent entry, −1 for none."""

    link: int
    name: str
    joint: str
    kind: str
    """The joint's type; "fixed" for a link fixed to another link, "root" for the one that carries all."""
    under: int


def entries(model: engine.Model) -> tuple[Entry, ...]:
    """Return an entry for each link, in their order, with the link that carries it as parent.

    Below `DEEPEST` levels a chain is flat, so that hundreds of links form a list. A link held by a fixed joint has the
    holding link as parent.
    """
    parent, first = _first_links(model)
    joint_of = _joints(model)
    made: list[Entry] = []
    depth: list[int] = []
    for link, name in enumerate(model.link_names):
        body = int(model.link_body[link])
        leader = first[body]
        if link != leader:
            made.append(Entry(link, name, "", "fixed", leader))
        else:
            under = -1 if body == WORLD else first.get(int(parent[body]), -1)
            if under >= 0 and depth[under] >= DEEPEST:
                under = made[under].under
            joint = joint_of.get(body)
            shown, kind = (joint.name, joint.kind) if joint is not None else ("", "root")
            made.append(Entry(link, name, shown, kind, under))
        depth.append(depth[made[-1].under] + 1 if made[-1].under >= 0 else 0)
    return tuple(made)


def _first_links(model: engine.Model) -> tuple[np.ndarray, dict[int, int]]:
    """Return each body's nearest ancestor with a link, and the first link of each body with links and of the world."""
    first: dict[int, int] = {}
    for link, body in enumerate(model.link_body.tolist()):
        first.setdefault(body, link)
    parent = model.parent.copy()
    for body in range(len(parent)):  # a planar joint's first two bodies carry no link
        while parent[body] != WORLD and int(parent[body]) not in first:
            parent[body] = parent[parent[body]]
    linked = np.array([body in first for body in range(len(parent))], bool)
    parent[~linked] = -2
    return parent, first


def _joints(model: engine.Model) -> dict[int, engine.Joint]:
    """Return the joint that carries each body."""
    return {body: joint for joint in model.joints for body in range(joint.bodies.start, joint.bodies.stop)}


def joint_of_link(model: engine.Model, link: int) -> engine.Joint | None:
    """Return the joint that moves a link; None if it is fixed to the world."""
    return _joints(model).get(int(model.link_body[link]))
