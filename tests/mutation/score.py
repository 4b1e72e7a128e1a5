"""What became of mutants: told as it happens, as a table by rooms, and in a file."""

from __future__ import annotations

import json
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
    """How many it met."""
    seen: bool
    """Whether any test was seen to come by what it changes."""

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
    """A mutant by its file, symbol, old and new text, with all white space alike."""
    return (mutant.path, mutant.symbol, " ".join(mutant.old.split()), " ".join(mutant.new.split()))


def table(outcomes: list[Outcome], sizes: dict[str, int]) -> str:
    """By rooms: how many mutants there are, were tried, are equivalent, were killed, and the share of the others."""
    heads = ("mutants", "tried", "equivalent", "killed", "score", "by time", "survived")
    lines = ["", f"{'room':12} " + " ".join(f"{head:>10}" for head in heads)]
    for room, row in by_room(outcomes).items():
        cells = [
            sizes.get(room, "–"),
            *(row[head] for head in heads[1:4]),
            f"{row['score']:.1%}",
            *(row[x] for x in heads[5:]),
        ]
        lines.append(f"{room:12} " + " ".join(f"{cell:>10}" for cell in cells))
    return "\n".join(lines)


def by_room(outcomes: list[Outcome]) -> dict[str, dict[str, float]]:
    """The counts of each room; those that time killed are among the killed."""
    rows: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        row = rows.setdefault(outcome.room, dict.fromkeys(("tried", "equivalent", "killed", "by time", "survived"), 0))
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
    told = [{**outcome._asdict(), "mutant": outcome.mutant._asdict()} for outcome in outcomes]
    document = {"seed": seed, "mutants": sizes, "rooms": by_room(outcomes), "outcomes": told}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read(path: Path) -> list[Outcome]:
    """The outcomes that `write` wrote."""
    told = json.loads(path.read_text("utf-8"))["outcomes"]
    return [Outcome(**{**outcome, "mutant": Mutant(**outcome["mutant"])}) for outcome in told]


def found_again(mutant: Mutant) -> Mutant | None:
    """The same change in the module as it is now, though it may have moved; None where there is none."""
    path = ROOT / mutant.path
    if not path.exists():
        return None
    same = [
        other
        for other in mutants(path.read_text("utf-8"), mutant.path)
        if (other.symbol, other.kind, other.old, other.new) == (mutant.symbol, mutant.kind, mutant.old, mutant.new)
    ]
    return min(same, key=lambda other: abs(other.line - mutant.line), default=None)
