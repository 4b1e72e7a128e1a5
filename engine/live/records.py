"""The frames of a live link as bytes: written in microseconds, converted to the recording's format when read."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from engine.device_arrays import to_host
from engine.logged import logged_of, named_numbers
from engine.recording.frames import StoredFrame, checkpoint_of
from engine.recording.inputs import Inputs, shared_with
from engine.recording.packing import Array, Header, alike, pack, pack_contacts, unbundle
from engine.recording.setup import Setup
from engine.scene import Contacts
from engine.simulation import Simulation

MAX_BYTES = 32 * 2**20
"""Maximum bytes of a frame file; then a new file begins. The newest `FILES` files are kept."""
FILES = 2
MEMORY, SMALL = 2**16, 2**14
"""Maximum bytes of contact warm start stored per frame, and of an array stored uncompressed."""
_LENGTHS = struct.Struct("<QQ")


class Writer:
    """Writer of frames into the files of a folder."""

    def __init__(self, folder: Path):
        self._folder, self._number, self._size = folder, 0, 0
        self._handle = self._opened(0)

    def _opened(self, number: int) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        return os.open(_file(self._folder, number), flags, 0o600)

    def add(self, record: bytes) -> None:
        """Append a record made by `record_of`. Raises OSError."""
        if self._size + len(record) > MAX_BYTES and self._size:
            os.close(self._handle)
            self._number, self._size = self._number + 1, 0
            self._handle = self._opened(self._number)
            _file(self._folder, self._number - FILES).unlink(missing_ok=True)
        written = os.write(self._handle, record)
        self._size += written
        if written < len(record):
            raise OSError(f"there is no room for the frames in {self._folder}")

    def close(self) -> None:
        os.close(self._handle)


def _file(folder: Path, number: int) -> Path:
    return folder / f"frames-{number:06d}"


def record_of(simulation: Simulation, run: int) -> bytes:
    """Return the current state, as part of run `run`. Waits for running steps.

    Contacts are stored if the reader cannot recompute them from the warm start of the next step.
    """
    divergences, memory = simulation.glance()
    memory = memory if sum(x.nbytes for x in memory) <= MEMORY else ()
    touched = [] if memory and simulation.device == "cpu" else _touched(simulation)
    packed = tuple(x.nbytes > SMALL for x in memory)
    parts = [part for x, packs in zip(memory, packed, strict=True) for part in (pack(x) if packs else (x,))]
    wrenches = simulation.takes_wrenches
    inputs = (simulation.tau, simulation.target, *((simulation.wrench,) if wrenches else ()))
    q, v, tau, target, *wrench = map(to_host, (simulation.q, simulation.v, *inputs))
    every = q, v, tau, target, divergences, *wrench, *parts, *touched
    data = b"".join([np.ascontiguousarray(x).data for x in every])
    header = tuple((x.dtype.str, x.shape) for x in every)
    logged = json.dumps({**simulation.logged}) if simulation.logged else "{}"
    head = f"[{run}, {simulation.steps}, {wrenches:d}, {_as_json(packed)}, {_as_json(header)}, {logged}]".encode()
    return b"".join((_LENGTHS.pack(len(head), len(data)), head, data))


def _touched(simulation: Simulation) -> list[Array]:
    """Return the contact fields of the last step; none without contact."""
    touches = simulation.contacts
    count = 0 if touches is None else int(touches.number.max())
    return [to_host(x if x.ndim == 1 else x[:, :count]) for x in touches] if touches is not None and count else []


@lru_cache(maxsize=64)
def _as_json(value: Header | tuple[bool, ...]) -> str:
    return json.dumps(value)


def _without_nan(x: Array) -> Array:
    """Return an array with zeros in place of numbers that are not finite."""
    return x if x.dtype.kind != "f" or np.isfinite(x).all() else np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)


class Reader:
    """Reader of frames from the files of a folder while they grow."""

    def __init__(self, folder: Path):
        self._folder, self._number, self._at = folder, 0, 0
        self._before: Inputs | None = None
        self._finite: tuple[Array, Array] | None = None  # q and v of the previous frame, finite
        self._simulations: dict[Setup, Simulation] = {}  # for recomputing a frame's contacts

    def take(self, setup: Setup) -> Iterator[tuple[int, StoredFrame]]:
        """Return the frames added since the last call, each with its run number.

        A robot that diverged is as it last was finite, so that it can be drawn and the run can be saved. Raises
        ValueError for invalid data.
        """
        while True:
            later = [number for number in self._numbers() if number > self._number]  # if so, this file is complete
            with suppress(FileNotFoundError), _file(self._folder, self._number).open("rb") as file:
                file.seek(self._at)
                yield from self._whole(file.read(), setup)
            if not later:
                return
            self._number, self._at = min(later), 0

    def _numbers(self) -> list[int]:
        return [int(path.name.rpartition("-")[2]) for path in self._folder.glob("frames-*")]

    def _whole(self, data: bytes, setup: Setup) -> Iterator[tuple[int, StoredFrame]]:
        offset = 0
        while len(data) >= offset + _LENGTHS.size:
            head, size = _LENGTHS.unpack_from(data, offset)
            begin = offset + _LENGTHS.size
            end = begin + head + size
            if end > len(data):
                return
            try:
                frame = self._frame(data[begin : begin + head], data[begin + head : end], setup)
            except (AttributeError, LookupError, TypeError, ValueError) as problem:
                raise ValueError(f"{self._folder} contains no frames of a live link ({problem})") from None
            self._at += end - offset
            offset = end
            yield frame

    def _frame(self, head: bytes, data: bytes, setup: Setup) -> tuple[int, StoredFrame]:
        run, steps, wrenches, packed, header, logged = json.loads(head)
        q, v, *others = unbundle((data, tuple((dtype, tuple(shape)) for dtype, shape in header)))
        tau, target, divergences, *rest = map(_without_nan, others)
        s = setup.settings
        for name, x, width in (("q", q, s.model.nq), ("v", v, s.model.nv), ("tau", tau, s.model.nv)):
            if x.shape != (s.batch, width):
                raise ValueError(f"{name} has shape {x.shape}; expected {(s.batch, width)}")
        q, v, divergences = self._last_finite(q, v, divergences, max(steps, 1), s.model.neutral())
        wrench = pack(rest.pop(0)) if wrenches else None
        inputs = self._shared((alike(tau), alike(target), wrench, logged_of(named_numbers(logged, set()))))
        contact = tuple((rest.pop(0), rest.pop(0)) if packs else pack(rest.pop(0)) for packs in packed)
        touches = pack_contacts(Contacts(*rest)) if rest else None
        frame = StoredFrame(
            setup.time(steps), int(steps), 0, True, q, v, inputs,
            divergences=np.array(divergences) if divergences[0].any() else None, contact=contact, contacts=touches,
        )  # fmt: skip
        if touches is None and contact and setup.device == "cpu":
            frame = frame._replace(contacts=self._reported(frame, setup))
        return int(run), frame

    def _last_finite(self, q: Array, v: Array, divergences: Array, steps: int, neutral: Array) -> tuple[Array, ...]:
        """Return q and v, with the last finite ones of robots that diverged, and all divergences."""
        lost: Array = ~np.isfinite(np.hstack((q, v))).all(axis=1)
        before = self._finite or (np.broadcast_to(neutral.astype(q.dtype), q.shape), np.zeros_like(v))
        unknown = np.stack([np.full(len(q), steps), np.argmax(~np.isfinite(v), axis=1)])
        self._finite = np.where(lost[:, None], before[0], q), np.where(lost[:, None], before[1], v)
        return *self._finite, np.where(lost & (divergences[0] == 0), unknown, divergences)

    def _reported(self, frame: StoredFrame, setup: Setup) -> tuple[Array, ...] | None:
        """Recompute a frame's contacts from the warm start of the next step."""
        if setup not in self._simulations:
            self._simulations = {setup: setup.simulation()}
        simulation = self._simulations[setup]
        shapes = tuple(x.shape for x in simulation.checkpoint().contact)
        simulation.restore(checkpoint_of(frame, setup, shapes))
        return pack_contacts(simulation.contacts)

    def _shared(self, inputs: Inputs) -> Inputs:
        """Reuse the previous frame's arrays if they are equal, so that a recording stores them once."""
        if self._before is not None:
            inputs = shared_with(self._before, inputs)
        self._before = inputs
        return inputs
