"""The child process that expands a xacro file, with limits on time, memory and access.

`urdf.xacro.sandbox` starts it and reads from it one line of JSON and then the URDF. For an untrusted file,
xacro's eval is replaced by `engine.urdf.xacro.expressions`, only files in the robot's folders can be read, and nothing
can be written or started. Only the standard library and xacrodoc are imported.
"""

from __future__ import annotations

import functools
import glob
import json
import math
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO
from xml.dom import expatbuilder, minidom

from engine.urdf.mesh_paths import Resources, is_package
from engine.urdf.xacro.expressions import Evaluator
from engine.urdf.xacro.size_limits import Refused

MAX_BYTES = 32_000_000
"""Maximum number of bytes of the resulting URDF."""
EVENTS = {
    "open", "os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.glob/2", "pathlib.Path.glob", "import",
    "compile", "exec", "marshal.loads", "object.__getattr__", "sys._getframe", "code.__new__", "builtins.id",
    "sys.excepthook",
}  # fmt: skip
"""The permitted audit events (https://docs.python.org/3/library/audit_events.html); all others are refused."""


class Source:
    """Track the element being expanded: xacro itself keeps no line numbers."""

    def __init__(self, path: str):
        self.path = path
        self.place: tuple[str, int] = (path, 0)
        self.texts: dict[str, list[str]] = {}
        self.arguments: dict[str, None] = {}
        """The names of the arguments that the file declares, in order."""
        self.files: dict[str, None] = {}
        """The files that it reads, by their paths."""

    def watch(self, xacro: Any) -> None:
        """Record the position of each element's tag, and the element being expanded."""
        absolute = xacro.abs_filename_spec
        builder: Any = expatbuilder.ExpatBuilderNS
        dom: Any = minidom
        start, clone, parse = builder.start_element_handler, dom._clone_node, xacro.parse

        def started(reader: Any, *args: Any) -> None:
            start(reader, *args)
            reader.curNode.place = (self._file(xacro), reader.getParser().CurrentLineNumber)

        def cloned(node: Any, *args: Any) -> Any:
            copy = clone(node, *args)
            if hasattr(node, "place"):
                copy.place = node.place
            return copy

        def noting(function: Any) -> Any:
            def noted(node: Any, *args: Any, **kwargs: Any) -> Any:
                self.place = getattr(node, "place", self.place)
                if node.nodeName == "xacro:arg":
                    self.arguments[node.getAttribute("name")] = None
                return function(node, *args, **kwargs)

            return noted

        def named(name: str) -> Any:
            path = absolute(name)
            self.files[str(path)] = None
            return path

        def parsed(text: Any, filename: str | None = None) -> Any:
            if filename is not None:
                self.files[filename] = None
                with suppress(OSError):  # xacro reports a missing file itself
                    self.texts[filename] = Path(filename).read_text(errors="replace").splitlines()
            elif isinstance(text, str):
                self.texts[self.path] = text.splitlines()
            return parse(text, filename)

        builder.start_element_handler, dom._clone_node = started, cloned
        xacro.parse, xacro.abs_filename_spec = parsed, named
        for name in ("eval_all", "handle_macro_call", "check_attrs", "reqd_attrs", "process_include", "grab_property"):
            setattr(xacro, name, noting(getattr(xacro, name)))

    def _file(self, xacro: Any) -> str:
        return (xacro.filestack or [None])[-1] or self.path

    def of_text(self, text: str) -> tuple[str, int]:
        """Return the position of a text, or of the current element if the text is not found."""
        for file, lines in self.texts.items():
            for number, line in enumerate(lines, 1):
                if text in re.sub("&(lt|gt|quot|apos|amp);", lambda entity: _ENTITIES[entity[1]], line):
                    return file, number
        return self.place


_ENTITIES = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}


