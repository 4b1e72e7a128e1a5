"""Machine code in parts: a separate kernel is compiled once for all its callers, and loaded before them.

All code is compiled twice: quickly, by threads, while its callers are being translated, so that it can run at once; and
optimised, by `background`. Optimised code replaces it once all code that it calls is there, also in the middle of a
run, since both have the same bits. Rare parts are kept as LLVM IR and compiled on their first call: callers find them
through a pointer in memory, 0 until then.
"""

from __future__ import annotations

import ctypes
import gc
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from engine.compile import background, cache, machine
from engine.compile.units import MAKE, PLACE
from engine.per_process import OnePerProcess

SetAddress = Callable[[int], None]
"""Takes the address of code, and later the address of its optimised version."""


class Code(NamedTuple):
    """An object file, and the facts that callers need."""

    content: bytes
    """Empty while it is being compiled, once it is loaded, and of a rare part before its first call."""
    parts: tuple[str, ...] = ()
    """The names of the parts that it calls."""
    written: tuple[int, ...] = ()
    """The indices of its arguments that it writes to."""
    result: str = "void"
    """LLVM's type of its result."""
    style: str = machine.Style.LOOPS.name
    rare: bool = False
    """It is compiled on its first call."""
    text: bytes = b""
    """Its compressed LLVM IR, until the optimised version exists."""


@dataclass
class _Slow:
    """Quickly compiled code that runs, and the function that takes the optimised code's address."""

    name: str
    code: Code
    set_address: SetAddress


_codes: dict[str, Code] = {}
"""Parts that are loaded, or stored as LLVM IR."""
_loaded: dict[bool, set[str]] = {False: set(), True: set()}
"""Parts loaded beside quickly compiled code, and beside optimised code."""
_pointers: dict[int, tuple[str, Any]] = {}
"""Rare parts by their pointer's address: their names, and the pointer itself."""
_slow: list[_Slow] = []
_THREADS = 3
"""Threads that compile, beside the one that translates."""
_maker = OnePerProcess(lambda: ThreadPoolExecutor(_THREADS, "compiler"))
_under_way: OnePerProcess[dict[str, tuple[Code, Future[Code]]]] = OnePerProcess(dict)
"""Codes without content, and their compilations."""
_lock = OnePerProcess(threading.RLock)


@contextmanager
def compiling() -> Iterator[None]:
    """Translate in one thread at a time, without garbage collection, which took a quarter of the time."""
    with _lock():
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def _on_disk(name: str) -> Code | None:
    if (entry := cache.read(name)) is None:
        return None
    head, _, rest = entry.partition(b"\n")
    parts, written, result, style, rare, size = json.loads(head)
    return Code(rest[size:], tuple(parts), tuple(written), result, style, rare, rest[:size])


def _code_of(name: str) -> Code | None:
    code, _ = _under_way().get(name, (_codes.get(name), None))
    return _on_disk(name) if code is None else code


def read(name: str) -> Code | None:
    """The code of that name, stored or being compiled; None where it or a part that it calls is missing."""
    code = _code_of(name)
    if code is None or any(not _is_loaded(part) and read(part) is None for part in code.parts):
        return None
    return code


def _is_loaded(name: str) -> bool:
    return name in _loaded[True] or name in _loaded[False]


def begin(name: str, unit: Any, style: machine.Style = machine.Style.LOOPS, **facts: Any) -> Code:
    """Begin to compile a unit, and return its code. It is cached on disk where there is room."""
    text = unit.written()
    code = Code(b"", tuple(sorted(unit.parts)), **facts, style=style.name, text=_compressed(text))
    _under_way()[name] = code, _maker().submit(_made, name, text, code)
    return code


def defer(name: str, unit: Any, style: machine.Style, **facts: Any) -> Code:
    """Return the code of a part that is compiled on its first call."""
    text = _compressed(unit.written())
    code = _codes[name] = Code(b"", tuple(sorted(unit.parts)), **facts, style=style.name, rare=True, text=text)
    _store(name, code)
    return code


def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode(), 1)


def _made(name: str, text: str, code: Code) -> Code:
    """The code, compiled quickly; optimised at once where no background process can be started."""
    if background.POSSIBLE:
        done = code._replace(content=machine.compiled(text, machine.Style.QUICK))
    else:
        done = code._replace(content=machine.compiled(text, machine.Style[code.style]), text=b"")
    _store(name, done)
    return done


def _store(name: str, code: Code) -> None:
    head = json.dumps([*code[1:-1], len(code.text)]).encode()
    cache.write(name, head + b"\n" + code.text + code.content)


def _called(code: Code) -> Iterator[str]:
    """The parts that it calls by name; rare ones are called through pointers."""
    return (part for part in code.parts if not _codes[part].rare)


