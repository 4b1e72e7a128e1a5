"""xacro expressions are Python's: random ones have the value of Python's eval, or both fail."""

import builtins
import random

import pytest

from engine.urdf.xacro.expressions import Evaluator
from engine.urdf.xacro.size_limits import Refused
from tests.seeds import OTHER

NAMES = {
    "a": 3,
    "b": -2.5,
    "name": "left_leg",
    "empty": "",
    "sizes": [1, 2.5, -4],
    "pair": (0, 7),
    "legs": {"x": 1, "y": 2},
}
SMALL = (
    "min", "max", "abs", "round", "int", "float", "bool", "str", "len", "sum", "any", "all", "sorted", "list", "tuple",
    "set", "range", "zip", "enumerate",
)  # fmt: skip
"""Functions that every xacro file may call."""


class Grammar:
    """Random expressions, at most so deep."""

    def __init__(self, seed: int):
        self.chance = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def leaf(self) -> str:
        return self.pick(
            *NAMES, *NAMES, "0", "1", "2", "0.5", "-3", "1e-3", "True", "False", "None", "'ab'", "'%d'", "[]", "i"
        )

    def any(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        forms = (
            self.sum, self.sum, self.compared, self.compared, self.either, self.chosen, self.part, self.listed,
            self.made, self.called, self.told,
        )  # fmt: skip
        return f"({self.chance.choice(forms)(depth - 1)})"

    def sum(self, d: int) -> str:
        sign = self.pick("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", ">>")
        return self.pick("-", "+", "~", "not ", "") + f"{self.any(d)} {sign} {self.any(d)}"

    def compared(self, d: int) -> str:
        signs = [self.pick("<", "<=", ">", ">=", "==", "!=", "in", "not in") for _ in range(3)]
        chain = "".join(f" {sign} {self.any(d)}" for sign in signs[: self.chance.randint(1, 3)])
        return self.any(d) + chain + self.pick("", "", "", " is None", " is not None")

    def either(self, d: int) -> str:
        return self.pick(" and ", " or ").join(self.any(d) for _ in range(self.chance.randint(2, 3)))

    def chosen(self, d: int) -> str:
        return f"{self.any(d)} if {self.any(d)} else {self.any(d)}"

    def part(self, d: int) -> str:
        index = self.pick("0", "1", "-1", "1:", ":2", "::-1", "::2", "'x'", self.any(d))
        return f"{self.pick('sizes', 'pair', 'name', 'legs', self.any(d))}[{index}]"

    def listed(self, d: int) -> str:
        parts = ", ".join(self.pick("", "", "*") + self.any(d) for _ in range(self.chance.randint(1, 3)))
        return self.pick("[{}]", "({},)", "{{{}}}").format(parts)

    def made(self, d: int) -> str:
        source = self.pick("sizes", "pair", "name", "legs", "range(4)", "enumerate(sizes)", self.any(d))
        condition = self.pick("", "", f" if {self.any(d)}")
        second = self.pick("", "", f" for i in {self.pick('sizes', 'range(2)')}")
        return self.pick("[{}]", "{{{}}}", "{{i: {}}}", "sorted({})").format(
            f"{self.any(d)} for i in {source}{condition}{second}"
        )

    def called(self, d: int) -> str:
        more = self.pick("", "", f", {self.any(d)}", ", key=abs", ", key=len", ", reverse=True")
        return f"{self.pick(*SMALL)}({self.pick('', '*')}{self.any(d)}{more})"

    def told(self, d: int) -> str:
        method = self.pick(
            "upper()", "split('_')", "replace('l', 'LL')", "find('e')", "zfill(9)", "get('x', 5)", "count(1)",
            f"join({self.any(d)})", f"format({self.any(d)})", "index(7)", "startswith('le')",
        )  # fmt: skip
        return f"{self.pick('name', 'legs', 'sizes', 'pair', self.any(d))}.{method}"


def outcome(work, text: str) -> tuple[str, object]:
    try:
        return "value", work(text)
    except Refused as refusal:
        return "refused", str(refusal)
    except Exception as fault:
        return "fault", type(fault)


def same(one: object, other: object) -> bool:
    return type(one) is type(other) and (one == other or repr(one) == repr(other))  # a NaN is equal to none


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_expressions_are_worth_what_python_says() -> None:
    evaluator, compared, faults = Evaluator({}), 0, 0
    symbols = NAMES | {name: getattr(builtins, name) for name in SMALL}
    pythons = symbols | {"enumerate": lambda *x: [*enumerate(*x)], "zip": lambda *x: [*zip(*x)]}  # noqa: B905
    for seed in [*range(2000), *range(OTHER * 10_000, OTHER * 10_000 + 2000)]:
        text = Grammar(seed).any(1 + seed % 3)
        mine = outcome(lambda x: evaluator(x, symbols), text)
        expected = outcome(lambda x: eval(x, pythons), text)
        if mine[0] == "refused":
            continue
        assert mine[0] == expected[0], f"{text}: {mine}; Python says {expected}"
        assert same(mine[1], expected[1]), f"{text}: {mine}; Python says {expected}"
        compared += mine[0] == "value"
        faults += mine[0] == "fault"
    assert compared > 500
    assert faults > 500
