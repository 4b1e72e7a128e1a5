"""External wrenches on a batch of robots: from their links to their bodies, for the tree passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.runtime import arrays, compiler, device, header
from engine.model import Model

_THREADS = 256


class BodyWrenches:
    """``body_wrenches(external, batch)``: wrenches on bodies (bodies, 6, batch), in the bodies' frames.

    `external` (1 or batch, links, 6), a contiguous CuPy array, holds the wrench (n, f) on each link in the link's own
    frame, about its origin; wrenches on links of the world have no effect. Calls with the same batch return the same
    array.
    """

    def __init__(self, model: Model, dtype: str):
        self._dtype, self._bodies, self._links = dtype, len(model.parent), len(model.link_body)
        carried = np.argsort(model.link_body, kind="stable")[np.sum(model.link_body < 0) :]
        first = np.searchsorted(model.link_body[carried], np.arange(self._bodies + 1))
        frames = np.concatenate([model.link_rotation.reshape(-1, 9), model.link_position], 1)
        self._tables = arrays.to_device(frames, dtype), *(arrays.to_device(x, "int32") for x in (first, carried))
        name = f"body_wrenches<{compiler.REAL[dtype]}>"
        preamble = "\n".join(header.numbers({"THREADS": _THREADS}))
        self._kernel = compiler.load("rigid_body/wrenches.cu", [name], preamble).function(name)
        self._on_bodies: Any = None

    def __call__(self, external: Any, batch: int, sign: int = 1) -> Any:
        """Return the wrenches on the bodies, times `sign`. Raises MemoryError where they do not fit."""
        if self._on_bodies is None or self._on_bodies.shape[-1] != batch:
            device.require_count(batch)
            self._on_bodies = None  # free the old memory first
            self._on_bodies = arrays.empty((self._bodies, 6, batch), self._dtype)
        sizes = (np.int32(n) for n in (len(external), batch, self._bodies, self._links))
        factor = np.dtype(self._dtype).type(sign)
        grid = -(-self._bodies * batch // _THREADS)
        if grid:
            self._kernel((grid,), (_THREADS,), (external, self._on_bodies, *sizes, factor, *self._tables))
        return self._on_bodies