def _is_fast(code: Code) -> bool:
    """Whether the code and all that it calls is optimised."""
    return not code.text and all(_is_fast(_codes[part]) for part in _called(code))


def _prepared(name: str) -> Code:
    """The code, with the parts that it calls loaded, and rare ones with pointers."""
    code, making = _under_way().pop(name, (_code_of(name), None))
    if code is None:
        raise FileNotFoundError(f"the code of {name} was removed while what calls it was being loaded")
    code = making.result() if making else code
    for part in code.parts:
        if not _is_loaded(part):
            _codes[part] = part_code = _prepared(part)
            if part_code.rare:
                _make_pointer(part)
            else:
                _load_part(part, _is_fast(part_code))
    return code


def _make_pointer(name: str) -> None:
    pointer = ctypes.c_void_p()
    _pointers[ctypes.addressof(pointer)] = name, pointer
    machine.add_symbol(name + PLACE, ctypes.addressof(pointer))
    machine.add_symbol(MAKE, ctypes.cast(_called_by_code, ctypes.c_void_p).value)
    for loaded in _loaded.values():
        loaded.add(name)


def _load_part(name: str, fast: bool) -> None:
    """Load a part beside optimised code, which calls only optimised parts, or beside quick code, which calls both
    kinds."""
    address = _load(name, _codes[name], fast)
    _loaded[fast].add(name)
    if fast:
        machine.add_symbol(name, address)
        _codes[name] = _codes[name]._replace(content=b"")


def _load(name: str, code: Code, fast: bool) -> int:
    """Load code after the parts that it calls; return its address."""
    for part in _called(code):
        if part not in _loaded[fast] and (fast or part not in _loaded[True]):
            _load_part(part, fast)
    return machine.address(code.content, name, fast)


def load(name: str, set_address: SetAddress) -> None:
    """Pass to `set_address` the address of a function that was read or begun: now, and again once it is optimised."""
    code = _prepared(name)
    fast = _is_fast(code)
    set_address(_load(name, code, fast))
    if not fast:
        _slow.append(_Slow(name, code, set_address))
        background.request(_unoptimised, _store_optimised)


def finish() -> None:
    """Wait until all loaded code is optimised. Raises RuntimeError with the reason where it cannot be."""
    if _slow:
        background.finish(_unoptimised, _store_optimised)


def _unoptimised() -> dict[str, tuple[bytes, str]]:
    """The IR and style of running code and the code that it calls, unless an optimised version is on disk by now."""
    with _lock():
        unoptimised = {slow.name: slow.code for slow in _slow}
        pending = [part for code in unoptimised.values() for part in _called(code)]
        while pending:
            name = pending.pop()
            if name not in unoptimised:
                unoptimised[name] = _codes[name]
                pending += _called(_codes[name])
        for name, code in list(unoptimised.items()):
            if not code.text:
                del unoptimised[name]
            elif (stored := _on_disk(name)) is not None and stored.content and not stored.text:  # by another process
                del unoptimised[name]
                _use_optimised(name, stored.content)
        return {name: (code.text, code.style) for name, code in unoptimised.items()}


def _store_optimised(name: str, content: bytes) -> None:
    """Run optimised code once everything that it calls is optimised, and store it in place of the quickly compiled
    one."""
    with _lock():
        for code in _use_optimised(name, content)[:1]:
            if cache.read(name) is not None:
                _store(name, code)


def _use_optimised(name: str, content: bytes) -> list[Code]:
    """Replace the part and the loaded code of that name by optimised code; return what was replaced."""
    updated: list[Code] = []
    if name in _codes:
        _codes[name] = _codes[name]._replace(content=content, text=b"")
        updated.append(_codes[name])
    for slow in _slow:
        if slow.name == name:
            slow.code = slow.code._replace(content=content, text=b"")
            updated.append(slow.code)
    for slow in [each for each in _slow if _is_fast(each.code)]:
        _slow.remove(slow)
        slow.set_address(_load(slow.name, slow.code, True))
    return updated


def _make(address: int) -> None:
    """Compile the rare part whose pointer is at that address."""
    with compiling():
        name, pointer = _pointers[address]
        if pointer.value:  # another thread was first
            return
        if not _codes[name].content:
            _codes[name] = _made(name, zlib.decompress(_codes[name].text).decode(), _codes[name])
        load(name, partial(setattr, pointer, "value"))


_called_by_code = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_make)


def make_rare() -> None:
    """Compile all rare parts that loaded code may call, directly or through other rare parts."""
    made = 0
    while made < len(_pointers):
        _make(list(_pointers)[made])
        made += 1
