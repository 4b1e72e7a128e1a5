"""The entry to a kernel from Python: a function that reads its argument objects, releases the GIL and calls the kernel.

The required type of an argument is its *sort*: ("array", NumPy's dtype, dimensions), "int64", "float64", "bool",
("text", the text), ("lanes", length) for a tuple of zeros, ("tuple", names, sorts). For an argument of another sort the
result is NotImplemented, and nothing runs. Offsets in objects are those of CPython's and NumPy's binary interface,
which NumPy keeps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from llvmlite import ir

from engine.compile.builder import Builder
from engine.compile.units import Emitted, Unit
from engine.compile.values import BOOL, DOUBLE, ELEMENTS, FLOAT, INT, Array, Record, of_python, real, writing_out

BYTE, SHORT = ir.IntType(8), ir.IntType(32)
POINTER = BYTE.as_pointer()
PYTHON = {
    "PyTuple_Size": (INT, (POINTER,)), "PyTuple_GetItem": (POINTER, (POINTER, INT)),
    "PyFloat_AsDouble": (DOUBLE, (POINTER,)), "PyLong_AsLongLong": (INT, (POINTER,)),
    "PyObject_IsTrue": (SHORT, (POINTER,)), "PyErr_Occurred": (POINTER, ()), "PyErr_Clear": (ir.VoidType(), ()),
    "PyUnicode_CompareWithASCIIString": (SHORT, (POINTER, POINTER)),
    "PyEval_SaveThread": (POINTER, ()), "PyEval_RestoreThread": (ir.VoidType(), (POINTER,)),
    "PyLong_FromLongLong": (POINTER, (INT,)), "PyBool_FromLong": (POINTER, (INT,)),
    "PyFloat_FromDouble": (POINTER, (DOUBLE,)), "Py_IncRef": (ir.VoidType(), (POINTER,)), "PyUnicode_Type": None,
}  # fmt: skip
"""The functions and variables (None) of Python's interface that are used: result and argument types."""
OWN = "catena_"
"""A prefix of these names in machine code, as they have other addresses elsewhere."""
_HEAD = object.__basicsize__  # bytes of every object: its reference count and type
_DATA, _AXES, _SHAPE, _DESCRIPTION, _FLAGS = (_HEAD + at for at in (0, 8, 16, 40, 48))
_ORDER, _NUMBER = _HEAD + 10, _HEAD + 12  # in an array's description
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_FASTCALL = 0x80
_FOREIGN = ord(">") if np.little_endian else ord("<")


def sort_of(argument: Any) -> Any:
    """The sort of an argument. Raises TypeError for one that no kernel takes."""
    if isinstance(argument, np.ndarray):
        name = argument.dtype.name
        if type(argument) is np.ndarray and name in ELEMENTS and argument.flags.c_contiguous and argument.flags.aligned:
            return "array", name, argument.ndim
        raise TypeError(f"an array of {name} that is not contiguous; kernels take contiguous ones of {[*ELEMENTS]}")
    if isinstance(argument, bool):
        return "bool"
    if isinstance(argument, int | np.integer):
        return "int64"
    if isinstance(argument, float):
        return "float64"
    if isinstance(argument, str):
        return "text", argument
    if type(argument) is tuple and argument and all(type(item) is int and item == 0 for item in argument):
        return "lanes", len(argument)
    if isinstance(argument, tuple):
        return "tuple", getattr(argument, "_fields", ()), tuple(map(sort_of, argument))
    raise TypeError(f"a {type(argument).__name__}; kernels take arrays, numbers, texts and tuples of them")


def _placeholder(sort: Any) -> Any:
    """A value of the kind that the kernel is translated for."""
    if isinstance(sort, str):
        return ir.Constant({"bool": BOOL, "int64": INT, "float64": real()}[sort], 0)
    if sort[0] == "array":
        element = ELEMENTS[sort[1]]
        extent = ir.Constant(INT, 0)
        return Array(element, ir.Constant(element.as_pointer(), None), (extent,) * sort[2])
    if sort[0] == "text":
        return sort[1]
    if sort[0] == "lanes":
        return Record((0,) * sort[1])
    return Record(tuple(map(_placeholder, sort[2])), sort[1])


