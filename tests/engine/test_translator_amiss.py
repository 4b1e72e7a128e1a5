"""Known translator bugs: texts that Python runs, and that the translator neither compiles correctly nor refuses.

Each is the smallest text that was found, by `test_translator_fuzz` or by reading. Correct are Python's results, or a
refusal that names the line. A fixed text keeps its place, without its reason.
"""

import copy
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cuda_on_host import WrittenOut
from python_oracle import given, loaded, python
from random_kernels import HEAD

from engine.compile.values import Untranslatable

pytestmark = pytest.mark.usefixtures("nothing_kept")


class Text(NamedTuple):
    """A body of `main`, what stands before it, its arguments, and what goes wrong: nothing once it is mended."""

    parameters: str
    body: str
    arguments: tuple[Any, ...]
    wrong: str
    before: str = ""


FOUR = np.array([1.0, 2.0, 3.0, 4.0])
TICKED = """
@inline
def ticked(counts):
    counts[0] += 1
    return 5
"""
SHIFTS = """
@inline
def one(x):
    return x + 1


@inline
def two(x):
    return x + 2
"""
TABLES = """
NEAR, FAR = np.array([1.0]), np.array([1.0 + 1e-12])


@kernel
def first(table):
    return table[0]
"""
PLACES = """
@inline
def places(n, most):
    for level in range(n, -1, -1):
        for place in range(level):
            if place < most:
                yield 10 * level + place
"""
ORDINARY = {
    "loop over a generator": Text("x, n", """
        total, last = 0.0, -1
        for k in places(n, 2):
            if k == 21:
                continue
            last = k
            for j in range(k):
                total += x[j % 4]
        x[0] = total
        return last""", (FOUR.copy(), 4), "", PLACES),
    "return from a loop over a generator": Text("n", """
        for k in places(n, 2):
            if k < 30:
                return k
        return -1""", (4,), "", PLACES),
    "way out of a loop over a generator": Text("n", """
        found = 0
        for k in places(n, 2):
            if k < 30:
                break
            found = k
        return found""", (4,), "", PLACES),
    "loop over a loop over a generator": Text("n", """
        total = 0
        for k in places(n, 1):
            for j in places(2, k):
                total += k * j
        return total""", (4,), "", PLACES),
    "generator that a kernel is": Text("n", "yield n", (4,), ""),
    "sound": Text("counts, n", "return -n if n < ticked(counts) else 0", (np.zeros(1, np.int64), 2), "", TICKED),
    "plus": Text("x", "return +x", (2.0,), ""),
    "default": Text("n", "return more(n) + 10 * more(n, 5) + 100 * most(n)", (2,), "", """
@inline
def more(n, by=3):
    return n + by


@kernel
def most(n, of=7):
    return max(n, of)
"""),
    "invert": Text("n", "return ~n", (2,), ""),
    "for else": Text("n", """
        found = 0
        for k in range(n):
            found += k
        else:
            found = 100
        return found""", (3,), ""),
    "while else": Text("n", """
        found = 0
        while found < n:
            found += 1
        else:
            found = 100
        return found""", (3,), ""),
    "end of a slice": Text("x", "return x[:-1].shape[0]", (FOUR,), "-1 long: an end from the end is not refused"),
    "long slice": Text("x", "return x[2:10].shape[0]", (FOUR,), "8 long: a slice is not cut where the array ends"),
    "parameter as a row": Text("x", "x = np.expand_dims(x, 0)\nreturn x.shape[1]", (FOUR,), ""),
    "unequal tuples": Text("a, b", "return 1 if (a, b) != (b, a) else 0", (1, 1), "!= of tuples that run: known, True"),
    "keyword": Text("a, b", "return max(a, b, key=abs)", (1.0, -2.0), ""),
    "keywords of a tuple": Text("x", "return Pair(left=x, right=2.0).left", (3.0,), "", """
class Pair(NamedTuple):
    left: float
    right: float
"""),
    "value of or": Text("n", "return (n or 5) + 0", (3,), "`or` of numbers answers a truth, 1"),
    "value of and": Text("n", "return (n and 5) + 0", (3,), "`and` of numbers answers a truth, 1"),
    "text set again": Text("n", """
        mode = "one"
        mode = "two"
        return 1 if mode == "one" else 2""", (0,), "a name keeps its first text"),
    "text argument set again": Text("n, mode", """
        if n > 0:
            mode = "two"
        return 1 if mode == "one" else 2""", (3, "one"), "a name keeps its first text"),
    "text by condition": Text("n", """
        mode = "one" if n > 0 else "two"
        return 1 if mode == "one" else 2""", (-3,), "the first of two texts is taken, whatever the condition"),
    "function by condition": Text("n", """
        shift = one if n > 0 else two
        return shift(n)""", (-3,), "the first of two functions is taken, whatever the condition", SHIFTS),
    "table set again": Text("out", """
        table = NEAR
        out[0] = table[0]
        table = FAR
        out[1] = table[0]""", (np.zeros(2),), "a name keeps its first known array", TABLES),
    "tables to a kernel": Text("out", "out[0], out[1] = first(NEAR), first(FAR)", (np.zeros(2),),
        "known arrays of one repr (8 digits, 1000 numbers) count as one: one function is written for both", TABLES),
    "shifted truth": Text("a, b", "return ((a < b) << (a < b)) + 0", (1, 2), "1 instead of 2: shifted in one bit"),
    "minus truth": Text("a, b", "return -(a < b)", (1, 2), "LLVM refuses fneg of a bit, without the line"),
    "absolute truth": Text("a, b", "return abs(a < b) + 0", (1, 2), "LLVM refuses fabs of a bit, without the line"),
    "mixed tuple": Text("n", "return (1, 2.5)[n] + 1.0", (0,), ""),
    "item from the end": Text("n", "return (1.0, 2.0, 3.0)[n] + 0.0", (-2,), "the last item stands for all below 0"),
    "name of a global": Text("x", """
        total = 0.0
        for k in range(3):
            if k > 0:
                total += last
            last = x[k]
        return total""", (FOUR,), "a name that a loop hands on is, where it is read, the module's", "last = 10.0"),
    "length by branch": Text("x, n", """
        part = x
        if n > 0:
            part = x[1:3]
        return part.shape[0]""", (FOUR, 0), ""),
    "chained comparison": Text("counts, n", "return 1 if 3 < n < ticked(counts) else 0", (np.zeros(1, np.int64), 1),
        "the third of a chain is evaluated where the first two decide", TICKED),
    "division by known zero": Text("n", "return 1.0 / 0.0 if n > 7 else 2.0", (5,), ""),
    "single answer": Text("x", "return x[0]", (FOUR.astype(np.float32),), ""),
}  # fmt: skip
PUT = """
@inline
def put(found, value):
    found[0] = value
"""
BUMP = """
@inline
def bump(out):
    out[1] = 7.0
    return 1.0
"""
UNTIL = """
@inline
def until(robot, k):
    while robot.tree[k] >= 0:
        if k == 1:
            return k
        k -= 1
    return k
"""
WRITTEN_OUT = {
    "sound": Text("robot, x, out", "out[0] = bump(out) if robot.tree[0] < 0 else x[0]", (), "", BUMP),
    "loop over a generator": Text("robot, x, out", """
        total = 1.0
        for k in places(3, 2):
            total = 2.0 * total + x[k % 4]
        for k in places(int(x[2]), int(x[1])):
            total -= x[k % 4]
            out[1] += 1.0
        out[0] = total""", (), "", PLACES),
    "name in a branch of a loop": Text("robot, x, out", """
        for k in range(2):
            if x[k] > 0.0:
                r = x[k] + 1.0
                out[k] = r""", (), ""),
    "row by a function": Text("robot, x, out", """
        found = registers(1)
        found[0] = 1.0
        if x[0] > 5.0:
            put(found, 2.0)
        out[0] = found[0]""", (), "", PUT),
    "other rows": Text("robot, x, out", """
        found, others = registers(1), registers(1)
        found[0], others[0] = 1.0, 2.0
        if x[0] < 5.0:
            found = others
        out[0] = found[0]""", (), "a name keeps its first rows"),
    "text in a branch": Text("robot, x, out", """
        mode = "one"
        if x[0] < 5.0:
            mode = "two"
        out[0] = 1.0 if mode == "one" else 2.0""", (), "a name keeps its first text"),
    "effect by condition": Text("robot, x, out", "out[0] = bump(out) if x[0] > 5.0 else 0.0", (),
        "both ways of a conditional expression are gone, with what they write", BUMP),
    "effect by and": Text("robot, x, out", "out[0] = 3.0 if x[0] > 5.0 and bump(out) > 0.0 else 0.0", (),
        "what follows `and` is evaluated, with what it writes", BUMP),
    "truth as a place": Text("robot, x, out", """
        part = x[1:]
        out[0] = part[1 * (x[1] < x[2])]""", (), "1 × a truth stays a bit, which counts as -1: reads before the array"),
    "0 minus truth": Text("robot, x, out", "out[0] = 0 - (x[0] < x[1])", (), "LLVM refuses fneg of a bit"),
    "break": Text("robot, x, out", """
        for k in range(3):
            if k == 1:
                break
            out[k] = x[k]""", (), ""),
    "return in a while": Text("robot, x, out", "out[0] = until(robot, 2) * x[0]", (), "", UNTIL),
    "mixed tuple": Text("robot, x, out", "n = int(x[0])\nout[0] = (x[1], x[1] * n, n)[n]", (),
        ""),
}  # fmt: skip
LOCKED = {
    "name": "row = a\n    for k in range(2):\n        row[0] = 5.0\n        row = b",
    "condition": "row = a if n > 2 else b\n    row[0] = 5.0",
    "item": "row = (b, a)[n - 1]\n    row[0] = 5.0",
}


