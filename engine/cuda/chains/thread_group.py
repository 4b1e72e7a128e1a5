"""Serial chains distributed over the GPU by groups of threads, and kernels of such groups (`thread_group.cuh`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.cuda.runtime import arrays, compiler, device, header
from engine.model import REVOLUTE, Model
from engine.model.layout import pack

WARP, MAX_THREADS, MAX_BLOCKS = 32, 256, 16
CHAIN_FIELDS = 42
"""The first fields of each link, those of chain.cuh."""
_LINKS, _DENSE_LINKS = 128, 64  # of a block, above which twice the blocks are faster
_STATE_BYTES = 128
"""The exchange buffer of a warp, in bytes."""
_RESERVED, _CLUSTERS_SINCE, _PORTABLE = 8 * 1024, 9, 8
PREAMBLE = "\n".join(
    header.numbers(
        {"WARP": WARP, "MAX_THREADS": MAX_THREADS, "STATE_BYTES": _STATE_BYTES, "CHAIN_FIELDS": CHAIN_FIELDS}
    )
)
"""The preamble of thread_group.cuh and chain.cuh."""


class ThreadGroups(NamedTuple):
    """The distribution of a batch of chains: a cluster of `blocks` for one chain, or one block for several."""

    batch: int
    n: int
    blocks: int
    """Blocks of a chain's cluster; 1 where a block has whole chains."""
    block: int
    """Threads of a block."""
    threads: int
    """Threads of a chain."""
    links: int
    """Links of a thread."""
    resident: int
    """The resident groups."""

    @classmethod
    def of(cls, batch: int, n: int, dense: bool = False) -> ThreadGroups:
        """Return the groups for `batch` chains of n links.

        `dense`: the work suits more threads than links where a chain has blocks of its own.
        """
        device.require_count(batch)
        processors = device.properties()["multiProcessorCount"]
        blocks = 1
        if n <= WARP:
            threads = 1 << (n - 1).bit_length()
            block = WARP if batch * threads <= 4 * WARP * processors else 2 * WARP
        else:
            most = MAX_BLOCKS if device.properties()["major"] >= _CLUSTERS_SINCE else 1
            while blocks < most and (n > MAX_THREADS * blocks or _pays(batch, n, blocks, processors, dense)):
                blocks *= 2
            block = MAX_THREADS if dense else min(WARP * -(-n // (WARP * blocks)), MAX_THREADS)
            if blocks > 1:
                block = 1 << (block - 1).bit_length()
            threads = block * blocks
        needed = -(-batch * threads // (block * blocks))
        most_resident = max(processors * max(MAX_THREADS // block, 1) // blocks, 1)
        return cls(batch, n, blocks, block, threads, -(-n // threads), min(needed, most_resident))


class Workspace:
    """The fields of groups' links: `fields` that other threads may read, and `kept` of the own thread.

    The former are in shared memory if they fit with `beside` further bytes.
    """

    def __init__(self, groups: ThreadGroups, fields: int, kept: int, dtype: str, beside: int = 0):
        size, rows = np.dtype(dtype).itemsize, groups.block * groups.links
        shared = rows * fields * size
        most = device.properties()["sharedMemPerBlockOptin"] - _RESERVED - beside
        self.shared = 0 if groups.links > 1 or shared > most else shared
        numbers = groups.resident * groups.blocks * rows * (kept if self.shared else fields + kept)
        device.require_memory(numbers * size, f"the workspace of {groups.batch} chains of {groups.n} links")
        sizes = (groups.batch, groups.n, groups.threads, groups.links, fields, kept, self.shared)
        self.first = *(np.int32(x) for x in sizes), arrays.empty((max(numbers, 1),), dtype)
        """The first arguments of a kernel of groups, before arrays of its own."""
        warps = max(groups.threads // WARP, 1)
        self.outside = arrays.empty((2 * groups.resident * warps * _STATE_BYTES,), "int8")
        """The exchange buffers of clusters."""
        self.grid, self.block = groups.resident * groups.blocks, groups.block
        self.all_shared = self.shared + beside
        """Bytes of shared memory of a block."""

    def launch(self, kernel: compiler.Kernel, arrays: int, *rest: Any) -> compiler.Launch:
        """Return a launch of a kernel for this cluster size: with `arrays` arrays, the workspace and the rest."""
        rest = *self.first, *rest
        return compiler.Launch(kernel, self.grid, self.block, arrays, rest, self.all_shared)


def _pays(batch: int, n: int, blocks: int, processors: int, dense: bool) -> bool:
    """Return whether twice the blocks make a chain faster: where they would be idle, with enough links each."""
    return n > (_DENSE_LINKS if dense else _LINKS) * blocks and 2 * batch * blocks <= processors


class ThreadGroupKernels:
    """Kernels of one source for one number type, compiled for each cluster size on first use."""

    def __init__(self, source: str, names: Sequence[str], dtype: str, preamble: str = ""):
        self._source, self._names, self._real = source, names, compiler.REAL[dtype]
        self._preamble = f"{PREAMBLE}\n{preamble}"
        self._made: dict[tuple[int, int], list[compiler.Kernel]] = {}

    def of(self, groups: ThreadGroups) -> list[compiler.Kernel]:
        """Return the kernels, in the order of their names."""
        blocks, links = key = groups.blocks, int(groups.links == 1)
        if key not in self._made:
            expressions = [f"{name}{self._real}, {blocks}, {links}>" for name in self._names]
            module = compiler.load(self._source, expressions, self._preamble)
            self._made[key] = [module.function(expression) for expression in expressions]
            for kernel in self._made[key] if blocks > _PORTABLE else ():
                kernel.allow_large_clusters()
        return self._made[key]


class OneLaunch(ABC):
    """An algorithm for serial chains in one launch: ``(q, v, tau, out)`` of contiguous CuPy arrays (batch, n)."""

    _launch: compiler.Launch
    _batch = 0

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        if len(q) != self._batch:
            self.prepare(len(q))
        self._launch(q, v, tau, out)

    def prepare(self, batch: int) -> None:
        """Allocate the memory for a batch of `batch` robots. Raises MemoryError."""
        if self._batch:
            del self._launch  # free the old workspace first
        self._batch = 0
        self._launch = self._made(batch)
        self._batch = batch

    @abstractmethod
    def _made(self, batch: int) -> compiler.Launch:
        """Return the launch for a batch of `batch` robots, with its workspace."""


class ChainArrays(NamedTuple):
    """A serial chain of revolute and prismatic joints on a fixed base, in the layout of chain.cuh."""

    constants: Any
    """(CONSTANTS, n + 1), the transpose of `Packed.constants`."""
    revolute: Any
    """(n,) int32."""

    @classmethod
    def of(cls, model: Model, dtype: str) -> ChainArrays:
        """Return those of a model that `engine.model.features` finds serial."""
        constants = np.ascontiguousarray(pack(model, dtype).constants.T)
        return cls(arrays.to_device(constants), arrays.to_device((model.kind == REVOLUTE).astype(np.int32)))
