"""The rows of a suite, each measured unless it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engine.bench.results import Rows

Part = tuple[str, Callable[[], dict[str, Any]]]
"""A row's key, and what measures it."""


def measured_rows(parts: Iterable[Part], finished: Rows) -> Iterator[dict[str, Any]]:
    """The rows in their order; one that fails holds `failure` in words, and the others are measured all the same."""
    for key, measure in parts:
        if key in finished:
            yield finished[key]
            continue
        try:
            row = measure()
        except Exception as error:
            row = {"failure": f"{type(error).__name__}: {error}"}
        yield {"key": key, **row}
