"""Random kernels: code from `engine.compile` gives Python's results.

A text runs three times: by Python on Python's own numbers, as the reference; by Python on `Double` or `Single`, for the
rounding tolerance; and compiled. Texts in which rounding decides a branch, or causes large errors, are drawn again. A
failure names its seed: `check_ordinary(seed, folder)` and the like reproduce it.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cuda_on_host import WrittenOut
from python_oracle import Double, Single, Undecided, bounds, flat, given, loaded, python, run
from random_kernels import Given, Robot, known_robot, ordinary

from engine.compile import background, cache, inline, kernel, written_out
from engine.compile.operations import registers
from engine.compile.values import Untranslatable
from tests.differential.laws import seeds

COUNT = 40
"""Texts of each family: the first half are always the same."""
MANY = 2000  # in the slow tests
ON_GPU = 12
ROWS, BATCH = 3, 100  # robots on the host, and on a GPU
ATTEMPTS = 60
UNITS = {"float64": Double, "float32": Single}
Bounds = list[float | None]
SEEDS = list(seeds(COUNT))


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """Machine code of texts that exist briefly is not written to the user's folder."""
    monkeypatch.setattr(cache, "read", lambda _: None)
    monkeypatch.setattr(cache, "write", lambda *_: None)
    monkeypatch.setattr(background, "request", lambda *_: None)


def drawn(make: Callable[..., Any], seed: int, usable: Callable[..., Any]) -> Any:
    """The first text of a seed that is usable, with what comes with it, and what `usable` says of it."""
    for attempt in range(ATTEMPTS):
        made = make(np.random.default_rng([seed, attempt]))
        try:
            return *made, usable(*made)
        except Undecided:
            continue
    raise AssertionError(f"seed {seed}: rounding decides each of {ATTEMPTS} texts")


def compare(seed: int, text: str, found: list[Any], expected: list[Any], within: Bounds) -> None:
    """Fail with the text where a number is not what Python computes."""
    assert len(found) >= len(expected) == len(within)
    wrong = [
        f"number {place}: {ours!r}, Python {pythons!r}, bound {bound}"
        for place, (ours, pythons, bound) in enumerate(zip(found, expected, within, strict=False))
        if (ours != pythons if bound is None else not abs(ours - pythons) <= bound)
    ]
    assert not wrong, "\n".join([f"seed {seed}", *wrong, text])


def called(seed: int, text: str, call: Callable[[], Any]) -> Any:
    """Return a call's result; an exception is raised with the text."""
    try:
        return call()
    except Exception as error:
        raise AssertionError(f"seed {seed}: {error!r}\n{text}") from error


def check_ordinary(seed: int, folder: Path) -> None:
    """A text called from Python; each fourth one with arrays of single precision."""
    real = Single if seed % 4 == 3 else Double
    text, arguments, within = drawn(ordinary, seed, partial(bounds, real=real))
    expected = run(python(text, None), arguments, float)
    numbers = [_single(x) if real is Single else x for x in arguments]
    answer = called(seed, text, lambda: loaded(text, folder).main(*numbers))
    compare(seed, text, flat([numbers, answer]), expected, within)


def _single(argument: Any) -> Any:
    if isinstance(argument, np.ndarray) and argument.dtype == float:
        return argument.astype(np.float32)
    return argument._replace(left=_single(argument.left)) if isinstance(argument, Given) else argument


def of_rows(text: str, robot: Robot, arrays: tuple[np.ndarray, ...]) -> dict[str, Bounds]:
    """The bounds of what the arrays' rows hold, robot after robot."""
    robots = list(zip(*arrays, strict=True))
    count = len(flat(list(robots[0])))
    return {
        dtype: [bound for row in robots for bound in bounds(text, (robot, *row), real)[-count:]]
        for dtype, real in UNITS.items()
    }


def pythons_rows(text: str, robot: Robot, arrays: tuple[np.ndarray, ...]) -> list[float]:
    names, found = python(text, None), []
    for row in zip(*arrays, strict=True):
        arguments = [given(argument, float) for argument in (robot, *row)]
        names["main"](*arguments)
        found += flat(arguments[1:])
    return found


def on_host(main: Any, robot: Robot, arrays: list[np.ndarray]) -> None:
    """A kernel written out for a robot, for this machine, on a row after the other."""
    widths = tuple(array.shape[1] for array in arrays)
    WrittenOut(main, robot, widths, arrays[0].dtype.name)(None, None, (*arrays, len(arrays[0])))


def check_written_out(seed: int, folder: Path) -> None:
    """A text written out for a robot, in both precisions."""
    text, robot, arrays, within = drawn(partial(known_robot, rows=ROWS), seed, of_rows)
    main, expected = loaded(text, folder).main, pythons_rows(text, robot, arrays)
    for dtype in UNITS:
        numbers = [array.astype(dtype) for array in arrays]
        called(seed, text, partial(on_host, main, robot, numbers))
        compare(seed, text, flat(list(zip(*numbers, strict=True))), expected, within[dtype])


@pytest.mark.parametrize("number", range(COUNT))
def test_a_random_text_computes_what_python_does(number: int, tmp_path: Path) -> None:
    check_ordinary(SEEDS[number], tmp_path)


@pytest.mark.parametrize("number", range(COUNT))
def test_a_random_text_that_is_written_out_computes_what_python_does(number: int, tmp_path: Path) -> None:
    check_written_out(SEEDS[number], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_ordinary, check_written_out])
