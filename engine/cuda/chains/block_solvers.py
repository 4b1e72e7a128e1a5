"""[Y]'s block bi-diagonal systems as batched kernels: `bidiagonal.cu`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.cuda.chains.thread_group import MAX_THREADS, WARP
from engine.cuda.runtime import arrays, compiler, device, header

M = 6
"""Rows of a block of bi-diagonal systems."""
_SHORT_RUN, _RUN = 4, 8  # links per run at least, within a block and over the GPU


class Graph:
    """Several launches as one: recorded on the second call with the same arrays, replayed from then on."""

    def __init__(self, launches: Callable[..., None]):
        self._launches = launches
        self._key: tuple[int, ...] = ()
        self._graph: Any = None

    def __call__(self, *given: Any) -> None:
        """Launch on CuPy's current stream, for these arrays."""
        import cupy

        key = tuple(array.data.ptr for array in given)
        if key != self._key or cupy.cuda.get_current_stream().is_capturing():
            self._key, self._graph = key, None
            self._launches(*given)
            return
        if self._graph is None:
            with cupy.cuda.Stream(non_blocking=True) as stream:
                stream.begin_capture()
                self._launches(*given)
                self._graph = stream.end_capture()
        self._graph.launch()


class Bidiagonal:
    """``solve(A, b, out)``: x with xᵢ = Aᵢ xᵢ₋₁ + bᵢ, or with `transposed` xᵢ = Aᵢ₊₁ᵀ xᵢ₊₁ + bᵢ.

    A is (batch, n, 6, 6), b and out are (batch, n, 6) for one right-hand side or (batch, n, 6, columns), contiguous
    CuPy arrays. In large batches a thread traverses each chain; a chain that fits a block is scanned in one launch;
    longer ones are first reduced to the maps of their runs, in launches that become a graph.
    """

    def __init__(self, batch: int, n: int, columns: int = 1, dtype: str = "float64", transposed: bool = False):
        if not 1 <= columns <= WARP - M:
            raise ValueError(f"columns is {columns}; a system takes 1 to {WARP - M} right-hand sides at a time")
        real, flag = compiler.REAL[dtype], str(transposed).lower()
        names = [f"{kernel}<{real}, {flag}>" for kernel in ("reduce", "apply", "solve")]
        preamble = "\n".join(header.numbers({"M": M, "MAX_THREADS": MAX_THREADS}))
        module = compiler.load("chains/bidiagonal.cu", names, preamble)
        reduce, apply, solve = (module.function(name) for name in names)
        lanes = 1 << (M + columns - 1).bit_length()
        most_runs = MAX_THREADS // lanes
        busy = batch * columns >= 2 * WARP * device.properties()["multiProcessorCount"]
        in_block = n <= most_runs * _RUN
        if busy:
            run = n
        elif in_block:
            run = max(-(-n // most_runs), _SHORT_RUN)
        else:
            run = max(-(-n // (most_runs * _RUN)), _RUN)
        runs = -(-n // run)
        sizes = tuple(np.int32(size) for size in (batch, n, columns, run))
        self._launch: Callable[[Any, Any, Any], None]
        if runs > 1 and in_block:
            shared = runs * M * (M + columns) * np.dtype(dtype).itemsize
            self._launch = compiler.Launch(solve, batch, runs * lanes, 3, (*sizes, np.int32(lanes)), shared)
            return
        self._starts = arrays.empty((batch, runs, M, columns), dtype)
        rest = *sizes, np.int32(runs), self._starts
        self._launch = self._apply = compiler.Launch(apply, *_spread(batch * columns * runs), 3, rest)
        if runs > 1:
            self._maps = arrays.empty((batch, runs, M, M), dtype), arrays.empty((batch, runs, M, columns), dtype)
            rest = *sizes, np.int32(runs), *self._maps
            self._reduce = compiler.Launch(reduce, *_spread(batch * runs * (M + columns)), 2, rest)
            self._coarser = Bidiagonal(batch, runs, columns, dtype)
            self._launch = Graph(self._by_runs)

    def __call__(self, A: Any, b: Any, out: Any) -> None:
        """Launch, without waiting; out must not alias b."""
        self._launch(A, b, out)

    def _by_runs(self, A: Any, b: Any, out: Any) -> None:
        self._reduce(A, b)
        self._coarser(*self._maps, self._starts)
        self._apply(A, b, out)


def _spread(threads: int) -> tuple[int, int]:
    """Return grid and block for `threads` independent threads, spread over all multiprocessors."""
    block = MAX_THREADS if threads > MAX_THREADS * device.properties()["multiProcessorCount"] else 2 * WARP
    return -(-threads // block), block
