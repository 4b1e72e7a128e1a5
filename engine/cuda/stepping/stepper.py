"""Simulation steps on the GPU: one launch of step.cu for any number of steps of a `Plan`, or a few under a watchdog."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.arguments import Array
from engine.cuda.rigid_body import thread_per_robot, tree
from engine.cuda.runtime import compiler, device, header
from engine.packing import CONSTANTS, pack
from engine.plan import DAMPING, EFFORT_LIMIT, FRICTION, INTEGRATORS, KD, KP, PHASES, Plan

_JOINT_TABLE_BYTES = 8 * 1024
"""Up to so many bytes what is known of the joints stands in constant memory, beside the robot's constants."""
_A_LAUNCH, _OF_A_ROBOT = 20_000_000, 20_000
"""Bodies times steps of a launch where a watchdog would end it after some seconds, of all robots and of one: some
milliseconds on a fast GPU, tenths of a second in double precision on a small one."""
_NULL, _NEVER = np.uint64(0), 2**64 - 1


class Stepper:
    """The state of a plan's robots in CuPy arrays, advanced by a thread a robot; no step waits for the GPU."""

    def __init__(self, plan: Plan):
        import cupy

        self._plan, model, batch = plan, plan.model, plan.batch
        self._type = np.dtype(plan.dtype)
        self._shape = shape = _Shape(plan)
        self._at_once = launch_steps(len(model.parent), batch) if device.watched() else 2**31 - 1
        sizes = (model.nq, model.nv, model.nv, model.nv)
        device.require_memory(shape.bytes, f"a simulation of {batch} robots {model.name!r} in {plan.dtype}")
        device.require_count(batch)
        self.q, self.v, self.tau, self.target = (cupy.zeros((batch, size), self._type) for size in sizes)
        self._workspace = cupy.empty(shape.workspace, self._type)
        self._constants, self._joint_table = self._tables()
        module = compiler.load("stepping/step.cu", [shape.kernel], shape.preamble)
        self._advance = module.function(shape.kernel)
        if shape.joint_table_bytes:
            module.symbol("joint_table_memory").copy_from_device(self._joint_table.data, shape.joint_table_bytes)
        if plan.parameters is None:
            tree.fill_constant_memory(module, model, plan.dtype)
        self._current_stream = cupy.cuda.get_current_stream
        self._stream = self._current_stream()  # that of the last steps
        self._first = cupy.zeros(1, np.uint64)
        self._phases = cupy.zeros(len(PHASES) + 2, np.int64)
        alarm = cupy.cuda.alloc_pinned_memory(4)
        self._alarm_address, self._alarm = np.uint64(alarm.ptr), np.frombuffer(alarm, np.int32, 1)

    def _tables(self) -> tuple[Any, Any]:
        """Constants and joint table as the kernel reads them, with the robot innermost where each has its own."""
        import cupy

        plan = self._plan
        constants = pack(plan.model).constants if plan.parameters is None else plan.parameters.constants()
        joints = plan.joints[0] if len(plan.joints) == 1 else plan.joints
        tables = (np.moveaxis(x, 0, -1) if x.ndim == 3 else x for x in (constants, joints))
        own, shared = (cupy.asarray(np.ascontiguousarray(x, self._type)) for x in tables)
        return own, shared

    def start(self, q: Array, v: Array) -> None:
        """The robots at q (1 or batch, nq) and v, with nothing done yet."""
        import cupy

        self._stream.synchronize()
        self.q[:], self.v[:] = cupy.asarray(q, self._type), cupy.asarray(v, self._type)
        self._first.fill(_NEVER)
        self._current_stream().synchronize()
        self._alarm[0] = 0

    def advance(self, n: int, done: int, controls: Any, every: int, record: tuple[Any, Any]) -> None:
        """Steps `done` + 1 … `done` + n, see `Simulation.advance`."""
        self._stream = self._current_stream()
        q, v = (_NULL if array is None else array for array in record)
        rows = 0 if controls is None else len(controls)
        rest = (
            np.int64(done), self._type.type(self._plan.dt),
            self.q, self.v, self.tau, self.target, _NULL if controls is None else controls, np.int32(rows),
            q, v, np.int32(every), self._constants, self._joint_table, self._workspace,
            self._first, self._alarm_address, self._phases,
        )  # fmt: skip
        shape = self._shape
        for first in range(0, max(n, 1), self._at_once):
            part = np.int32(self._plan.batch), np.int32(n), np.int32(first), np.int32(min(n, first + self._at_once))
            self._advance((shape.grid,), (shape.threads,), (*part, *rest), shape.shared)

    def diverged(self, wait: bool) -> int:
        """After how many steps a state stopped being finite, as far as is known; 0 where all went well."""
        if wait:
            self._stream.synchronize()
        first = int(self._first.get()[0]) if self._alarm[0] else _NEVER
        return 0 if first == _NEVER else first

    def phases(self) -> Array:
        """Seconds that each phase of the last step took, for the first robots; 0 where nothing is timed."""
        found = self._phases.get()
        cycles, nanoseconds = found[: len(PHASES)].astype(float), found[len(PHASES)]
        return np.asarray(cycles * (nanoseconds * 1e-9 / max(1.0, cycles.sum())))


