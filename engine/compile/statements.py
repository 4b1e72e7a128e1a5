"""Translation of a kernel's statements (`if`, loops, assignments) to LLVM IR, in one pass over Python's syntax tree.

The language: numbers, tuples, contiguous arrays, `if`, `for … in range`, `while`, calls of other kernels. Known values
(module constants, strings, lengths) are evaluated at compile time, and branches that they exclude are left out. A
function marked `inline` is inlined into its caller, a kernel is an LLVM function, one for each kind of arguments. A
variable has the type of its first value. A generator marked `inline` is a kind of loop: `for x in inward(limbs)`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from engine.compile import arithmetic, source
from engine.compile.builder import Builder
from engine.compile.expressions import Expressions
from engine.compile.memory import Slot, array_load, element, lanes_store
from engine.compile.operations import thread, threads, wait_for_threads
from engine.compile.values import LaneRows, Record, Untranslatable, ValueList, as_argument, materialised, written_out

if TYPE_CHECKING:
    from engine.compile.units import Emitted


class Frame(Expressions):
    """The translation of a function's body into an LLVM function: its own, or that of its caller."""

    def __init__(self, emitted: Emitted, builder: Builder, function: Callable[..., Any], arguments: list[Any]):
        super().__init__(builder, function)
        self.emitted = emitted
        self._source, given = source.analyse(function), len(arguments)
        if missing := len(self._source.parameters) - len(arguments):
            arguments = [*arguments, *(function.__defaults__ or ())[-missing:]]
        if len(arguments) != len(self._source.parameters):
            raise Untranslatable(
                f"{function.__name__} takes {len(self._source.parameters)} arguments, and {given} are given"
            )
        self._inlined = False
        self._result: Any = None
        self._exit: ir.Block | None = None
        # The blocks of `continue` and `break` of each open loop: None for an unrolled one, or where `break` is refused.
        self._loops: list[tuple[ir.Block, ir.Block | None] | None] = []
        self._caller: tuple[Frame, ast.For] | None = None  # of a generator: the loop over it
        self._branches = 0  # open branches whose condition is decided at run time
        self._returned = False
        self._caller_branches = 0  # such branches of its callers
        changed = frozenset() if written_out() else self._source.changed
        for name, value in zip(self._source.parameters, arguments, strict=True):
            if name in changed:
                self._names[name] = slot = Slot(self.builder, materialised(value))
                slot.store(builder, value)
            else:
                self._names[name] = value

    def run(self) -> Any:
        """Write the body; return the function's result, if it is one value at the end."""
        self._suite(self._source.body)
        return self._result

    def inlined(self) -> Any:
        """Write the body into its caller; return the function's result."""
        self._inlined = True
        if self._source.ends_with_return:
            return self.run()
        if not written_out():
            self._exit = self.builder.append_basic_block("answered")
        self.run()
        if self._exit is None:
            return self._result
        if not self.builder.block.is_terminated:
            self.builder.branch(self._exit)
        self.builder.position_at_end(self._exit)
        return self._result.load(self.builder) if isinstance(self._result, Slot) else None

    def _suite(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.builder.block.is_terminated or self._returned:
                return
            try:
                getattr(self, f"_{type(statement).__name__}")(statement)
            except (AttributeError, LookupError, TypeError, AssertionError, ZeroDivisionError) as error:
                if isinstance(error, Untranslatable) and error.located:
                    raise
                where = f"{self._function.__module__}, line {statement.lineno}"
                problem = Untranslatable(f"{where}: {ast.unparse(statement):.100}: {error!r}")
                problem.located = True
                raise problem from error

    def _Expr(self, statement: ast.Expr) -> None:
        if isinstance(statement.value, ast.Yield):
            self._yield(statement.value)
        elif not isinstance(statement.value, ast.Constant):
            self.value(statement.value)

    def _yield(self, node: ast.Yield) -> None:
        """Write the body of the loop over this generator."""
        if self._caller is None or node.value is None or not self._loops:
            raise Untranslatable("a yield outside a loop of an inline generator that a `for` iterates over")
        (outer, loop), innermost = self._caller, self._loops[-1]
        outer._assign(loop.target, self.value(node.value))
        outer._loops.append(innermost and (innermost[0], None))
        outer._branches += self._branches
        outer._suite(loop.body)
        outer._branches -= self._branches
        outer._loops.pop()

    def _loop_over(self, statement: ast.For, generator: Callable[..., Any], arguments: list[Any]) -> None:
        """Write an inline generator, with the body of the loop over it in place of its yield."""
        frame = Frame(self.emitted, self.builder, generator, arguments)
        frame._inlined, frame._caller = True, (self, statement)
        frame._caller_branches = self._caller_branches + self._branches
        frame.run()

    def _Assign(self, statement: ast.Assign) -> None:
        value = self.value(statement.value)
        for target in statement.targets:
            self._assign(target, value)

    def _AugAssign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Subscript):
            array, indices = self.value(target.value), self._index(target)
            before = array_load(self.builder, array, indices)
            after = arithmetic.binary(self.builder, type(statement.op), before, self.value(statement.value))
            self._write(array, indices, after)
            return
        assert isinstance(target, ast.Name)
        after = arithmetic.binary(self.builder, type(statement.op), self._name(target.id), self.value(statement.value))
        self._assign(target, after)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple):
            if not isinstance(value, Record) or len(value.items) != len(target.elts):
                raise Untranslatable(f"{len(target.elts)} names for {value!r:.60}, which is not a tuple of as many")
            for name, item in zip(target.elts, value.items, strict=True):
                self._assign(name, item)
        elif isinstance(target, ast.Subscript):
            self._write(self.value(target.value), self._index(target), value)
        elif isinstance(target, ast.Name):
            self._bind(target.id, value)
        else:
            raise Untranslatable(f"an assignment to {ast.unparse(target)}")

    def _bind(self, name: str, value: Any) -> None:
        if isinstance(value, ValueList) and value.branches is None:
            value.branches = self._caller_branches + self._branches
        if name in self._source.settled or (written_out() and not self._branches):
            self._names[name] = value
            return
        if name not in self._names or not self._names[name].takes(value):
            self._names[name] = Slot(self.builder, materialised(value))
        self._names[name].store(self.builder, value)

    def _write(self, array: Any, indices: list[Any], value: Any) -> None:
        if isinstance(array, ValueList):
            if self._caller_branches + self._branches > (array.branches or 0):
                raise Untranslatable(
                    "an entry of registers(…) that is set in a branch that depends on a run-time value"
                )
            array.values[indices[0]] = value
            return
        if isinstance(array, LaneRows):
            lanes_store(self.builder, array, indices[0], value)
            return
        pointer = element(self.builder, array, indices)
        self.emitted.touch(array)
        self.builder.store(arithmetic.converted(self.builder, value, array.element), pointer)

    def _If(self, statement: ast.If) -> None:
        test = self._truth(statement.test)
        if not isinstance(test, ir.Value):
            self._suite(statement.body if test else statement.orelse)
            return
        self._in_memory(statement)
        self._branches += 1
        yes, after = self.builder.append_basic_block("then"), self.builder.append_basic_block("after")
        no = self.builder.append_basic_block("else") if statement.orelse else after
        self.builder.cbranch(test, yes, no)
        for block, suite in ((yes, statement.body), (no, statement.orelse)):
            if suite:
                self.builder.position_at_end(block)
                self._suite(suite)
                if not self.builder.block.is_terminated:
                    self.builder.branch(after)
        self.builder.position_at_end(after)
        self._branches -= 1

    def _in_memory(self, statement: ast.stmt) -> None:
        """Put the variables that a statement changes into memory, since control flow decides their value at run time.

        Variables that are read only where they were set need no memory.
        """
        if not written_out() or self._branches:
            return
        if self._caller is not None:
            outer, loop = self._caller
            outer._in_memory(loop)
        stored = (x.id for x in ast.walk(statement) if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load))
        for name in sorted(set(stored) - self._source.settled):
            value = self._names.get(name)
            if value is not None and not isinstance(value, Slot):
                self._names[name] = slot = Slot(self.builder, materialised(value))
                slot.store(self.builder, value)

    def _For(self, statement: ast.For) -> None:
        if statement.orelse:
            raise Untranslatable("a loop with an else")
        call = statement.iter
        if not isinstance(call, ast.Call) or call.keywords:
            raise Untranslatable("a loop over something that is not range(…)")
        if ast.unparse(call.func) not in ("range", "parallel_range"):
            function = self.value(call.func)
            if not (getattr(function, "inlined", False) and inspect.isgeneratorfunction(function.function)):
                raise Untranslatable("a loop over something that is not range(…)")
            self._loop_over(statement, function.function, [self.value(argument) for argument in call.args])
            return
        shared = ast.unparse(call.func) == "parallel_range" and threads(self.builder) > 1
        bounds = [self.value(argument) for argument in call.args]
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else 1
        if isinstance(step, ir.Value):
            raise Untranslatable("a loop whose step is not a constant")
        if written_out():
            if not isinstance(start, ir.Value) and not isinstance(stop, ir.Value):
                self._loops.append(None)
                for number in range(start, stop, step):
                    self._assign(statement.target, number)
                    self._suite(statement.body)
                self._loops.pop()
                return
            self._in_memory(statement)
        self._branches += 1
        before, builder = self.builder.block, self.builder
        head, body, following, after = (builder.append_basic_block(name) for name in ("loop", "body", "next", "done"))
        if shared:
            wait_for_threads(builder)
            start, step = thread(builder), threads(builder)
        type_ = arithmetic.common(start, stop)
        start, stop = (arithmetic.converted(builder, x, type_) for x in (start, stop))
        builder.branch(head)
        builder.position_at_end(head)
        counter = builder.phi(type_)
        counter.add_incoming(start, before)
        builder.cbranch(builder.icmp_signed("<" if step > 0 else ">", counter, stop), body, after)
        builder.position_at_end(body)
        self._assign(statement.target, counter)
        self._loops.append((following, after))
        self._suite(statement.body)
        self._loops.pop()
        if not builder.block.is_terminated:
            builder.branch(following)
        builder.position_at_end(following)
        counter.add_incoming(builder.add(counter, ir.Constant(type_, step), flags=("nsw",)), following)
        builder.branch(head)
        builder.position_at_end(after)
        if shared:
            wait_for_threads(builder)
        self._branches -= 1

    def _While(self, statement: ast.While) -> None:
        if statement.orelse:
            raise Untranslatable("a loop with an else")
        if written_out():
            self._loops.append(None)
            while (test := self._truth(statement.test)) is True and not self._returned:
                self._suite(statement.body)
            self._loops.pop()
            if test is False or self._returned:
                return
            self._in_memory(statement)
        self._branches += 1
        head, body, after = (self.builder.append_basic_block(name) for name in ("while", "body", "done"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        test = materialised(self._truth(statement.test))
        self.builder.cbranch(test, body, after)
        self.builder.position_at_end(body)
        self._loops.append((head, after))
        self._suite(statement.body)
        self._loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(head)
        self.builder.position_at_end(after)
        self._branches -= 1

    def _Break(self, _statement: ast.Break) -> None:
        if (after := self._loop()[1]) is None:
            raise Untranslatable("a `break` in a loop over a generator")
        self.builder.branch(after)

    def _Continue(self, _statement: ast.Continue) -> None:
        self.builder.branch(self._loop()[0])

    def _loop(self) -> tuple[ir.Block, ir.Block | None]:
        if (loop := self._loops[-1]) is None:
            raise Untranslatable("a `break` or `continue` in an unrolled loop")
        return loop

    def _Return(self, statement: ast.Return) -> None:
        value = None if statement.value is None else self.value(statement.value)
        if not self._inlined:
            self.emitted.emit_return(self.builder, value)
        elif self._exit is None:
            if self._branches:
                raise Untranslatable("a return that depends on a run-time value, where a kernel is written out")
            self._result, self._returned = value, True
        else:
            if value is not None:
                if self._result is None:
                    self._result = Slot(self.builder, materialised(value))
                self._result.store(self.builder, value)
            self.builder.branch(self._exit)

    def _called(self, function: Any, arguments: list[Any]) -> Any:
        if function.inlined or written_out():
            frame = Frame(self.emitted, self.builder, function.function, arguments)
            frame._caller_branches = self._caller_branches + self._branches
            return frame.inlined()
        arguments = [as_argument(argument) for argument in arguments]
        return self.emitted.unit.function(function, arguments).call(self.builder, self.emitted, arguments)