class Patient(np.ndarray):
    """Known numbers that are not read forever."""

    read = 0

    def __getitem__(self, place):
        self.read += 1
        if self.read > 1000:
            raise TimeoutError("the translator reads on and on")
        return super().__getitem__(place)


class Robot(NamedTuple):
    """The known data."""

    tree: np.ndarray


def source(text: Text) -> str:
    body = textwrap.indent(textwrap.dedent(text.body).strip("\n"), "    ")
    return f"{HEAD}\n{text.before}\n\n@kernel\ndef main({text.parameters}):\n{body}\n"


def cases(texts: dict[str, Text]) -> list[Any]:
    return [
        pytest.param(text, id=name, marks=[pytest.mark.xfail(strict=True, reason=text.wrong)] if text.wrong else [])
        for name, text in texts.items()
    ]


@pytest.mark.parametrize("text", cases(ORDINARY))
def test_a_kernel_computes_what_python_does_or_is_refused(text: Text, tmp_path: Path) -> None:
    here, there = copy.deepcopy(text.arguments), [given(argument, float) for argument in text.arguments]
    try:
        answer = loaded(source(text), tmp_path).main(*here)
    except Untranslatable as refusal:
        assert "line" in str(refusal)
        return
    expected = python(source(text), None)["main"](*there)
    assert expected is None or answer == expected
    for ours, pythons in zip(here, there, strict=True):
        np.testing.assert_array_equal(ours, pythons)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", cases(WRITTEN_OUT))