class _Entry:
    """The function that Python calls, while it is written."""

    def __init__(self, unit: Unit, kernel: Any, known: list[Any], sorts: tuple[Any, ...], name: str):
        self._unit = unit
        body = unit.function(kernel, [*known, *map(_placeholder, sorts)])
        type_ = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), INT])
        function = ir.Function(unit.module, type_, name)
        self._builder = Builder(function.append_basic_block("entry"))
        self._refuse = function.append_basic_block("refuse")
        _, arguments, count = function.args
        self._require(self._builder.icmp_signed("==", count, ir.Constant(INT, len(sorts))))
        values = []
        for index, sort in enumerate(sorts):
            pointer = self._builder.load(self._builder.gep(arguments, [ir.Constant(INT, index)]))
            values.append(self._unpack(pointer, sort, kernel.guards or index + len(known) in body.written))
        self._finish(body, [*known, *values])
        self._builder.position_at_end(self._refuse)
        self._call("PyErr_Clear")
        self._call("Py_IncRef", self._variable("not_implemented", BYTE))
        self._builder.ret(self._variable("not_implemented", BYTE))

    def _finish(self, body: Emitted, values: list[Any]) -> None:
        thread = self._call("PyEval_SaveThread")
        result = body.call(self._builder, body, values)
        self._call("PyEval_RestoreThread", thread)
        if result is None:
            result = ir.Constant(INT, 0)
        if result.type == BOOL:
            self._builder.ret(self._call("PyBool_FromLong", self._builder.zext(result, INT)))
        else:
            name = "PyFloat_FromDouble" if result.type in (DOUBLE, FLOAT) else "PyLong_FromLongLong"
            if result.type == FLOAT:
                result = self._builder.fpext(result, DOUBLE)
            self._builder.ret(self._call(name, result))

    def _call(self, name: str, *arguments: Any) -> Any:
        module = self._unit.module
        if OWN + name not in module.globals:
            signature = PYTHON[name]
            assert signature is not None
            ir.Function(module, ir.FunctionType(*signature), OWN + name)
        return self._builder.call(module.globals[OWN + name], arguments)

    def _variable(self, name: str, type_: ir.Type) -> Any:
        if OWN + name not in self._unit.module.globals:
            ir.GlobalVariable(self._unit.module, type_, OWN + name)
        return self._unit.module.globals[OWN + name]

    def _text(self, text: str) -> Any:
        content = bytearray(text.encode("ascii", "replace") + b"\0")
        type_ = ir.ArrayType(BYTE, len(content))
        variable = ir.GlobalVariable(self._unit.module, type_, self._unit.module.get_unique_name("text"))
        variable.linkage, variable.global_constant = "internal", True
        variable.initializer = ir.Constant(type_, content)
        return self._builder.bitcast(variable, POINTER)

    def _require(self, condition: Any) -> None:
        """Continue if a condition holds, else refuse the call."""
        fits = self._builder.append_basic_block("fits")
        self._builder.cbranch(condition, fits, self._refuse)
        self._builder.position_at_end(fits)

    def _field(self, object_: Any, offset: int, type_: ir.Type) -> Any:
        index = self._builder.gep(object_, [ir.Constant(INT, offset)])
        return self._builder.load(self._builder.bitcast(index, type_.as_pointer()))

    def _unpack(self, object_: Any, sort: Any, written: bool) -> Any:
        """The content of an object, if it is of that sort; otherwise the call is refused."""
        builder, zero = self._builder, ir.Constant(SHORT, 0)
        if sort == "float64":
            number = self._call("PyFloat_AsDouble", object_)
            self._require(self._is_number(builder.fcmp_unordered("!=", number, ir.Constant(DOUBLE, -1.0))))
            return builder.fptrunc(number, FLOAT) if real() == FLOAT else number
        if sort == "int64":
            number = self._call("PyLong_AsLongLong", object_)
            self._require(self._is_number(builder.icmp_signed("!=", number, ir.Constant(INT, -1))))
            return number
        if sort == "bool":
            return builder.icmp_signed("!=", self._call("PyObject_IsTrue", object_), zero)
        if sort[0] == "text":
            kind = self._field(object_, _HEAD - 8, POINTER)
            self._require(builder.icmp_unsigned("==", kind, self._variable("PyUnicode_Type", BYTE)))
            same = self._call("PyUnicode_CompareWithASCIIString", object_, self._text(sort[1]))
            self._require(builder.icmp_signed("==", same, zero))
            return sort[1]
        if sort[0] == "array":
            return self._array(object_, ELEMENTS[sort[1]], np.dtype(sort[1]).num, sort[2], written)
        length = sort[1] if sort[0] == "lanes" else len(sort[2])
        self._require(builder.icmp_signed("==", self._call("PyTuple_Size", object_), ir.Constant(INT, length)))
        if sort[0] == "lanes":
            return Record((0,) * length)
        items = [self._call("PyTuple_GetItem", object_, ir.Constant(INT, index)) for index in range(length)]
        unpacked = [self._unpack(item, inner, written) for item, inner in zip(items, sort[2], strict=True)]
        return Record(tuple(unpacked), sort[1])

    def _is_number(self, certain: Any) -> Any:
        """Whether an object was converted to a number: where `certain`, or where no error is set."""
        builder = self._builder
        before = builder.block
        ask, after = builder.append_basic_block("ask"), builder.append_basic_block("sure")
        builder.cbranch(certain, after, ask)
        builder.position_at_end(ask)
        none = builder.icmp_unsigned("==", self._call("PyErr_Occurred"), ir.Constant(POINTER, None))
        builder.branch(after)
        builder.position_at_end(after)
        valid = builder.phi(BOOL)
        valid.add_incoming(ir.Constant(BOOL, 1), before)
        valid.add_incoming(none, ask)
        return valid

    def _is_array(self) -> Any:
        """A function: whether an object is an array with these dimensions, flags and type number."""
        module, name = self._unit.module, "is_array"
        if name not in module.globals:
            function = ir.Function(module, ir.FunctionType(BOOL, [POINTER, SHORT, SHORT, SHORT]), name)
            function.linkage = "internal"
            function.attributes.add("noinline")  # a step has a hundred arrays
            object_, axes, flags, number = function.args
            outside, self._builder = self._builder, Builder(function.append_basic_block("entry"))
            refuse, self._refuse = self._refuse, function.append_basic_block("refuse")
            builder = self._builder
            kind = self._field(object_, _HEAD - 8, POINTER)
            self._require(builder.icmp_unsigned("==", kind, self._variable("ndarray", BYTE)))
            description = self._field(object_, _DESCRIPTION, POINTER)
            self._require(builder.icmp_signed("==", self._field(object_, _AXES, SHORT), axes))
            self._require(builder.icmp_signed("==", builder.and_(self._field(object_, _FLAGS, SHORT), flags), flags))
            self._require(builder.icmp_signed("==", self._field(description, _NUMBER, SHORT), number))
            native = builder.icmp_signed("!=", self._field(description, _ORDER, BYTE), ir.Constant(BYTE, _FOREIGN))
            builder.ret(native)
            builder.position_at_end(self._refuse)
            builder.ret(ir.Constant(BOOL, 0))
            self._builder, self._refuse = outside, refuse
        return module.globals[name]

    def _array(self, object_: Any, element: ir.Type, number: int, axes: int, written: bool) -> Array:
        builder = self._builder
        flags = _CONTIGUOUS | _ALIGNED | (_WRITEABLE if written else 0)
        known = [ir.Constant(SHORT, x) for x in (axes, flags, number)]
        self._require(builder.call(self._is_array(), [object_, *known]))
        shape = self._field(object_, _SHAPE, INT.as_pointer())
        extents = [builder.load(builder.gep(shape, [ir.Constant(INT, axis)])) for axis in range(axes)]
        data = builder.bitcast(self._field(object_, _DATA, POINTER), element.as_pointer())
        return Array(element, data, tuple(extents))


