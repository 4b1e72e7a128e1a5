"""The program keeps nothing that only tests use: each of its public names is used by the program or its examples."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "main.py", *(path for top in ("engine", "app", "docs") for path in (ROOT / top).rglob("*.py"))]
OVERRIDES = {"clone", "fixup", "get_field", "namespaced", "render_str", "validate"}
"""Methods that a library calls, beside Qt's: those are in camel case."""
WORD = re.compile(r"[A-Za-z_]\w*")


def _definitions(tree: ast.Module) -> Iterator[str]:
    """The public functions, classes, methods and constants of a module."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name] if isinstance(node, ast.ClassDef) or not re.search("[a-z][A-Z]", node.name) else []
        elif isinstance(node, ast.Assign) and node in tree.body:
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        yield from (name for name in names if not name.startswith("_") and name not in OVERRIDES)


def _uses(module: str, tree: ast.AST, inside: str = "") -> Iterator[tuple[str, str]]:
    """Uses outside a name's own definition, as (module of the name, name); the module of an attribute is ""."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id != inside:
            yield module, node.id
        elif isinstance(node, ast.Attribute):
            yield "", node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (("", word) for word in WORD.findall(node.value))
        own = isinstance(tree, ast.Module) and isinstance(node, ast.FunctionDef | ast.ClassDef)
        yield from _uses(module, node, node.name if own else inside)


def unused(sources: list[Path]) -> list[str]:
    """The public names that no module uses."""
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in sources)
    modules = {name: ast.parse(path.read_text("utf-8")) for name, path in zip(names, sources, strict=True)}
    used = {use for module, tree in modules.items() for use in _uses(module, tree)}
    return [
        f"{module}: {name}"
        for module, tree in modules.items() if module.startswith(("engine", "app"))
        for name in _definitions(tree) if not {("", name), (module, name)} & used
    ]  # fmt: skip


def test_the_program_uses_all_of_its_names() -> None:
    assert unused(SOURCES) == []
