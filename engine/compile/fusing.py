"""Which products and sums of a kernel with loops are fused on a processor: the text says it, not LLVM.

A sum or difference takes in a product that nothing else needs, its first one before its second: what is needed twice
stays rounded once, so that what should cancel does. LLVM would choose much alike by itself, but in another way at each
level of optimization, and beside other code.
"""

from __future__ import annotations

import platform
from collections import Counter
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir


@cache
def _processor_fuses() -> bool:
    """Whether the processor has a fused multiply-add: without one, each would be a call."""
    x86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
    return not x86 or bool(llvm.get_host_cpu_features().get("fma", False))


def fuse(module: ir.Module) -> None:
    """Write products and sums as fused ones, in all functions of a module for this processor."""
    if _processor_fuses():
        for function in list(module.functions):
            _fuse(function)


def _fuse(function: ir.Function) -> None:
    uses, gone = _uses(function), set[int]()
    for block in function.blocks:
        for each in block.instructions:
            if each.opname in ("fadd", "fsub"):
                _take_in(each, uses, gone)
    for block in function.blocks if gone else ():
        block.instructions[:] = [each for each in block.instructions if id(each) not in gone]


def _uses(function: ir.Function) -> Counter[int]:
    """How often each value is needed; a product that is written twice is needed by both."""
    needed: list[int] = []
    products: dict[tuple[int, ...], list[Any]] = {}
    for block in function.blocks:
        for each in block.instructions:
            needed += map(id, each.operands)
            if each.opname == "phi":
                needed += [id(value) for value, _ in each.incomings]
            elif each.opname == "fmul":
                products.setdefault(tuple(sorted(map(id, each.operands))), []).append(each)
    uses = Counter(needed)
    for alike in products.values():
        if len(alike) > 1:
            uses.update(map(id, alike))
    return uses


def _take_in(total: Any, uses: Counter[int], gone: set[int]) -> None:
    """Write a sum or difference as a fused one, if it has a product for itself."""
    x, y = total.operands
    subtracts = total.opname == "fsub"
    for product, other, negative in ((x, y, False), (y, x, subtracts)):
        taken = [product]
        if _is_own(product, "fneg", uses):
            (product,), negative = product.operands, not negative
            taken.append(product)
        if _is_own(product, "fmul", uses):
            gone.update(map(id, taken))
            total.become_fused(*product.operands, other, negative, subtracts and other is y)
            return


def _is_own(value: Any, opname: str, uses: Counter[int]) -> bool:
    return getattr(value, "opname", "") == opname and uses[id(value)] == 1
