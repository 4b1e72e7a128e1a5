"""Plants mutants in the engine, one at a time, and says which of them the nearest tests do not see.

    python tests/mutation/run.py                         a sample of every room, by today's seed
    python tests/mutation/run.py --room contact --count 60 --seed 2026-11-22 --out contact.json
    python tests/mutation/run.py --again contact.json    those that survived, under the tests as they are now

Which tests come by which function is looked up first, once for a checkout, and kept in --work.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parent)]
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"  # a process that has threads must not fork

import mutants as making  # noqa: E402
import planting  # noqa: E402
import rooms  # noqa: E402
import score  # noqa: E402
import touched  # noqa: E402
from rooms import ROOT  # noqa: E402

BEFORE = ("llvmlite.binding", "lxml.etree", "numba", "numpy", "scipy.spatial", "scipy.linalg", "trimesh", "pytest")
"""What all runs import, and none changes."""

BY_NUMBA = "engine/cpu/chains/dca_group.py:"
WALL = 6
"""How much longer than a process's limit of processor time it may take in all, where it waits or shares its cores."""
ELSEWHERE = {
    "engine/urdf/xacro/": "engine/urdf/xacro/expansion.py:expand",
    "engine/controller.py": "engine/controller.py:",
    "engine/bench/child.py": "engine/bench/child.py:",
}
"""Modules that run in other processes, where nobody watches, and what comes by when one is started."""


class Job(NamedTuple):
    """Work for a forked process in a folder of its own, its limit in s of processor time, and what becomes of it."""

    work: Callable[[Path], int]
    limit: float
    done: Callable[[int | None, Path], None]


def run_jobs(jobs: list[Job], processes: int, work: Path) -> None:
    """Do all jobs, so many at a time, each on two cores; `done` is told the exit code, None where it was ended."""
    cores = sorted(os.sched_getaffinity(0))
    waiting, places = jobs[::-1], list(range(processes))
    under_way: dict[int, tuple[Job, float, Path, int]] = {}
    try:
        while waiting or under_way:
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
        for child in under_way:
            planting.end(child)


def look(files: list[str], work: Path, processes: int) -> dict[str, tuple[float, set[str]]]:
    """What each test of those files takes, s, and comes by; looked up once for an engine and a test file, and kept."""
    engine_digest = hashlib.sha256()
    for path in sorted((ROOT / "engine").glob("**/*.py")):
        engine_digest.update(path.read_bytes())

    def kept(file: str) -> Path:
        digest = hashlib.sha256(engine_digest.digest() + (ROOT / file).read_bytes())
        return work / f"{Path(file).stem}-{digest.hexdigest()[:16]}.json"

    def job(file: str) -> Job:
        def watch(folder: Path) -> int:
            planting.settle(folder, work / "cache", share=True)
            watch = touched.Watch(folder / "touched.json")
            watch.begin()
            return planting.run_pytest([file], folder, watch)

        def done(_: int | None, folder: Path) -> None:
            if (note := folder / "touched.json").exists():
                note.rename(kept(file))
            else:
                print(f"{file} cannot be watched: {(folder / 'output.txt').read_text('utf-8')[-400:]}")

        return Job(watch, 600, done)

    began = time.monotonic()
    new = [file for file in files if not kept(file).exists()]
    run_jobs([job(file) for file in new], processes, work)
    tests: dict[str, tuple[float, set[str]]] = {}
    for file in filter(lambda file: kept(file).exists(), files):
        told = json.loads(kept(file).read_text("utf-8"))
        tests |= {name: (seconds, set(symbols)) for name, (seconds, symbols) in told["tests"].items()}
        for name in told["failed"]:
            print(f"not counted, since it fails as it is: {name}")
    print(f"{len(tests)} tests; those of {len(new)} files watched in {time.monotonic() - began:.0f} s", flush=True)
    return tests


class Selection:
    """Which tests a mutant meets: those that come by what it changes, the short ones first."""

    def __init__(self, tests: dict[str, tuple[float, set[str]]], most: float):
        """`most`: seconds that a mutant's tests take together, as they are."""
        self._most, self._tests = most, tests
        self._by_symbol: dict[str, set[str]] = {}
        for name, (_, symbols) in tests.items():
            for symbol in symbols:
                self._by_symbol.setdefault(symbol, set()).add(name)
        self._by_numba = self._come_by(BY_NUMBA)  # last, since Numba compiles for half a minute
        self._mentions: dict[str, set[str]] = {}
        for path in sorted(str(path.relative_to(ROOT)) for path in (ROOT / "engine").glob("**/*.py")):
            for symbol, name in planting.mentions(path):
                self._mentions.setdefault(name, set()).add(f"{path}:{symbol}")

    def of(self, room: str, mutant: making.Mutant) -> tuple[list[str], bool]:
        """The tests, and whether any was seen to come by; where none was, the shortest of the room's."""
        near = set(rooms.tests(room))
        here = f"{mutant.path}:{mutant.symbol}"
        found = self._come_by(here)
        for path, start in ELSEWHERE.items():
            if mutant.path.startswith(path):
                found |= self._come_by(start)
        if not found:
            for symbol in self._mentions.get(mutant.symbol.split(".")[-1], ()):
                found |= self._come_by(symbol)
        found = {name for name in found if name.split("::")[0] in near}
        most = self._most if found else self._most / 10
        tests = found or {name for name in self._tests if name.split("::")[0] in near}
        chosen, seconds = [], 0.0
        for name in sorted(tests, key=lambda name: (name in self._by_numba, self._tests[name][0], name)):
            seconds += self._tests[name][0]
            if chosen and seconds > most:
                break
            chosen.append(name)
        return chosen, bool(found)

    def _come_by(self, symbol: str) -> set[str]:
        inner = symbol if symbol.endswith(":") else f"{symbol}."
        return {name for at, names in self._by_symbol.items() if at == symbol or at.startswith(inner) for name in names}

    def seconds(self, names: list[str]) -> float:
        """What those tests take as they are."""
        return sum(self._tests[name][0] for name in names)


