"""Fixtures that the window's tests share."""

from __future__ import annotations

import pytest
from pretended_gpu import PretendedGpu

import engine


@pytest.fixture
def pretended_gpu(monkeypatch: pytest.MonkeyPatch) -> type[PretendedGpu]:
    """This machine has such a GPU."""
    monkeypatch.setattr(engine, "Simulation", PretendedGpu)
    monkeypatch.setattr(engine, "why_no_gpu", lambda **_: None)
    for name, value in (("lag", 1e-3), ("cost", 1e-5), ("fault", None), ("fault_in_flight", None), ("launches", [])):
        monkeypatch.setattr(PretendedGpu, name, value)
    return PretendedGpu
