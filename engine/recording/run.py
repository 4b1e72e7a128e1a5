"""`Run`: the frames of one run of a recording, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.recording.frames import Stored, StoredFrame, size_of
from engine.recording.inputs import Inputs
from engine.recording.setup import Setup

Shapes = tuple[tuple[int, ...], ...]
"""The shapes of the arrays in `Checkpoint.contact`."""
_MAX_EMPTY = 4096  # empty entries allowed at the front of a list


@dataclass(eq=False)
class Run:
    """The frames of one run, in time order, indexed from its beginning; the oldest may be dropped.

    `number` counts runs from 1. A branch begins with the frames of the run that it left: `left` is that run's number,
    and the time of leaving. Only its recording, while it holds its lock, changes a run or reads stored frames.
    """

    number: int
    left: tuple[int, float] | None = None
    first: int = 0
    """The index of the oldest frame that is kept."""
    shared: int = -1
    """Up to this index frames belong to another run, too."""
    held: bool = False
    """Whether the run is kept even without steps."""
    _frames: list[Stored | None] = field(default_factory=list)
    _at: int = 0  # position in the list
    _setups: list[Setup] = field(default_factory=list)
    _shapes: list[Shapes] = field(default_factory=list)  # by setup, like the phases
    _phases: list[tuple[str, ...]] = field(default_factory=list)
    _logged: dict[str, None] = field(default_factory=dict)  # an ordered set

    def __len__(self) -> int:
        """Return the number of frames kept."""
        return len(self._frames) - self._at

    @property
    def last(self) -> int:
        """The index of the newest frame."""
        return self.first + len(self) - 1

    @property
    def own(self) -> int:
        """The index of the first frame of its own, after the run that it left; `last` + 1 if there is none."""
        return max(self.shared + 1, self.first)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The setups of the run's simulations, in order."""
        return tuple(self._setups)

    @property
    def shapes(self) -> tuple[Shapes, ...]:
        """The shapes of the arrays in `Checkpoint.contact`, for each of `setups`."""
        return tuple(self._shapes)

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """The names of a step's phases, for each of `setups`."""
        return tuple(self._phases)

    @property
    def logged_names(self) -> tuple[str, ...]:
        """The names of all numbers that were logged in the run, see `Simulation.logged`, in order of appearance."""
        return tuple(self._logged)

    @property
    def newest(self) -> StoredFrame | None:
        """The newest frame, if there is one."""
        return self.frame(self.last) if len(self) else None

    def frame(self, index: int) -> StoredFrame:
        """Return the frame `index` as it is stored. Raises IndexError where it is missing, or was discarded."""
        if not self.first <= index <= self.last:
            raise IndexError(f"frame {index} is not recorded; there are {self.first} to {self.last}")
        return StoredFrame(*self._frames[self._at + index - self.first])  # type: ignore[misc]

    def frames(self, first: int = 0, most: int | None = None) -> list[StoredFrame]:
        """Return the frames from the index `first` on, `most` at most."""
        begin = self._at + max(first - self.first, 0)
        frames = self._frames[begin : None if most is None else begin + most]
        return [StoredFrame(*frame) for frame in frames if frame is not None]

    def at(self, time: float) -> int:
        """Return the index of the last frame at or before a time in s; the oldest if there is none."""
        index = bisect_right(self._frames, time, lo=self._at, key=lambda frame: frame[0])  # type: ignore[index]
        return max(self.first, self.first + index - self._at - 1)

    def set_up(self, setups: Iterable[Setup], shapes: Sequence[Shapes], phases: Sequence[tuple[str, ...]]) -> None:
        """Add the setups of further frames; `shapes` and `phases`, for each of `setups`, are as the properties."""
        self._setups += setups
        self._shapes += shapes
        self._phases += phases

    def describe(self, shapes: Shapes, phases: tuple[str, ...]) -> None:
        """Set the shapes and the phases of the newest setup's frames."""
        self._shapes[-1], self._phases[-1] = shapes, phases

    def share(self, other: Run, index: int) -> None:
        """Begin with the frames of a run, `other`, that this one leaves at its frame `index`."""
        self.left, self.first, self.shared = (other.number, other.frame(index).time), other.first, index
        self._frames = other._frames[other._at : other._at + index - other.first + 1]
        self._logged = other._logged.copy()

    def append(self, frame: StoredFrame, before: Inputs | tuple[()]) -> int:
        """Append a frame, which may share the inputs `before`; return its bytes."""
        taken = size_of(frame, before)
        self._frames.append((*frame[:-1], taken))
        for logged in (frame.inputs[3], *(inputs[3] for _, inputs in frame.changes)):
            if logged is not None:
                self._logged.update(dict.fromkeys(logged[0]))
        return taken

    def pop(self, runs: Iterable[Run]) -> int:
        """Remove the newest frame; return the bytes freed, 0 where one of these runs shares it."""
        shared, frame = self.last <= self.shared, self._frames.pop()
        self.shared = min(self.shared, self.last)
        if shared and any(each is frame for run in runs for each in run._frames):
            return 0
        return StoredFrame(*frame).bytes  # type: ignore[misc]

    def drop(self) -> int:
        """Drop the oldest frame; return the bytes freed."""
        free = self.frame(self.first).bytes
        self._frames[self._at] = None
        self._at, self.first = self._at + 1, self.first + 1
        oldest = self.frame(self.first)  # it now owns the inputs it shared with the previous one
        alone = oldest._replace(bytes=size_of(oldest, ()))
        self._frames[self._at] = tuple(alone)
        if self._at > _MAX_EMPTY:
            del self._frames[: self._at]
            self._at = 0
        return free - (alone.bytes - oldest.bytes)

    def bytes_beside(self, runs: Iterable[Run]) -> int:
        """Return the bytes of the frames that none of these runs shares."""
        shared = {id(frame) for run in runs for frame in run._frames if run.shared >= run.first}
        return sum(StoredFrame(*each).bytes for each in self._frames if each is not None and id(each) not in shared)
