"""Evaluate xacro expressions in a file not named .xacro, if plain substitution suffices.

Supported: arithmetic and mathematical functions of the values of ``<xacro:property>``, and ``$(arg …)``, ``$(env …)``,
``$(optenv …)`` and ``$(find …)``. Anything that needs xacro itself is an error at its line.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator

from engine.urdf.markup import Document, Element, tag_of
from engine.urdf.xacro.expressions import Evaluator
from engine.urdf.xacro.size_limits import Refused

MAX_EXPRESSION = 200
"""Maximum number of characters of an expression."""
MAX_VALUE = 10_000
"""Maximum number of characters of a value, which stops properties that double each other."""
MAX_EXPRESSIONS = 10_000
"""Maximum number of expressions of one file."""

FIX = "name the file .urdf.xacro, or expand it first"

_PLACE = re.compile(r"\$\{([^{}]*)\}|\$\(([^()]*)\)")
_PLAIN = re.compile(r"[\w\s.+\-*/%(),<>=!]*")
_READ = ("link", "joint", "material")
_NUMBER = (int, float)

Value = str | int | float


def substitute(document: Document, root: Element) -> None:
    """Write the value of each expression into the tree, with a warning; an expression without a value is an error."""
    substitution = Substitution()
    for element in _elements(root):
        tag = tag_of(element)
        if tag.startswith("xacro:"):
            if not substitution.define(tag.removeprefix("xacro:"), element):
                document.error(element, "needs xacro itself", FIX)
            continue
        for name, text in element.attrib.items():
            if "${" not in text and "$(" not in text:
                continue
            came = f'{name}="{text}" is an expression of xacro'
            try:
                value = substitution.text(text)
                element.set(name, value)
            except Exception as problem:  # a file's arithmetic may raise anything
                document.error(element, f"{came}: {problem}", FIX)
                document.unread.add((element, name))
                continue
            repair = document.write(element, **{name: value})
            document.warning(element, came, f'read as {value}; write {name}="{value}"', repair)


def _elements(root: Element) -> Iterator[Element]:
    """Return all xacro elements, and the robot's that are read, in text order; the root element is last."""
    for child in root.iterchildren("*"):
        if child.tag in _READ:
            yield from child.iter("*")
        elif tag_of(child).startswith("xacro:"):
            yield child
    yield root


class Substitution:
    """The values that a file has defined up to the current element."""

    def __init__(self) -> None:
        self._evaluate = Evaluator({})
        self._names: dict[str, object] = {name: value for name, value in vars(math).items() if not name.startswith("_")}
        self._arguments: dict[str, str] = {}
        self._left = MAX_EXPRESSIONS

    def define(self, tag: str, element: Element) -> bool:
        """Define a property or an argument; return False if it is not a plain one."""
        wanted = {"property": {"name", "value"}, "arg": {"name", "default"}}.get(tag)
        if wanted is None or set(element.attrib) != wanted or len(element):
            return False
        name, text = element.get("name"), element.get("value", element.get("default"))
        try:
            value = self._value(text)
        except Exception:  # reported only if the value is used
            return True
        if tag == "arg":
            self._arguments[name] = str(value)
        else:
            self._names[name] = _literal(value) if isinstance(value, str) else value
        return True

    def text(self, text: str) -> str:
        """Return a text with its expressions evaluated. Raises Refused, or any exception of the arithmetic."""
        return str(self._value(text))

    def _value(self, text: str) -> Value:
        match = _PLACE.fullmatch(text)
        if match:
            return self._worked_out(*match.groups())
        value = _PLACE.sub(lambda match: str(self._worked_out(*match.groups())), text)
        if "${" in value or "$(" in value:
            raise Refused("it is not closed, or one is inside another")
        if len(value) > MAX_VALUE:
            raise Refused("its value is too long")
        return value

    def _worked_out(self, expression: str | None, command: str | None) -> Value:
        self._left -= 1
        if self._left < 0:
            raise Refused(f"there are more than {MAX_EXPRESSIONS} expressions")
        if expression is None:
            return self._commanded(command or "")
        if len(expression) > MAX_EXPRESSION or not _PLAIN.fullmatch(expression):
            raise Refused("it is more than arithmetic")
        value = self._evaluate(expression, self._names)
        if not isinstance(value, str | int | float):
            raise Refused("it is neither a number nor a name")
        return value

    def _commanded(self, command: str) -> str:
        """Return the value of `$(…)`, with roslaunch's rules."""
        word, _, rest = command.strip().partition(" ")
        name, _, default = rest.strip().partition(" ")
        if word == "optenv" and name:
            return os.environ.get(name, default.strip())
        if word == "env" and name in os.environ:
            return os.environ[name]
        if word == "arg" and name in self._arguments:
            return self._arguments[name]
        if word == "find" and name and not default:
            return f"package://{name}"
        raise Refused(f"$({command}) has no value here")


def _literal(text: str) -> Value:
    """Return a property's text as a number, if it is one."""
    for number in _NUMBER:
        try:
            return number(text)
        except ValueError:
            continue
    return text
