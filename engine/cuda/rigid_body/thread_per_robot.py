"""Many robots at once, a thread each: ABIA, JSIIA, inverse dynamics and mass matrices, any tree, one launch a call.

External wrenches take two launches: they are moved to the bodies (`wrenches`), then to the joints as forces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.cuda.rigid_body import tree
from engine.cuda.rigid_body.wrenches import BodyWrenches
from engine.cuda.runtime import compiler, device, header
from engine.model import Model
from engine.model.layout import pack

WARP = 32
_IN_GLOBAL, _IN_SHARED, _WITH_CONSTANTS = 0, 1, 2  # memory of a block's robots, see thread_per_robot.cuh
_RESERVED = 1024  # bytes of shared memory reserved in every block
_REGISTERS, _PER_THREAD = 65536, {4: 96, 8: 168}  # registers of a multiprocessor; the least per thread, by itemsize
_LEAST, _ON_GLOBAL = 3, 8  # blocks per multiprocessor: with fewer, global memory is faster; there, more gain nothing


class _Shape(NamedTuple):
    """The distribution of a batch over the GPU, in blocks of a warp."""

    place: int
    """The memory of a block's robots."""
    blocks: int
    """Blocks per multiprocessor."""
    shared: int
    """Bytes of shared memory per block."""

    @classmethod
    def for_few(cls, numbers: int, constants: int, itemsize: int) -> _Shape:
        """The variant for robots that are all resident at once."""
        for place, shared in ((_WITH_CONSTANTS, numbers + constants), (_IN_SHARED, numbers)):
            if shared * itemsize <= device.properties()["sharedMemPerBlockOptin"]:
                return cls(place, 1, shared * itemsize)
        return cls(_IN_GLOBAL, 1, 0)

    @classmethod
    def for_many(cls, numbers: int, itemsize: int) -> _Shape:
        """The variant for any number of robots."""
        shared = numbers * itemsize
        room = device.properties()["sharedMemPerMultiprocessor"] // (shared + _RESERVED)
        if room < _LEAST:
            return cls(_IN_GLOBAL, _ON_GLOBAL, 0)
        return cls(_IN_SHARED, min(room, _REGISTERS // (_PER_THREAD[itemsize] * WARP)), shared)


def preamble(
    model: Model, dtype: str, additions: bool = False, matrices: int = 0, has_rows: bool = False,
    diverges: bool = False,
) -> str:  # fmt: skip
    """Return the C++ text of `model` and of its possible memory layouts for thread_per_robot.cuh."""
    places = {"IN_GLOBAL": _IN_GLOBAL, "IN_SHARED": _IN_SHARED, "WITH_CONSTANTS": _WITH_CONSTANTS}
    return "\n".join(
        [
            *header.numbers({"THREADS": WARP, **places}),
            tree.preamble(model, dtype, additions, matrices, has_rows, diverges),
        ]
    )


class _Many:
    """A kernel of `source` for one model and number type."""

    _arrays = 4
    """Robots per launch."""
    _matrices = 0
    """Mass matrices in a robot's slots."""

    def __init__(self, model: Model, dtype: str, source: str, kernel: str):
        import cupy

        constants, slots = pack(model, dtype).constants, tree.Layout(model, matrices=self._matrices).slots
        itemsize, numbers = constants.itemsize, slots * (WARP + 1)
        self._few = _Shape.for_few(numbers, constants.size, itemsize)
        self._many = _Shape.for_many(numbers, itemsize)
        real = compiler.REAL[dtype]
        names = {shape: f"{kernel}<{real}, {shape.blocks}, {shape.place}>" for shape in (self._few, self._many)}
        self.module = compiler.load(source, list(names.values()), preamble(model, dtype, matrices=self._matrices))
        tree.fill_constant_memory(self.module, model, dtype)
        self._kernels = {shape: self.module.function(name) for shape, name in names.items()}
        self._constants = cupy.asarray(constants)
        self._block = slots * WARP
        self._workspace = cupy.empty(0, dtype)
        self._launches: dict[int, compiler.Launch] = {}

    def launch(self, batch: int, *arrays: Any) -> None:
        """Launch without waiting; allocates only for a batch larger than any before."""
        (self._launches.get(batch) or self.prepare(batch))(*arrays)

    def prepare(self, batch: int) -> compiler.Launch:
        """Return the launch for a batch of `batch` robots, with its workspace. Raises MemoryError."""
        device.require_count(batch)
        processors = device.properties()["multiProcessorCount"]
        few = batch <= processors * WARP
        shape, width = (self._few, -(-batch // processors)) if few else (self._many, WARP)
        grid = -(-batch // width)
        if shape.place == _IN_GLOBAL:
            grid = min(grid, processors * shape.blocks)
            self._reserve(grid * self._block)
        rest = self._constants, self._workspace, np.int32(batch), np.int32(width)
        launch = compiler.Launch(self._kernels[shape], grid, WARP, self._arrays, rest, shape.shared)
        self._launches[batch] = launch
        return launch

    def _reserve(self, size: int) -> None:
        import cupy

        if self._workspace.size < size:
            device.require_memory(size * self._workspace.itemsize, "what the kernels work in")
            self._workspace = cupy.empty(size, self._workspace.dtype)


class Abia(_Many):
    """Forward dynamics by articulated-body inertias: ``(q, v, tau, out)`` of contiguous CuPy arrays, q̈ into `out`."""

    def __init__(self, model: Model, dtype: str):
        super().__init__(model, dtype, "rigid_body/aba.cu", "abia")

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        """q (batch, nq), v, tau and out (batch, nv)."""
        self.launch(len(q), q, v, tau, out)


class Jsiia(_Many):
    """Forward dynamics by the mass matrix and its factor: ``(q, v, tau, out)``, mimic joints included."""

    _matrices = 1

    def __init__(self, model: Model, dtype: str):
        super().__init__(model, dtype, "rigid_body/jsiia.cu", "jsiia")

    def __call__(self, q: Any, v: Any, tau: Any, out: Any) -> None:
        """q (batch, nq), v, tau and out (batch, nv)."""
        self.launch(len(q), q, v, tau, out)


class InverseDynamics(_Many):
    """τ of given accelerations, [Y] (2a)–(2d)."""

    def __init__(self, model: Model, dtype: str):
        super().__init__(model, dtype, "rigid_body/rnea_crba.cu", "inverse_dynamics")

    def __call__(self, q: Any, v: Any, a: Any, out: Any) -> None:
        """q (batch, nq), v, a and out (batch, nv): τ into `out`."""
        self.launch(len(q), q, v, a, out)


class ExternalForces(_Many):
    """τ + Σ Jᵢᵀ wᵢ: generalized forces plus those of wrenches wᵢ on the links."""

    def __init__(self, model: Model, dtype: str):
        super().__init__(model, dtype, "rigid_body/rnea_crba.cu", "external_forces")
        self._on_bodies = BodyWrenches(model, dtype)

    def __call__(self, q: Any, tau: Any, external: Any, out: Any, sign: int = 1) -> None:
        """q (batch, nq), tau and out (batch, nv); external (1 or batch, links, 6), times `sign`."""
        self.launch(len(q), q, tau, self._on_bodies(external, len(q), sign), out)


class MassMatrix(_Many):
    """Mass matrices by composite bodies."""

    _arrays = 2

    def __init__(self, model: Model, dtype: str):
        super().__init__(model, dtype, "rigid_body/rnea_crba.cu", "mass_matrix")

    def __call__(self, q: Any, out: Any) -> None:
        """q (batch, nq): M into `out` (batch, nv, nv)."""
        self.launch(len(q), q, out)
