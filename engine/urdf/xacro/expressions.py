"""Evaluate the expressions of xacro files without Python's eval.

An expression is parsed to Python's syntax tree and interpreted: literals, names, arithmetic, comparisons, conditions,
indexing, comprehensions, and calls of permitted functions. Only values from the file or the caller are accessible: an
attribute is an entry of a namespace or a yaml dictionary, or a method listed in `engine.urdf.xacro.size_limits`, which
also limits the size of numbers, texts and lists.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from engine.urdf.xacro.size_limits import FUNCTIONS, METHODS, OPERATORS, Function, Refused, check_form, check_size, fits

STEPS = 1_000_000
"""Maximum number of steps of one expression: each operand of each pass of a comprehension counts."""


class Evaluator:
    """Evaluator of expressions.

    Args:
        functions: permitted functions beyond `FUNCTIONS`, each with its replacement.
        namespaces: the mapping types whose entries are accessible by a dot, and only so.
        dictionaries: the dictionary types whose entries are also accessible by a dot.
    """

    def __init__(
        self, functions: Mapping[Any, Function], namespaces: tuple[type, ...] = (), dictionaries: tuple[type, ...] = ()
    ):
        callables = {
            **FUNCTIONS,
            **functions,
            map: lambda function, *values: [*map(self.allowed(function), *values)],
            filter: lambda function, values: [*filter(function and self.allowed(function), values)],
            **{choose: self._keyed(choose) for choose in (max, min, sorted)},
        }
        self._functions = {id(key): (key, value) for key, value in callables.items()}
        self.namespaces, self.dotted = namespaces, namespaces + dictionaries

    def add(self, functions: Iterable[Function]) -> None:
        """Permit these functions, without replacements."""
        self._functions.update({id(function): (function, function) for function in functions})

    def allowed(self, function: Any, name: str = "such a function") -> Function:
        """Return the replacement of a permitted function. Raises Refused for any other."""
        if id(function) not in self._functions:
            raise Refused(f"a call of {name}")
        return self._functions[id(function)][1]

    def _keyed(self, choose: Function) -> Function:
        def chosen(*args: Any, key: Any = None, **kwargs: Any) -> Any:
            return choose(*args, key=key and self.allowed(key), **kwargs)

        return chosen

    def __call__(self, text: str, symbols: Any) -> Any:
        """Return the value of an expression whose names are the keys of `symbols`.

        Raises:
            Refused: the expression needs something that is not permitted.
            Exception: whatever the arithmetic raises in Python, including SyntaxError and NameError.
        """
        fits(len(text))
        tree = ast.parse(text.strip(), "<expression>", "eval")
        return check_size(_Walk(self, symbols).value(tree.body))


class _Walk:
    """The evaluation of one expression."""

    def __init__(self, evaluator: Evaluator, symbols: Any):
        self.evaluator, self.symbols = evaluator, symbols
        self.local: list[dict[str, Any]] = []
        self.steps = 0

    def value(self, node: ast.AST) -> Any:
        self.steps += 1
        if self.steps > STEPS:
            raise Refused(f"more than {STEPS} steps")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Refused(f"{_NAMES.get(type(node).__name__, type(node).__name__)} ({_shown(node)})")
        return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, str | int | float | None):
            raise Refused(f"the constant {_shown(node)}")
        return check_size(node.value)

    def _name(self, node: ast.Name) -> Any:
        if node.id.startswith("__"):
            raise Refused(f"the name {node.id}")
        for scope in reversed(self.local):
            if node.id in scope:
                return scope[node.id]
        try:
            return self.symbols[node.id]
        except KeyError:
            raise NameError(f"name {node.id!r} is not defined") from None

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return OPERATORS[type(node.op)](self.value(node.operand))

    def _binop(self, node: ast.BinOp) -> Any:
        function = OPERATORS.get(type(node.op))
        if function is None:
            raise Refused(f"this operator ({_shown(node)})")
        result = function(self.value(node.left), self.value(node.right))
        if isinstance(result, int | str):
            check_size(result)
        return result

    def _boolop(self, node: ast.BoolOp) -> Any:
        result = None
        for operand in node.values:
            result = self.value(operand)
            if bool(result) == isinstance(node.op, ast.Or):
                break
        return result

    def _compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), True
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            result = OPERATORS[type(operation)](left, right)
            if not result:
                break
            left = right
        return result

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        elements: list[Any] = []
        for node in nodes:
            elements += self.value(node.value) if isinstance(node, ast.Starred) else [self.value(node)]
            fits(len(elements))
        return elements

    def _list(self, node: ast.List) -> Any:
        return self._elements(node.elts)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._elements(node.elts))

    def _set(self, node: ast.Set) -> Any:
        """In Python's order: from the first `*` on, each element is added before the next is evaluated."""
        first = next((i for i, element in enumerate(node.elts) if isinstance(element, ast.Starred)), len(node.elts))
        result = set(self._elements(node.elts[:first]))
        for element in node.elts[first:]:
            result.update(self._elements([element]))
            fits(len(result))
        return result

    def _dict(self, node: ast.Dict) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            result.update(self.value(value) if key is None else {self.value(key): self.value(value)})
        return result

    def _subscript(self, node: ast.Subscript) -> Any:
        holder = self.value(node.value)
        if not isinstance(holder, str | list | tuple | dict | range):
            raise Refused(f"an index into {_shown(node.value)}")
        return holder[self.value(node.slice)]

    def _slice(self, node: ast.Slice) -> Any:
        return slice(*(part and self.value(part) for part in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute) -> Any:
        holder: Any = self.value(node.value)
        if node.attr.startswith("__") or not isinstance(holder, self.evaluator.dotted):
            raise Refused(f"the attribute .{node.attr} ({_shown(node)})")
        return cast(Any, holder)[node.attr]

    def _method(self, node: ast.Attribute) -> Function:
        """Return the method that a dotted name before parentheses denotes."""
        holder = self.value(node.value)
        if not isinstance(holder, self.evaluator.namespaces):
            for kind, methods in METHODS.items():
                if isinstance(holder, kind) and node.attr in methods:
                    return functools.partial(methods[node.attr], holder)
        if node.attr.startswith("__") or not isinstance(holder, self.evaluator.dotted):
            raise Refused(f"the method .{node.attr} ({_shown(node)})")
        return self.evaluator.allowed(cast(Any, holder)[node.attr], _shown(node))

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            function = self._method(node.func)
        else:
            function = self.evaluator.allowed(self.value(node.func), _shown(node.func))
        args: list[Any] = self._elements(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            kwargs.update(value if keyword.arg is None else {keyword.arg: value})
        return check_size(function(*args, **kwargs))

    def _joinedstr(self, node: ast.JoinedStr) -> Any:
        return check_size("".join([str(self.value(part)) for part in node.values]))

    def _formattedvalue(self, node: ast.FormattedValue) -> Any:
        value = check_size(self.value(node.value))
        if node.conversion > 0:
            value = repr(value) if chr(node.conversion) == "r" else str(value)
        specification = self.value(node.format_spec) if node.format_spec else ""
        return format(value, check_form(specification, r"\d{4}"))

    def _passes(self, generators: list[ast.comprehension]) -> Iterator[None]:
        """Iterate over the elements that a comprehension's loops reach, with its names set."""
        if not generators:
            yield
            return
        loop = generators[0]
        for entry in self.value(loop.iter):
            self._bind(loop.target, entry)
            if all(self.value(test) for test in loop.ifs):
                yield from self._passes(generators[1:])

    def _bind(self, target: ast.AST, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.local[-1][target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for part, entry in zip(target.elts, list(value), strict=True):
                self._bind(part, entry)
        else:
            raise Refused(f"the loop variable {_shown(target)}")

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
        self.local.append({})
        try:
            return [self.value(node.elt) for _ in self._passes(node.generators)]
        finally:
            self.local.pop()

    _generatorexp = _listcomp

    def _setcomp(self, node: ast.SetComp) -> Any:
        return set(self._listcomp(node))

    def _dictcomp(self, node: ast.DictComp) -> Any:
        self.local.append({})
        try:
            return {self.value(node.key): self.value(node.value) for _ in self._passes(node.generators)}
        finally:
            self.local.pop()


_NAMES = {"Lambda": "a lambda", "NamedExpr": "an assignment", "Await": "await", "Yield": "yield"}


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}…"
