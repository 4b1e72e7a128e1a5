"""Kernels compiled to machine code give Python's results, and unknown constructs are refused."""

import ctypes
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from engine.compile import background, cache, compiled_apart, inline, kernel, machine, parts, specialise
from engine.compile.operations import address, call
from engine.compile.shared import array_at, count, exchange, pause, read, write, yield_processor
from engine.compile.values import Untranslatable
from engine.compile.vectors import as_precise_as, double, gather, load, scatter, store, where

FACTOR = 3.0


class Pair(NamedTuple):
    left: np.ndarray
    scale: float


@inline
def _sign(x):
    if x > 0.0:
        return 1.0, 1
    if x < 0.0:
        return -1.0, -1
    return 0.0, 0


@inline
def _last_negative(x, default):
    found = default
    for k in range(x.size - 1, -1, -1):
        if x[k] >= 0.0:
            continue
        found = k
        break
    return found


@kernel
def whole_numbers(a, b, out):
    out[0], out[1], out[2], out[3] = a // b, a % b, -(-a // b), a >> 1
    out[4], out[5] = a & 6, abs(a)
    out[6] = 1 if -5 <= a < b else 0
    out[7] = min(a, b) - max(a, b)


@kernel
def branches(x, out):
    total, count = 0.0, 0
    for k in range(x.size):
        value, step = _sign(x[k])
        total += FACTOR * value if step != 0 and x[k] * step > 0.5 else 0.25
        count += step
    out[0], out[1], out[2] = total, count, _last_negative(x, -1)
    i = 0
    while True:
        if i >= x.size or (x[i] < 0.0 and not x[i] < -1e9):
            break
        i += 1
    out[3] = i


@kernel
def tuples(pair, matrix, row, out):
    columns = ((matrix[0, 0], 1.0), (matrix[1, 0], 2.0), (matrix[2, 0], 3.0))
    A, B = columns[row], pair.left[1:]
    out[0], out[1] = A[0] * pair.scale, A[1]
    A, B = B[0], (pair.left.shape[0], B.size)
    out[2], out[3] = A, B[0] * 10 + B[1]
    inner = matrix[row]
    inner[1] += 100.0
    out[4] = 1.0 if matrix.shape == (3, 2) else 0.0


@kernel
def extremes(x, y, out):
    out[0], out[1], out[2] = min(x, y), max(x, y), abs(x)
    out[3] = 1.0 if np.isfinite(x) else 0.0
    out[4] = 1.0 if x != y else 0.0


@kernel
def single(x, out):
    for k in range(x.size):
        out[k] = (x[k] * 0.1 + x[k]) * x[k]


@kernel
def variants(kind, x):
    if kind == "double":
        x[0] *= 2.0
        return 2
    x[0] = undefined_where_it_is_not_wanted(x)  # noqa: F821
    return 1


@kernel
def only_reads(x):
    return x[0] > 0.0


@kernel
def writes_within(pair):
    _store(pair.left, pair.scale)


@kernel
def _store(x, value):
    x[0] = value


@kernel
def unknown(x):
    x[0] = {1: 2.0}[1]


@pytest.mark.parametrize("a", [7, -7, 8, 0])
@pytest.mark.parametrize("b", [3, -3, 4])
def test_whole_numbers_are_pythons(a, b):
    compiled, expected = np.zeros(8, np.int64), np.zeros(8, np.int64)
    whole_numbers(a, b, compiled)
    whole_numbers.function(a, b, expected)
    assert compiled.tolist() == expected.tolist()


@pytest.mark.parametrize("x", [[1.0, -2.0, 0.0, 0.25], [2.0, 3.0], [-1.0], [0.0, 0.0]])
def test_branches_loops_and_early_answers_are_pythons(x):
    compiled, expected = np.zeros(4), np.zeros(4)
    branches(np.array(x), compiled)
    branches.function(np.array(x), expected)
    assert compiled.tolist() == expected.tolist()


