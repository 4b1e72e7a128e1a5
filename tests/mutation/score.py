"""The outcomes of mutants: printed as they arrive, as a table by rooms, and in a file."""

import json
import time
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from mutants import Mutant, mutants
from rooms import ROOT

EQUIVALENT = Path(__file__).with_name("equivalent.toml")


class Outcome(NamedTuple):
    """A mutant's fate: "killed" by a test, by "time" that was up, or "survived"."""

    room: str
    mutant: Mutant
    fate: str
    by: str
    tests: int
    """The number of tests that ran it."""
    seen: bool
    """Whether any test covers the change."""

    def show(self) -> None:
        """A line for a reader."""
        mutant = self.mutant
        change = f"{' '.join(mutant.old.split())[:90]}  →  {' '.join(mutant.new.split())[:90]}"
        unseen = "" if self.seen else ", none seen to come by"
        end = self.by.split("/")[-1] if self.fate == "killed" else f"{self.tests} tests{unseen}"
        print(f"{self.fate:8} {mutant.path}:{mutant.line} [{mutant.kind}] {change}  ({end})", flush=True)


@lru_cache(maxsize=1)
def equivalents() -> dict[tuple[str, ...], str]:
    """Why no test can see a mutant, for those that do what the engine does, by their `key`."""
    entries = tomllib.loads(EQUIVALENT.read_text("utf-8"))["mutant"]
    return {(x["path"], x["symbol"], x["old"], x["new"]): x["because"] for x in entries}


def key(mutant: Mutant) -> tuple[str, ...]:
    """Return a mutant's key: its file, symbol, old and new text, with normalised white space."""
    return (mutant.path, mutant.symbol, " ".join(mutant.old.split()), " ".join(mutant.new.split()))


class Tally(list[Outcome]):
    """Outcomes, printed as they arrive, with the counts so far at intervals, since a run may be interrupted."""

    EVERY = 30.0  # s

    def __init__(self) -> None:
        super().__init__()
        self._began = self._told = time.monotonic()

    def append(self, outcome: Outcome) -> None:
        super().append(outcome)
        outcome.show()
        if (now := time.monotonic()) > self._told + self.EVERY:
            self._told = now
            counts = (f"{room} {row['killed']}/{row['tried'] - row['equivalent']}" for room, row in by(self).items())
            print(f"-- killed after {now - self._began:.0f} s: {', '.join(counts)}", flush=True)


def table(outcomes: list[Outcome], sizes: dict[str, int]) -> str:
    """Return a table by rooms and modules: mutants in total, tried, equivalent, killed, and the share killed."""
    heads = ("mutants", "tried", "equivalent", "killed", "score", "by time", "survived")
    lines = ["", f"{'':52} " + " ".join(f"{head:>10}" for head in heads)]
    of_module = {outcome.mutant.path: outcome.room for outcome in outcomes}
    modules = sorted(by(outcomes, "module").items(), key=lambda entry: (of_module[entry[0]], entry[0]))
    for room, row in (*sorted(by(outcomes).items()), *modules):
        cells = [
            sizes.get(room, "–"),
            *(row[head] for head in heads[1:4]),
            f"{row['score']:.1%}",
            *(row[x] for x in heads[5:]),
        ]
        lines.append(f"{room:52} " + " ".join(f"{cell:>10}" for cell in cells))
    return "\n".join(lines)


def by(outcomes: list[Outcome], what: str = "room") -> dict[str, dict[str, float]]:
    """The counts of each room or "module"; those that time killed are among the killed."""
    rows: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        row = rows.setdefault(
            outcome.room if what == "room" else outcome.mutant.path,
            dict.fromkeys(("tried", "equivalent", "killed", "by time", "survived"), 0),
        )
        row["tried"] += 1
        if outcome.fate != "survived":
            row["killed"] += 1
            row["by time"] += outcome.fate == "time"
        else:
            row["equivalent" if key(outcome.mutant) in equivalents() else "survived"] += 1
    for row in rows.values():
        row["score"] = round(row["killed"] / max(1, row["tried"] - row["equivalent"]), 4)
    return rows


def write(path: Path, outcomes: list[Outcome], sizes: dict[str, int], seed: str) -> None:
    """All that is known, for `read` and for people."""
    reported = [{**outcome._asdict(), "mutant": outcome.mutant._asdict()} for outcome in outcomes]
    document = {"seed": seed, "mutants": sizes, "rooms": by(outcomes), "outcomes": reported}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read(path: Path) -> list[Outcome]:
    """The outcomes that `write` wrote."""
    reported = json.loads(path.read_text("utf-8"))["outcomes"]
    return [Outcome(**{**outcome, "mutant": Mutant(**outcome["mutant"])}) for outcome in reported]


def found_again(mutant: Mutant) -> Mutant | None:
    """Return the mutant in the module's current version, where it may have moved; None if there is none."""
    path = ROOT / mutant.path
    if not path.exists():
        return None
    same = [
        other
        for other in mutants(path.read_text("utf-8"), mutant.path)
        if (other.symbol, other.kind, other.old, other.new) == (mutant.symbol, mutant.kind, mutant.old, mutant.new)
    ]
    return min(same, key=lambda other: abs(other.line - mutant.line), default=None)
