"""Frames of recordings: as they are kept, what they take, and as they are given out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.checkpoint import Checkpoint
from engine.recording.inputs import Change, Inputs, dense
from engine.recording.packing import Array, size, unbundle, unpack
from engine.recording.setup import Setup
from engine.scene import Touches

_OF_A_FRAME, _OF_A_CHANGE, _OF_A_BUNDLE = 160, 200, 400  # bytes beside arrays and numbers

Stored = tuple[Any, ...]
"""A frame: its fields are those of `StoredFrame`. Plain tuples of arrays are no work for the garbage collector."""


class StoredFrame(NamedTuple):
    """A frame as it is kept, see `RecordedFrame`; `contact` and `touches` are bundles there, and tuples elsewhere.

    `setup` is the number of the run's; `divergences` are None where no robot diverged; `bytes` what all this takes.
    """

    time: float
    steps: int
    setup: int
    begins: bool
    q: Array
    v: Array
    inputs: Inputs
    changes: tuple[Change, ...]
    divergences: Array | None
    contact: Any
    touches: Any
    phases: Array
    bytes: int


@dataclass(frozen=True, eq=False)
class RecordedFrame:
    """A simulation at one moment of a run, in the arrays of a `Checkpoint`: the frame `index` of the run,
    at `time` in s since the run began.

    tau, target and wrench are what acted in the step that ended here. `begins`: the state was put there, by hand or by
    another simulation, and does not come from the frame before by steps. `touches` are the contacts of the last step,
    None where there were none; `phases` its seconds by name.
    """

    index: int
    time: float
    setup: Setup
    begins: bool
    checkpoint: Checkpoint
    touches: Touches | None
    phases: Mapping[str, float]


def taken_out(frame: StoredFrame) -> StoredFrame:
    """A frame with its arrays of contacts by themselves."""
    arrays = unbundle(frame.contact) if frame.contact else ()
    contact = tuple(zip(arrays[::2], arrays[1::2], strict=True))
    return frame._replace(contact=contact, touches=None if frame.touches is None else unbundle(frame.touches))


def are_samples(frames: Sequence[StoredFrame], setups: Sequence[Setup]) -> bool:
    """Whether they are samples from a file: they do not say what acted, and no steps lead on from them."""
    alone = len(frames) > 1 and frames[0].begins and frames[1].begins and frames[0].time < frames[1].time
    return alone and not setups[frames[0].setup].watched


def diverged(checkpoint: Checkpoint) -> Array | None:
    """A checkpoint's divergences as frames keep them."""
    divergences = checkpoint.divergences
    return divergences if divergences is not None and divergences[0].any() else None


def size_of(frame: StoredFrame, before: Inputs | tuple[()]) -> int:
    """Bytes of a frame, with those inputs that the frame before does not share."""
    known, new = set(map(id, before)), []
    for inputs in (*(inputs for _, inputs in frame.changes), frame.inputs):
        if inputs is not before:
            new += [x for x in inputs if x is not None and id(x) not in known]
            known.update(map(id, inputs))
    bundles = [part[0] for part in (frame.contact, frame.touches) if part]
    tuples = _OF_A_FRAME + _OF_A_CHANGE * len(frame.changes) + _OF_A_BUNDLE * len(bundles)
    return tuples + size(frame.q, frame.v, frame.divergences, frame.phases, *bundles, *new)


def checkpoint_of(stored: StoredFrame, setup: Setup, shapes: tuple[tuple[int, ...], ...]) -> Checkpoint:
    """The checkpoint that a frame holds, whose contacts are taken out; a file of `main.py run` has none of them."""
    divergences = np.zeros((2, setup.settings.batch), np.int64) if stored.divergences is None else stored.divergences
    frozen: NDArray[Any] = (divergences[0] != 0) & setup.settings.freezes
    tau, target, wrench = dense(stored.inputs, setup)
    contact = tuple(
        unpack(packed, shape) for packed, shape in zip(stored.contact, shapes if stored.contact else (), strict=True)
    )
    return Checkpoint(stored.steps, stored.q, stored.v, tau, target, wrench, frozen, contact, divergences)
