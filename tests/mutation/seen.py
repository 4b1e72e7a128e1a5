"""The duration and coverage of each test: measured once, stored, and queried."""

import hashlib
import json
import time
from pathlib import Path

import mutants as making
import planting
import rooms
import touched
from forks import Job, run_jobs
from rooms import ROOT

Tests = dict[str, tuple[float, set[str]]]
"""By a test's name, its duration in s and the functions that it covers, as "file:function"."""
ELSEWHERE = {
    "engine/urdf/xacro/": "engine/urdf/xacro/sandbox.py:expand",
    **dict.fromkeys(
        ("engine/controller.py", "engine/controller_process.py"), "engine/controller.py:Controller.__init__"
    ),
    **dict.fromkeys(
        (
            f"engine/{name}.py"
            for name in ("child_process", *(f"bench/compare/{x}" for x in ("block", "candidate", "user_algorithms")))
        ),
        "engine/child_process.py:Child.__init__",
    ),
    "engine/cpu/trees/": "engine/cpu/trees/dca.py:TreeGroup.__init__",
    "engine/cpu/chains/dca_step.py": "engine/cpu/trees/dca.py:TreeGroup.__init__",
}
"""Modules that run in untraced processes or threads, and the functions covered when those are started."""


def look(files: list[str], work: Path, processes: int) -> Tests:
    """Trace the tests of those files, once per engine version and test file; the result is stored in `work`."""
    engine_digest = hashlib.sha256()
    for path in sorted((ROOT / "engine").glob("**/*.py")):
        engine_digest.update(path.read_bytes())
    tests: Tests = {}

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
    for file in filter(lambda file: kept(file).exists(), files):
        reported = json.loads(kept(file).read_text("utf-8"))
        tests |= {name: (seconds, set(symbols)) for name, (seconds, symbols) in reported["tests"].items()}
        for name in reported["failed"]:
            print(f"not counted, since it fails as it is: {name}")
    print(f"{len(tests)} tests; those of {len(new)} files watched in {time.monotonic() - began:.0f} s", flush=True)
    return tests


class Selection:
    """The tests for a mutant: those that cover the change, the short ones first."""

    def __init__(self, tests: Tests, most: float):
        """`most`: seconds that a mutant's tests take together, as they are."""
        self._most, self._tests = most, tests
        self._by_symbol: dict[str, set[str]] = {}
        for name, (_, symbols) in tests.items():
            for symbol in symbols:
                self._by_symbol.setdefault(symbol, set()).add(name)
        self._mentions: dict[str, set[str]] = {}
        for path in sorted(str(path.relative_to(ROOT)) for path in (ROOT / "engine").glob("**/*.py")):
            for symbol, name in planting.mentions(path):
                self._mentions.setdefault(name, set()).add(f"{path}:{symbol}")

    def of(self, room: str, mutant: making.Mutant) -> tuple[list[str], bool]:
        """Return the tests, and whether any covers the change; otherwise the shortest of the room."""
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
        for name in sorted(tests, key=lambda name: (self._tests[name][0], name)):
            seconds += self._tests[name][0]
            if chosen and seconds > most:
                break
            chosen.append(name)
        return chosen, bool(found)

    def _come_by(self, symbol: str) -> set[str]:
        inner = symbol if symbol.endswith(":") else f"{symbol}."
        return {name for at, names in self._by_symbol.items() if at == symbol or at.startswith(inner) for name in names}

    def seconds(self, names: list[str]) -> float:
        """Return the duration of those tests."""
        return sum(self._tests[name][0] for name in names)