def sample(room: str, count: int, seed: str) -> tuple[list[making.Mutant], int]:
    """So many of a room's mutants by chance, and how many there are."""
    texts = {path: (ROOT / path).read_text("utf-8") for path in rooms.modules(room)}
    every = [mutant for path, text in texts.items() for mutant in making.mutants(text, path)]
    random.Random(f"{seed} {room}").shuffle(every)
    taken: list[making.Mutant] = []
    for mutant in every:
        if len(taken) == count:
            break
        if making.compiles(mutant, texts[mutant.path]):
            taken.append(mutant)
    return taken, len(every)


def job_of(room: str, mutant: making.Mutant, selection: Selection, work: Path, told: list[score.Outcome]) -> Job:
    """Run the tests that a mutant meets, and tell whether it was seen."""
    tests, seen = selection.of(room, mutant)
    order = {name: place for place, name in enumerate(tests)}

    def meet(folder: Path) -> int:
        planting.settle(folder, work / "cache")
        planting.plant(mutant, folder)
        files = list(dict.fromkeys(name.split("::")[0] for name in tests))
        return planting.run_pytest(files, folder, planting.Run(order, folder / "by.txt"), first=True)

    def done(code: int | None, folder: Path) -> None:
        note = folder / "by.txt"
        by = note.read_text("utf-8") if note.exists() else ""
        fate = "time" if code in (None, -signal.SIGXCPU) else "survived" if code == 0 else "killed"
        if fate == "killed" and not by:
            by = "the import" if code in (1, 2, 3, 4, 99) else "no test" if code == 5 else f"signal {-code}"
        fate = "survived" if by == "no test" else fate
        told.append(score.Outcome(room, mutant, fate, by, len(tests), seen))
        told[-1].show()

    kernels = "/cpu/" in mutant.path
    return Job(meet, 25 + 6 * selection.seconds(tests) + 45 * kernels, done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=[*rooms.ROOMS], help="only this one; may be repeated")
    parser.add_argument("--count", type=int, default=40, help="mutants of each room (40)")
    parser.add_argument("--seed", default=datetime.date.today().isoformat(), help="what the sample hangs on (the day)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="only what survived in an earlier --out")
    parser.add_argument("--all", action="store_true", help="with --again: every mutant of it")
    parser.add_argument("--without", nargs="+", default=[], metavar="TESTS", help="test files that are left out")
    parser.add_argument("--unchanged", action="store_true", help="a control: mutants that change nothing all survive")
    parser.add_argument("--most", type=float, default=30.0, help="seconds of tests that a mutant meets at most (30)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "catena-mutation")
    parser.add_argument("--out", type=Path, help="write what became of each mutant, as JSON")
    arguments = parser.parse_args()
    (arguments.work / "cache").mkdir(parents=True, exist_ok=True)
    for module in BEFORE:
        __import__(module)
    told: list[score.Outcome] = []
    chosen, sizes = list[tuple[str, making.Mutant]](), dict[str, int]()
    if arguments.again:
        chosen = list(_again(arguments.again, arguments.all))
    else:
        for room in arguments.room or rooms.ROOMS:
            taken, sizes[room] = sample(room, arguments.count, arguments.seed)
            chosen += [(room, mutant) for mutant in taken]
    if arguments.unchanged:
        chosen = [(room, mutant._replace(new=mutant.old)) for room, mutant in chosen]
    left_out = {Path(name).stem for name in arguments.without}
    files = sorted({file for room, _ in chosen for file in rooms.tests(room) if Path(file).stem not in left_out})
    selection = Selection(look(files, arguments.work, arguments.processes), arguments.most)
    jobs = [job_of(room, mutant, selection, arguments.work, told) for room, mutant in chosen]
    random.Random(arguments.seed).shuffle(jobs)  # one that is interrupted has seen some of every room
    try:
        run_jobs(jobs, arguments.processes, arguments.work)
    finally:
        print(score.table(told, sizes))
        if arguments.out:
            score.write(arguments.out, told, sizes, arguments.seed)


def _again(path: Path, everything: bool) -> Iterator[tuple[str, making.Mutant]]:
    for outcome in score.read(path):
        if not (everything or outcome.fate == "survived"):
            continue
        moved = score.found_again(outcome.mutant)
        if moved is None:
            print(f"no longer there: {outcome.mutant.path}:{outcome.mutant.line} {outcome.mutant.old!r}")
        else:
            yield outcome.room, moved


if __name__ == "__main__":
    main()
