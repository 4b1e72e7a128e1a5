"""Plants mutants in the engine, one at a time, and says which of them the nearest tests do not see.

    python tests/mutation/run.py                         a sample of every room, by today's seed
    python tests/mutation/run.py --room contact --count 60 --seed 2026-11-22 --out contact.json
    python tests/mutation/run.py --again contact.json    those that survived, under the tests as they are now

Which tests come by which function is looked up first, once for a checkout, and kept in --work.
"""

import argparse
import datetime
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"  # a process that has threads must not fork

import mutants as making  # noqa: E402
import planting  # noqa: E402
import rooms  # noqa: E402
import score  # noqa: E402
import seen  # noqa: E402
from forks import Job, run_jobs  # noqa: E402
from rooms import ROOT  # noqa: E402

BEFORE = ("llvmlite.binding", "lxml.etree", "numpy", "scipy.spatial", "scipy.linalg", "trimesh", "pytest")
"""Modules that all runs import, and none changes."""


def sample(room: str, count: int, seed: str, modules: Sequence[str] = ("*",)) -> tuple[list[making.Mutant], int]:
    """So many of a room's mutants by chance, of modules that a pattern fits, and how many there are."""
    paths = [path for path in rooms.modules(room) if any(fnmatch(path, pattern) for pattern in modules)]
    texts = {path: (ROOT / path).read_text("utf-8") for path in paths}
    every = [mutant for path, text in texts.items() for mutant in making.mutants(text, path)]
    random.Random(f"{seed} {room}").shuffle(every)
    taken: list[making.Mutant] = []
    for mutant in every:
        if len(taken) == count:
            break
        if making.compiles(mutant, texts[mutant.path]):
            taken.append(mutant)
    return taken, len(every)


def job_of(room: str, mutant: making.Mutant, selection: seen.Selection, work: Path, shown: list[score.Outcome]) -> Job:
    """Run the tests that cover a mutant, and report whether it was detected."""
    tests, come_by = selection.of(room, mutant)
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
        shown.append(score.Outcome(room, mutant, fate, by, len(tests), come_by))

    kernels = "/cpu/" in mutant.path
    return Job(meet, 25 + 6 * selection.seconds(tests) + 45 * kernels, done)


def main() -> None:
    arguments = _arguments()
    began = time.monotonic()
    (arguments.work / "cache").mkdir(parents=True, exist_ok=True)
    for module in BEFORE:
        __import__(module)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # with the counts so far
    shown, sizes = score.Tally(), dict[str, int]()
    chosen: list[tuple[str, making.Mutant]] = []
    if arguments.again:
        chosen = list(_again(arguments.again))
    else:
        for room in arguments.room or rooms.ROOMS:
            taken, sizes[room] = sample(room, arguments.count, arguments.seed, arguments.modules)
            chosen += [(room, mutant) for mutant in taken]
    if arguments.unchanged:
        chosen = [(room, mutant._replace(new=mutant.old)) for room, mutant in chosen]
    files = sorted({file for room, _ in chosen for file in rooms.tests(room)})
    selection = seen.Selection(seen.look(files, arguments.work, arguments.processes), arguments.most)
    jobs = [job_of(room, mutant, selection, arguments.work, shown) for room, mutant in chosen]
    random.Random(arguments.seed).shuffle(jobs)  # one that is interrupted has seen some of every room
    cut = 0
    try:
        cut = run_jobs(jobs, arguments.processes, arguments.work, began + arguments.seconds)
    finally:
        print(f"{len(shown)} of {len(jobs)} mutants tried in {time.monotonic() - began:.0f} s; {cut} were under way")
        print(score.table(shown, sizes))
        if arguments.out:
            score.write(arguments.out, shown, sizes, arguments.seed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--room", action="append", choices=[*rooms.ROOMS], help="only this one; may be repeated")
    add("--modules", nargs="+", default=["*"], metavar="PATTERN", help="only these, such as 'engine/cpu/stepping/*'")
    add("--count", type=int, default=40, help="mutants of each room (40)")
    add("--seed", default=datetime.date.today().isoformat(), help="what the sample hangs on (the day)")
    add("--again", type=Path, metavar="FILE", help="only what survived in an earlier --out")
    add("--unchanged", action="store_true", help="a control: mutants that change nothing all survive")
    add("--most", type=float, default=30.0, help="seconds of tests that a mutant meets at most (30)")
    add("--seconds", type=float, default=float("inf"), help="end after so many, with what was counted until then")
    add("--processes", type=int, default=1)
    add("--work", type=Path, default=Path(tempfile.gettempdir()) / "catena-mutation")
    add("--out", type=Path, help="write what became of each mutant, as JSON")
    arguments = parser.parse_args()
    if arguments.processes < 1:
        parser.error(f"--processes is {arguments.processes}; expected 1 or more")
    return arguments


def _again(path: Path) -> Iterator[tuple[str, making.Mutant]]:
    for outcome in score.read(path):
        if outcome.fate != "survived":
            continue
        moved = score.found_again(outcome.mutant)
        if moved is None:
            print(f"no longer there: {outcome.mutant.path}:{outcome.mutant.line} {outcome.mutant.old!r}")
        else:
            yield outcome.room, moved


if __name__ == "__main__":
    main()