class Sandbox:
    """xacro with eval and file access replaced."""

    def __init__(self, xacro: Any, source: Source, resources: Resources):
        self.xacro, self.source, self.resources = xacro, source, resources
        package = [resources.package] if resources.package else []
        self.folders = [folder.resolve() for folder in (resources.folder, *package, *resources.named)]
        self.substitution, self.launch = xacro.substitution_args, xacro.substitution_args_context
        self.evaluator = Evaluator(self._functions(), (xacro.NameSpace,), (xacro.YamlDictWrapper,))
        absolute = xacro.abs_filename_spec

        def expression(text: str, symbols: Any, _: Any = None) -> Any:
            try:
                return self.evaluator(text, symbols)
            except xacro.XacroException:  # raised by an expression within this one
                raise
            except Exception:
                self.source.place = self.source.of_text(f"${{{text}}}")
                raise

        xacro.safe_eval = expression
        xacro.abs_filename_spec = lambda name: self.readable(absolute(name))
        xacro.glob = SimpleNamespace(glob=lambda name: [*map(self.readable, glob.glob(name))])  # noqa: PTH207
        eval_find = self.substitution._eval_find
        self.substitution._eval_find = lambda package: self._find(package, eval_find)
        self._launch_functions = self._arguments()
        self.substitution._eval = lambda text, context: str(self._launch(text, context))

    def _functions(self) -> dict[Any, Any]:
        """Return xacro's own functions; the evaluator has those of Python and math."""
        space, symbols = self.xacro._global_symbols["xacro"], self.xacro._global_symbols
        python = symbols["python"]
        functions = {function: function for function in dict.values(space) if callable(function)}
        functions[space["tokenize"]] = _tokenize
        for name in ("load_yaml", "abs_filename", "dotify"):  # wrapped in xacro, because deprecated without a namespace
            functions[symbols[name]] = space[name]
        for name in ("range", "sorted"):
            functions[symbols[name]] = functools.partial(self._of_python, python[name])
        return functions

    def _of_python(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self.evaluator.allowed(function)(*args, **kwargs)

    def readable(self, name: str) -> str:
        """Return the name. Raises Refused for a file outside the robot's folders."""
        if not self._within(Path(name)):
            raise Refused(
                f"the file {name}, which lies outside the robot's folders ({', '.join(map(str, self.folders))})"
            )
        return name

    def _within(self, path: Path) -> bool:
        return any(path.resolve().is_relative_to(folder) for folder in self.folders)

    def _find(self, package: str, eval_find: Any) -> str:
        """Return the folder of a package, and allow reading it."""
        folders = self.resources.packages(package)
        if not folders:
            folders = [folder for folder in [Path(eval_find(package))] if is_package(folder)]
        if not folders:
            raise Refused(f"the package {package}, whose folder has no package.xml")
        self.folders.append(folders[0].resolve())
        return str(folders[0])

    def _arguments(self) -> dict[str, Any]:
        """Return the names that `$(eval …)` knows beside the arguments, as in ROS's launch files."""
        substitution, launch = self.substitution, self.launch
        launch_functions = {
            "arg": lambda name: substitution.convert_value(substitution._eval_arg(name, launch["arg"]), "auto"),
            "dirname": lambda: substitution._eval_dirname(launch["filename"]),
            "env": substitution._eval_env,
            "optenv": substitution._eval_optenv,
            "find": lambda package: substitution._eval_find(package),
        }
        self.evaluator.add(launch_functions.values())
        plain = {function.__name__: function for function in (list, dict, map, str, float, int)}
        return {**_public(vars(math)), **plain, "true": True, "false": False, **launch_functions}

    def _launch(self, text: str, context: dict[str, Any]) -> Any:
        values = {name: self.substitution.convert_value(value, "auto") for name, value in context["arg"].items()}
        try:
            return self.evaluator(text, values | self._launch_functions)
        except Exception:
            self.source.place = self.source.of_text(f"$(eval {text})")
            raise


def _public(names: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if not name.startswith("_")}


def _tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    words = re.split("|".join(map(re.escape, sep)), text)
    return [word for word in words if word] if skip_empty else words


def _bound(seconds: int, megabytes: int, closed: bool) -> None:
    """Set this process's limits, if the system supports them; `closed`: it can neither write nor start anything."""
    try:
        import resource
    except ImportError:  # Windows: only the parent's timeout applies
        return
    limits = [(resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, megabytes << 20), (resource.RLIMIT_CORE, 0)]
    if closed:
        limits += [(resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NPROC, 0)]
    for kind, limit in limits:
        with suppress(ValueError, OSError):  # a limit may be unsupported or already lower
            resource.setrlimit(kind, (limit, limit))


def _wall(event: str, args: tuple[Any, ...]) -> None:
    """Audit hook: from now on, reading regular files is the only permitted access to the system."""
    flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    if event not in EVENTS or (event == "open" and isinstance(args[2], int) and args[2] & flags):
        raise Refused(f"{event} {args[0] if args else ''}".strip())
    if event == "open" and not isinstance(args[0], int):
        file = Path(os.fsdecode(args[0]))
        if file.exists() and not file.is_file():
            raise Refused(f"{file}, which is not a regular file")


def _expanded(path: Path, package_dirs: list[str], trusted: bool, source: Source, arguments: dict[str, str]) -> bytes:
    import xacro
    import xacro.substitution_args
    import xacrodoc

    source.watch(xacro)
    if package_dirs:
        xacrodoc.packages.look_in(package_dirs)
    if not trusted:
        Sandbox(xacro, source, Resources(path, package_dirs))
    xacro.init_stacks(str(path))
    xacro.substitution_args_context["filename"] = str(path)
    sys.setrecursionlimit(5000)
    if not trusted:
        sys.addaudithook(_wall)
    document = xacrodoc.XacroDoc.from_file(path, subargs=arguments, resolve_packages=False)
    text: str = document.to_urdf_string()
    return text.encode()


def _facts(source: Source, arguments: dict[str, str]) -> dict[str, Any]:
    """Return the values of the arguments that the file declares or uses, and the files that it reads beside its own."""
    import xacro

    values: dict[str, str] = xacro.substitution_args_context["arg"] | arguments
    read = [name for name in source.files if Path(name).is_file() and Path(name) != Path(source.path)]
    text = "\n".join(line for lines in source.texts.values() for line in lines)
    names = dict.fromkeys([*source.arguments, *(name for name in arguments if f"$(arg {name})" in text)])
    return {"arguments": {name: values[name] for name in names if name in values}, "files": read}


def _report(problem: BaseException, source: Source) -> dict[str, Any]:
    """Return the report of a failure for the parent process."""
    chain = [problem]
    while (inner := getattr(chain[-1], "exc", None) or chain[-1].__cause__) is not None:
        chain.append(inner)
    reason, forbidden = str(problem), False
    for entry in chain:
        if isinstance(entry, Refused):
            reason, forbidden = str(entry), True
        elif isinstance(entry, RecursionError):
            reason = "macros, properties or elements nest without end, or too deeply"
        elif isinstance(entry, MemoryError):
            reason, forbidden = "it needs too much memory", True
    file, line = source.place
    return {
        "problem": " ".join(reason.split()) or type(problem).__name__,
        "forbidden": forbidden,
        "file": file,
        "line": line,
    }


def main(path: str, trusted: str, seconds: str, megabytes: str, arguments: str, *package_dirs: str) -> None:
    """Write one line of JSON, `_facts` or a problem, and then the expanded text to standard output."""
    output: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discard what a file prints
    source = Source(path)
    text, values = b"", json.loads(arguments)
    _bound(int(seconds), int(megabytes), closed=trusted != "yes")
    try:
        text = _expanded(Path(path), [*package_dirs], trusted == "yes", source, values)
        reply = _facts(source, values)
        if len(text) > MAX_BYTES:
            raise Refused(f"a robot of more than {MAX_BYTES // 10**6} MB of text")
    except BaseException as problem:  # every failure is reported to the parent
        reply, text = _report(problem, source), b""
    output.write(json.dumps(reply).encode() + b"\n" + text)
    output.close()
