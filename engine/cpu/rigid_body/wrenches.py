"""External wrenches: from a robot's links to its bodies, and to generalized forces.

A wrench (n, f) on a link is in the link's own frame, about its origin, N m and N. A body's wrench is the sum over its
links, in the body's frame, about its origin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import kernel
from engine.cpu.rigid_body import rnea, tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.cpu.runtime.arrays import fill
from engine.kernels.spatial import add, load3, load9, store3, transform_force
from engine.model import Model


class Links(NamedTuple):
    """The links' frames on their bodies: `body` (links,), −1 for the world's, rotation (links, 9), position."""

    body: NDArray[np.int64]
    rotation: NDArray[np.floating]
    position: NDArray[np.floating]


@lru_cache(maxsize=64)
def pack_links(model: Model) -> Links:
    """Return the model's links for the kernels; cached."""
    return Links(model.link_body.copy(), model.link_rotation.reshape(-1, 9).copy(), model.link_position.copy())


@kernel
def on_bodies(on_links, start, links, out, lanes):
    """Compute the wrenches on the bodies of a block into `out` (n, 6 L), for the robots from `start` on.

    `on_links` is (1 or batch, links, 6). Wrenches on links of the world have no effect.
    """
    L, last = len(lanes), on_links.shape[0] - 1
    fill(out, 0.0)
    for link in range(links.body.size):
        if links.body[link] < 0:
            continue
        row, R, p = out[links.body[link]], load9(links.rotation[link]), load3(links.position[link])
        for k in range(L):
            wrench = on_links[min(start + k, last), link]
            n, f = transform_force(R, p, load3(wrench), load3(wrench, 3))
            store3(row, add(load3(row, k, L), n), k, L)
            store3(row, add(load3(row, 3 * L + k, L), f), 3 * L + k, L)


@kernel
def take_from_bias(wrenches, w, lanes):
    """Subtract the wrenches on the bodies, (n, 6 L), from p."""
    for i in range(wrenches.shape[0]):
        row = w[i]
        for k in range(6 * len(lanes)):
            row[slot.BIAS * len(lanes) + k] -= wrenches[i, k]


@kernel
def generalized_forces(q, on_links, out, wrenches, topology, constants, links, w, lanes):
    """Compute Σ Jᵢᵀ wᵢ into `out` (batch, tree_nv) at q (batch, tree_nq); `wrenches` (n, 6 L) is a work array."""
    L = len(lanes)
    for start in range(0, q.shape[0], L):
        tree_passes.scatter_q(q, start, topology, constants, w, lanes)
        tree_passes.poses(topology, constants, w, lanes)
        on_bodies(on_links, start, links, wrenches, lanes)
        for i in range(topology.shape[0]):
            row = w[i]
            for k in range(6 * L):
                row[slot.BIAS * L + k] = wrenches[i, k]
        rnea.joint_forces(topology, w, lanes)
        tree_passes.gather_v(out, start, topology, w, lanes, slot.OF_TAU)
