"""Expressions of random kernels, see `random_kernels`: each has a value in any context."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tests.differential.chances import Rng, chance, one_of, pick

T = TypeVar("T")
BOUND = 2000  # of whole numbers that are kept
REALS = {
    "leaf": 3, "sum": 7, "quotient": 1, "negative": 1, "extreme": 1, "root": 1, "wave": 1, "fused": 1,
    "inverse": 1, "choice": 2, "answer": 2,
}  # fmt: skip
WHOLES = {
    "whole_leaf": 3, "whole_sum": 5, "floored": 3, "bits": 3, "whole_extreme": 1, "whole_choice": 1, "cut": 1,
    "counted": 2, "whole_answer": 1,
}  # fmt: skip
CONDITIONS = {"compared": 4, "reals_compared": 3, "joined": 3, "negated": 1, "odd": 1, "tuples_compared": 1}


class Whole(NamedTuple):
    """The text of a whole number, and what it lies between."""

    text: str
    low: int
    high: int


class Thing(NamedTuple):
    """The kind of value of a name: "real", "whole", "known" (whole, and known as the kernel is translated), "tuple",
    "even" (a tuple of entries of arrays), "array", "counts" (an array of whole numbers), "table" (known numbers),
    "rows".
    """

    sort: str
    low: int = 0
    high: int = 0
    shape: tuple[Any, ...] = ()
    """Of an array; for a tuple, and for each row, the kinds of its items."""
    free: bool = True
    """May be set, or written to."""


class Helper(NamedTuple):
    """A function that others may call."""

    name: str
    parameters: str
    """A letter each: r a real, n an integer, k an integer known where kernels are written out, a an array of four, t
    two reals, m a text.
    """
    answer: str
    """"real", "whole", "both" (a tuple of them), or nothing."""


class Expressions:
    """Expressions of the names that there are."""

    def __init__(self, rng: Rng, names: dict[str, Thing], helpers: list[Helper], written_out: bool, waves: bool = True):
        self.rng, self.names, self.helpers = rng, names, helpers
        self.written_out, self.waves, self.inside = written_out, waves, 0

    def of(self, *sorts: str, free: bool = False, shape: tuple[Any, ...] | None = None) -> list[str]:
        found = self.names.items()
        return [
            name
            for name, thing in found
            if thing.sort in sorts and (thing.free or not free) and shape in (None, thing.shape)
        ]

    def literal(self) -> str:
        number = self.rng.integers(-20, 21) / 8 if chance(self.rng, 0.8) else round(self.rng.uniform(-3, 3), 3)
        return repr(float(number))

    def within_another(self, emit: Callable[[int], T], deep: int, plain: Callable[[], T]) -> T:
        """An expression in others; in many others a plain one."""
        if self.inside > 4:
            return plain()
        self.inside += 1
        try:
            return emit(deep)
        finally:
            self.inside -= 1

    def real(self, deep: int) -> str:
        way = pick(self.rng, REALS) if deep > 0 else "leaf"
        return self.within_another(getattr(self, way), deep - 1, self.literal)

    def leaf(self, _deep: int) -> str:
        ways = {"literal": 1, "real": 5 * bool(self.of("real")), "element": 4 * bool(self.of("array"))}
        ways |= {
            "item": 2 * bool(self.items("real")),
            "table": bool(self.of("table")),
            "row": 3 * bool(self.of("rows")),
        }
        match pick(self.rng, ways):
            case "literal":
                return self.literal()
            case "real":
                own = self.of("real", free=True)
                return one_of(self.rng, own if own and chance(self.rng, 0.8) else self.of("real"))
            case "element":
                return self.element(one_of(self.rng, self.of("array")))
            case "item":
                return one_of(self.rng, self.items("real"))
            case "table":
                name = one_of(self.rng, self.of("table"))
                return f"{name}[{', '.join(self.known_index(n) for n in self.names[name].shape)}]"
        name = one_of(self.rng, self.of("rows"))
        row = f"{name}[{self.known_index(self.names[name].low)}]"
        count = len(self.names[name].shape)
        return f"{row}[{self.rng.integers(count)}]" if count > 1 else row

    def items(self, sort: str) -> list[str]:
        """An item of each tuple that has one of that sort."""
        found = []
        for name in self.of("tuple", "even"):
            thing = self.names[name]
            places = [place for place, kind in enumerate(thing.shape) if kind == sort]
            if sort == "real" and thing.sort == "even" and chance(self.rng, 0.5):
                found.append(f"{name}[{self.index(len(thing.shape))}]")
            elif places:
                found.append(f"{name}[{one_of(self.rng, places)}]")
        return found

    def element(self, name: str) -> str:
        shape = self.names[name].shape
        if len(shape) == 2 and chance(self.rng, 0.2):
            return f"{name}[{self.index(shape[0])}][{self.index(shape[1])}]"
        return f"{name}[{', '.join(self.index(n) for n in shape)}]"

    def known_index(self, count: int) -> str:
        """Return an index among `count`, known at translation."""
        if not self.written_out or chance(self.rng, 0.3):
            return str(self.rng.integers(count))
        found = self.known(1)
        return found.text if found.low >= 0 and found.high < count else f"({found.text}) % {count}"

    def index(self, count: int) -> str:
        if chance(self.rng, 0.3):
            return self.known_index(count)
        found = self.whole(1)
        return found.text if found.low >= 0 and found.high < count else f"({found.text}) % {count}"

    def sum(self, deep: int) -> str:
        right = self.real(deep)
        if not self.written_out and chance(self.rng, 0.25):
            right = self.whole(1).text if chance(self.rng, 0.8) else f"({self.compared(1)})"
        elif chance(self.rng, 0.15):
            right = f"({self.whole(1).text}) * 0.125"
        return f"({self.real(deep)} {one_of(self.rng, '+-**')} {right})"

    def quotient(self, deep: int) -> str:
        if not self.written_out and chance(self.rng, 0.3):
            return f"({self.whole(deep).text} / (1 + abs({self.whole(1).text})))"
        return f"({self.real(deep)} / ({one_of(self.rng, (0.5, 1, 2.5))} + abs({self.real(deep)})))"

    def negative(self, deep: int) -> str:
        return f"(-{self.real(deep)})"

    def extreme(self, deep: int) -> str:
        return f"{one_of(self.rng, ('min', 'max'))}({self.real(deep)}, {self.real(deep)})"

    def root(self, deep: int) -> str:
        return f"np.sqrt(0.5 + abs({self.real(deep)}))"

    def wave(self, deep: int) -> str:
        return f"np.{one_of(self.rng, ('sin', 'cos'))}({self.real(deep)})" if self.waves else self.real(deep)

    def fused(self, deep: int) -> str:
        return f"fma({self.real(deep)}, {self.real(deep)}, {self.real(deep)})"

    def inverse(self, deep: int) -> str:
        return f"reciprocal(0.75 + abs({self.real(deep)}))"

    def choice(self, deep: int) -> str:
        if chance(self.rng, 0.25):  # of two sorts
            return f"(({self.whole(1).text} if {self.condition(1)} else {self.real(deep)}) * {self.literal()})"
        return f"({self.real(deep)} if {self.condition(1)} else {self.real(deep)})"

    def answer(self, deep: int) -> str:
        able = [helper for helper in self.helpers if helper.answer in ("real", "both")]
        if not able:
            return self.leaf(deep)
        helper = one_of(self.rng, able)
        return self.called(helper) + "[0]" * (helper.answer == "both")

    def called(self, helper: Helper) -> str:
        return f"{helper.name}({', '.join(map(self.argument, helper.parameters))})"

    def argument(self, kind: str) -> str:
        match kind:
            case "a":
                return one_of(self.rng, self.of("array", shape=(4,)))
            case "t":
                pairs = ["NESTED[0]", "NESTED[1]", *self.of("tuple", shape=("real", "real"))]
                return one_of(self.rng, pairs) if chance(self.rng, 0.7) else f"({self.real(1)}, {self.leaf(0)})"
            case "m":
                return one_of(self.rng, ('"up"', '"down"', *self.of("text")))
            case "r":
                return self.real(1)
        return self.known(1).text if kind == "k" else self.kept(self.whole(1)).text

    def whole(self, deep: int) -> Whole:
        way = pick(self.rng, WHOLES) if deep > 0 else "whole_leaf"
        return self.within(self.within_another(getattr(self, way), deep - 1, self.whole_literal), 10**6)

    def whole_literal(self) -> Whole:
        number = int(self.rng.integers(-9, 10))
        return Whole(str(number), number, number)

    def kept(self, found: Whole) -> Whole:
        """Store the expression under a name if possible."""
        return self.within(found, BOUND)

    def within(self, found: Whole, most: int) -> Whole:
        return found if -most <= found.low and found.high <= most else Whole(f"({found.text} % 997)", 0, 996)

    def whole_leaf(self, _deep: int) -> Whole:
        if self.written_out and chance(self.rng, 0.25):
            return self.known(1)
        sorts = ("whole",) if self.written_out and self.of("whole") else ("whole", "known")
        found = [Whole(name, self.names[name].low, self.names[name].high) for name in self.of(*sorts)]
        found += [Whole(text, -BOUND, BOUND) for text in self.items("whole")]
        found += [Whole(self.element(name), -BOUND, BOUND) for name in self.of("counts")]
        if not found or chance(self.rng, 0.2):
            return self.whole_literal()
        return one_of(self.rng, found)

    def whole_sum(self, deep: int) -> Whole:
        x, y, sign = self.whole(deep), self.whole(deep), one_of(self.rng, "+-*")
        if sign == "-":
            return Whole(f"({x.text} - {y.text})", x.low - y.high, x.high - y.low)
        ends = [a * b if sign == "*" else a + b for a in (x.low, x.high) for b in (y.low, y.high)]
        return Whole(f"({x.text} {sign} {y.text})", min(ends), max(ends))

    def floored(self, deep: int) -> Whole:
        x, by = self.whole(deep), int(one_of(self.rng, (-7, -3, -2, 2, 3, 4, 5, 10)))
        below = max(abs(x.low), abs(x.high), 1)
        if chance(self.rng, 0.3):
            return Whole(f"({x.text} // (1 + abs({self.whole(deep).text})))", -below, below)
        if chance(self.rng, 0.5):
            return Whole(f"({x.text} // {by})", -below, below)
        return Whole(f"({x.text} % {by})", min(by + 1, 0), max(by - 1, 0))

    def bits(self, deep: int) -> Whole:
        x, places = self.whole(deep), self.rng.integers(1, 5)
        below = 1 << max(abs(x.low), abs(x.high), 15).bit_length()
        match one_of(self.rng, ("&", "|", "<<", ">>", "by")):
            case "&":
                return Whole(f"({x.text} & 13)", 0, 13)
            case "|":
                return Whole(f"({x.text} | 9)", -below, below)
            case "<<":
                return Whole(f"({x.text} << {places})", -below << 5, below << 5)
            case ">>":
                return Whole(f"({x.text} >> {places})", -below, below)
        return Whole(f"({x.text} << ({self.whole(deep).text} & 3))", -below << 3, below << 3)

    def whole_extreme(self, deep: int) -> Whole:
        x, y = self.whole(deep), self.whole(deep)
        low, high = min(x.low, y.low), max(x.high, y.high)
        match one_of(self.rng, ("min", "max", "abs", "-")):
            case "abs":
                return Whole(f"abs({x.text})", 0, max(abs(x.low), abs(x.high)))
            case "-":
                return Whole(f"(-{x.text})", -x.high, -x.low)
            case name:
                return Whole(f"{name}({x.text}, {y.text})", low, high)

    def whole_choice(self, deep: int) -> Whole:
        x, y = self.whole(deep), self.whole(deep)
        return Whole(f"({x.text} if {self.condition(1)} else {y.text})", min(x.low, y.low), max(x.high, y.high))

    def cut(self, deep: int) -> Whole:
        return Whole(f"int(6.0 * squashed({self.real(deep)}))", -6, 6)

    def counted(self, deep: int) -> Whole:
        """A truth as a number, or how many of something there are."""
        name = one_of(self.rng, self.of("array"))
        n = self.names[name].shape[0]
        ways = [
            Whole(f"int({self.condition(deep)})", 0, 1),
            Whole(f"{name}.shape[0]", n, n),
            Whole(f"len({name})", n, n),
        ]
        if not self.written_out:
            ways += [Whole(f"(({self.compared(deep)}) + ({self.compared(deep)}))", 0, 2), Whole("PAIR.turns", -3, 9)]
            ways += [Whole("ticked(counts)", 0, 3)] * ("counts" in self.names)
            ways += [Whole(f"{name}.size", int(np.prod(self.names[name].shape)), 12)]
        return one_of(self.rng, ways)

    def whole_answer(self, deep: int) -> Whole:
        able = [helper for helper in self.helpers if helper.answer in ("whole", "both")]
        if not able:
            return self.whole_leaf(deep)
        helper = one_of(self.rng, able)
        return Whole(self.called(helper) + "[1]" * (helper.answer == "both"), -BOUND, BOUND)

    def known(self, deep: int) -> Whole:
        """Return an integer that is known at translation, if the kernel is written out."""
        if not self.written_out:
            number = int(self.rng.integers(-3, 6))
            return Whole(str(number), number, number)
        if deep and chance(self.rng, 0.4):
            x, by = self.known(deep - 1), int(self.rng.integers(1, 4))
            most = max(abs(x.low), abs(x.high)) * by + by
            return Whole(f"({x.text} {one_of(self.rng, ('+', '-', '*', '//', '%'))} {by})", -most, most)
        found = [Whole(name, self.names[name].low, self.names[name].high) for name in self.of("known")]
        if "robot.bodies" in self.names:
            row = (
                self.rng.integers(4) if not found or chance(self.rng, 0.5) else f"({one_of(self.rng, found).text}) % 4"
            )
            found += [Whole(f"robot.tree[{row}, 0]", 0, 3), Whole(f"robot.tree[{row}, 1]", 0, 2)]
            found += [Whole("robot.tree.shape[0]", 4, 4)]
        return one_of(self.rng, [*found, Whole("2", 2, 2)])

    def decided(self) -> str:
        """A truth that is known as the kernel is translated."""
        x = f"{self.known(1).text} {one_of(self.rng, ('<', '==', '!=', '>='))} {self.known(1).text}"
        return f"{x} or not {self.known(1).text} > 1" if chance(self.rng, 0.2) else x

    def condition(self, deep: int) -> str:
        if self.written_out and chance(self.rng, 0.2):
            return f"({self.decided()})"
        if "mode" in self.names and chance(self.rng, 0.1):
            return f'mode {one_of(self.rng, ("==", "!="))} "up"'
        return getattr(self, pick(self.rng, CONDITIONS) if deep > 0 else "compared")(deep - 1)

    def compared(self, _deep: int) -> str:
        signs = one_of(self.rng, ("<", "<=", ">", ">=", "==", "!=")), one_of(self.rng, ("<", "<="))
        last = one_of(
            self.rng, [*self.of("whole", "known"), self.whole_literal().text]
        )  # the translator evaluates it always
        between = f" {signs[1]} {last}" if chance(self.rng, 0.2) else ""
        return f"{self.whole(1).text} {signs[0]} {self.whole(1).text}{between}"

    def reals_compared(self, deep: int) -> str:
        sign = one_of(self.rng, ("<", "<=", ">", ">="))
        return f"{self.real(max(deep, 1))} {sign} {self.leaf(0)}"

    def joined(self, deep: int) -> str:
        return f"({self.condition(deep)} {one_of(self.rng, ('and', 'or'))} {self.condition(deep)})"

    def negated(self, deep: int) -> str:
        return f"(not {self.condition(deep)})"

    def odd(self, _deep: int) -> str:
        return f"({self.whole(1).text} & 1)"

    def tuples_compared(self, _deep: int) -> str:
        a, b, c, d = (f"({self.whole(0).text}) % 2" for _ in range(4))
        return f"({a}, {b}) == ({c}, {d})"
