"""Broken files of every kind: what is said of each, and that nothing worse comes of it.

`broken/` holds the files, each with one fault, and `broken/told.toml` what must be said of them. URDFs whose fault is
said in one diagnostic are in `engine/dialects`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine

BROKEN = Path(__file__).parent / "broken"
TOLD: dict[str, dict[str, Any]] = tomllib.loads((BROKEN / "told.toml").read_text(encoding="utf-8"))


def heights(path: Path) -> list[str]:
    try:
        engine.HeightField.of_file(path, 0.1)
    except ValueError as fault:
        return [str(fault)]
    return []


READERS: dict[str, Callable[[Path], list[str]]] = {".npy": heights}
"""What is said of a file, sentence by sentence, by its kind; nothing where it is taken."""


def alike(said: str, expected: str) -> bool:
    """Whether it was said, or begins so where "…" stands for words of other libraries."""
    return said.startswith(expected[:-1]) if expected.endswith("…") else said == expected


def test_every_file_has_its_entry() -> None:
    files = {path.name for path in BROKEN.iterdir() if path.suffix in READERS}
    assert sorted(files) == sorted(TOLD)


@pytest.mark.parametrize("name", TOLD)
def test_what_is_said_of_it(name: str) -> None:
    path = BROKEN / name
    said = [sentence.replace(str(path), "FILE") for sentence in READERS[path.suffix](path)]
    expected = TOLD[name]["says"]
    assert len(said) == len(expected), said
    assert all(map(alike, said, expected)), said
    assert all(sentence.isprintable() for sentence in said)
