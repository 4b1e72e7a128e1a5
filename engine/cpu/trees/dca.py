"""DCA-ABA: forward dynamics of one robot, a chain or a tree, on lanes of vector instructions and threads.

The articulated-body recursion has two kinds of parallel parts. Disjoint subtrees: the ABA itself goes through them. And
chunks of a path, after [B] (Bhalerao, Critchley, Anderson 2012). A chunk is five quantities (I, Φ, Y, p, b),

    F_first = I a + Φᵀ F_next + p,   a_last = Φ a − Y F_next + b,

where a is the acceleration of the link before it and F_next the force on its far end. The recursion builds them link by
link, from the far end with I = 0, Φ = 1, Y = 0; with U = I S, D = SᵀU, u = τ − Sᵀp it adds

    Y += (Φ S)(Φ S)ᵀ/D,   Φ = Φ (1 − S Uᵀ/D) X,   b += Φ S u/D

to the ABA's. Adjacent chunks join to one; joining from the tip gives (I, p) of all bodies distal to each chunk, and
from these the ABA's own recursion runs through all chunks in parallel. Accelerations then pass through each chunk as
one affine map, the product of its joints' maps: from a join's system they would carry the rounding of its large forces,
1e-8 at 4000 links where the ABA has 1e-15. Branches on a chunk's rows are absorbed before, and add their shares there.
A tree is cut into both (`plan`) for lanes times threads. What is left between them is sequential: a few single rows,
and chunks as wholes (`node_passes`).

Scans over all bodies, O(log² n) deep (`engine.algorithms.dca_tree`), are for thousands of processors; for 1 to 16 with
eight lanes each a tree is cut once, and the sequential part is as short as the number of parts.

Robots too small to gain, by the costs of `plan`, use the ABA.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.compile import specialise
from engine.cpu.chains import dca_step
from engine.cpu.rigid_body.aba_batch import for_one
from engine.cpu.runtime.arrays import Array, admit
from engine.cpu.runtime.cores import check_threads, cores
from engine.cpu.runtime.thread_pool import ThreadPool
from engine.cpu.trees import thread_group
from engine.cpu.trees.group import Group, addresses, gather, lane_constants
from engine.cpu.trees.plan import Costs, TreePlan, best
from engine.cpu.trees.rows import rows
from engine.kernels.status import FITS, WRONG_SHAPE
from engine.model import Model
from engine.model.layout import Packed, pack


class TreeDca:
    """Forward dynamics of one robot on lanes and threads, see `cpu.dynamics.Kernels`.

    At most `threads` threads take part, the caller's among them; None: up to the number of cores. How many pay follows
    from the costs of `plan`, so the result has the same bits for the same `threads`, whichever thread does the work;
    `blocks` is the number of blocks, 0 where the ABA is used. After a call the other threads spin for half a
    millisecond, and then sleep; `close`, or the end of the object, ends them. An object serves one caller at a time,
    from any thread.
    """

    def __init__(self, model: Model, dtype: str = "float64", threads: int | None = None, costs: Costs | None = None):
        packed = pack(model, dtype)
        plan = best(rows(packed.topology), cores() if threads is None else check_threads(threads), costs)
        self.blocks = 0 if plan is None else len(plan.blocks)
        self._one, self._many = (specialise(admit, *(np.zeros((1,) * k, dtype),) * 4) for k in (1, 2))
        self._run: Callable[..., Any]
        self._pool: ThreadPool | None = None
        if plan is None:
            self._run = for_one(model, dtype)
        else:
            self._run, self._pool = _solver(packed, plan)
            weakref.finalize(self, self._pool.dismiss)

    def one(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Takes vectors, q (nq,) and the others (nv,)."""
        if self._one(q, v, tau, out) != FITS:
            return NotImplemented
        if self._pool is not None and self._pool.sleeping:
            self._pool.wake(self.blocks)
        return self._run(q, v, tau, out)

    def many(self, q: Any, v: Any, tau: Any, out: Any) -> Any:
        """Takes matrices, q (batch, nq) and the others (batch, nv), one robot after the other."""
        if self._many(q, v, tau, out) != FITS:
            return NotImplemented
        if not len(q) == len(v) == len(tau) == len(out):
            return WRONG_SHAPE
        statuses = [self.one(*robot) for robot in zip(q, v, tau, out, strict=True)]
        return next((status for status in statuses if status != FITS), FITS)

    def close(self) -> None:
        """End the other threads. Calls remain possible, on the caller's thread alone."""
        if self._pool is not None:
            self._pool.dismiss()


