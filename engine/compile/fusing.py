"""Fusion of products and sums in kernels with loops on a processor, decided by their source, not by LLVM.

A sum or difference absorbs a product that has no other use, its first operand before its second: a product that is used
twice stays rounded once, so that equal terms cancel exactly. LLVM would make similar choices, but different ones at
each level of optimization, and in other contexts.
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
    """Whether the processor has a fused multiply-add: without one, each would be a function call."""
    x86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
    return not x86 or bool(llvm.get_host_cpu_features().get("fma", False))


def fuse(module: ir.Module) -> None:
    """Fuse products and sums in all functions of a module for this processor."""
    if _processor_fuses():
        for function in list(module.functions):
            _fuse(function)


def _fuse(function: ir.Function) -> None:
    uses, fused = _uses(function), set[int]()
    for block in function.blocks:
        for instruction in block.instructions:
            if instruction.opname in ("fadd", "fsub"):
                _fuse_product(instruction, uses, fused)
    for block in function.blocks if fused else ():
        block.instructions[:] = [instruction for instruction in block.instructions if id(instruction) not in fused]


def _uses(function: ir.Function) -> Counter[int]:
    """The number of uses of each value; a product that is written twice has both uses."""
    needed: list[int] = []
    products: dict[tuple[int, ...], list[Any]] = {}
    for block in function.blocks:
        for instruction in block.instructions:
            needed += map(id, instruction.operands)
            if instruction.opname == "phi":
                needed += [id(value) for value, _ in instruction.incomings]
            elif instruction.opname == "fmul":
                products.setdefault(tuple(sorted(map(id, instruction.operands))), []).append(instruction)
    uses = Counter(needed)
    for alike in products.values():
        if len(alike) > 1:
            uses.update(map(id, alike))
    return uses


def _fuse_product(total: Any, uses: Counter[int], fused: set[int]) -> None:
    """Fuse a sum or difference with a product that has no other use, if there is one."""
    x, y = total.operands
    subtracts = total.opname == "fsub"
    for product, other, negative in ((x, y, False), (y, x, subtracts)):
        absorbed = [product]
        if _is_own(product, "fneg", uses):
            (product,), negative = product.operands, not negative
            absorbed.append(product)
        if _is_own(product, "fmul", uses):
            fused.update(map(id, absorbed))
            total.become_fused(*product.operands, other, negative, subtracts and other is y)
            return


def _is_own(value: Any, opname: str, uses: Counter[int]) -> bool:
    return getattr(value, "opname", "") == opname and uses[id(value)] == 1
