"""Machine code in parts: a kernel that stands apart is compiled once for all that call it, and loaded before them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from engine.compile import cache, machine


class Code(NamedTuple):
    """An object file, and what must be known of it to call what it holds."""

    content: bytes
    parts: tuple[str, ...] = ()
    """The names of the parts that it calls."""
    written: tuple[int, ...] = ()
    """The places among its arguments of those that it writes to."""
    answer: str = "void"
    """LLVM's type of what it returns."""


_parts: dict[str, Code] = {}
_loaded: set[str] = set()


def read(name: str) -> Code | None:
    """The code of that name that is kept; None where it or a part that it calls is not there."""
    code = _parts.get(name)
    if code is None and (entry := cache.read(name)) is not None:
        head, _, content = entry.partition(b"\n")
        parts, written, answer = json.loads(head)
        code = Code(content, tuple(parts), tuple(written), answer)
    if code is None or any(part not in _loaded and read(part) is None for part in code.parts):
        return None
    return code


def made(name: str, unit: Any, straight: bool = False, **facts: Any) -> Code:
    """The code of a unit that has been written, kept on disk where there is room; `straight` as `machine.compiled`."""
    code = Code(machine.compiled(str(unit.module), straight), tuple(sorted(unit.parts)), **facts)
    cache.write(name, json.dumps([code.parts, code.written, code.answer]).encode() + b"\n" + code.content)
    return code


def load(name: str, code: Code) -> None:
    """Load a part, once in a process, and those that it calls."""
    if name not in _loaded:
        address(name, code)
        _loaded.add(name)
        _parts[name] = code._replace(content=b"")


def address(name: str, code: Code) -> int:
    """Where the function of that name is, loaded after the parts that it calls."""
    for part in code.parts:
        if part not in _loaded:
            found = read(part)
            if found is None:
                raise FileNotFoundError(f"the code of {part} was removed while {name} was being loaded")
            load(part, found)
    return machine.address(code.content, name)
