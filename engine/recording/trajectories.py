"""`trajectory`: a recorded run as arrays, with efforts and external wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.logged import names_in, table_of_logged
from engine.recording.frames import StoredFrame
from engine.recording.packing import Array
from engine.recording.recording import Recording
from engine.recording.run import Run
from engine.recording.setup import Setup
from engine.rollout import Trajectory


def trajectory(recording: Recording, run: Run, effort: Array | None = None) -> Trajectory:
    """Return a recorded run, from its oldest frame, in the form of `rollout`, with a batch axis in front.

    `tau` is `effort` (batch, frames, nv), see `Resampled`; without it, the efforts of the drives in each frame's state.
    If the batch size changed, the trajectory begins where the last size does.
    """
    return of_frames(of_one_batch(recording.stored(run)), run.setups, effort)


def of_one_batch(frames: list[StoredFrame]) -> list[StoredFrame]:
    """Return the frames since the batch has its last size; only these fit into one array."""
    batch, first = len(frames[-1].q), len(frames) - 1
    while first and len(frames[first - 1].q) == batch:
        first -= 1
    return frames[first:]


def of_frames(frames: list[StoredFrame], setups: Sequence[Setup], effort: Array | None = None) -> Trajectory:
    """Return the trajectory of frames with a constant number of robots; see `trajectory`."""
    q: Any
    v: Any
    q, v = (np.stack([getattr(frame, name) for frame in frames], 1) for name in "qv")
    if effort is None:
        effort = np.stack([_effort(frame, setups[frame.setup]) for frame in frames], 1)
    links, names = _pushed(frames, setups[-1]), setups[-1].model.link_names
    wrench: Any = _wrenches(frames, setups[-1], links) if links else None
    arrays = q, v, effort.astype(v.dtype), wrench
    of_one = len(q) == 1
    q, v, tau, wrench = (x[0] if of_one and x is not None else x for x in arrays)
    time = np.array([frame.time for frame in frames])
    pushed, (logged, logged_names) = tuple(names[link] for link in links), _logged(frames)
    return Trajectory(time, q, v, tau, wrench, pushed, logged, logged_names)


def _logged(frames: Sequence[StoredFrame]) -> tuple[Array | None, tuple[str, ...]]:
    """Return the logged numbers (frames, names) and all names, also those that only acted between frames."""
    stored = (inputs[3] for frame in frames for inputs in (*(inputs for _, inputs in frame.changes), frame.inputs))
    names = names_in(stored)
    return (table_of_logged([frame.inputs[3] for frame in frames], names) if names else None), names


def _effort(frame: StoredFrame, setup: Setup) -> Array:
    """(batch, nv): the effort in a frame's state."""
    tau, target = (np.broadcast_to(x, frame.v.shape).astype(float) for x in frame.inputs[:2])
    return setup.settings.effort(frame.q.astype(float), frame.v.astype(float), tau, target)


def _pushed(frames: Sequence[StoredFrame], setup: Setup) -> list[int]:
    """Return the links on which external wrenches acted."""
    numbers = [frame.inputs[2][1] for frame in frames if frame.inputs[2] is not None]
    links: Array = np.unique(np.concatenate([np.zeros(0, np.int32), *numbers]) % len(setup.model.link_names))
    return [int(link) for link in links]


def _wrenches(frames: Sequence[StoredFrame], setup: Setup, links: list[int]) -> Array:
    """(batch, frames, links, 6): the external wrenches, N m and N."""
    count, places = len(setup.model.link_names), np.zeros(len(setup.model.link_names), int)
    places[links] = np.arange(len(links))
    wrench = np.zeros((len(frames[0].q), len(frames), len(links), 6), frames[0].q.dtype)
    for k, frame in enumerate(frames):
        if frame.inputs[2] is not None:
            rows, numbers = frame.inputs[2]
            wrench[numbers // count, k, places[numbers % count]] = rows
    return wrench
