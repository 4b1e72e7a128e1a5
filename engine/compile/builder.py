"""The most frequent LLVM instructions, written as text at once: llvmlite's own take three times as long.

A value here has its text from the start; rare instructions are llvmlite's. Values are named by numbers within the
function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from engine.compile.values import BOOL, written_out

_ON_GPU = ("contract", "nsz")
"""The driver's assembler may fuse a·b + c and ignore the sign of zero; it does not reorder, and NaN is kept."""
_VOID = ir.VoidType()
_SIGNED = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
_ORDERED = {"==": "oeq", "!=": "one", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_NO_METADATA: dict[str, Any] = {}


class Instruction(ir.Instruction):  # type: ignore[misc]
    """An instruction with known text."""

    flags: Any = ()
    metadata = _NO_METADATA

    def __init__(self, block: ir.Block, type_: ir.Type, opname: str, operands: Any, reference: str, text: str):
        self.parent, self.type, self.opname, self.operands = block, type_, opname, operands
        self._name, self._reference, self._text = reference[1:], reference, text

    def become_fused(self, x: Any, y: Any, z: Any, negative: bool, subtracted: bool) -> None:
        """Become ±x y ± z, rounded once."""
        operands_, lines, type_ = [x.get_reference(), y.get_reference(), z.get_reference()], list[str](), self.type
        for index in [0] * negative + [2] * subtracted:
            name = f"{self._reference}.{index}"
            lines.append(f"{name} = fneg {type_} {operands_[index]}\n  ")
            operands_[index] = name
        numbers = ", ".join(f"{type_} {each}" for each in operands_)
        self.opname, self.operands = "call", (x, y, z)
        self._text = f"{''.join(lines)}{self._reference} = call {type_} {_fma(self.module, type_)}({numbers})"

    def get_reference(self) -> str:
        return self._reference

    def __str__(self) -> str:
        return self._text


def intrinsic(module: ir.Module, name: str, type_: ir.Type, count: int) -> Any:
    """Declare an LLVM function of `count` numbers of one type, or of vectors of it."""
    one, lanes = (type_.element, f"v{type_.count}") if isinstance(type_, ir.VectorType) else (type_, "")
    name = f"{name}.{lanes}{one.intrinsic_name}"
    if name not in module.globals:
        ir.Function(module, ir.FunctionType(type_, [type_] * count), name)
    return module.globals[name]


def _fma(module: ir.Module, type_: ir.Type) -> str:
    return str(intrinsic(module, "llvm.fma", type_, 3).get_reference())


def _operator(opname: str) -> Any:
    def written(self: Builder, lhs: Any, rhs: Any, flags: Sequence[str] = ()) -> Instruction:
        return self._binary(opname, lhs, rhs, flags)

    return written


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """The only builder of a function."""

    def __init__(self, block: ir.Block):
        super().__init__(block)
        self._written = 0
        self.on_gpu = block.module.triple.startswith("nvptx")
        """Whether the code is for a GPU."""
        self.flags = (_ON_GPU[1:] if written_out() else _ON_GPU) if self.on_gpu else ()
        """LLVM's freedom with reals: none on a processor, where all its levels have the same bits."""

    def _new(self, type_: ir.Type, opname: str, operands: Any, text: str) -> Instruction:
        self._written += 1
        reference = f"%v{self._written}"
        value = Instruction(self._block, type_, opname, operands, reference, f"{reference} = {text}")
        self._block.instructions.insert(self._anchor, value)
        self._anchor += 1
        return value

    def _binary(self, opname: str, x: Any, y: Any, flags: Sequence[str]) -> Instruction:
        type_ = x.type
        if type_ is not y.type and type_ != y.type:
            raise ValueError(f"{opname} of {type_} and {y.type}")
        how = " ".join((opname, *flags)) if flags else opname
        return self._new(type_, opname, (x, y), f"{how} {type_} {x.get_reference()}, {y.get_reference()}")

    fadd, fsub, fmul, fdiv = map(_operator, ("fadd", "fsub", "fmul", "fdiv"))
    add, sub, mul = map(_operator, ("add", "sub", "mul"))

    def neg(self, arg: Any) -> Instruction:
        return self._binary("sub", ir.Constant(arg.type, 0), arg, ())

    def fneg(self, arg: Any, flags: Sequence[str] = ()) -> Instruction:
        how = " ".join(("fneg", *flags))
        return self._new(arg.type, "fneg", (arg,), f"{how} {arg.type} {arg.get_reference()}")

    def icmp_signed(self, cmpop: str, lhs: Any, rhs: Any) -> Any:
        return self._compared("icmp", _SIGNED[cmpop], lhs, rhs) or super().icmp_signed(cmpop, lhs, rhs)

    def fcmp_ordered(self, cmpop: str, lhs: Any, rhs: Any) -> Any:
        if cmpop not in _ORDERED:
            return super().fcmp_ordered(cmpop, lhs, rhs)
        return self._compared("fcmp", _ORDERED[cmpop], lhs, rhs) or super().fcmp_ordered(cmpop, lhs, rhs)

    def _compared(self, opname: str, how: str, x: Any, y: Any) -> Instruction | None:
        """The comparison of two numbers; None for vectors."""
        if isinstance(x.type, ir.VectorType) or x.type != y.type:
            return None
        return self._new(BOOL, opname, (x, y), f"{opname} {how} {x.type} {x.get_reference()}, {y.get_reference()}")

    def alloca(self, typ: Any, size: Any = None) -> Any:
        if size is not None:
            return super().alloca(typ, size)
        return self._new(typ.as_pointer(), "alloca", (), f"alloca {typ}")

    def load(self, ptr: Any, align: int | None = None) -> Instruction:
        type_ = ptr.type.pointee
        aligned = f", align {align}" if align is not None else ""
        return self._new(type_, "load", (ptr,), f"load {type_}, {ptr.type} {ptr.get_reference()}{aligned}")

    def store(self, value: Any, ptr: Any, align: int | None = None) -> Instruction:
        type_ = value.type
        if ptr.type.pointee is not type_ and ptr.type.pointee != type_:
            raise TypeError(f"a number of type {type_} into memory of {ptr.type.pointee}")
        aligned = f", align {align}" if align is not None else ""
        text = f"store {type_} {value.get_reference()}, {ptr.type} {ptr.get_reference()}{aligned}"
        instruction = Instruction(self._block, _VOID, "store", (value, ptr), "%", text)
        self._block.instructions.insert(self._anchor, instruction)
        self._anchor += 1
        return instruction

    def gep(self, ptr: Any, indices: Sequence[Any]) -> Any:
        type_, (index,) = ptr.type, indices
        text = f"getelementptr {type_.pointee}, {type_} {ptr.get_reference()}, {index.type} {index.get_reference()}"
        return self._new(type_, "getelementptr", (ptr, index), text)

    def intrinsic(self, function: Any, arguments: Sequence[Any]) -> Instruction:
        """Call an LLVM function of numbers."""
        type_ = function.ftype.return_type
        operands_ = ", ".join(f"{x.type} {x.get_reference()}" for x in arguments)
        return self._new(type_, "call", arguments, f"call {type_} {function.get_reference()}({operands_})")
