"""The frames of recordings: their stored form, their size, and their public form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.checkpoint import Checkpoint
from engine.recording.inputs import Change, Inputs, dense
from engine.recording.packing import Array, size, unbundle, unpack
from engine.recording.setup import Setup
from engine.scene import Contacts
from engine.simulation import Simulation

_OF_A_FRAME, _OF_A_CHANGE, _OF_A_BUNDLE = 160, 200, 400  # bytes beside arrays and numbers

Stored = tuple[Any, ...]
"""A frame with the fields of `StoredFrame`, as a plain tuple, which the garbage collector need not track."""


class StoredFrame(NamedTuple):
    """The stored form of a frame, see `RecordedFrame`; `contact` and `contacts` are bundled.

    `setup` is an index within the run; `divergences` are None if no robot diverged; `bytes` is the total size.
    """

    time: float
    steps: int
    setup: int
    begins: bool
    q: Array
    v: Array
    inputs: Inputs
    changes: tuple[Change, ...] = ()
    divergences: Array | None = None
    contact: Any = ()
    contacts: Any = None
    phases: Array = np.zeros(0)
    bytes: int = 0


@dataclass(frozen=True, eq=False)
class RecordedFrame:
    """The state of a simulation in a run, in the arrays of a `Checkpoint`; `time` in s since the run began.

    tau, target and wrench are the inputs of the step that ended here. `begins`: the state was set by hand or by another
    simulation, and does not follow from the previous frame by steps. `contacts` are those of the last step, None
    without any; `phases` its seconds by name; `logged` is `Simulation.logged` of that step.
    """

    index: int
    time: float
    setup: Setup
    begins: bool
    checkpoint: Checkpoint
    contacts: Contacts | None
    phases: Mapping[str, float]
    logged: Mapping[str, float] = field(default_factory=dict)


def taken_out(frame: StoredFrame) -> StoredFrame:
    """Return a frame with its contact arrays unbundled."""
    arrays = unbundle(frame.contact) if frame.contact else ()
    contact = tuple(zip(arrays[::2], arrays[1::2], strict=True))
    return frame._replace(contact=contact, contacts=None if frame.contacts is None else unbundle(frame.contacts))


def are_samples(frames: Sequence[StoredFrame], setups: Sequence[Setup]) -> bool:
    """Whether frames are samples from a file: without inputs, and not connected by steps."""
    alone = len(frames) > 1 and frames[0].begins and frames[1].begins and frames[0].time < frames[1].time
    return alone and not setups[frames[0].setup].watched


def diverged(checkpoint: Checkpoint) -> Array | None:
    """Return a checkpoint's divergences in the form that frames store."""
    divergences = checkpoint.divergences
    return divergences if divergences is not None and divergences[0].any() else None


def size_of(frame: StoredFrame, before: Inputs | tuple[()]) -> int:
    """Return a frame's bytes, including the inputs that the previous frame does not share."""
    counted, new = set(map(id, before)), []
    for inputs in (*(inputs for _, inputs in frame.changes), frame.inputs):
        if inputs is not before:
            new += [x for x in inputs if x is not None and id(x) not in counted]
            counted.update(map(id, inputs))
    bundles = [part[0] for part in (frame.contact, frame.contacts) if part]
    tuples = _OF_A_FRAME + _OF_A_CHANGE * len(frame.changes) + _OF_A_BUNDLE * len(bundles)
    return tuples + size(frame.q, frame.v, frame.divergences, frame.phases, *bundles, *new)


def checkpoint_of(stored: StoredFrame, setup: Setup, shapes: tuple[tuple[int, ...], ...]) -> Checkpoint:
    """Return the checkpoint of a frame with unbundled contacts; files of `main.py run` have no contacts."""
    divergences = np.zeros((2, setup.settings.batch), np.int64) if stored.divergences is None else stored.divergences
    frozen: NDArray[Any] = (divergences[0] != 0) & setup.settings.freezes
    tau, target, wrench = dense(stored.inputs, setup)
    contact = tuple(
        unpack(packed, shape) for packed, shape in zip(stored.contact, shapes if stored.contact else (), strict=True)
    )
    return Checkpoint(stored.steps, stored.q, stored.v, tau, target, wrench, frozen, contact, divergences)


def restore(simulation: Simulation, checkpoint: Checkpoint) -> None:
    """Continue from the checkpoint of a frame; those of files of `main.py run` have no contacts."""
    if not checkpoint.contact:
        checkpoint = checkpoint._replace(contact=tuple(map(np.zeros_like, simulation.checkpoint().contact)))
    simulation.restore(checkpoint)
