"""The registry of the CPU's forward dynamics: its entries, and its kernels' results for any input."""

import numpy as np
import pytest

import engine
from engine.cpu import dynamics
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.selection import capabilities

NAMES = [name for name, row in capabilities.ALGORITHMS.items() if "cpu" in row.devices]


def state(model, rng, *batch):
    shape = (*batch, model.nv)
    q = model.random(rng, *batch)
    return q, rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape), np.full(shape, 7.0)


def test_the_registry_holds_just_the_algorithms_that_serve_on_the_cpu():
    assert set(dynamics._MAKE) == set(NAMES)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_one_robot_and_a_batch_are_answered_alike(name, dtype, rng):
    model = engine.chain(12, prismatic=0.3)
    kernels = dynamics.kernels(model, name, dtype, None)
    given = [x.astype(dtype) for x in state(model, rng, 5)]
    assert kernels.many(*given) == FITS
    left = engine.inverse_dynamics(model, *given[:2], given[3]) - given[2]
    assert np.abs(left).max() < (1e-9 if dtype == "float64" else 1e-2)
    for k in range(5):
        one = np.full(model.nv, 7, dtype)
        assert kernels.one(*(x[k] for x in given[:3]), one) == FITS
        np.testing.assert_allclose(one, given[3][k], rtol=1e-9 if dtype == "float64" else 1e-3, atol=1e-3)


@pytest.mark.parametrize("batch", [(), (2,), (5,)], ids=["one", "two", "five"])
@pytest.mark.parametrize("name", NAMES)
def test_what_kernels_do_not_take_is_told_and_leaves_the_answer_as_it_was(name, batch, rng):
    model = engine.chain(9)
    kernels = dynamics.kernels(model, name, "float64", 1)
    call = kernels.many if batch else kernels.one
    given = state(model, rng, *batch)
    out = given[3]
    for place in range(4):
        wide, locked = np.repeat(given[place], 2, -1)[..., ::2], given[place].copy()
        locked.flags.writeable = False
        others = [given[place].astype("float32"), given[place][None], wide, given[place].astype(">f8")]
        if place == 3:
            others.append(locked)
        if not batch or place:  # whoever calls `many` has looked at q
            others += [given[place].tolist(), None]
        for other in others:
            assert call(*given[:place], other, *given[place + 1 :]) is NotImplemented, (place, other)
        short = np.ascontiguousarray(given[place][..., :-1])
        assert call(*given[:place], short, *given[place + 1 :]) == WRONG_SHAPE, place
    assert np.all(out == 7)
    given[2][..., 3] = np.nan
    assert call(*given) == NOT_FINITE