def launch_steps(bodies: int, batch: int) -> int:
    """Steps of a launch under a watchdog."""
    return max(1, min(_A_LAUNCH // (bodies * batch), _OF_A_ROBOT // bodies))


def spread(robot_bytes: int, itemsize: int, batch: int) -> tuple[int, int, bool]:
    """Robots in a block, blocks that a multiprocessor is to hold at least, and whether shared memory takes them.

    It does where that leaves work for six warps; in global memory, where there is more to wait for, more help.
    """
    processors, most = (device.properties()[name] for name in ("multiProcessorCount", "sharedMemPerMultiprocessor"))
    threads = 64 if batch > 64 * processors else 32
    fit = most // (robot_bytes * threads + 1024)
    if fit * threads >= 192:
        return threads, min(fit, (512 if itemsize == 4 else 256) // threads), True
    return threads, 512 // threads, False


class _Shape:
    """What of a plan the kernel is compiled for, and how it is launched."""

    def __init__(self, plan: Plan):
        model, joints = plan.model, plan.joints
        rk4, implicit = (plan.integrator == INTEGRATORS[i] for i in (1, 2))
        damped, gained = bool(np.any(joints[:, DAMPING])), bool(np.any(joints[:, (KP, KD)]))
        additions = plan.rough or (implicit and damped)
        nq, nv = model.nq, model.nv
        layout = tree.Layout(model, additions)
        state = nq + nv * (2 + gained + plan.rough + (plan.rough and nv > 64)) + rk4 * 2 * (nq + nv)
        slots = layout.slots + state
        size = np.dtype(plan.dtype).itemsize
        table = joints[0].size * size
        self.joint_table_bytes = table if len(joints) == 1 and table <= _JOINT_TABLE_BYTES else 0
        self.threads, blocks, in_shared = spread(slots * size, size, plan.batch)
        self.grid = -(-plan.batch // self.threads)
        self.shared = slots * size * self.threads if in_shared else 0
        self.workspace = 0 if in_shared else slots * self.threads * self.grid
        self.kernel = f"advance<{compiler.REAL[plan.dtype]}, {self.threads}, {blocks}, {str(in_shared).lower()}>"
        facts = {
            "HAS_LIMITS": plan.limited, "HAS_FRICTION": bool(np.any(joints[:, FRICTION])), "HAS_DAMPING": damped,
            "HAS_GAINS": gained, "HAS_EFFORT_LIMITS": bool(np.any(np.isfinite(joints[:, EFFORT_LIMIT]))),
            "TIMED": plan.timed, "OWN_JOINT_TABLE": len(joints) > 1, "OWN_CONSTANTS": plan.parameters is not None,
            "JOINT_TABLE_FITS": self.joint_table_bytes > 0,
        }  # fmt: skip
        numbers = {
            "INTEGRATOR": INTEGRATORS.index(plan.integrator),
            "STATE_SLOTS": state,
            "JOINT_TABLE_BYTES": max(16, self.joint_table_bytes),
        }
        indices = ", ".join(map(str, model.q_of_v))
        self.preamble = "\n".join(
            [
                thread_per_robot.preamble(model, plan.dtype, additions),
                *header.numbers(numbers),
                *header.flags(facts),
                f"[[maybe_unused]] __device__ constexpr int Q_OF_V[] = {{{indices}}};",
            ]
        )
        own = plan.batch if plan.parameters is not None else 1
        constants = own * CONSTANTS * (len(model.parent) + 1)
        self.bytes = size * (plan.batch * (nq + 3 * nv) + self.workspace + joints.size + constants)
