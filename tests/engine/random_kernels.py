"""Random kernels: texts in the language of `engine.compile` that end, stay within bounds and keep away from its limits.

`ordinary` and `known_robot` draw a text with the numbers that it works on. A name keeps its type, as the language
demands. Whole numbers that are kept stay within ±`BOUND`; reals are squashed wherever a loop could make them grow.

What the translator refuses, or takes amiss (see `test_translator_amiss`), is not drawn: names for the values of
`and`, for texts, functions and known arrays that change, truths under `-` and `<<`, rows that a branch sets. Two things
are kept away from only until they are mended: `Function.troubled`, and calls at the end of chained comparisons.
"""

from typing import Any, NamedTuple

import numpy as np
from random_expressions import BOUND, Helper, Thing
from random_statements import Function

from tests.differential.chances import Rng, chance, one_of

HEAD = """from typing import NamedTuple

import numpy as np

from engine.compile import compiled_apart, inline, kernel
from engine.compile.operations import at_run_time, fma, reciprocal, registers

"""
SHARED = '''
class Pair(NamedTuple):
    rate: float
    turns: int
    table: tuple


PAIR = Pair({}, {}, ({}, {}, {}))
NESTED = (({}, {}), ({}, {}))
TABLE = np.array([{}, {}, {}])


@inline
def squashed(v):
    """Between -1 and 1."""
    return v / (1.0 + abs(v))


@inline
def ticked(counts):
    """Counts how often it was called."""
    counts[7] = (counts[7] + 1) % 1000
    return counts[7] & 3


@inline
def put(s, i, v):
    s[i] = squashed(v), s[i][0]
'''


class Given(NamedTuple):
    """An argument of an ordinary kernel."""

    left: np.ndarray
    scale: float
    turns: int


class Robot(NamedTuple):
    """The known data for written-out kernels: for each of four an index up to 3, a kind up to 2, a parent."""

    tree: np.ndarray
    bodies: np.ndarray
    gravity: np.ndarray
    size: int


def _helper(rng: Rng, number: int, earlier: list[Helper], written_out: bool, waves: bool) -> tuple[Helper, str]:
    """A small function that is called by what follows."""
    sort = one_of(rng, ("inline", "kernel", "compiled_apart"))
    answer = one_of(rng, ("real", "whole", "both") if sort == "inline" and number else ("real", "whole", ""))
    kinds = one_of(rng, "rrn") + "".join(
        one_of(rng, "rntmk" if written_out else "rntm") for _ in range(rng.integers(3))
    )
    kinds = kinds[0] + "".join(dict.fromkeys(kinds[1:])) + "a"
    things = {
        "r": Thing("real"), "n": Thing("whole", -BOUND, BOUND), "k": Thing("known", -BOUND, BOUND, free=False),
        "t": Thing("tuple", shape=("real", "real")), "m": Thing("text"),
    }  # fmt: skip
    names = {"mode" if kind == "m" else f"{kind}0{place}": things[kind] for place, kind in enumerate(kinds[:-1])}
    names["a"] = Thing("array", shape=(4,), free=not answer)
    function = Function(rng, _constants(written_out) | names, [x for x in earlier if x.answer], written_out, waves)
    function.answers = answer
    if kinds[0] == "r" and chance(rng, 0.3):  # a parameter that only a loop reads and sets
        name = next(iter(names))
        function.lines = ["    r = 0.0", "    for k in range(3):", f"        r += {name}"]
        function.lines.append(f"        {name} = squashed({name} * {function.literal()} + {function.leaf(0)})")
        function.names.pop(name)
        function.names["r"] = Thing("real")
    for _ in range(rng.integers(1, 3)):
        function.statements(rng.integers(1, 3), 1)
        if chance(rng, 0.5):
            function.early(1)
    if answer:
        function.line(f"return {function.answered()}")
    else:
        function.line(f"a[{rng.integers(4)}] = squashed({function.real(2)})")
    name = f"helper{number}"
    text = "\n".join([f"@{sort}", f"def {name}({', '.join(names)}):", *function.lines])
    return Helper(name, kinds, answer), text


