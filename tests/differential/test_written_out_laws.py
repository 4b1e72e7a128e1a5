"""Kernels that are written out for a robot, as Python and as machine code of both number types, against definitions."""

import ctypes
import itertools

import numpy as np
import pytest

import engine
from engine.algorithms import motion as by_definition
from engine.compile import Function, machine, written_out
from engine.kernels import aba, rnea
from engine.kernels.robot import robot_of
from engine.kernels.sines import sine_and_cosine
from engine.validation import Array
from tests.differential.cases import Case
from tests.differential.laws import PLAIN, TREES, chances, holds
from tests.differential.test_quantity_laws import states

MANY = [pytest.param(12, id="some"), pytest.param(200, id="many", marks=pytest.mark.slow)]
ROUNDING = {None: 1e-12, "float64": 1e-12, "float32": 5e-4}
"""The tolerance for ill-conditioned rounding, some 5000 ulp; None is the Python source itself."""
_numbers = itertools.count()


def called(kernel: Function, model: engine.Model, dtype: str | None, width: int, *given: Array) -> Array:
    """Return the kernel's output for one robot: `width` numbers, from arrays of one axis."""
    if dtype is None:
        out = np.full(width, np.nan)
        kernel.function(robot_of(model), *given, out)
        return out
    arrays = [*(np.array(x, dtype) for x in given), np.full(width, np.nan, dtype)]
    name = f"{kernel.__name__}_of_a_test_{next(_numbers)}"
    widths = tuple(len(x) for x in arrays)
    code = machine.compiled(written_out.text(kernel, robot_of(model), widths, dtype, name, gpu=False))
    places = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
    types = [*[ctypes.c_void_p] * len(places), ctypes.c_int32]
    ctypes.CFUNCTYPE(None, *types)(machine.address(code, name))(*places, 1)
    return arrays[-1].astype(float)


def agrees(found: Case, dtypes: tuple[str | None, ...]) -> None:
    model, q, v = states(found)
    if model.has_mimic or not model.nv:
        return
    q, v, rng = q[0], v[0], chances(found, 7)
    at = by_definition.motion(model, q, v)
    M, h = by_definition.equations_of_motion(model, at)
    a = rng.standard_normal(model.nv)
    tau = M @ a + h
    size = np.sqrt(np.diag(M))
    condition = np.linalg.cond(M / np.outer(size, size))
    scale = 100 * float(np.abs(M).max()) * (1 + float(np.abs(v).max()) ** 2) + float(np.abs(tau).max())
    for dtype in dtypes:
        off = ROUNDING[dtype] * scale
        found_tau = called(rnea.inverse_dynamics, model, dtype, model.nv, q, v, a)
        np.testing.assert_allclose(found_tau, tau, rtol=0, atol=10 * off, err_msg=f"tau, {dtype}")
        qdd = called(aba.forward_dynamics, model, dtype, model.nv, q, v, tau)
        bound = off * condition / size.min() * size.max()
        assert np.all(np.abs(qdd - a) * size <= bound), f"qdd, {dtype}: {np.abs(qdd - a) * size} > {bound}"


def texts_are_by_definition(found: Case) -> None:
    """The kernels' text, run by Python."""
    agrees(found, (None,))


def machine_code_is_by_definition(found: Case) -> None:
    """The text written out for the robot, for this machine, in both number types."""
    agrees(found, ("float64", "float32"))


@pytest.mark.parametrize("count", MANY)
def test_written_out_kernels_are_by_definition(count: int) -> None:
    holds(texts_are_by_definition, (PLAIN, TREES), 3 * count)
    holds(machine_code_is_by_definition, (PLAIN,), count // 3)  # four texts to compile for each robot


@pytest.mark.parametrize(("dtype", "furthest", "ulp"), [("float64", 1e15, 2), ("float32", 1e6, 2)])
def test_sines_and_cosines_are_right_to_an_ulp_or_two(dtype, furthest, ulp):
    """At random angles of every size, and next to multiples of a quarter turn."""
    rng, kind = np.random.default_rng(3), np.dtype(dtype).type
    angles = np.concatenate([
        rng.uniform(-10, 10, 400), rng.choice([-1, 1], 400) * 10 ** rng.uniform(-8, np.log10(furthest), 400),
        np.arange(-50, 50) * np.pi / 2,
    ]).astype(kind)  # fmt: skip
    for x in angles:
        exact = np.longdouble(x)
        for found, true in zip(sine_and_cosine.function(x), (np.sin(exact), np.cos(exact)), strict=True):
            assert type(found) is kind
            assert abs(np.longdouble(found) - true) <= ulp * np.finfo(kind).eps * max(abs(true), 1e-2 if x else 0), x
