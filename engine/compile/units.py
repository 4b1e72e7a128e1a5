"""The module that kernels are written into: its functions, and functions in separate parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from engine.compile import arithmetic
from engine.compile.builder import Builder
from engine.compile.fusing import fuse
from engine.compile.statements import Frame
from engine.compile.values import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    SHORT,
    Array,
    Record,
    argument_leaves,
    arguments_from_leaves,
    kind,
    materialised,
    shared_places,
)

VOID = ir.VoidType()
MAKE, PLACE = "catena_make", "_place"
"""The function that machine code calls to compile a rare part, and the suffix of a part's pointer."""
_RETURN_TYPES: dict[str, ir.Type] = {str(type_): type_ for type_ in (VOID, INT, SHORT, BOOL, DOUBLE, FLOAT)}


class Unit:
    """The module being written, with its functions by kernel and kind of arguments.

    `whole`: separate kernels are part of it as well.
    """

    def __init__(self, name: str, whole: bool = False):
        self.module, self.whole = ir.Module(name), whole
        self.functions: dict[Any, Emitted] = {}
        self.parts: set[str] = set()

    def function(self, kernel: Any, arguments: list[Any]) -> Emitted:
        """A kernel as a function for arguments like these."""
        key = kernel.function, tuple(map(kind, arguments)), shared_places(arguments)
        if key not in self.functions:
            make = SeparateKernel if kernel.separate and not self.whole else Emitted
            self.functions[key] = make(self, kernel if make is SeparateKernel else kernel.function, arguments)
        return self.functions[key]

    def written(self) -> str:
        """Return the module's text and empty it: its cyclic references would be freed late."""
        fuse(self.module)
        text = str(self.module)
        self.functions.clear()
        for function in self.module.functions:
            for block in function.blocks:
                block.instructions.clear()
                block.terminator = None
            function.blocks.clear()
            function.args = ()
        self.module.globals.clear()
        return text


class Emitted:
    """An LLVM function: it takes the leaves of its arguments, and returns a number or nothing."""

    def __init__(self, unit: Unit, function: Callable[..., Any], arguments: list[Any], name: str = ""):
        self.unit, self.written = unit, set[int]()
        type_ = ir.FunctionType(VOID, [leaf.type for leaf in argument_leaves(arguments)])
        self.llvm = ir.Function(unit.module, type_, name or unit.module.get_unique_name(function.__name__))
        self.llvm.linkage = "external" if name else "internal"
        self.llvm.attributes.add("nounwind")
        parameters = arguments_from_leaves(arguments, self.llvm.args)
        builder = Builder(self.llvm.append_basic_block("entry"))
        frame = Frame(self, builder, function, parameters)
        result = frame.run()
        if not frame.builder.block.is_terminated:
            self.emit_return(frame.builder, result)

    def emit_return(self, builder: Builder, value: Any) -> None:
        """Return a value; the first one determines the type."""
        if value is None:
            builder.ret_void()
            return
        value = materialised(value)
        if self.llvm.ftype.return_type == VOID:
            self.llvm.ftype.return_type = value.type
            self.llvm.return_value = ir.ReturnValue(self.llvm, value.type)
        builder.ret(arithmetic.converted(builder, value, self.llvm.ftype.return_type))

    def call(self, builder: Builder, caller: Emitted, arguments: list[Any]) -> Any:
        """Call it, and mark the caller's arrays that it writes to."""
        for index in self.written:
            caller.touch(arguments[index])
        result = builder.call(self.llvm, argument_leaves(arguments))
        return None if self.llvm.ftype.return_type == VOID else result

    def touch(self, value: Any) -> None:
        """Mark a value's arrays as written to."""
        if isinstance(value, Array):
            self.written |= value.owners
        elif isinstance(value, Record):
            for item in value.items:
                self.touch(item)


class SeparateKernel(Emitted):
    """A separate kernel, whose code is in another object file."""

    def __init__(self, unit: Unit, kernel: Any, arguments: list[Any]):
        name, code = kernel.part(arguments)
        unit.parts.add(name)
        self.unit, self.written = unit, set(code.written)
        types = [leaf.type for leaf in argument_leaves(arguments)]
        self.llvm = ir.Function(unit.module, ir.FunctionType(_RETURN_TYPES[code.result], types), name)
        self.llvm.attributes.add("nounwind")
        if code.rare:
            self._call_by_place()

    def _call_by_place(self) -> None:
        """Write the function as a call of the part through its pointer, which compiles it if the pointer is 0."""
        module, type_ = self.unit.module, self.llvm.ftype
        pointer = ir.GlobalVariable(module, type_.as_pointer(), self.llvm.name + PLACE)
        if MAKE not in module.globals:
            ir.Function(module, ir.FunctionType(VOID, [ir.IntType(8).as_pointer()]), MAKE)
        self.llvm.linkage = "internal"
        self.llvm.attributes.add("noinline")
        builder = Builder(self.llvm.append_basic_block("entry"))
        check, compile_, call_part = (self.llvm.append_basic_block(name) for name in ("look", "make", "go"))
        builder.branch(check)
        builder.position_at_end(check)
        part = builder.load_atomic(pointer, "acquire", 8)
        builder.cbranch(builder.icmp_unsigned("==", part, ir.Constant(part.type, None)), compile_, call_part)
        builder.position_at_end(compile_)
        builder.call(module.globals[MAKE], [builder.bitcast(pointer, ir.IntType(8).as_pointer())])
        builder.branch(check)
        builder.position_at_end(call_part)
        result = builder.call(part, self.llvm.args)
        if type_.return_type == VOID:
            builder.ret_void()
        else:
            builder.ret(result)
