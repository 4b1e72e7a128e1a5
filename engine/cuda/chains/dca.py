"""DCA-ABA on the GPU: one long serial chain, or some, each by a group of blocks in one launch (`dca.cu`).

A chain is cut into chunks of equal length, a warp each. Chunks are short while there are multiprocessors for more,
since a further link in a chunk is cheaper than a further level of joins only from about eight links on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engine.cuda.runtime import arrays, compiler, device, header
from engine.model import PRISMATIC, REVOLUTE, Model
from engine.model.layout import CONSTANTS, pack

LANES = 32
MAX_CLUSTER = 16
SHORT = 8
"""Links of a chunk, at most, while there is room for more chunks."""
_LINK, ELEMENT, MAP, _TRAVEL, SCRATCH = 72, 120, 42, 18, 36
"""Numbers in `Link`, `Element`, `Map`, `Travel` and a warp's elimination; checked by the kernel."""
_LOCK, _BEST, _STOP = 4, 2, 2
"""Further numbers of a `Link` with additions; numbers in `Best`, two per warp and block; numbers in `Sent`."""


class Cut(NamedTuple):
    """The distribution of a chain: blocks of its group, whether they are a cluster, chunks of a block."""

    blocks: int
    cluster: bool
    chunks: int
    additions: bool = False
    """Whether joints may be held and have an added inertia, for steps of a simulation."""

    def longest(self, n: int) -> int:
        """The most links of a chunk."""
        return -(-n // (self.blocks * self.chunks))

    def shared(self, n: int, size: int) -> int:
        """Return the bytes of a block's shared memory, for numbers of `size` bytes."""
        chunk = 3 * ELEMENT + 2 * MAP + _TRAVEL + SCRATCH + self.longest(n) * self.link
        chunk += 2 * _BEST * self.additions
        return (self.chunks * chunk + (self.sent if self.cluster else 0)) * size

    @property
    def sent(self) -> int:
        """The numbers that the blocks of a group send each other."""
        sent = self.blocks * (ELEMENT + MAP + _TRAVEL)
        return sent + (2 * _BEST * self.blocks + _STOP if self.additions else 0)

    @property
    def link(self) -> int:
        """Numbers of a link."""
        return _LINK + _LOCK * int(self.additions)

    def fits(self, n: int, size: int, most: int) -> bool:
        """Return whether the chunks fit a block with `most` bytes of shared memory."""
        return self.longest(n) <= LANES and self.shared(n, size) <= most


def cut(n: int, batch: int, size: int, processors: int, most: int, clusters: bool, additions: bool = False) -> Cut:
    """Return the cut for `batch` chains of n links on `processors` multiprocessors.

    Each has `most` bytes of shared memory. Raises ValueError for a chain too long for any group.
    """
    share, blocks = max(1, processors // batch), 1
    while clusters and 2 * blocks <= min(share, MAX_CLUSTER) and n > SHORT * 4 * blocks:
        blocks *= 2
    while blocks <= (MAX_CLUSTER if clusters else 1):
        for chunks in (4, 8, 16):
            candidate = Cut(blocks, blocks > 1, chunks, additions)
            if candidate.fits(n, size, most):
                return candidate
        blocks *= 2
    for blocks in range(min(processors, max(2, -(-n // (16 * SHORT)))), processors + 1):
        candidate = Cut(blocks, False, 8, additions)
        if candidate.fits(n, size, most):
            return candidate
    group = Cut(processors, False, 8, additions)
    links = next(i for i in range(LANES, 0, -1) if i == 1 or group.shared(processors * 8 * i, size) <= most)
    raise ValueError(
        f"a chain of {n} links is too long for dca on this GPU, whose {processors} multiprocessors hold "
        f"{processors * 8 * links} links at most; use abia"
    )


def cut_here(n: int, batch: int, dtype: np.dtype[Any], additions: bool = False) -> Cut:
    """Return the cut for `batch` chains of n links on the present GPU."""
    facts = device.properties()
    processors, most = facts["multiProcessorCount"], facts["sharedMemPerBlockOptin"]
    return cut(n, batch, dtype.itemsize, processors, most, facts["major"] >= 9, additions)


def at_once(cut: Cut, batch: int) -> int:
    """Return the chains per launch: all blocks of groups that synchronise in global memory must be resident."""
    if cut.blocks == 1 or cut.cluster:
        return batch
    processors: int = device.properties()["multiProcessorCount"]
    return max(1, min(batch, processors // cut.blocks))


def chain_constants(constants: np.ndarray, model: Model, dtype: np.dtype[Any]) -> np.ndarray:
    """Return packed constants (…, n + 1, CONSTANTS) in the layout of dca.cuh: (…, CONSTANTS + 2, n)."""
    n = len(model.parent)
    rows = np.zeros((*constants.shape[:-2], CONSTANTS + 2, n), dtype)
    rows[..., :CONSTANTS, :] = np.swapaxes(constants[..., :n, :], -1, -2)
    rows[..., CONSTANTS, :], rows[..., CONSTANTS + 1, :] = model.kind == REVOLUTE, model.kind == PRISMATIC
    return rows


def kernel(cut: Cut, source: str, name: str, preamble: str = "") -> compiler.Kernel:
    """Return the named kernel of a source that includes dca.cuh, compiled for a cut."""
    sizes = {"LINK_NUMBERS": cut.link, "ELEMENT_NUMBERS": ELEMENT, "MAP_NUMBERS": MAP, "TRAVEL_NUMBERS": _TRAVEL}
    shape = {"BLOCKS": cut.blocks, "CHUNKS": cut.chunks, "SCRATCH_NUMBERS": SCRATCH, "SENT_NUMBERS": cut.sent}
    choices = f"#define CLUSTER {int(cut.cluster)}\n#define ADDITIONS {int(cut.additions)}"
    kernel = compiler.load(source, [name], "\n".join([*header.numbers(sizes | shape), choices, preamble])).function(
        name
    )
    if cut.cluster and cut.blocks > 8:
        kernel.allow_large_clusters()
    return kernel


class _Launches(NamedTuple):
    """The launches for a batch: robots at a time, with a remainder at the end."""

    robots: int
    launch: compiler.Launch
    last: compiler.Launch


class Dca:
    """``dca(q, v, tau, out)``: q̈ of serial chains on a fixed base, for contiguous CuPy arrays (batch, n)."""

    def __init__(self, model: Model, dtype: str = "float64"):
        self._n, self._type = len(model.parent), np.dtype(dtype)
        constants = chain_constants(pack(model).constants, model, self._type)
        self._constants = arrays.to_device(constants)
        self._gravity = tuple(self._type.type(g) for g in model.gravity)
        self._plans: dict[int, _Launches] = {}

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        batch = len(q)
        plan = self._plans.get(batch) or self.prepare(batch)
        if plan.robots >= batch:
            plan.launch(q, v, tau, out)
            return
        for first in range(0, batch, plan.robots):
            some = slice(first, first + plan.robots)
            (plan.launch if some.stop <= batch else plan.last)(q[some], v[some], tau[some], out[some])

    def prepare(self, batch: int) -> _Launches:
        """Return the launches for a batch of `batch` robots, and allocate their memory."""
        device.require_count(batch)
        cut = cut_here(self._n, batch, self._type)
        robots = at_once(cut, batch)
        alone = cut.blocks == 1 or cut.cluster
        meetings = arrays.to_device(np.zeros((1 if alone else robots, 2), np.uint32))
        sent = arrays.empty((1 if alone else robots * cut.sent,), self._type.name)
        rest = (self._constants, *self._gravity, meetings, sent, np.int32(self._n), np.int32(cut.longest(self._n)))
        made, shared = _kernel(cut, self._type.name), cut.shared(self._n, self._type.itemsize)
        launches = (
            compiler.Launch(made, cut.blocks * count, cut.chunks * LANES, 4, rest, shared, together=not alone)
            for count in (robots, batch % robots or robots)
        )
        self._plans[batch] = _Launches(robots, *launches)
        return self._plans[batch]


@lru_cache(maxsize=32)
def _kernel(cut: Cut, dtype: str) -> compiler.Kernel:
    name = f"dca<{compiler.REAL[dtype]}>"
    return kernel(cut, "chains/dca.cu", name)
