"""Statements of random kernels, see `random_kernels`."""

from random_expressions import BOUND, Expressions, Helper, Thing

from tests.differential.chances import Rng, chance, one_of, pick

STATEMENTS = {
    "set_real": 5, "set_whole": 4, "augment": 3, "set_tuple": 2, "unpack": 2, "set_element": 4, "branch": 4, "loop": 3,
    "loop_while": 1, "view": 2, "leave": 3, "call": 1, "anew": 1, "either": 1, "fill_rows": 1, "set_row": 2, "early": 1,
}  # fmt: skip


class Function(Expressions):
    """The text of a function's body, being written."""

    def __init__(self, rng: Rng, names: dict[str, Thing], helpers: list[Helper], written_out: bool, waves: bool):
        super().__init__(rng, names, helpers, written_out, waves)
        self.lines: list[str] = []
        self.indent, self.loops, self.open, self.number = 1, 0, 0, 0
        self.answers: str | None = None
        """The kind of result: "real", "whole", "both" or nothing; None if it must not return early."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def new(self, letter: str) -> str:
        self.number += 1
        if letter in "rnt" and self.troubled():
            self.line(f"{letter}{self.number} = {'1' if letter == 'n' else '0.5'}")
        return f"{letter}{self.number}"

    def troubled(self) -> bool:
        """The translator has trouble with a name that is only set here: see test_translator_amiss."""
        return self.written_out and bool(self.open and self.loops)

    def suite(self, count: int, deep: int) -> None:
        """Statements one step further in; names that they bind end with them."""
        self.indent += 1
        before, length = dict(self.names), len(self.lines)
        self.statements(count, deep)
        if len(self.lines) == length:
            self.set_real(deep)
        self.names, self.indent = before, self.indent - 1

    def statements(self, count: int, deep: int) -> None:
        for _ in range(count):
            getattr(self, pick(self.rng, STATEMENTS))(deep)

    def bound(self, letter: str, *sorts: str) -> str:
        """A name to set: one that is there, or a new one."""
        found = [name for name in self.of(*sorts, free=True) if "." not in name]
        return one_of(self.rng, found) if found and chance(self.rng, 0.6) else self.new(letter)

    def squashed(self, name: str) -> str:
        value = self.real(3)
        again = name in self.names and self.loops
        return f"squashed({value})" if chance(self.rng, 0.9 if again else 0.3) else value

    def set_real(self, _deep: int, name: str = "") -> None:
        name = name or self.bound("r", "real")
        value, also = self.squashed(name), f"{self.new('r')} = " if chance(self.rng, 0.1) else ""
        self.line(f"{name} = {also}{value}")
        self.names |= {x: Thing("real") for x in (name, also[:-3]) if x}

    def set_whole(self, _deep: int) -> None:
        name = self.bound("n", "whole")
        self.line(f"{name} = {self.kept(self.whole(3)).text}")
        self.names[name] = Thing("whole", -BOUND, BOUND)

    def augment(self, _deep: int) -> None:
        if self.of("whole", free=True) and chance(self.rng, 0.4):
            name = one_of(self.rng, self.of("whole", free=True))
            sign, by = one_of(self.rng, (("+", 0), ("-", 0), ("*", 0), ("//", 3), ("%", -7), ("&", 63), (">>", 1)))
            self.line(f"{name} {sign}= {by or self.kept(self.whole(2)).text}")
            if not by:
                self.line(f"{name} %= 1009")
            self.names[name] = Thing("whole", -BOUND, BOUND)
            return
        if "counts" in self.names and chance(self.rng, 0.2):
            place = self.rng.integers(8)
            self.line(f"counts[{place}] {one_of(self.rng, '+-')}= {self.kept(self.whole(2)).text}")
            self.line(f"counts[{place}] %= 1009")
            self.line("counts[7] += ticked(counts)")
            return
        names = self.of("real", free=True)
        if not self.of("array", free=True) and not names:
            return
        name = (
            one_of(self.rng, names) if names and (chance(self.rng, 0.6) or "out" not in self.names) else self.target()
        )
        if chance(self.rng, 0.15):
            self.line(f"{name} /= 1.0 + abs({self.real(2)})")
        else:
            self.line(f"{name} {one_of(self.rng, '+-*')}= squashed({self.real(2)})")

    def target(self) -> str:
        """An entry that may be written to."""
        return self.element(one_of(self.rng, self.of("array", free=True)))

    def set_element(self, _deep: int) -> None:
        if not self.of("array", free=True):
            return
        if "counts" in self.names and chance(self.rng, 0.3):
            self.line(f"counts[{self.index(8)}] = {self.kept(self.whole(2)).text}")
        elif chance(self.rng, 0.2):
            self.line(f"{self.target()}, {self.target()} = {self.squashed('')}, squashed({self.real(2)})")
        else:
            self.line(f"{self.target()} = squashed({self.real(3)})")

    def set_tuple(self, _deep: int) -> None:
        if chance(self.rng, 0.5):
            name, sort = self.new("t"), "even"
            items = [self.element(one_of(self.rng, self.of("array"))) for _ in range(self.rng.integers(2, 5))]
            shape: tuple[str, ...] = ("real",) * len(items)
        else:
            name, sort = self.bound("t", "tuple"), "tuple"
            shape = (
                self.names[name].shape if name in self.names else one_of(self.rng, (("real", "whole"), ("real",) * 2))
            )
            items = [f"squashed({self.real(2)})" if x == "real" else self.kept(self.whole(2)).text for x in shape]
            if chance(self.rng, 0.3) and shape == ("real", "real"):
                items = [f"(({', '.join(items)}) if {self.condition(1)} else ({self.real(1)}, {self.leaf(0)}))"]
        self.line(f"{name} = {', '.join(items)}")
        self.names[name] = Thing(sort, shape=shape)

    def unpack(self, _deep: int) -> None:
        both = [helper for helper in self.helpers if helper.answer == "both"]
        reals = self.of("real", free=True)
        if both and chance(self.rng, 0.6):
            x, n = self.bound("r", "real"), self.bound("n", "whole")
            self.line(f"{x}, {n} = {self.called(one_of(self.rng, both))}")
            self.names |= {x: Thing("real"), n: Thing("whole", -BOUND, BOUND)}
        elif len(reals) > 1:
            x, y = reals[0], reals[-1]
            self.line(f"{x}, {y} = {y}, {one_of(self.rng, (x, f'squashed({self.real(2)})'))}")

    def view(self, _deep: int) -> None:
        """A row of an array, or some of its rows: the numbers are the array's."""
        if self.troubled():
            return
        name = one_of(self.rng, self.of("array"))
        first, *rest = self.names[name].shape
        if rest and chance(self.rng, 0.6):
            again = [x for x in self.of("array", shape=tuple(rest)) if x[0] == "b"]
            letter = "b" if name == "m" else "a"  # a name for rows of m, whose length running knows, may change
            target = one_of(self.rng, again) if again and name == "m" and chance(self.rng, 0.5) else self.new(letter)
            self.line(f"{target} = {name}[{self.index(first)}]")
            shape = tuple(rest)
        else:
            begin = int(self.rng.integers(first))
            end, target = int(self.rng.integers(begin + 1, first + 1)), self.new("a")
            self.line(f"{target} = {name}[{begin or ''}:{end if end < first else ''}]")
            shape = (end - begin, *rest)
        self.names[target] = Thing("array", shape=shape, free=self.names[name].free)

    def branch(self, deep: int) -> None:
        if not deep:
            return
        decided = self.written_out and chance(self.rng, 0.25)
        self.line(f"if {self.decided() if decided else self.condition(2)}:")
        self.open += not decided
        self.suite(self.rng.integers(1, 4), deep - 1)
        if chance(self.rng, 0.3):
            self.line(f"elif {self.decided() if decided else self.condition(2)}:")
            self.suite(self.rng.integers(1, 3), deep - 1)
        if chance(self.rng, 0.5):
            self.line("else:")
            self.suite(self.rng.integers(1, 3), deep - 1)
        self.open -= not decided

    def either(self, _deep: int) -> None:
        """A name that each of two branches binds."""
        name = self.new("r")
        self.line(f"if {self.condition(2)}:")
        self.line(f"    {name} = squashed({self.real(2)})")
        self.line("else:")
        self.line(f"    {name} = squashed({self.real(2)})")
        self.names[name] = Thing("real")

    def loop(self, deep: int) -> None:
        if not deep:
            return
        name = self.new("k")
        ways = [("4", 0, 3), ("3, -1, -1", 0, 3), ("1, 4", 1, 3), ("4, -3, -2", -2, 4), ("2, 2", 0, 0)]
        if self.written_out:
            ways += [("robot.size", 0, 4), (f"({self.known(1).text}) % 4", 0, 3)] * ("robot.bodies" in self.names)
        else:
            ways += [(f"({self.whole(2).text}) % 4", 0, 3), ("len(y) - 3", 0, 2), (f"{self.known(1).text}, 3", -3, 2)]
            ways = [way for way in ways if "y" in self.names or "len" not in way[0]]
        text, low, high = one_of(self.rng, ways)
        if self.written_out and chance(self.rng, 0.25):
            self.loop_that_is_kept(name, deep)
            return
        self.line(f"for {name} in range({text}):")
        before, kept = dict(self.names), ways.index((text, low, high)) < 4 and not self.open
        self.names[name] = Thing("known" if self.written_out else "whole", low, high, free=False)
        self.loops += 1
        if kept and chance(self.rng, 0.3):
            before[name] = self.names[name]  # is there after the loop, as is what the loop begins with
            self.indent += 1
            self.set_real(0, self.new("r"))
            before |= {x: thing for x, thing in self.names.items() if thing == Thing("real")}
            self.indent -= 1
        self.skip(name)
        self.suite(self.rng.integers(1, 4), deep - 1)
        if low >= 0 and not self.open and chance(self.rng, 0.15):
            self.line(f"    {name} = {name} // 2")  # which the next round does not see
        self.loops, self.names = self.loops - 1, before

    def loop_that_is_kept(self, name: str, deep: int) -> None:
        """A loop that is not written out: no row may be set in it, and nothing is known there that it changes."""
        least, most = one_of(self.rng, ((0, 3), (1, 4), (2, 2)))
        self.line(f"for {name} in range({least or ''}{', ' * bool(least)}at_run_time({most})):")
        before = dict(self.names)
        self.names[name] = Thing("whole", least, max(least, most - 1), free=False)
        self.loops, self.open = self.loops + 1, self.open + 1
        self.suite(self.rng.integers(1, 4), deep - 1)
        self.loops, self.open, self.names = self.loops - 1, self.open - 1, before

    def loop_while(self, deep: int) -> None:
        if not deep or self.open or (self.written_out and "robot.bodies" not in self.names):
            return
        name, before = self.new("n"), dict(self.names)
        self.loops += 1
        if self.written_out:
            self.line(f"{name} = {self.rng.integers(4)}")
            self.line(f"while {name} >= 0:")
            self.names[name] = Thing("known", 0, 3, free=False)
            self.suite(2, deep - 1)
            self.line(f"    {name} = robot.tree[{name}, 2]")
        else:
            self.line(f"{name} = 0")
            again = chance(self.rng, 0.5)
            self.line("while True:" if again else f"while {name} < 4 and {self.condition(2)}:")
            self.line(f"    {name} += 1")
            self.names[name] = Thing("whole", 0, 4, free=False)
            if again:
                self.line(f"    if {name} > 3 or {self.condition(1)}:")
                self.line("        break")
            self.skip(name)
            self.suite(self.rng.integers(1, 4), deep - 1)
        before[name] = Thing("known", -1, -1, free=False) if self.written_out else self.names[name]
        self.loops, self.names = self.loops - 1, before

    def skip(self, counter: str) -> None:
        """Omit the rest of a loop's body in one iteration."""
        if not self.written_out and chance(self.rng, 0.4):
            self.line(f"    if {counter} {one_of(self.rng, ('==', '<'))} {self.rng.integers(1, 3)}:")
            self.line("        continue")

    def leave(self, _deep: int) -> None:
        if self.loops and not self.written_out:
            self.line(f"if {self.condition(1)}:")
            self.line(f"    {one_of(self.rng, ('break', 'continue'))}")

    def call(self, _deep: int) -> None:
        able = [helper for helper in self.helpers if not helper.answer]
        if able and "a" not in self.names:
            self.line(self.called(one_of(self.rng, able)))

    def anew(self, _deep: int) -> None:
        """Rebind a tuple's name to a number."""
        names = [name for name in self.of("tuple", "even", free=True) if name[0] == "t"]
        if names and self.indent == 1:
            name = one_of(self.rng, names)
            self.line(f"{name} = {self.real(2)}")
            self.names[name] = Thing("real")

    def fill_rows(self, _deep: int) -> None:
        if not self.written_out or self.open or self.indent > 1:
            return
        name, k = self.new("s"), self.new("k")
        shape = one_of(self.rng, (("real",), ("real", "real")))
        self.line(f"{name} = registers(4)")
        self.line(f"for {k} in range(4):")
        before = f"{name}[{k} - 1]" + "[1]" * (len(shape) > 1)
        items = [f"({before} if {k} > 0 else {self.real(1)})", self.real(2)]
        self.line(f"    {name}[{k}] = {', '.join(items[: len(shape)])}")
        self.names[name] = Thing("rows", 4, 4, shape)

    def set_row(self, _deep: int) -> None:
        if self.open or not self.of("rows"):
            return
        name = one_of(self.rng, self.of("rows"))
        row = f"{name}[{self.known_index(4)}]"
        if len(self.names[name].shape) == 1:
            self.line(f"{row} {one_of(self.rng, '+-*')}= squashed({self.real(2)})")
        elif chance(self.rng, 0.5):
            self.line(f"put({name}, {self.known_index(4)}, {self.real(2)})")
        else:
            self.line(f"{row} = squashed({self.real(2)}), {self.leaf(0)}")

    def early(self, _deep: int) -> None:
        if self.answers is not None and not (self.written_out and self.open):
            self.line(f"if {self.decided() if self.written_out else self.condition(2)}:")
            self.line(f"    return {self.answered()}".rstrip())

    def answered(self) -> str:
        real, whole = f"squashed({self.real(2)})", self.kept(self.whole(2)).text
        return {"real": real, "whole": whole, "both": f"{real}, {whole}", "": ""}[self.answers or ""]
