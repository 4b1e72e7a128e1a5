"""Time algorithms against one another on the same states, in turns: A B C, B A C, …; a busy machine disturbs all.

Ratios of times within one round are compared. Everything is measured in several fresh processes in turn, since the
placement of code and data is fixed for the life of a process; intervals come from the differences between processes. A
winner is named only beyond doubt. All processes can be killed at any time.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter

from engine import robot_words, validation
from engine.bench.compare import block, user_algorithms
from engine.bench.compare.candidate import Candidate
from engine.bench.compare.record import Record, results
from engine.bench.compare.result import ComparisonResult
from engine.child_process import Children, Ended, Silence
from engine.cuda.runtime import device
from engine.model import Model
from engine.selection import capabilities
from engine.text import in_one_line

PROCESSES = 5
LONG = 2.0
"""Seconds of silence after which a remark on the duration is made."""
DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Comparison:
    """What is compared: algorithms on devices and in number types, for batches of each of some models.

    `models` may be names as well: a robot's file, one that ships, chain:200. `algorithms` are names, or a user's
    functions as ``path.py:name`` (see docs/own_algorithm.py); None takes all that there are, without those that would
    take too long. `devices` None takes all present, `dtypes` are the number types, and `batch` the robots of a call.
    Every candidate has about `seconds` of turns. The states are drawn by `seed`.

    Raises ValueError, FileNotFoundError or ModelError for what is missing.
    """

    models: Sequence[Model | str]
    algorithms: Sequence[str] | None = None
    devices: Sequence[str] | None = None
    dtypes: Sequence[str] = ("float64",)
    batch: int = 1
    seconds: float = 1.0
    seed: int = 0
    robots: tuple[Model, ...] = field(init=False, repr=False)
    """`models`, with names loaded."""

    def __post_init__(self) -> None:
        models = tuple(robot_words.model_named(model) if isinstance(model, str) else model for model in self.models)
        object.__setattr__(self, "robots", models)
        if not models:
            raise ValueError("models is empty; name at least one robot")
        for model in models:
            if not model.nv:
                raise ValueError(f"{model.name} has no joint that moves; there is nothing to compare")
        if self.algorithms is not None:
            _some("algorithms", self.algorithms)
        for name in self.algorithms or ():
            users = user_algorithms.parse(name)
            if users is not None and not users.path.is_file():
                raise FileNotFoundError(f"there is no file {str(users.path)!r} to take {users.name!r} from")
            if users is None and name not in capabilities.ALGORITHMS:
                known = ", ".join(capabilities.ALGORITHMS)
                raise ValueError(
                    f"algorithm {name!r} is unknown; expected {known}, or a file's function as path.py:name"
                )
        for name in _some("devices", capabilities.DEVICES if self.devices is None else self.devices):
            validation.one_of("device", name, capabilities.DEVICES)
        for name in _some("dtypes", self.dtypes):
            validation.one_of("dtype", name, DTYPES)
        validation.integer("batch", self.batch, 1)
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"seconds is {self.seconds}; expected a positive number")

    def run(
        self, stop: Callable[[], bool] = lambda: False, children: Children | None = None
    ) -> Iterator[ComparisonResult]:
        """Measure, and yield all results whenever they change, and once more at the end.

        It ends early, within some hundredths of a second, once `stop` returns True or the iterator is closed, even
        during compilation; the last report has the measurements so far. `children` are the processes to measure in, by
        default `PROCESSES` new ones.
        """
        groups, began = self._groups(), perf_counter()

        def report(part: float, doing: str) -> ComparisonResult:
            elapsed = perf_counter() - began
            left = elapsed * (1 - part) / part if part else None
            return ComparisonResult(tuple(row for group in groups for row in results(group)), part, left, doing)

        with Children(PROCESSES) if children is None else nullcontext(children) as processes:
            for count in processes.starting(stop):
                yield report(0, f"starting the processes to measure in: {count} of {len(processes)}")
            steps = [(group, process) for group in groups for process in range(len(processes))]
            for index, (group, process) in enumerate(steps):
                for part, doing in self._step(group, processes, process, stop):
                    yield report((index + part) / len(steps), f"{doing} · process {process + 1} of {len(processes)}")
                if stop():
                    yield report(index / len(steps), "stopped")
                    return
        yield report(1, "done")

    def command(self) -> str:
        """Return the shell command that repeats the measurement. Raises ValueError for a model without a file."""
        commands = [robot_words.words(model) for model in self.robots]
        floating = {"--floating" in words for words, model in zip(commands, self.robots, strict=True) if model.source}
        if len(floating) > 1:
            raise ValueError("some of the models were loaded with a free root and some without; compare them apart")
        options = dict.fromkeys(option for words in commands for option in words[1:])
        return shlex.join(["main.py", "compare", *(words[0] for words in commands), *options, *self.options()])

    def options(self) -> list[str]:
        """Return the command line options beside the robots."""
        words: list[str] = []
        for option, values in (("algorithm", self.algorithms), ("device", self.devices), ("dtype", self.dtypes)):
            words += [word for value in values or () for word in (f"--{option}", value)]
        return [*words, "--batch", f"{self.batch}", "--seconds", f"{self.seconds:g}", "--seed", f"{self.seed}"]

    def _step(
        self, group: list[Record], children: Children, process: int, stop: Callable[[], bool]
    ) -> Iterator[tuple[float, str]]:
        """Measure a group in one process; yield the share done and the current activity."""
        while present := [record for record in group if not record.out]:
            for record in present:
                record.begin(process)
            requested = [replace(record.candidate) for record in present]
            progress: block.Progress | None = None
            try:
                replies = children[process].work(
                    block.measure_block, requested, self.seed, process, self.seconds / len(children), stop=stop
                )
                for reply in replies:
                    silence = reply.seconds if isinstance(reply, Silence) else 0.0
                    if isinstance(reply, block.Progress):
                        progress = reply
                        times = reply.host, reply.on_device
                        for record, *news in zip(present, reply.states, *times, strict=True):
                            record.take(*news)
                    if progress is not None:
                        yield progress.done, progress.doing + (f", {silence:.0f} s" if silence > LONG else "")
            except Ended as how:
                for record in _suspects(present, progress):
                    record.fail(str(how))
                children.start_again(process)
                continue
            at = None if progress is None else progress.at
            if stop() and at is not None and present[at].verdict == "waiting":
                present[at].reason = "it was being prepared when all was stopped"
            return

    def _groups(self) -> list[list[Record]]:
        present = ("cpu", "cuda") if device.available() else ("cpu",)
        names = tuple(capabilities.ALGORITHMS) if self.algorithms is None else tuple(self.algorithms)
        titles = distinct([model.name for model in self.robots])
        return [
            [
                Record(Candidate(model, title, name, label, where, dtype, self.batch, self.algorithms is not None))
                for dtype in self.dtypes
                for where in (present if self.devices is None else self.devices)
                for name, label in zip(names, distinct(map(user_algorithms.short_name, names)), strict=True)
            ]
            for model, title in zip(self.robots, titles, strict=True)
        ]


def distinct(names: Iterable[str]) -> list[str]:
    """Return unique names for display: a repeated name gets " (2)"."""
    seen: dict[str, int] = {}
    unique = []
    for name in map(in_one_line, names):
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _suspects(present: list[Record], progress: block.Progress | None) -> list[Record]:
    """Return the candidates that probably ended a process: of those that take turns, users' own; else all."""
    if progress is not None and progress.at is not None:
        return [present[progress.at]]
    users = [record for record in present if user_algorithms.parse(record.candidate.algorithm)]
    return users or present


def _some(name: str, values: Sequence[str]) -> Sequence[str]:
    if not values or isinstance(values, str):
        raise ValueError(f"{name} is {values!r}; expected a list of one or more names")
    return values
