"""Run a study's batches on this machine: in child processes on its cores and GPUs, or in this process.

Inputs are `BatchJob`s; batches are yielded as they finish. If a process dies, its batch is repeated by another.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, Self

from engine.child_process import Child, Ended, Silence
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import device
from engine.study.batch import Batch, compile_steps, simulate
from engine.study.description import Description
from engine.study.plan import NONE, Group, Plan, Task, decide

TRIES = 3
"""Number of processes that a batch may kill before the study ends."""


class BatchJob(NamedTuple):
    """One batch to be stepped."""

    group: Group
    task: Task


Replies = queue.SimpleQueue[tuple[BatchJob, Batch] | BaseException | None]
"""Results of the jobs; None when a process has no more."""


class Here:
    """Executor in this process."""

    seats = 1

    def __init__(self, study: Description):
        self._study = study

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def decide(self, plan: Plan) -> dict[str, list[Any]]:
        """See `plan.decide`."""
        return decide(self._study, plan.robots, list(plan.choices()))

    def carry_out(self, jobs: Iterator[BatchJob]) -> Generator[tuple[BatchJob, Batch], None, None]:
        """Yield the batches one after another."""
        for job in jobs:
            yield job, simulate(self._study, job.group, job.task)


class Processes(Here):
    """Executor in child processes: the requested number, which share the cores, or one for each GPU."""

    def __init__(self, study: Description, count: int | None = None):
        super().__init__(study)
        self._cores = cores()
        self._gpus = [""]
        self.seats = count or self._cores

    def decide(self, plan: Plan) -> dict[str, list[Any]]:
        """See `plan.decide`."""
        decided = super().decide(plan)
        if any(on == "cuda" for _, on, *_ in decided.values()):
            visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
            self._gpus = [visible[k] if visible else f"{k}" for k in range(device.count())]
            self.seats = len(self._gpus)
        return decided

    def carry_out(self, jobs: Iterator[BatchJob]) -> Generator[tuple[BatchJob, Batch], None, None]:
        """Yield all batches as they finish. Raises RuntimeError if one fails, or kills its process `TRIES` times."""
        shared, replies, ended = _Shared(self.compiled(jobs)), Replies(), threading.Event()
        seats = [
            threading.Thread(target=self._run_child, args=(seat, shared, replies, ended), daemon=True)
            for seat in range(self.seats)
        ]
        for thread in seats:
            thread.start()
        try:
            busy = len(seats)
            while busy:
                reply = replies.get()
                if isinstance(reply, BaseException):
                    raise reply
                if reply is None:
                    busy -= 1
                else:
                    yield reply
        finally:
            ended.set()
            for thread in seats:
                thread.join()

    def compiled(self, jobs: Iterator[BatchJob]) -> Iterator[BatchJob]:
        """Yield the jobs, each after the code for its steps is on disk."""
        compiled = set()
        for job in jobs:
            code = job.group.settings._replace(friction=0.0, dt=0.0)
            if code not in compiled and code.device == "cpu":
                compile_steps(self._study, *job)
                compiled.add(code)
            yield job

    def _run_child(self, seat: int, shared: _Shared, replies: Replies, ended: threading.Event) -> None:
        """Run jobs in one child process, and start another if it dies."""
        child: Child | None = None
        how = (max(1, self._cores // self.seats), self._gpus[seat % len(self._gpus)])
        try:
            while not ended.is_set() and (job := shared.next()) is not None:
                child = child or Child()
                try:
                    for batch in child.work(_simulated, self._study, job, *how, stop=ended.is_set):
                        if not isinstance(batch, Silence):
                            replies.put((job, batch.of(job.task)))
                except Ended as reason:
                    child.end()
                    child = None
                    shared.give_back(job, str(reason))
                except RuntimeError as error:  # its last line names the exception
                    wording = str(error).strip().rpartition("\n")[2].removeprefix("RuntimeError: ")
                    raise RuntimeError(f"the batch of sample {int(job.task.samples[0])} failed: {wording}") from error
        except BaseException as error:
            replies.put(error)
        finally:
            if child is not None:
                child.end()
            replies.put(None)


class _Shared:
    """A queue of jobs for several threads, which may return them."""

    def __init__(self, jobs: Iterator[BatchJob]):
        self._jobs, self._lock = jobs, threading.Lock()
        self._returned: list[BatchJob] = []
        self._tries: dict[int, int] = {}

    def next(self) -> BatchJob | None:
        with self._lock:
            return self._returned.pop() if self._returned else next(self._jobs, None)

    def give_back(self, job: BatchJob, how: str) -> None:
        first = int(job.task.samples[0])
        with self._lock:
            self._tries[first] = self._tries.get(first, 0) + 1
            if self._tries[first] >= TRIES:
                raise RuntimeError(
                    f"the batch of sample {first} has ended {TRIES} processes ({how}); free some memory, or give a "
                    "smaller --batch: the same call continues from there"
                )
            self._returned.append(job)


def _simulated(study: Description, job: BatchJob, threads: int, gpu: str) -> Iterator[Batch]:
    """Run in a child process: select the GPU before anything uses one, then simulate."""
    if gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    yield simulate(study, job.group, job.task, threads, alone=True).of(NONE)