def test_many_random_texts_compute_what_python_does(check: Callable[..., None], tmp_path: Path) -> None:
    """All of them, and then the first that did not."""
    failed = []
    for seed in seeds(MANY):
        try:
            check(seed, tmp_path)
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, f"{len(failed)} texts, of which this is the first:\n{failed[0]}"


def few_decided(text: str, robot: Robot, arrays: tuple[np.ndarray, ...]) -> list[dict[str, Bounds] | None]:
    """The bounds row by row, None where rounding decides, which it may in half of the rows."""
    found: list[dict[str, Bounds] | None] = []
    for row in zip(*(array[:, None] for array in arrays), strict=True):
        try:
            found.append(of_rows(text, robot, row))
        except Undecided:
            found.append(None)
    if found.count(None) > BATCH // 2:
        raise Undecided
    return found


@pytest.mark.parametrize("number", range(0, ON_GPU, 3))
def test_a_gpu_has_instructions_for_random_texts(number: int, tmp_path: Path) -> None:
    """Down to its assembly; a missing LLVM instruction would end the process."""
    text, robot, arrays = known_robot(np.random.default_rng([SEEDS[number], 0]), 1, waves=False)
    widths = tuple(array.shape[1] for array in arrays)
    for dtype in UNITS:
        code = written_out.text(loaded(text, tmp_path).main, robot, widths, dtype, "main", gpu=True)
        assert ".visible .entry main(" in written_out.ptx(code, "sm_90")


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(ON_GPU))
def test_a_gpu_computes_of_a_random_text_what_python_does(number: int, tmp_path: Path) -> None:
    """Many robots at once, in both precisions; the numbers are also those of the host."""
    import cupy

    from engine.cuda.runtime import compiler

    seed = SEEDS[-1 - number]
    text, robot, arrays, within = drawn(partial(known_robot, rows=BATCH, waves=False), seed, few_decided)
    main, widths = loaded(text, tmp_path).main, tuple(array.shape[1] for array in arrays)
    for dtype in UNITS:
        there = [cupy.asarray(array.astype(dtype)) for array in arrays]
        written = compiler.written_out(main, robot, widths, dtype)
        compiler.Launch(written, -(-BATCH // 32), 32, len(widths), (np.int32(BATCH),))(*there)
        found, here = [array.get() for array in there], [array.astype(dtype) for array in arrays]
        on_host(main, robot, here)
        for place, bound in enumerate(within):
            if bound is not None:
                ours, row = flat([array[place] for array in found]), tuple(x[place : place + 1] for x in arrays)
                compare(seed, text, ours, pythons_rows(text, robot, row), bound[dtype])
                compare(seed, text, ours, flat([array[place] for array in here]), bound[dtype])


class Tree(NamedTuple):
    parents: np.ndarray
    size: int


@kernel
def _way_out(tree, x):
    for k in range(tree.size):
        if x[k] > 0.0:
            break


@kernel
def _way_on(tree, x):
    while x[0] < tree.size:
        for k in range(tree.size):
            x[k] += 1.0
            if x[k] > 2.0:
                continue


@kernel
def _row_of_a_round(tree, x):
    found = registers(tree.size)
    while x[0] < tree.size:
        found[0] = x[1]


@kernel
def _place(tree, x):
    k = int(x[0])
    x[0] = tree.parents[k]


@inline
def _first(x):
    if x[0] > 0.0:
        return x[0]
    return x[1]


@kernel
def _early(tree, x):
    x[0] = _first(x) + tree.size


@kernel
def _ends(tree, x):
    if x[0] > tree.size:
        return
    x[1] = 2.0


@kernel
def _set_row(tree, x):
    found = registers(tree.size)
    found[0] = 1.0
    if x[0] > 0.0:
        found[0] = 2.0
    x[0] = found[0]


@kernel
def _changed_row(tree, x):
    found = registers(tree.size)
    found[0] = x[0]
    if x[0] > 0.0:
        found[0] += x[1]


@kernel
def _table(tree, x):
    x[0] = tree.size if x[1] > 0.0 else tree.parents


@kernel
def _row(tree, x):
    found = registers(tree.size)
    found[int(x[0])] = 1.0


REFUSED = {
    _way_out: ("break", "a `break` or `continue` in an unrolled loop"),
    _way_on: ("continue", "a `break` or `continue` in an unrolled loop"),
    _row_of_a_round: ("found[0] = x[1]", "an entry of registers(…) that is set in a branch"),
    _place: ("x[0] = tree.parents[k]", "a run-time index into an array that is known at compile time"),
    _early: ("return x[0]", "a return that depends on a run-time value"),
    _ends: ("return", "a return that depends on a run-time value"),
    _set_row: ("found[0] = 2.0", "an entry of registers(…) that is set in a branch"),
    _changed_row: ("found[0] += x[1]", "an entry of registers(…) that is set in a branch"),
    _table: ("x[0] = tree.size if x[1] > 0.0 else tree.parents", "Known"),
    _row: ("found[int(x[0])] = 1.0", "list indices must be integers"),
}


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.__name__)
@pytest.mark.parametrize("gpu", [False, True])
def test_what_cannot_be_written_out_is_refused_with_its_line(refused: Any, gpu: bool) -> None:
    statement, reason = REFUSED[refused]
    with pytest.raises(Untranslatable, match=re.escape(reason)) as caught:
        written_out.text(refused, Tree(np.array([0, 1]), 2), (2,), "float64", "refused", gpu)
    found = re.match(rf"{refused.__module__}, line (\d+): ", str(caught.value))
    assert found, caught.value
    assert Path(__file__).read_text("utf-8").splitlines()[int(found[1]) - 1].strip() == statement
