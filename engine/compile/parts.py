"""Machine code in parts: a kernel that stands apart is compiled once for all that call it, and loaded before them.

Threads have LLVM make the code of parts that have been written, while those that call them are being written. Parts
that few steps need are kept as they were written, and made when they are first called: their callers find them at a
place in memory, in which 0 stands until then.
"""

from __future__ import annotations

import ctypes
import gc
import json
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from engine.compile import cache, machine
from engine.compile.translate import MAKE, PLACE
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
    rare: str = ""
    """The style of a part that is made when it is first called; empty for all others."""
    pending: bool = False
    """The content is no object file yet, but intermediate code, compressed."""


_parts: dict[str, Code] = {}
_loaded: set[str] = set()
_places: dict[int, tuple[str, Any]] = {}
"""Where rare parts are, by the address of that: their names, and the memory itself."""
_THREADS = 3
"""That compile, beside the one that translates."""
_maker = OnePerProcess(lambda: ThreadPoolExecutor(_THREADS, "compiler"))
_under_way: OnePerProcess[dict[str, tuple[Code, Future[bytes]]]] = OnePerProcess(dict)
"""Codes without content, and that which is being made."""
_lock = OnePerProcess(threading.RLock)


@contextmanager
def compiling() -> Iterator[None]:
    """One thread at a time translates; meanwhile garbage is not collected, which took a quarter of that."""
    with _lock():
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def read(name: str) -> Code | None:
    """The code of that name that is kept or being made; None where it or a part that it calls is not there."""
    code, _ = _under_way().get(name, (_parts.get(name), None))
    if code is None and (entry := cache.read(name)) is not None:
        head, _, content = entry.partition(b"\n")
        parts, written, *others = json.loads(head)
        code = Code(content, tuple(parts), tuple(written), *others)
    if code is None or any(part not in _loaded and read(part) is None for part in code.parts):
        return None
    return code


def begun(name: str, unit: Any, style: machine.Style = machine.Style.LOOPS, **facts: Any) -> Code:
    """Of a unit that has been written, what must be known to call it. The code is kept on disk where there is room."""
    code = Code(b"", tuple(sorted(unit.parts)), **facts)
    _under_way()[name] = code, _maker().submit(_made, name, str(unit.module), style, code)
    return code


def deferred(name: str, unit: Any, style: machine.Style, **facts: Any) -> Code:
    """The same of a part that is made when it is first called."""
    content = zlib.compress(str(unit.module).encode(), 1)
    code = _parts[name] = Code(content, tuple(sorted(unit.parts)), **facts, rare=style.name, pending=True)
    _keep(name, code)
    return code


def _made(name: str, text: str, style: machine.Style, code: Code) -> bytes:
    content = machine.compiled(text, style)
    _keep(name, code._replace(content=content))
    return content


def _keep(name: str, code: Code) -> None:
    cache.write(name, json.dumps(code[1:]).encode() + b"\n" + code.content)


def _load(name: str) -> None:
    """Load a part, once in a process, and those that it calls; a rare one has its place."""
    if (code := read(name)) is None:
        raise FileNotFoundError(f"the code of {name} was removed while what calls it was being loaded")
    if code.rare:
        place = ctypes.c_void_p()
        _places[ctypes.addressof(place)] = name, place
        machine.add_symbol(name + PLACE, ctypes.addressof(place))
        machine.add_symbol(MAKE, ctypes.cast(_called_by_code, ctypes.c_void_p).value)
    else:
        address(name, code)
        code = code._replace(content=b"")
    _loaded.add(name)
    _parts[name] = code


def _make(at: int) -> None:
    """Have the rare part made whose place is in the memory there."""
    with compiling():
        name, place = _places[at]
        if place.value:  # another thread was first
            return
        code = _parts[name]
        if code.pending:
            done = code._replace(pending=False)
            text = zlib.decompress(code.content).decode()
            code = done._replace(content=_made(name, text, machine.Style[code.rare], done))
        place.value = address(name, code)
        _parts[name] = code._replace(content=b"")


_called_by_code = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_make)


def make_rare() -> None:
    """Have all rare parts made that loaded code may call, and those that these call."""
    made = 0
    while made < len(_places):
        _make(list(_places)[made])
        made += 1


def address(name: str, code: Code) -> int:
    """Where the function of that name is, loaded after the parts that it calls."""
    for part in code.parts:
        if part not in _loaded:
            _load(part)
    _, making = _under_way().pop(name, (code, None))
    return machine.address(making.result() if making else code.content, name)
