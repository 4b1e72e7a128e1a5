"""Fixture: a test that waits for optimised code waits for its own alone."""

import os

import pytest

from engine.compile import parts


@pytest.fixture(autouse=True)
def own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what earlier tests have begun to compile as quick as it is, with the same bits.

    A measurement waits until all code is optimised; for that of a run of all tests it takes minutes.
    """
    if os.environ["CATENA_OPTIMISATION"] == "0":
        monkeypatch.setattr(parts, "_slow", [])