def translate_entry(kernel: Any, sorts: tuple[Any, ...], name: str) -> Unit:
    """The LLVM IR of a kernel for arguments of these sorts, with its entry of that name."""
    unit = Unit(name)
    _Entry(unit, kernel, [], tuple(sorts), name)
    return unit


def written_for(kernel: Any, known: Any, dtype: str, sorts: tuple[Any, ...], name: str) -> Unit:
    """The LLVM IR of a kernel that is written out, in one number type, for its known first argument, and of its
    entry."""
    unit = Unit(name)
    with writing_out(ELEMENTS[dtype]):
        _Entry(unit, kernel, [of_python(known)], tuple(sorts), name)
    return unit


def written_for_code(kernel: Any, count: int, name: str, known: Any = None, dtype: str = "") -> Unit:
    """A kernel of `count` integers as a function of that name for machine code, see `operations.call`.

    With a `dtype` it is written out in that number type for its first argument, which is `known`.
    """
    unit = Unit(name)
    with writing_out(ELEMENTS[dtype]) if dtype else nullcontext():
        known_arguments = [of_python(known)] if dtype else []
        body = unit.function(kernel, [*known_arguments, *[ir.Constant(INT, 0)] * count])
        function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), [INT] * count), name)
        builder = Builder(function.append_basic_block("entry"))
        body.call(builder, body, [*known_arguments, *function.args])
        builder.ret_void()
    return unit


class Definition(ctypes.Structure):
    """CPython's PyMethodDef, of machine code that takes (self, arguments, count).

    It is never freed: Python reads it in each call, and in garbage collection up to the interpreter's end.
    """

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
    )

    def __init__(self, name: str):
        super().__init__(name.encode(), None, _FASTCALL, None)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def turn_to(self, address: int) -> None:
        """Direct further calls to the code at an address."""
        self.address = address

    def function(self) -> Callable[..., Any]:
        """The Python function."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        function: Callable[..., Any] = make(ctypes.byref(self), None, None)
        return function
