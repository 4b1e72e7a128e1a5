"""Walk the statements of a source, which are a tenth of its nodes."""

import ast
from collections.abc import Iterator

BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it, without the expressions that these are made of."""
    yield node
    for name in BODIES:
        for each in getattr(node, name, ()):
            yield from statements(each)