def _text(rng: Rng, names: dict[str, Thing], parameters: str, written_out: bool, waves: bool, answers: bool) -> str:
    helpers, parts = [], [HEAD + _shared(rng)]
    for number in range(rng.integers(1, 4)):
        helper, text = _helper(rng, number, helpers, written_out, waves)
        helpers.append(helper)
        parts.append(text)
    main = Function(rng, dict(names), helpers, written_out, waves)
    main.answers = "real" if answers else None
    main.line(f"r, q = {main.element('x')}, {main.element('y')} * {main.literal()}")
    main.line(f"i = int(6.0 * squashed({main.element('y')}))")
    main.names |= {"r": Thing("real"), "q": Thing("real"), "i": Thing("whole", -6, 6)}
    main.statements(rng.integers(8, 14), 2)
    reals = [name for name in main.of("real") if name not in names] + main.items("real")
    for place, name in enumerate(reals[-8:]):
        main.line(f"out[{place}] = {name}")
    for place, name in enumerate(main.of("whole")[-7:]):
        main.line(f"counts[{place}] = {name}" if "counts" in names else f"out[{place}] += {name} * 0.125")
    if answers:
        main.line(f"return {main.answered()}")
    return "\n\n\n".join([*parts, "\n".join(["@kernel", f"def main({parameters}):", *main.lines])]) + "\n"


def _constants(written_out: bool) -> dict[str, Thing]:
    """The names of `SHARED`."""
    return {
        "PAIR.rate": Thing("real", free=False),
        "PAIR.turns": Thing("known" if written_out else "whole", -3, 9, free=False),
        "PAIR.table": Thing("even", shape=("real",) * 3, free=False),
        "NESTED[0]": Thing("even", shape=("real",) * 2, free=False),
        "TABLE": Thing("table", shape=(3,)),
    }


def _shared(rng: Rng) -> str:
    numbers = [repr(float(x)) for x in rng.integers(-20, 21, 12) / 8]
    return SHARED.format(numbers[0], rng.integers(-3, 10), *numbers[1:])


def _reals(rng: Rng, *shape: int) -> np.ndarray:
    """Numbers that single precision has too."""
    return rng.uniform(-2, 2, shape).astype(np.float32).astype(float)


def ordinary(rng: Rng) -> tuple[str, tuple[Any, ...]]:
    """A text for a call from Python, and the arguments."""
    names = _constants(False) | {
        "x": Thing("array", shape=(4,)), "y": Thing("array", shape=(6,)), "m": Thing("array", shape=(3, 4)),
        "w": Thing("counts", shape=(6,)), "given.left": Thing("array", shape=(4,)),
        "given.scale": Thing("real", free=False), "given.turns": Thing("whole", -9, 9, free=False), "p": Thing("real"),
        "n": Thing("whole", -BOUND, BOUND), "mode": Thing("text"), "out": Thing("array", shape=(8,)),
        "counts": Thing("counts", shape=(8,)),
    }  # fmt: skip
    text = _text(rng, names, "x, y, m, w, given, p, n, mode, out, counts", False, True, chance(rng, 0.5))
    given = Given(_reals(rng, 4), float(_reals(rng, 1)[0]), int(rng.integers(-9, 10)))
    arrays = _reals(rng, 4), _reals(rng, 6), _reals(rng, 3, 4), rng.integers(-9, 10, 6)
    numbers = float(_reals(rng, 1)[0]), int(rng.integers(-9, 10)), one_of(rng, ("up", "down"))
    return text, (*arrays, given, *numbers, _reals(rng, 8), rng.integers(-9, 10, 8))


def known_robot(rng: Rng, rows: int, waves: bool = True) -> tuple[str, Robot, tuple[np.ndarray, ...]]:
    """Return a kernel to be written out for a robot, the robot, and arrays of `rows` rows. Waves are not for a GPU."""
    names = _constants(True) | {
        "x": Thing("array", shape=(4,)), "y": Thing("array", shape=(6,)), "out": Thing("array", shape=(8,)),
        "robot.size": Thing("known", 4, 4), "robot.gravity": Thing("table", shape=(3,)),
        "robot.bodies": Thing("table", shape=(4, 3)),
    }  # fmt: skip
    text = _text(rng, names, "robot, x, y, out", True, waves, False)
    tree = np.array([[rng.integers(4), rng.integers(3), rng.integers(-1, i) if i else -1] for i in range(4)], np.int64)
    bodies, gravity = rng.integers(-8, 9, (4, 3)) / 8, rng.integers(-8, 9, 3) / 8
    return text, Robot(tree, bodies, gravity, 4), (_reals(rng, rows, 4), _reals(rng, rows, 6), _reals(rng, rows, 8))
