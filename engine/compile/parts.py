"""Machine code in parts: a kernel that stands apart is compiled once for all that call it, and loaded before them.

A thread has LLVM make the code of parts that have been written, while those that call them are being written.
"""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from engine.compile import cache, machine
from engine.process import OnePerProcess


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
_maker = OnePerProcess(lambda: ThreadPoolExecutor(1, "compiler"))
_under_way: OnePerProcess[dict[str, tuple[Code, Future[bytes]]]] = OnePerProcess(dict)
"""Codes without content, and that which is being made."""


def read(name: str) -> Code | None:
    """The code of that name that is kept or being made; None where it or a part that it calls is not there."""
    code, _ = _under_way().get(name, (_parts.get(name), None))
    if code is None and (entry := cache.read(name)) is not None:
        head, _, content = entry.partition(b"\n")
        parts, written, answer = json.loads(head)
        code = Code(content, tuple(parts), tuple(written), answer)
    if code is None or any(part not in _loaded and read(part) is None for part in code.parts):
        return None
    return code


def begun(name: str, unit: Any, style: machine.Style = machine.Style.LOOPS, **facts: Any) -> Code:
    """Of a unit that has been written, what must be known to call it. The code is kept on disk where there is room."""
    code = Code(b"", tuple(sorted(unit.parts)), **facts)
    _under_way()[name] = code, _maker().submit(_made, name, str(unit.module), style, code)
    return code


def _made(name: str, text: str, style: machine.Style, code: Code) -> bytes:
    content = machine.compiled(text, style)
    cache.write(name, json.dumps([code.parts, code.written, code.answer]).encode() + b"\n" + content)
    return content


def _load(name: str) -> None:
    """Load a part, once in a process, and those that it calls."""
    if (code := read(name)) is None:
        raise FileNotFoundError(f"the code of {name} was removed while what calls it was being loaded")
    address(name, code)
    _loaded.add(name)
    _parts[name] = code._replace(content=b"")


def address(name: str, code: Code) -> int:
    """Where the function of that name is, loaded after the parts that it calls."""
    for part in code.parts:
        if part not in _loaded:
            _load(part)
    _, making = _under_way().pop(name, (code, None))
    return machine.address(making.result() if making else code.content, name)
