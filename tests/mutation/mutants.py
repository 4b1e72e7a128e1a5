"""Makes mutants of a module: copies of its text that differ in one place, as a plausible bug would.

A comparison, an arithmetic operator or a constant is another one, a condition is negated, a statement is left out or
two arguments change places. What is said to people (texts, messages of errors) and to type checkers stays as it is.
"""

import ast
import copy
import warnings
from collections.abc import Iterator
from typing import NamedTuple


class Mutant(NamedTuple):
    """One change of one module: `old`, starting at byte `start` of the module's text, becomes `new`."""

    path: str
    """The module's file, from the repository's root."""
    symbol: str
    """The function, method or name at the module's or a class's top level that it changes."""
    line: int
    kind: str
    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The module's text with the change."""
        content, old = text.encode(), self.old.encode()
        assert content[self.start : self.start + len(old)] == old, f"{self.path} is not what the mutant was made of"
        return (content[: self.start] + self.new.encode() + content[self.start + len(old) :]).decode()


COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
"""The first of two is the boundary's."""
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
EITHER_WAY = {
    "add",
    "min",
    "max",
    "hypot",
    "isinstance",
    "minimum",
    "maximum",
    "allclose",
    "array_equal",
    "logical_and",
    "logical_or",
}
"""Functions whose first two arguments may change places, or must not for a reason that no test need show."""


def mutants(text: str, path: str) -> list[Mutant]:
    """Every mutant of a module's text, in the order of their places; a few do not compile."""
    return sorted(_Finder(text, path).found(), key=lambda mutant: (mutant.start, mutant.kind, mutant.new))


def compiles(mutant: Mutant, text: str) -> bool:
    """Whether the changed text is Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            compile(mutant.applied(text), mutant.path, "exec")
        except SyntaxError:
            return False
    return True


class _Finder:
    """Walks through a module and says what may be changed."""

    def __init__(self, text: str, path: str):
        self._text, self._path = text.encode(), path
        self._lines = [0]
        for line in self._text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._symbol = ""

    def found(self) -> Iterator[Mutant]:
        for symbol, node in symbols_of(ast.parse(self._text)):
            self._symbol = symbol
            yield from self._walk(node)

    def _walk(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
                return
            case ast.Raise():
                yield self._left_out(node)
                return
            case ast.Expr(value=ast.Constant()):
                return
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.Call(func=ast.Name(id="TypeVar" | "NewType" | "cast")):
                return
        yield from self._of_statement(node) if isinstance(node, ast.stmt) else self._of_expression(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from self._walk(part)

    def _of_statement(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
                yield self._left_out(node)
            case ast.Assign(targets=targets) if all(isinstance(x, ast.Attribute | ast.Subscript) for x in targets):
                yield self._left_out(node)
            case ast.Break():
                yield self._as(node, "continue", "loop")
            case ast.Continue():
                yield self._as(node, "break", "loop")
            case ast.If() | ast.While():
                yield self._negated(node.test)
        if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
            changed = copy.deepcopy(node)
            changed.op = OPERATORS[type(node.op)]()
            yield self._as(node, ast.unparse(changed), "arithmetic")

    def _of_expression(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                yield from self._comparisons(node)
            case ast.BinOp() if type(node.op) in OPERATORS and not _of_texts(node):
                yield self._expression(node, "arithmetic", op=OPERATORS[type(node.op)]())
            case ast.BinOp(op=ast.MatMult()) if ast.unparse(node.left) != ast.unparse(node.right):
                yield self._expression(node, "swapped", left=node.right, right=node.left)
            case ast.BoolOp():
                yield self._expression(node, "condition", op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                yield self._as(node, f"({ast.unparse(node.operand)})", "condition" if _is_not(node) else "arithmetic")
            case ast.IfExp():
                yield self._negated(node.test)
            case ast.comprehension(ifs=tests):
                yield from map(self._negated, tests)
            case ast.Constant(value=bool() as value):
                yield self._as(node, str(not value), "constant")
            case ast.Constant(value=int() as value):
                yield self._as(node, str(value + 1), "constant")
            case ast.Constant(value=float() as value):
                yield self._as(node, repr(2 * value) if value else "1.0", "constant")
            case ast.Call(args=[first, second, *rest]) if _may_swap(node):
                yield self._expression(node, "swapped", args=[second, first, *rest])

    def _comparisons(self, node: ast.Compare) -> Iterator[Mutant]:
        for place, operator in enumerate(node.ops):
            for kind, other in zip(("boundary", "comparison"), COMPARISONS[type(operator)], strict=False):
                operators = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                ordered = isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
                yield self._expression(node, kind if ordered else "comparison", ops=operators)

    def _negated(self, test: ast.expr) -> Mutant:
        return self._as(test, f"(not ({ast.unparse(test)}))", "condition")

    def _expression(self, node: ast.AST, kind: str, **fields: object) -> Mutant:
        changed = copy.copy(node)
        for name, value in fields.items():
            setattr(changed, name, value)
        return self._as(node, f"({ast.unparse(changed)})", kind)

    def _left_out(self, node: ast.AST) -> Mutant:
        return self._as(node, "pass", "left out")

    def _as(self, node: ast.AST, new: str, kind: str) -> Mutant:
        """The node as other text, with as many lines as before, so that all below keeps its number."""
        start = self._lines[node.lineno - 1] + node.col_offset
        old = self._text[start : self._lines[node.end_lineno - 1] + node.end_col_offset].decode()
        lines = old.count("\n") - new.count("\n")
        if lines > 0:
            new = new[:-1] + "\n" * lines + ")" if new.endswith(")") and new.startswith("(") else new + "\n" * lines
        return Mutant(self._path, self._symbol, node.lineno, kind, start, old, new)


def symbols_of(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The statements of a module and of its classes, with what each defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                name = inner.name if isinstance(inner, ast.FunctionDef | ast.ClassDef) else ""
                yield (f"{node.name}.{name}" if name else node.name), inner
        else:
            yield _defined(node), node


def _defined(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = [x.id for target in targets if target is not None for x in ast.walk(target) if isinstance(x, ast.Name)]
    return names[0] if names else "<module>"


def _is_not(node: ast.UnaryOp) -> bool:
    return isinstance(node.op, ast.Not)


def _of_texts(node: ast.BinOp) -> bool:
    """Whether it joins texts, or types (`int | None`), where another operator fails at once."""
    sides = (node.left, node.right)
    if any(isinstance(x, ast.JoinedStr) or (isinstance(x, ast.Constant) and isinstance(x.value, str)) for x in sides):
        return True
    kinds = {"int", "float", "str", "bool", "list", "tuple", "dict", "None", "bytes"}
    return isinstance(node.op, ast.BitOr) and any(ast.unparse(x) in kinds for x in sides)


def _may_swap(node: ast.Call) -> bool:
    first, second = node.args[:2]
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    apart = ast.unparse(first) != ast.unparse(second)
    return (
        apart and name not in EITHER_WAY and not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred)
    )