def test_a_kernel_that_is_written_out_does_too(text: Text, dtype: str, tmp_path: Path) -> None:
    robot, arrays = Robot(np.array([-1, 0, 1])), [np.array([[1.0, 2.0, 3.0, 4.0]], dtype), np.zeros((1, 3), dtype)]
    there = [given(array[0], float) for array in arrays]
    known = robot._replace(tree=robot.tree.view(Patient))
    try:
        WrittenOut(loaded(source(text), tmp_path).main, known, (4, 3), dtype)(None, None, (*arrays, 1))
    except Untranslatable as refusal:
        assert "line" in str(refusal)
        return
    python(source(text), None)["main"](robot, *there)
    for ours, pythons in zip(arrays, there, strict=True):
        np.testing.assert_array_equal(ours[0], pythons)


@pytest.mark.xfail(strict=True, reason="a name, a condition and an item stand for one of their arrays, not for all")
@pytest.mark.parametrize("way", LOCKED)
def test_a_locked_array_that_may_be_written_to_is_not_taken(way: str, tmp_path: Path) -> None:
    main = loaded(source(Text("a, b, n", LOCKED[way].replace("\n    ", "\n"), (), "")), tmp_path).main
    locked = np.ones(2)
    locked.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        main(np.ones(2), locked, 1)
    assert locked[0] == 1.0
