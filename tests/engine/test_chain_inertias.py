"""The CPU's part of hybrid ABIA: against the text."""

import numpy as np
import pytest

import engine
from engine.algorithms import abia_hybrid
from engine.algorithms.chain import Chain
from engine.cpu.chains.chain_inertias import axial_inertias
from engine.model.layout import pack


@pytest.mark.parametrize(("dtype", "off"), [("float64", 1e-13), ("float32", 1e-4)])
@pytest.mark.parametrize("n", [1, 2, 9, 60])
def test_the_cpu_finds_the_articulated_inertias_of_the_text(n, dtype, off, rng):
    model = engine.chain(n, seed=n, prismatic=0.4)
    chain, q = Chain.of(model), model.random(rng, 3)
    expected = np.einsum("bnij,nj->bni", abia_hybrid.articulated_inertias(chain, chain.X(q)), chain.S)
    U = np.full((3, n, 6), np.nan, dtype)
    axial_inertias(*pack(model, dtype), q.astype(dtype), U)
    assert np.abs(U - expected).max() <= off * np.abs(expected).max()
