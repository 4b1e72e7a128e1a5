"""Tests of many cases, of which a sample runs each time and the others at night: `@pytest.mark.sample(COUNT)`.

The sample is the same in every run and on every machine: it begins with cases that between them have as many values of
each parameter as may be, and continues by a seed that is made of the test's name. The others are marked `slow`, as
`.ci/slow` runs them: `pytest -m slow --collect-only -q` lists them.
"""

import zlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest


def leave_to_the_night(items: Sequence[pytest.Item]) -> None:
    """Mark the cases that are in no sample as slow."""
    of_test: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("slow"):
            of_test[item.nodeid.partition("[")[0]].append(item)
    for name, cases in of_test.items():
        (count,) = cases[0].get_closest_marker("sample").args
        kept = sample(_values(cases), count, zlib.crc32(name.encode()))
        for k, case in enumerate(cases):
            if k not in kept:
                case.add_marker(pytest.mark.slow)


def _values(cases: Sequence[pytest.Item]) -> list[list[tuple[str, str]]]:
    """The values of each case's parameters, by their names: numbers in the order in which values first occur.

    Cases share the objects that they are made of; pytest's own indices number the cases.
    """
    numbers: dict[tuple[str, int], str] = {}
    given = [case.callspec.params for case in cases]  # type: ignore[attr-defined]
    return [
        [(name, numbers.setdefault((name, id(x)), str(len(numbers)))) for name, x in each.items()] for each in given
    ]


def sample(cases: Sequence[Sequence[tuple[str, str]]], count: int, seed: int) -> set[int]:
    """Which of the cases are taken: those first that have most values which no case before had."""
    order = np.random.default_rng(seed).permutation(len(cases)).tolist()
    taken: set[int] = set()
    met: set[tuple[str, str]] = set()
    while order and len(taken) < count:
        best = max(order, key=lambda k: sum(value not in met for value in cases[k]))
        order.remove(best)
        taken.add(best)
        met.update(cases[best])
    return taken