@pytest.mark.parametrize("row", [0, 1, 2])
def test_tuples_parts_of_arrays_and_names_that_begin_anew(row):
    pair, answers = Pair(np.array([4.0, 5.0, 6.0]), 2.0), []
    for function in (tuples, tuples.function):
        matrix, out = np.arange(6.0).reshape(3, 2), np.zeros(5)
        function(pair, matrix, row, out)
        answers.append((out.tolist(), matrix.tolist()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("x", [1.5, -0.0, np.inf, np.nan])
@pytest.mark.parametrize("y", [0.0, -2.0, np.nan])
def test_extremes_treat_nan_as_pythons_do(x, y):
    compiled, expected = np.zeros(5), np.zeros(5)
    extremes(x, y, compiled)
    extremes.function(x, y, expected)
    np.testing.assert_array_equal(compiled, expected)


def test_a_number_of_the_text_is_double_beside_single_ones():
    x = np.array([0.3, 1.7, -2.9], np.float32)
    out = np.zeros_like(x)
    single(x, out)
    wide = (x.astype(float) * 0.1 + x) * x
    np.testing.assert_allclose(out, wide, rtol=6e-8)


def test_a_branch_that_a_text_rules_out_is_not_even_read():
    x = np.array([4.0])
    assert variants("double", x) == 2
    assert x[0] == 8.0
    with pytest.raises(Untranslatable, match=r"test_native, line \d+: x\[0\] = undefined"):
        variants("other", x)


def test_what_is_not_known_is_refused_with_its_line():
    with pytest.raises(Untranslatable, match=r"line \d+: x\[0\] = \{1: 2.0\}\[1\]"):
        unknown(np.zeros(1))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(1, np.float32), np.zeros((1, 1)), np.zeros(4)[::2], np.zeros(1, ">f8"), [0.0], 1.0, None,
        np.ma.zeros(1),
    ],
    ids=["single", "matrix", "strided", "foreign", "list", "number", "none", "subclass"],
)  # fmt: skip
def test_a_specialised_kernel_takes_only_what_it_was_made_for(wrong):
    made = specialise(only_reads, np.zeros(1))
    assert made(np.ones(3)) is True
    assert made(wrong) is NotImplemented
    assert made() is NotImplemented


def test_an_array_that_is_locked_is_taken_only_where_nothing_writes_to_it():
    locked = np.ones(1)
    locked.flags.writeable = False
    assert specialise(only_reads, np.zeros(1))(locked)
    free = Pair(np.zeros(1), 2.0)
    made = specialise(writes_within, free)
    made(free)
    assert free.left[0] == 2.0
    assert made(Pair(locked, 2.0)) is NotImplemented
    with pytest.raises(TypeError, match=r"writes_within is compiled for .*; an array is read-only"):
        writes_within(Pair(locked, 2.0))
    assert locked[0] == 1.0


def test_kernels_let_other_threads_run_and_are_compiled_once():
    out = [np.zeros(8, np.int64) for _ in range(8)]
    threads = [threading.Thread(target=whole_numbers, args=(k, 3, out[k])) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(row[0]) for row in out] == [k // 3 for k in range(8)]


@kernel
def _from_the_end(x):
    return x[-1]


@kernel
def _parts(x, n):
    return 10 * (x // n) + x % n


def test_what_would_read_beside_an_array_is_refused():
    with pytest.raises(Untranslatable, match="a negative index"):
        _from_the_end(np.ones(3))


def test_nothing_is_divided_by_zero():
    assert _parts(7, 2) == 31
    assert _parts(-7, 2) == -39
    assert _parts(7, 0) == 70


def test_a_tuple_of_numbers_is_no_tuple_of_lanes():
    with pytest.raises((TypeError, Untranslatable)):
        specialise(_parts, (3, 4), 2)


def _doubling():
    @kernel
    def twice(x):
        return 2.0 * x

    return twice


_inner = _doubling()


@kernel
def twice(x):
    return _inner(x) + _inner(2.0 * x)


def test_kernels_of_one_name_may_call_each_other():
    assert twice(1.5) == 9.0


@compiled_apart
def _summed(x, lanes):
    total = 0.0
    for k in range(len(lanes)):
        total += x[k]
    return total


@kernel
def _summed_twice(x, few, many):
    return _summed(x, few) + _summed(x, many)


@pytest.mark.parametrize("at_once", [False, True])
def test_parts_are_made_while_what_calls_them_is_written(monkeypatch, at_once):
    """By other threads, quickly, and then in the style that they want; at once where no process does that later."""
    made, original, requested = [], machine.compiled, []
    for name, nothing in (("_codes", {}), ("_loaded", {False: set(), True: set()}), ("_slow", [])):
        monkeypatch.setattr(parts, name, nothing)
    monkeypatch.setattr(background, "POSSIBLE", not at_once)
    monkeypatch.setattr(background, "request", lambda wanted, _made: requested.extend(wanted().items()))

    def compiled(text, style=machine.Style.LOOPS):
        made.append((threading.current_thread() is threading.main_thread(), style))
        return original(text, style)

    monkeypatch.setattr(machine, "compiled", compiled)
    monkeypatch.setattr(cache, "read", lambda _name: None)
    monkeypatch.setattr(cache, "write", lambda *_: None)
    assert kernel(_summed_twice.function)(np.arange(1.0, 9.0), (0,), (0,) * 8) == 37.0
    style = machine.Style
    if at_once:
        assert Counter(made) == {(False, style.ONE_ROBOT): 1, (False, style.LOOPS): 2}
    else:
        assert Counter(made) == {(False, style.QUICK): 3}
        assert Counter(how for _, (_, how) in requested) == {style.ONE_ROBOT.name: 1, style.LOOPS.name: 2}


def test_what_llvm_refuses_is_told_to_who_calls(monkeypatch):
    def refused(_text, _style):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(machine, "compiled", refused)
    monkeypatch.setattr(cache, "read", lambda _name: None)
    with pytest.raises(RuntimeError, match="no such instruction"):
        kernel(_one_more)(2.0)
    monkeypatch.undo()
    assert kernel(_one_more)(2.0) == 3.0


def _one_more(x):
    return x + 1.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator overwrites what is freed")
def test_a_process_that_used_kernels_ends_in_peace():
    """Python reads what defines a function until the last of its own garbage is gone."""
    program = (
        "import numpy as np; from engine.cpu.rigid_body.rnea import all_finite; assert all_finite(np.zeros((2, 2)))"
    )
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "255"}
    ended = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], env=environment, check=False)
    assert ended.returncode == 0


