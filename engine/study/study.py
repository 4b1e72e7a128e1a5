"""`Study`: many runs, described once, computed on one machine or many, and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import __version__, validation
from engine.rollout import Trajectory
from engine.study import results, tables
from engine.study.batch import Batch, simulate
from engine.study.description import Description, parse
from engine.study.on_ray import Cluster
from engine.study.plan import Group, Plan
from engine.study.processes import BatchJob, Here, Processes
from engine.study.quantities import MEASURED
from engine.study.tables import Problems

FIRST = {"cpu": 16, "cuda": 4096}
"""Number of samples of a group's first batches; later ones grow until a batch takes `LONG`."""
MAX_SAMPLES = {"cpu": 2**14, "cuda": 2**18}
"""Maximum number of samples of a batch."""
LONG = 4.0
"""Target duration of a batch in seconds, the work lost with a process."""
LED = 30
"""Batches per second that one machine can dispatch; beyond it, batches are made longer than `LONG`."""
GROWTH = 4


class StudyProgress(NamedTuple):
    """The progress of a study: `done` of `samples`, `diverged` since the start, and `seats` (slots) at work."""

    done: int
    samples: int
    diverged: int
    seats: int


class Study:
    """A family of runs: robots, scene and time, what varies between samples, and what is kept of each.

    `content` is a study's file as dictionaries and lists, see docs/studies.md; files that it names are looked for in
    `folder` first. Problems are reported by `name` and the line in `text`, the file's. `trust_xacro` is as for `load`.
    Raises `StudyError`, a ValueError with a line for each problem, its place and its fix.

    >>> study = engine.Study.read("push.toml")
    >>> study.run("push.results")
    >>> columns = engine.Study.results("push.results")
    """

    def __init__(
        self,
        content: Mapping[str, Any],
        folder: str | Path = ".",
        name: str = "the study",
        text: str = "",
        trust_xacro: bool = False,
    ):
        problems = Problems(name, text)
        self._content = dict(content)
        self._description: Description = parse(content, problems)
        self._plan = Plan(self._description, Path(folder), problems, trust_xacro)

    @classmethod
    def read(cls, path: str | Path, trust_xacro: bool = False) -> Study:
        """The study in a file of TOML; `trust_xacro`: see `load`. Raises OSError, and `StudyError` of all problems."""
        file = Path(path)
        content, text = tables.read(file)
        return cls(content, file.parent, file.name, text, trust_xacro)

    @classmethod
    def of_results(cls, folder: str | Path, trust_xacro: bool = False) -> Study:
        """The study whose results are in a folder, with the algorithms and devices that these were made by.

        Its files are looked for where they were, then beside the folder. Raises ValueError where it has no results, or
        robots or a controller that have changed, and `StudyError` where they are missing. See `load` for `trust_xacro`.
        """
        there = results.read_manifest(Path(folder))
        about, content = there.get(results.ABOUT), there.get("study")
        about = about if isinstance(about, dict) else {}
        if not isinstance(content, dict):
            raise ValueError(f"{str(Path(folder) / results.MANIFEST)!r} is damaged; run the study again")
        content = content | ({"title": about["title"]} if about.get("title") else {})
        beside = Path(folder).absolute().parent
        place = Path(str(about.get("folder", beside)))
        study = cls(content, place if place.is_dir() else beside, f"the study of {Path(folder).name}", "", trust_xacro)
        if there.get("robots") != study._plan.digests:
            names = ", ".join(study._plan.digests)
            raise ValueError(f"a file has changed since the study was run, of {names}; its runs cannot be repeated")
        decided = there.get(results.DECIDED)
        study._plan.decided = decided if isinstance(decided, dict) else {}
        return study

    @property
    def title(self) -> str:
        """The study's title; may be empty."""
        return self._description.title

    @property
    def controller(self) -> Path | None:
        """The controller's file, or None."""
        return None if self._plan.program is None else self._plan.program.path

    @property
    def count(self) -> int:
        """The number of samples; they are numbered from 0."""
        return self._description.count

    @property
    def varied(self) -> tuple[str, ...]:
        """The names of the variables' columns."""
        return tuple(axis.name for axis in self._description.axes)

    @property
    def kept(self) -> dict[str, bool]:
        """The names of the kept columns, and whether each is a predicate or a number."""
        return {kept.name: kept.predicate for kept in self._description.kept}

    @property
    def measured(self) -> frozenset[str]:
        """The kept columns that are measured, and so differ whenever a sample is run again."""
        return frozenset(kept.name for kept in self._description.kept if kept.quantity == MEASURED)

    @property
    def units(self) -> dict[str, str]:
        """The units of the variables' and the kept columns, by name; "" for those without."""
        return self._plan.units

    @property
    def logarithmic(self) -> frozenset[str]:
        """The variables drawn log-uniformly over two powers of ten or more, which logarithmic axes show best."""
        drawn = [each for each in self._description.axes if each.spread == "log_uniform"]
        return frozenset(each.name for each in drawn if each.values[1] >= 100 * each.values[0])

    def values(self, samples: ArrayLike) -> dict[str, NDArray[Any]]:
        """Return the variables, (N,) each by name, of samples (N,); raises ValueError for invalid numbers."""
        return self._plan.sampling.values(self._chosen(samples))

    def trajectory(self, sample: int) -> Trajectory:
        """Repeat the run of one sample, with every look; it reproduces the results bit by bit."""
        return Trajectory(*self._again(sample)[1].trajectories[sample])

    def save_run(self, sample: int, path: str | Path) -> dict[str, Any]:
        """Repeat the run of one sample, and write it as a file that the window can play.

        Return its row of the results: the kept values, NaN or false if it diverged, and "diverged".
        """
        group, batch = self._again(sample)
        results.write_run(Path(path), group, batch, sample, self.title)
        return {name: x[0].item() for name, x in (batch.columns | {"diverged": batch.diverged}).items()}

    def _again(self, sample: int) -> tuple[Group, Batch]:
        (number,) = self._chosen([sample])
        if not self._plan.decided:
            self._plan.decided = Here(self._description).decide(self._plan)
        missing = np.zeros(self.count, bool)
        missing[number] = True
        ((group, task),) = self._plan.tasks(missing, lambda *_: 1)
        return group, simulate(self._description, group, task, paths=True)

    def run(
        self,
        folder: str | Path,
        on: str | None = None,
        processes: int | None = None,
        batch: int | None = None,
        report: Callable[[StudyProgress], None] = lambda _: None,
    ) -> StudyProgress:
        """Step all samples whose results are not in `folder` yet, and add them to it, part by part.

        By default each core of this machine, or each GPU if GPUs step, has a process; `processes` sets their number,
        with 0 for this process; `on` "local-cluster", "auto" or "ray://HOST:PORT" selects Ray, see docs/studies.md. At
        most `batch` samples step together, by default as many as take some seconds. On one kind of device, the bits of
        the results depend on none of that. Raises ValueError if the folder contains another study's results, and
        RuntimeError if a batch fails repeatedly; finished samples are kept.
        """
        place: Here
        if on is not None:
            place = Cluster(self._description, on)
        else:
            place = Here(self._description) if processes == 0 else Processes(self._description, processes)
        most = None if batch is None else validation.integer("batch", batch, 1)
        about = {"title": self.title, "folder": str(self._plan.folder.absolute())}
        with place, results.Results(Path(folder), self._description, self._manifest(), about) as store:
            self._plan.decided = store.decided(lambda: place.decide(self._plan))
            done = StudyProgress(int(np.count_nonzero(store.done)), self.count, 0, place.seats)
            report(done)
            sizes = BatchSizes(most, place, self.count - done.done)
            with closing(place.carry_out(self._works(store.done, sizes))) as carried_out:
                for work, outcome in carried_out:
                    store.add(work.group, outcome)
                    sizes.learn(work.group, outcome)
                    lost = done.diverged + int(np.count_nonzero(outcome.diverged))
                    done = StudyProgress(done.done + len(outcome.diverged), self.count, lost, place.seats)
                    report(done)
        return done

    @staticmethod
    def results(folder: str | Path, names: list[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return the columns of a folder's results, (samples,) each, by name: all, or "sample" and these `names`.

        For diverged robots, numbers are NaN and predicates false. Raises ValueError if there are no results.
        """
        return results.read(Path(folder), names)

    def _works(self, done: NDArray[np.bool_], sizes: BatchSizes) -> Iterator[BatchJob]:
        for group, task in self._plan.tasks(~done, sizes.next):
            yield BatchJob(group, task)

    def _manifest(self) -> dict[str, Any]:
        content = {key: value for key, value in self._content.items() if key != "title"}
        return {"catena": __version__, "study": content, "robots": self._plan.digests}

    def _chosen(self, samples: ArrayLike) -> NDArray[np.int64]:
        chosen = np.atleast_1d(np.asarray(samples))
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or np.any((chosen < 0) | (chosen >= self.count)):
            raise ValueError(f"samples is {samples!r}; expected whole numbers from 0 to {self.count - 1}")
        return chosen.astype(np.int64)


class BatchSizes:
    """The size of a group's next batch."""

    def __init__(self, most: int | None, place: Here, missing: int):
        self._most, self._place, self._missing = most, place, missing
        self._next: dict[Any, int] = {}

    def next(self, group: Group, left: int) -> int:
        """Return the size of the next batch of `left` samples; near the end small enough to keep every slot busy."""
        first = FIRST[group.settings.device]
        most = self._most or MAX_SAMPLES[group.settings.device]
        fair = max(first, -(-self._missing // self._place.seats))
        count = min(left, self._next.get(group.settings, first), fair, most)
        self._missing -= count
        return count

    def learn(self, group: Group, batch: Batch) -> None:
        """Update the size with the duration of a batch."""
        count = len(batch.task.samples)
        long = max(LONG, self._place.seats / LED)
        size = count * min(GROWTH, long / max(batch.seconds, 1e-6))
        if count >= self._next.get(group.settings, 0) // 2:
            self._next[group.settings] = max(1, int(size))
