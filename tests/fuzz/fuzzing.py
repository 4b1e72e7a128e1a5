"""The loop: inputs are mutated, read in processes of their own, and those that reach new lines are mutated further."""

from __future__ import annotations

import gc
import hashlib
import logging
import mmap
import multiprocessing
import os
import random
import signal
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from lines import Lines
from targets import ROOT, TARGETS, Target

PATIENCE = 10.0
"""s of computing for an input of at most `MAX_BYTES` bytes; what takes longer is a finding."""
WALL = 120.0
"""s of the clock after which a process is ended that does not even take that signal."""
MAX_BYTES = 100_000
MEMORY = 3 << 30
"""Bytes that a process may take, so that what grows without bound ends in a MemoryError, which is a finding."""
ROUND = 256
"""Inputs between two reports of a process."""
TRACED = 4
"""One of this number of inputs is traced for new lines."""


@dataclass
class Report:
    inputs: int = 0
    accepted: int = 0
    lines: int = 0
    slowest: float = 0.0
    findings: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, what: str, data: bytes, folder: Path, suffix: str) -> None:
        """Add a finding, with its first input; text after a tab in its name is ignored."""
        what, _, more = what.partition("\t")
        count, path = self.findings.get(what, (0, ""))
        if not path:
            folder.mkdir(parents=True, exist_ok=True)
            kept = folder / f"{hashlib.sha1(what.encode()).hexdigest()[:12]}{suffix}"
            kept.write_bytes(data)
            path = f"{kept}  {more}"
        self.findings[what] = count + 1, path

    def merge(self, other: Report) -> None:
        """Take in what a process has reported since its last report."""
        self.inputs, self.accepted = self.inputs + other.inputs, self.accepted + other.accepted
        self.lines, self.slowest = max(self.lines, other.lines), max(self.slowest, other.slowest)
        for what, (count, path) in other.findings.items():
            before, first = self.findings.get(what, (0, path))
            self.findings[what] = before + count, first


class TooLong(BaseException):
    """An input took longer than it may."""


def _late(*_: Any) -> None:
    raise TooLong


def fuzz(name: str, inputs: int, processes: int, seed: int, seconds: float, keep: Path) -> Report:
    """Read `inputs` mutated files in `processes` processes; one that dies or hangs is a finding, and another starts."""
    report, end = Report(), time.monotonic() + seconds
    share = -(-inputs // processes)
    workers = [_Worker(name, share, f"{seed}:{number}", seconds, keep) for number in range(processes)]
    running = {worker.pipe: worker for worker in workers}
    while running:
        for pipe in wait(list(running), timeout=1.0):
            worker = running[pipe]  # type: ignore[index]
            try:
                part = worker.pipe.recv()
            except (EOFError, OSError):
                _ended(worker, report, keep)
                del running[worker.pipe]
                if worker.left > 0 and time.monotonic() < end:
                    again = _Worker(name, worker.left, f"{worker.seed}+", end - time.monotonic(), keep)
                    running[again.pipe] = again
                continue
            report.merge(part)
            worker.left -= part.inputs
        for worker in running.values():
            worker.end_if_it_hangs()
    return report


class _Worker:
    def __init__(self, name: str, inputs: int, seed: str, seconds: float, keep: Path):
        self.name, self.left, self.seed, self.heard, self.number = name, inputs, seed, time.monotonic(), b""
        self.at_work = mmap.mmap(-1, MAX_BYTES + 64)
        context = multiprocessing.get_context("fork")
        self.pipe, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(name, inputs, seed, seconds, keep, sender, self.at_work))
        self.process.start()
        sender.close()

    def end_if_it_hangs(self) -> None:
        """Kill the process if one input takes longer than permitted."""
        now, number = time.monotonic(), self.at_work[24:32]
        if number != self.number:
            self.number, self.heard = number, now
        elif now > self.heard + WALL:
            self.process.kill()


def _ended(worker: _Worker, report: Report, keep: Path) -> None:
    worker.process.join()
    if worker.process.exitcode:
        if not any(worker.at_work[:8]):
            raise RuntimeError(f"the sound files of {worker.name} cannot be read")
        size, suffix = int.from_bytes(worker.at_work[:8], "little"), worker.at_work[8:24].rstrip(b"\0").decode()
        what = f"the process ended with {worker.process.exitcode}"
        report.add(what, worker.at_work[64 : 64 + size], keep, suffix)
        report.inputs, worker.left = report.inputs + 1, worker.left - 1


def _work(name: str, inputs: int, seed: str, seconds: float, keep: Path, pipe: Connection, at_work: mmap.mmap) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _late)
    warnings.simplefilter("ignore")
    logging.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        _loop(TARGETS[name], Path(folder), inputs, random.Random(f"{name} {seed}"), seconds, keep, pipe, at_work)
    pipe.close()


def _loop(
    target: Target, folder: Path, inputs: int, chance: random.Random, seconds: float, keep: Path, pipe: Connection,
    at_work: mmap.mmap,
) -> None:  # fmt: skip
    pools = {suffix: list(seeds) for suffix, seeds in target.seeds(folder).items()}
    lines, end, done = Lines((str(ROOT / "engine"), str(ROOT / "app"), *target.watched)), time.monotonic() + seconds, 0
    report = Report()
    for suffix, pool in pools.items():  # what sound files reach is not new
        for data in pool:
            lines.start()
            _read(target, folder / f"input{suffix}", data, Report(), keep)
            lines.stop()
    gc.freeze()  # what is imported stays: the collector need not walk through it again and again
    suffixes = list(pools)
    while done < inputs and time.monotonic() < end:
        suffix = chance.choice(suffixes)
        pool = pools[suffix]
        data = pool[min(int(chance.random() ** 0.7 * len(pool)), len(pool) - 1)]
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            data = target.mutate(data, chance)[:MAX_BYTES]
        at_work[: 64 + len(data)] = b"".join(
            (len(data).to_bytes(8, "little"), suffix.encode().ljust(16, b"\0"), (done + 1).to_bytes(40, "little"), data)
        )
        traced = done % TRACED == 0
        if traced:
            lines.start()
        report.accepted += _read(target, folder / f"input{suffix}", data, report, keep)
        if traced and lines.stop() and len(data) < 20_000:
            pool.append(data)
        done, report.inputs = done + 1, report.inputs + 1
        if report.inputs == ROUND or done == inputs:
            report.lines = lines.seen
            pipe.send(report)
            report = Report()
    report.lines = lines.seen
    pipe.send(report)


def _read(target: Target, path: Path, data: bytes, report: Report, keep: Path) -> bool:
    """Read one file; whether it was taken. What it must not do is put into the report."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    taken = False
    try:
        target.read(path, data)
        taken = True
    except target.refusals:
        pass
    except TooLong:
        report.add("it takes too long", data, keep, path.suffix)
    except Exception as fault:
        report.add(_named(fault), data, keep, path.suffix)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    report.slowest = max(report.slowest, time.process_time() - began)
    return taken


def _named(fault: Exception) -> str:
    """Return a finding's name: the exception, and its last place in the product."""
    entries = traceback.extract_tb(fault.__traceback__)
    ours = [entry for entry in entries if entry.filename.startswith((str(ROOT / "engine"), str(ROOT / "app")))]
    at = ours[-1] if ours else entries[-1]
    return f"{type(fault).__name__} at {Path(at.filename).name}:{at.lineno}\t{str(fault)[:200]!r}"
