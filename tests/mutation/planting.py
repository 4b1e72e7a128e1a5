"""Run tests in a process of their own, forked after the imports, with or without a mutant.

The mutant's text is compiled instead of the module when it is imported. Kernels affected by the change are compiled
from that text, and are not stored; all others come from the cache. Python programs that a test starts see the changed
text too, but unchanged kernels.
"""

import ast
import importlib.util
import math
import os
import resource
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import changed
import pytest
from mutants import Mutant
from rooms import ROOT

MEMORY = 12 << 30  # bytes of address space; LLVM and thread stacks reserve far more than they use
PLUGINS = ("_hypothesis_pytestplugin",)


class Run:
    """pytest's plugin: keeps the tests that were chosen, in their order, and notes the first that fails."""

    def __init__(self, chosen: dict[str, int] | None, note: Path):
        self._chosen, self._note = chosen, note

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._chosen is not None:
            order = self._chosen
            items[:] = sorted((x for x in items if x.nodeid in order), key=lambda item: order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._note.exists():
            self._note.write_text(report.nodeid, "utf-8")


def forked(work: Callable[[], int], output: Path, cores: set[int], limit: float) -> int:
    """Start `work` in a forked process, in its own process group on those cores, with its output in a file; return its
    id.

    SIGXCPU ends it after `limit` seconds of CPU time, however busy the machine is; compilation is not counted.
    """
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.nice(19)
        os.sched_setaffinity(0, cores)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = work()
    except BaseException as fault:
        os.write(2, f"{type(fault).__name__}: {fault}\n".encode())
    finally:
        os._exit(code)


def end(child: int) -> None:
    """End a forked process and all that it started."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _link(folder: Path, other: Path) -> None:
    """Link the files of a folder into another one. Files there are replaced, never changed."""
    for entry in folder.rglob("*"):
        target = other / entry.relative_to(folder)
        if entry.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(entry, target)


def settle(folder: Path, cache: Path, share: bool = False) -> None:
    """Restrict this process's writing to `folder`, where it finds the robots, with a cache of its own.

    The cache starts with the existing compiled code. With `share` it is the given one, and keeps new code.
    """
    own = cache if share else folder / "cache"
    if not share:
        _link(cache, own)
    for name, value in (("XDG_CACHE_HOME", own), ("HOME", folder), ("TMPDIR", folder)):
        os.environ[name] = str(value)
    os.environ.pop("CATENA_CACHE_DIR", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYTHONPATH"] = str(ROOT)
    (folder / "robots").symlink_to(ROOT / "robots")
    os.chdir(folder)
    sys.path.insert(0, str(ROOT))


def run_pytest(files: list[str], folder: Path, plugin: object, first: bool = False) -> int:
    """Run pytest on those files, with `first` until the first failure; return its code."""
    words = ["-q", "--tb=short", "-p", "no:cacheprovider", f"--basetemp={folder / 'pytest'}"]
    words += ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")] + ["-x"] * first
    for name in PLUGINS:
        if importlib.util.find_spec(name):
            words += ["-p", name, "--hypothesis-seed=0"]
    return int(pytest.main([*words, *(str(ROOT / file) for file in files)], [plugin]))


def plant(mutant: Mutant, folder: Path) -> None:
    """Import a module with its mutant's text. Raises the module's exception if the import fails."""
    text = mutant.applied((ROOT / mutant.path).read_text("utf-8"))
    name = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    shadow = changed.put_everywhere(name, ROOT / mutant.path, text, folder)
    import engine.compile as native
    from engine.compile import cache

    mark = "_mutant"
    whole = mutant.path.startswith(("engine/cpu/runtime/", "engine/compile/"))
    function_name, write = native.Function._name, cache.write

    def marked(name: str, function: Any) -> str:
        return name + mark if whole or _depends(function, mutant, str(shadow)) else name

    def write_unmarked(name: str, content: bytes) -> None:
        if not name.endswith(mark):
            write(name, content)

    native.translate_entry = _not_counted(native.translate_entry)
    native.written_for_code = _not_counted(native.written_for_code)
    native.machine.compiled = _not_counted(native.machine.compiled)
    native.Function._name = lambda self, sorts: marked(function_name(self, sorts), self.function)
    cache.write = write_unmarked


def _not_counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its processor time added to what the process may take."""

    def run(*arguments: Any) -> Any:
        (soft, hard), began = resource.getrlimit(resource.RLIMIT_CPU), time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
        try:
            return function(*arguments)
        finally:
            if soft != hard:
                soft += math.ceil(time.process_time() - began)
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))

    return run


def reached(function: Any) -> tuple[set[tuple[str, str]], set[str]]:
    """The (file, symbol) of a kernel and of all functions that it calls, and all names that they mention."""
    symbols: set[tuple[str, str]] = set()
    names: set[str] = set()
    ahead, seen = [function], set()
    while ahead:
        here = ahead.pop()
        code = here.__code__
        if code in seen:
            continue
        seen.add(code)
        symbols.add((code.co_filename, here.__qualname__.split(".")[0]))
        mentioned = set(_names(code))
        names |= mentioned
        things = [*map(_content, here.__closure__ or ()), *(here.__globals__.get(name) for name in mentioned)]
        rooms = [
            thing for thing in things if isinstance(thing, types.ModuleType) and thing.__name__.startswith("engine")
        ]
        things += [vars(room).get(name) for room in rooms for name in mentioned]
        ahead += filter(None, map(_function, things))
    return symbols, names


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


def _function(thing: Any) -> Any:
    """The Python function in a kernel, or that it is."""
    inner = getattr(thing, "function", thing)
    return inner if isinstance(inner, types.FunctionType) else None


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _depends(function: Any, mutant: Mutant, shadow: str) -> bool:
    symbols, names = reached(function)
    top = mutant.symbol.split(".")[0]
    return (shadow, top) in symbols or top in names


def mentions(path: str) -> Iterator[tuple[str, str]]:
    """Yield each (symbol, name) where a symbol of that module mentions a name."""
    from mutants import symbols_of

    for symbol, node in symbols_of(ast.parse((ROOT / path).read_text("utf-8"))):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                yield symbol, inner.id
            elif isinstance(inner, ast.Attribute):
                yield symbol, inner.attr
