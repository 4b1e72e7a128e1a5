"""DCA-ABA on threads: forward dynamics of one long serial chain on a fixed base, in O(n/p + log p) steps on p threads.

After [B] (Bhalerao, Critchley, Anderson 2012). A chunk of links is five quantities (I, Φ, Y, p, b),

    F_first = I a + Φᵀ F_next + p,   a_last = Φ a − Y F_next + b,

where a is the acceleration of the link before it and F_next the force on its far end. The articulated-body recursion
builds them link by link, from the far end with I = 0, Φ = 1, Y = 0; with U = I S, D = SᵀU, u = τ − Sᵀp it adds

    Y += (Φ S)(Φ S)ᵀ/D,   Φ = Φ (1 − S Uᵀ/D) X,   b += Φ S u/D

to what the ABA does (`chunk_passes`). Neighbours join to one chunk (`chunk_join`). Joining from the tip gives the
(I, p) of all that lies distal to each chunk, and from these the ABA's own recursion runs through every chunk at once.
Accelerations then pass through each chunk as one affine map, the product of its joints' own: taken from a join's system
instead they would carry the rounding of its large forces, 1e-8 at 4000 links where the ABA has 1e-15. So the chunks
cost a second recursion, and the answer is as accurate as the ABA's. Within a chunk accelerations are relative to those
that its velocities alone give it on a base without acceleration, so that p needs no I c. A chunk that ends in a link
without inertia of its own has no such quantities (D = 0).

Two things run at once: eight chunks in the lanes of vector instructions, and blocks of eight on threads
(`thread_group`). With one chunk it would be the ABA, and for chains too short to gain it is (`aba.for_one`).

**The split.** In [B]'s *optimal subsystems* the chunk at the tip is longer than the others, which carry Φ and Y. Here
it shares its vector instructions with seven that carry, so that all rows of eight links cost the same and equal chunks
are the best. What is left to choose is the number of threads T. With the measured costs of a row (c), of what a block
takes however short it is (f, the joins of its chunks), of one more join (j) and of handing work over (h),

    t(T) = c ⌈n / 8T⌉ + f + (T − 1) j + h [T > 1],   against n l for the ABA at l a link,

is least for the T that is taken. They are measured once in a process, or passed in.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import specialise as specialise_native
from engine.cpu.chains import thread_group
from engine.cpu.rigid_body import aba
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime import clock, numba_code
from engine.cpu.runtime.arrays import admit
from engine.cpu.runtime.cores import checked, cores
from engine.cpu.runtime.epochs import OWN
from engine.cpu.runtime.numba_kernels import specialise
from engine.cpu.runtime.status import FITS, WRONG_SHAPE
from engine.cpu.runtime.thread_pool import ThreadPool
from engine.model import REVOLUTE, Model
from engine.model.layout import CONSTANTS, HOME_POSITION, INERTIA, MASS, Packed, pack

Vector = NDArray[np.floating]
_LANES = len(EIGHT)


class Costs(NamedTuple):
    """What parts of a call cost on this machine, in s: see the module."""

    link: float
    row: float
    block: float
    join: float
    handover: float

    def seconds(self, n: int, blocks: int) -> float:
        """t(T) for a chain of n links in so many blocks; for 0 blocks, the ABA's time."""
        if blocks == 0:
            return n * self.link
        rows = -(-n // (_LANES * blocks))
        return self.row * rows + self.block + (blocks - 1) * self.join + (self.handover if blocks > 1 else 0)


class Dca:
    """Forward dynamics of one chain on threads, see `cpu.dynamics.Kernels`.

    `threads` is how many take part, the caller's among
    them; None leaves it to the costs, up to the number of cores. A chain of fewer than eight links a thread takes fewer
    threads, and one for which the ABA is faster takes the ABA: then `blocks` is 0. Whoever does the work, the answer
    is the same to the last bit for the same `blocks`; it need not be for another number, or from None to None.

    After a call the other threads look on for half a millisecond, giving way to whoever wants the processor, and then
    sleep; `close`, or the end of the object, ends them. One object serves one caller at a time, from any thread.
    """

    def __init__(self, model: Model, dtype: str = "float64", threads: int | None = None, costs: Costs | None = None):
        allowed, packed = checked(threads), pack(model, dtype)
        n = len(packed.topology)
        most = max(1, min(allowed, n // _LANES, thread_group.LARGEST))
        counts: Iterable[int] = range(1, most + 1) if threads is None else (most,)
        costs = costs or measured(dtype)
        self.blocks = min((0, *counts), key=lambda blocks: costs.seconds(n, blocks))
        self._run, pool = _solver(packed, self.blocks)
        self._admit_one, self._admit_many = (
            specialise_native(admit, *(np.zeros((1,) * k, dtype),) * 4) for k in (1, 2)
        )
        self._pool = pool
        self._asleep = pool.asleep
        self._end = weakref.finalize(self, pool.dismiss)

    def one(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Of vectors (n,)."""
        if self._admit_one(q, v, tau, out) != FITS:
            return NotImplemented
        if self._asleep:
            self._pool.wake(self.blocks)
        return self._run(q, v, tau, out)

    def many(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Of matrices (batch, n), one robot after the other."""
        if self._admit_many(q, v, tau, out) != FITS:
            return NotImplemented
        if not q.shape == v.shape == tau.shape == out.shape:
            return WRONG_SHAPE
        statuses = (self.one(*robot) for robot in zip(q, v, tau, out, strict=True))
        return next((status for status in statuses if status != FITS), FITS)

    def close(self) -> None:
        """End the other threads. Calls stay possible, on the caller's thread alone."""
        self._end()


def _solver(packed: Packed, blocks: int) -> tuple[Callable[..., int], ThreadPool]:
    """What carries out a call, and the threads that help."""
    n, dtype = len(packed.topology), packed.constants.dtype.name
    example = (np.zeros(1, dtype),) * 4
    if blocks == 0:
        return aba.for_one(packed), ThreadPool(lambda _: None, 0, np.zeros(OWN, np.int64), "dca")
    shared, like = thread_group.gather(packed, blocks), np.zeros(0, dtype)
    table = thread_group.addresses(shared, n)
    attend = specialise(thread_group.attend, table, like, 1, clock.buffer())
    lead = partial(specialise(thread_group.lead, table, like, *example), table, like)
    numba_code.note(f"dca-call-{dtype}")
    return lead, ThreadPool(partial(_stand_by, attend, table, like, shared), blocks - 1, shared.control, "dca")


def _stand_by(
    attend: Callable[..., None], table: NDArray[np.int64], like: Vector, _memory: thread_group.ThreadGroup, me: int
) -> None:
    attend(table, like, me, clock.buffer())


@lru_cache(maxsize=4)
def measured(dtype: str = "float64") -> Costs:
    """The costs on this machine, from some hundred calls for chains of 64 and 256 links."""
    plan = [(64, 0), (64, 1), (256, 1)] + ([(256, 2)] if cores() > 1 else [])
    calls, best = [], np.full(len(plan), np.inf)
    for n, blocks in plan:
        run, pool = _solver(_uniform(n, dtype), blocks)
        calls.append((partial(run, *np.zeros((4, n), dtype)), pool))
    for _ in range(8):
        for index, (call, pool) in enumerate(calls):
            pool.wake(2)
            for _ in range(4):
                call()
            start = perf_counter()
            for _ in range(8):
                call()
            best[index] = min(best[index], (perf_counter() - start) / 8)
    for _, pool in calls:
        pool.dismiss()
    aba, short, long = best[:3]
    row = max(long - short, 0) / (192 // _LANES)
    block = max(short - 64 // _LANES * row, 0)
    join = block / (_LANES - 1)
    handover = max(best[3] - 128 // _LANES * row - block - join, 0) if cores() > 1 else np.inf
    return Costs(*(float(cost) for cost in (aba / 64, row, block, join, handover)))


def _uniform(n: int, dtype: str) -> Packed:
    """A chain of n like links; what a call takes does not depend on the numbers."""
    index = np.arange(n)
    constants = np.zeros((n + 1, CONSTANTS), dtype)
    constants[:, [0, 4, 8, HOME_POSITION + 2, MASS, INERTIA, INERTIA + 3, INERTIA + 5]] = 1
    return Packed(np.stack([index - 1, np.full(n, REVOLUTE), index, index], 1), constants)
