"""Run jobs in a limited number of forked processes, each in a folder of its own and with a CPU time limit."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import planting

WALL = 6
"""Ratio of a process's wall-clock limit to its CPU time limit, since it may wait or share its cores."""


class Job(NamedTuple):
    """Work for a forked process in a folder of its own, its limit in s of processor time, and what becomes of it."""

    work: Callable[[Path], int]
    limit: float
    done: Callable[[int | None, Path], None]


def run_jobs(jobs: list[Job], processes: int, work: Path, until: float = float("inf")) -> int:
    """Run all jobs, `processes` at a time, each on two cores; `done` receives the exit code, None if it was killed.

    At `until`, of the monotonic clock, running jobs are killed without a report; return the number done.
    """
    cores = sorted(os.sched_getaffinity(0))
    waiting, places = jobs[::-1], list(range(processes))
    under_way: dict[int, tuple[Job, float, Path, int]] = {}
    try:
        while (waiting or under_way) and time.monotonic() < until:
            while waiting and places:
                job, place, folder = waiting.pop(), places.pop(), Path(tempfile.mkdtemp(dir=work))
                own = {cores[(place + k) % len(cores)] for k in (0, 1)}
                child = planting.forked(partial(job.work, folder), folder / "output.txt", own, job.limit)
                under_way[child] = job, time.monotonic() + WALL * job.limit, folder, place
            for child, (job, due, folder, place) in list(under_way.items()):
                ended, status = os.waitpid(child, os.WNOHANG)
                late = not ended and time.monotonic() > due
                if ended or late:
                    planting.end(child)
                    if late:
                        os.waitpid(child, 0)
                    del under_way[child]
                    places.append(place)
                    job.done(None if late else os.waitstatus_to_exitcode(status), folder)
                    shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.02)
    finally:
        for child, (_, _, folder, _) in under_way.items():
            planting.end(child)
            shutil.rmtree(folder, ignore_errors=True)
    return len(under_way)
