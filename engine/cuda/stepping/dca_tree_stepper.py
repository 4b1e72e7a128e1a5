"""Steps of any trees, a group of blocks each: one launch of dca_tree_step.cu for any number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.chains.dca import LANES, kernel
from engine.cuda.runtime import arrays, compiler, device, header
from engine.cuda.stepping.stepper import Stepper, constraint_facts, packed_constants
from engine.cuda.trees import dca
from engine.model import SPHERICAL
from engine.step_settings import INTEGRATORS, StepSettings


class DcaTreeStepper(Stepper):
    """Trees advanced by DCA-ABA; a group takes robot after robot, each through all steps."""

    def __init__(self, settings: StepSettings):
        model, batch, dtype = settings.model, settings.batch, np.dtype(settings.dtype)
        self._shape = shape = _Shape(settings)
        chip = device.properties()
        self._cut = cut = dca.cut_for(
            len(model.parent), batch, chip["multiProcessorCount"], chip["major"] >= 9, shape.additions
        )
        schedule = dca.schedule_of(model, cut)
        self._groups = min(batch, max(1, chip["multiProcessorCount"] // cut.blocks))
        constants = packed_constants(settings)
        rows = dca.by_places(constants, schedule, dtype), constants[..., -1, :3], settings.joints
        work, state = dca.workspace(schedule, shape.balls), board(cut.blocks) + shape.fields * shape.width
        super().__init__(settings, dtype.itemsize * (sum(x.size for x in rows) + self._groups * (work + state)))
        on_gpu = [arrays.to_device(np.ascontiguousarray(x, dtype)) for x in rows]
        own = np.int32(settings.parameters is not None), np.int32(len(settings.joints) > 1)
        self._tables = on_gpu[0], on_gpu[1], own[0], on_gpu[2], own[1]
        twists = len(schedule.ancestors)
        begins = arrays.to_device(np.stack([schedule.after(1), schedule.after(1 + twists)]))
        self._tree = *dca.tables(model, schedule), begins
        self._room = dca.warp_room(schedule, cut)
        self._memory = (
            arrays.empty((self._groups * work,), settings.dtype), np.int64(work),
            arrays.empty((self._groups * state,), settings.dtype), np.int64(state),
        )  # fmt: skip
        counts = (
            shape.width, dca.pad(schedule.slots), schedule.elements, self._room, len(model.parent), model.nq, model.nv,
            twists, schedule.inward,
        )  # fmt: skip
        self._counts = tuple(np.int32(x) for x in counts)
        self._compile()

    def _compile(self) -> None:
        settings, facts = self._settings, self._facts
        numbers = {
            "INTEGRATOR": INTEGRATORS.index(settings.integrator),
            "STATE_FIELDS": self._shape.fields,
            "BOARD_NUMBERS": board(self._cut.blocks),
        }
        wrenches = facts.pop("HAS_WRENCHES")
        preamble = [dca.preamble(self._shape.balls, wrenches), *header.flags(facts), *header.numbers(numbers)]
        name = f"advance_trees<{compiler.REAL[settings.dtype]}>"
        self._kernel = kernel(self._cut, "stepping/dca_tree_step.cu", name, "\n".join(preamble))

    def _launch(self, steps: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        given = (
            *steps, *state, *self._tables, *self._report, *self._tree, *self._memory, *self._counts,
            self._body_wrenches, self._batch, self._frozen,
        )  # fmt: skip
        grid, block = self._cut.blocks * self._groups, dca.WARPS * LANES
        self._start(self._kernel, grid, block, given, dca.WARPS * self._room * self._type.itemsize)


def board(blocks: int) -> int:
    """Numbers that a group's warps exchange: a value and its index, twice; and a flag."""
    return dca.pad(4 * blocks * dca.WARPS + 1)


class _Shape:
    """The constants of the kernel's text, and a group's memory."""

    def __init__(self, settings: StepSettings):
        model, facts = settings.model, constraint_facts(settings)
        rk4, implicit = (settings.integrator == name for name in ("rk4", "implicit"))
        constrained = settings.has_constraints
        self.additions = constrained or (implicit and (facts["HAS_DAMPING"] or facts["HAS_GAINS"]))
        self.balls = bool(np.any(model.kind == SPHERICAL))
        self.width = dca.pad(max(model.nq, model.nv))
        self.fields = 2 + 3 * self.additions + 3 * constrained + 4 * rk4 + 2 * settings.freezes