@kernel
def _filled(function, x):
    before = x[1]
    call(function, address(x), x.size)
    return before + 10.0 * x[1]


def test_code_at_an_address_is_called_and_what_it_writes_is_read():
    def fill(place, size):
        ctypes.c_double.from_address(place + 8 * (size - 2)).value = 7.0

    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(fill)
    place, x = ctypes.cast(function, ctypes.c_void_p), np.array([1.0, 2.0, 3.0])
    assert _filled(ctypes.addressof(place), x) == 72.0
    np.testing.assert_array_equal(x, [1.0, 7.0, 3.0])


@kernel
def vectors(x, places, out, lanes):
    a, b = load(x, 0, lanes), load(x, 1, lanes)
    total = a * 2.0 + b / 4.0
    for k in range(3):
        total = total - k * a
    exact = as_precise_as(double(a) * 0.1, a)
    store(out, 0, where(a - 1.0, -total, total) + exact)
    scatter(out, places, gather(x, places, lanes) * 0.5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_values_may_be_vectors(lanes, dtype):
    rng = np.random.default_rng(lanes)
    x, out = rng.uniform(-1, 1, 2 * lanes).astype(dtype), np.zeros(2 * lanes, dtype)
    x[0] = 1.0
    places = np.arange(lanes, 2 * lanes)
    places[-1] = -1
    vectors(x, places, out, (0,) * lanes)
    a, b = x[:lanes], x[lanes:]
    total = a * 2 + b / 4 - 3 * a
    expected = np.where(a != 1, -total, total) + 0.1 * a
    np.testing.assert_allclose(out[:lanes], expected, rtol=1e-5 if dtype == "float32" else 1e-14)
    np.testing.assert_array_equal(out[lanes:-1], 0.5 * x[lanes:-1])
    assert out[-1] == 0


@kernel
def by_address(place, rows, by):
    x, words = array_at(place, "float64", (rows, 2)), array_at(place, "int64", (2 * rows,))
    for i in range(1, rows):
        x[i, 1] = 3.0 + i
    write(words, 0, 4 + by)
    if count(words, 0) == 5 + by and not exchange(words, 0, 4, 0) and exchange(words, 0, 5 + by, 70):
        pause()
        yield_processor()


@kernel
def caller(function, x, by):
    call(function, address(x), x.shape[0], by)
    return read(array_at(address(x), "int64", (1,)), 0)


def test_a_kernel_of_whole_numbers_has_an_address_and_finds_arrays_by_theirs():
    x = np.zeros((4, 2))
    assert caller(by_address.address(3), x, 2) == 70
    np.testing.assert_array_equal(x[1:], [[0, 4], [0, 5], [0, 6]])
    assert by_address.has_address(3)


@kernel
def counting(place, times, _):
    words = array_at(place, "int64", (1,))
    for _k in range(times):
        count(words, 0)


def test_words_are_counted_by_many_threads_at_once():
    place, words = ctypes.c_void_p.from_address(counting.address(3)), np.zeros(1, np.int64)
    call_it = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(place.value)
    threads = [threading.Thread(target=call_it, args=(words.ctypes.data, 100_000, 0)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words[0] == 400_000
