"""Work in forked processes, so many at a time, each in a folder of its own and with a limit of processor time."""

from __future__ import annotations

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
"""How much longer than a process's limit of processor time it may take in all, where it waits or shares its cores."""


class Job(NamedTuple):
    """Work for a forked process in a folder of its own, its limit in s of processor time, and what becomes of it."""

    work: Callable[[Path], int]
    limit: float
    done: Callable[[int | None, Path], None]


def run_jobs(jobs: list[Job], processes: int, work: Path, until: float = float("inf")) -> int:
    """Do all jobs, so many at a time, each on two cores; `done` is told the exit code, None where it was ended.

    At `until`, of the monotonic clock, those under way are ended, and nothing is told of them; answers how many.
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
