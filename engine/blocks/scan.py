"""The scan: any recursion along a chain in at most 2⌈log₂ n⌉ parallel steps.

A link is a *map* from the state before it to the state after it: of velocities in `bidiagonal`, of articulated inertias
in `engine.algorithms.dca`. Two neighbouring maps *join* into one. Joining is associative: the up-sweep joins pairs in
parallel, then pairs of pairs, until one map spans the chain. The down-sweep *applies* each map to the state before it,
which the coarser level has found. n links take n joins and n applications in total; the sequential recursion takes n
applications.

Source: [Y] section II.B; G. Blelloch, "Prefix sums and their applications" (1990).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.blocks.stages import stage
from engine.lie import Array

Arrays = tuple[Array, ...]
Join = Callable[[Arrays, Arrays], Arrays]
"""`join(left, right)`: joins neighbouring maps elementwise, left nearer to the base."""
Apply = Callable[[Arrays, Arrays], Arrays]
"""`apply(maps, states)`: returns the states after the maps from the states before them."""
First = Callable[[Arrays], Arrays]
"""`first(maps)`: returns the states after maps that have no predecessor."""


def scan(
    join: Join, maps: Arrays, apply: Apply | None = None, first: First | None = None, reverse: bool = False
) -> Arrays:
    """Return the states s₀ = first(m₀), sᵢ = apply(mᵢ, sᵢ₋₁) of a chain of maps, all arrays (batch, n, …).

    Without `apply` and `first`, return the prefix joins m₀, m₀m₁, m₀m₁m₂, …: [Y]'s all-prefix-sums. With `reverse` the
    recursion runs from the tip: sᵢ = apply(mᵢ, sᵢ₊₁), or mᵢ mᵢ₊₁ … mₙ₋₁.
    """
    join, apply, first = _operations(join, apply, first, reverse)
    places = range(maps[0].shape[1])
    if reverse:
        return _flip(_sweep(join, _flip(maps), apply, first, places[::-1]))
    return _sweep(join, maps, apply, first, places)


def loop(
    join: Join, maps: Arrays, apply: Apply | None = None, first: First | None = None, reverse: bool = False
) -> Arrays:
    """Compute the result of `scan` sequentially: n − 1 applications and no join."""
    _, apply, first = _operations(join, apply, first, reverse)
    places = range(maps[0].shape[1])[:: -1 if reverse else 1]
    maps = _flip(maps) if reverse else maps
    states = [first(_take(maps, slice(0, 1)))]
    stage("first", places[:1], *states[-1])
    for i in range(1, len(places)):
        states.append(apply(_take(maps, slice(i, i + 1)), states[-1]))
        stage("apply", places[i : i + 1], *states[-1])
    answer = tuple(np.concatenate(parts, 1) for parts in zip(*states, strict=True))
    return _flip(answer) if reverse else answer


def _sweep(join: Join, maps: Arrays, apply: Apply, first: First, places: range) -> Arrays:
    n = len(places)
    if n == 1:
        state = first(maps)
        stage("first", places, *state)
        return state
    # Up-sweep: join maps (0, 1), (2, 3), …; an unpaired last one is left for later.
    pairs = join(_take(maps, slice(0, n - 1, 2)), _take(maps, slice(1, n, 2)))
    stage("join", places[1::2], *pairs)
    # The half-sized problem yields states 1, 3, 5, …
    odd = _sweep(join, pairs, apply, first, places[1::2])
    # Down-sweep: state 0 by itself, and states 2, 4, … each from its predecessor.
    even = first(_take(maps, slice(0, 1)))
    stage("first", places[:1], *even)
    if n > 2:
        behind = apply(_take(maps, slice(2, n, 2)), _take(odd, slice(0, (n - 1) // 2)))
        stage("apply", places[2::2], *behind)
        even = tuple(np.concatenate(parts, 1) for parts in zip(even, behind, strict=True))
    return tuple(_interleave(e, o) for e, o in zip(even, odd, strict=True))


def _operations(join: Join, apply: Apply | None, first: First | None, reverse: bool) -> tuple[Join, Apply, First]:
    """Return the three operations in the sweep's direction."""
    forward: Join = (lambda before, after: join(after, before)) if reverse else join
    if apply is None or first is None:
        return forward, lambda maps, joined: forward(joined, maps), lambda maps: maps
    return forward, apply, first


def _take(arrays: Arrays, places: slice) -> Arrays:
    return tuple(array[:, places] for array in arrays)


def _flip(arrays: Arrays) -> Arrays:
    return _take(arrays, slice(None, None, -1))


def _interleave(even: Array, odd: Array) -> Array:
    n = even.shape[1] + odd.shape[1]
    answer = np.empty_like(odd, shape=(odd.shape[0], n, *odd.shape[2:]))
    answer[:, 0::2], answer[:, 1::2] = even, odd
    return answer