def _solver(packed: Packed, plan: TreePlan) -> tuple[Callable[..., Any], ThreadPool]:
    """Return the function that carries out a call, and the helping threads."""
    group, dtype = gather(packed, plan, thread_group.words(len(plan.blocks))), packed.constants.dtype.name
    table, control, arguments = addresses(group, packed), group.control, group.arguments
    arguments[dca_step.GRAVITY], arguments[dca_step.FRESH] = group.gravity.ctypes.data, 1
    control[thread_group.TASK] = thread_group.CALLS[dtype].address(3)
    control[thread_group.TABLE] = table.ctypes.data
    fixed = table, arguments, control
    lead = specialise(thread_group.lead, *fixed, *(np.zeros(1, dtype),) * 4)
    return partial(_led, lead, fixed, group), _threads(group, table, len(plan.blocks), "dca-tree")


def _led(
    lead: Callable[..., Any], fixed: tuple[NDArray[np.int64], ...], _memory: Group, q: Any, v: Any, tau: Any, out: Any
) -> Any:
    return lead(*fixed, q, v, tau, out)


def _threads(group: Group, table: NDArray[np.int64], blocks: int, name: str) -> ThreadPool:
    serve_calls = specialise(thread_group.serve_calls, group.control, 1)
    return ThreadPool(partial(_run_thread, serve_calls, (group, table)), blocks - 1, group.control, name)


def _run_thread(serve_calls: Callable[..., Any], memory: tuple[Group, NDArray[np.int64]], thread: int) -> None:
    serve_calls(memory[0].control, thread)


@lru_cache(maxsize=64)
def pays(model: Model) -> bool:
    """Whether one thread steps this robot faster than the ABA."""
    return best(rows(pack(model).topology), 1) is not None


def make_code() -> None:
    """Compile the code of steps, or read it from disk."""
    thread_group.step.address(3)
    specialise(thread_group.serve_calls, np.zeros(1, np.int64), 1)


def is_compiled() -> bool:
    """Whether that code is compiled, in memory or on disk."""
    return thread_group.step.has_address(3)


class TreeGroup:
    """Threads that share each call of a step for one robot of a packed tree.

    `work` is the step loop's view of it. At most `threads` threads take part, as many as pay, the caller's among them;
    the others spin between the calls of a run of steps, and sleep half a millisecond after the last. `close`, or the
    end of the object, ends them.
    """

    def __init__(self, packed: Packed, threads: int):
        plan = best(rows(packed.topology), threads)
        assert plan is not None
        self._packed, self._blocks = packed, len(plan.blocks)
        self._group = group = gather(packed, plan, thread_group.words(self._blocks))
        self._tables: dict[int, tuple[NDArray[np.int64], Array, Array]] = {}
        task = thread_group.step.address(3)
        group.arguments[dca_step.CONTROL], group.arguments[dca_step.TASK] = group.control.ctypes.data, task
        group.control[thread_group.TASK] = task
        self.work = dca_step.GroupArguments(group.arguments)
        self._pool = _threads(group, addresses(group, packed), self._blocks, "dca-step")
        self._end = weakref.finalize(self, self._pool.dismiss)

    def begin(self, robot: int, constants: Array) -> None:
        """Prepare the threads for a run of steps of that robot, whose constants (n + 1, CONSTANTS) never change."""
        if robot not in self._tables:
            own = self._packed._replace(constants=constants)
            lanes, nodes = lane_constants(own, self._group.of_v, self._group.node_v)
            group = self._group._replace(constants=lanes, node_constants=nodes)
            self._tables[robot] = addresses(group, own), lanes, nodes
        self._group.control[thread_group.TABLE] = self._tables[robot][0].ctypes.data
        if self._pool.sleeping:
            self._pool.wake(self._blocks)

    def close(self) -> None:
        """End the other threads. Steps remain possible, on the caller's thread alone."""
        self._end()
