"""Divide LLVM IR into parts that are compiled at the same time, and join their assembly for a GPU.

A part is a function that is called from several places, or the kernel, with all that it alone calls: these are inlined
into it either way, so that the code is the same as of one module but for what LLVM would infer about a called function.
"""

from __future__ import annotations

import re

_SMALL = 60
"""Lines of a function that is inlined wherever it is called."""
_NUMBERED = re.compile(r'@"(?!llvm\.)(\w+)\.(\d+)"')
_NAME = re.compile(r'^define [^@]*@"([^"]+)"')
_CALLED = re.compile(r'\bcall [^@\n]*@"([^"]+)"')
_HEAD = re.compile(r"^\.(?:version|target|address_size)\b.*\n", re.MULTILINE)
_DECLARED = re.compile(r"^(?:\.extern )?(\.func [^{;]*;)\n", re.MULTILINE)


def parts(code: str) -> list[str]:
    """The parts of LLVM IR, the longest first."""
    # LLVM makes valid names of PTX for functions of its own module only
    head, *texts = re.split(r"^(?=define )", _NUMBERED.sub(r'@"\1__\2"', code), flags=re.MULTILINE)
    divided = [_without_declarations(text) for text in texts]
    function, declared = {_name(text): text for text, _ in divided}, [rest for _, rest in divided]
    callers = [x for text in function.values() for x in _CALLED.findall(text)]
    calls = {name: function.keys() & set(_CALLED.findall(text)) for name, text in function.items()}
    first = next(iter(function))
    small = {x for x in function if x != first and function[x].count("\n") <= _SMALL}
    roots = [x for x in function if x == first or (callers.count(x) > 1 and x not in small)]
    found = []
    for root in roots:
        own, waiting = list[str](), [root]
        while waiting:
            name = waiting.pop()
            own.append(name)
            waiting += sorted(calls[name].difference(roots, own, waiting))
        bodies = [_define(function[x], x in roots, x in small) for x in own]
        others = [_declare(function[x]) for x in roots if x not in own and any(x in calls[y] for y in own)]
        found.append("\n".join((head, *declared, *others, *bodies)))
    return sorted(found, key=len, reverse=True)


def joined(assembly: list[str]) -> str:
    """The assembly of the parts as one module, in which only the kernel can be called from outside."""
    head = "".join(_HEAD.findall(assembly[0]))
    bodies = [_HEAD.sub("", text).replace(".visible .func", ".func") for text in assembly]
    declared = dict.fromkeys(x for body in bodies for x in _DECLARED.findall(body))
    return "\n".join((head, *declared, *(_DECLARED.sub("", body) for body in bodies)))


def _without_declarations(text: str) -> tuple[str, str]:
    """A function's text, and the declarations behind it."""
    end = text.index("\n}") + 2
    return text[:end], text[end:].strip()


def _name(text: str) -> str:
    match = _NAME.match(text)
    assert match is not None
    return match[1]


def _define(text: str, shared: bool, small: bool) -> str:
    head, line, body = text.partition("\n")
    if shared:
        head = head.replace("define internal", "define", 1)
    return (f"{head} alwaysinline" if small else head) + line + body


def _declare(text: str) -> str:
    head = text.partition("\n")[0].replace("define internal", "declare", 1)
    return re.sub(r' %"[^"]+"(?=[,)])', "", head)
