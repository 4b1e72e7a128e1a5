"""Record once, by Python's profiler, which tests call which functions.

A kernel counts with all functions that it is made of. What a fixture for several tests comes by, or a test file while
it is read, counts for every test of the file.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import planting
import pytest
from rooms import ROOT

Symbol = tuple[str, str]


class Watch:
    """A pytest plugin that records each test's coverage, and writes it at the end."""

    def __init__(self, note: Path):
        self._note = note
        self._seen: set[Symbol] = set()
        self._codes: dict[Any, Symbol | None] = {}
        self._kernels: dict[str, Any] = {}
        self._made_of: dict[Any, set[Symbol]] = {}
        self._shared: set[Symbol] = set()
        self._tests: dict[str, tuple[float, set[Symbol]]] = {}
        self._passed: set[str] = set()
        self._failed: set[str] = set()

    def begin(self) -> None:
        """See to it that kernels are known by their names, and watch all but compilers."""
        import engine.compile as native

        _unwatched(native, "translate_entry")

        name = native.Function._name

        def known(function: Any, sorts: Any) -> str:
            answer = name(function, sorts)
            self._kernels[answer] = function.function
            return answer

        native.Function._name = known
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _look(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code not in self._codes:
                self._codes[code] = _symbol(code.co_filename, code.co_qualname)
            if (symbol := self._codes[code]) is not None:
                self._seen.add(symbol)
        elif event == "c_call" and (kernel := self._kernels.get(argument.__name__)) is not None:
            self._seen |= self._of_kernel(kernel)

    def _of_kernel(self, kernel: Any) -> set[Symbol]:
        if kernel not in self._made_of:
            found = (_symbol(*symbol) for symbol in planting.reached(kernel)[0])
            self._made_of[kernel] = {symbol for symbol in found if symbol}
        return self._made_of[kernel]

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        answer = yield
        self._shared |= self._seen
        return answer

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before, self._seen = self._seen, set()
        try:
            return (yield)
        finally:
            self._shared |= self._seen
            self._seen = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._seen, began = set(), time.perf_counter()
        answer = yield
        self._tests[item.nodeid] = (time.perf_counter() - began, self._seen)
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        fine = self._passed - self._failed
        reported = {
            name: [round(seconds, 3), sorted(f"{path}:{symbol}" for path, symbol in seen | self._shared)]
            for name, (seconds, seen) in self._tests.items()
            if name in fine
        }
        self._note.write_text(json.dumps({"tests": reported, "failed": sorted(self._failed)}), "utf-8")


def _unwatched(module: Any, name: str) -> None:
    """Run a function of that module without the profiler, which would slow it down many times."""
    function = getattr(module, name)

    def run(*arguments: Any, **options: Any) -> Any:
        look = sys.getprofile()
        sys.setprofile(None)
        try:
            return function(*arguments, **options)
        finally:
            sys.setprofile(look)

    setattr(module, name, run)


def _symbol(file: str, qualname: str) -> Symbol | None:
    if not file.startswith(f"{ROOT}/engine/"):
        return None
    names = qualname.replace(".<locals>", "").split(".")
    return file[len(str(ROOT)) + 1 :], ".".join(names[:2])
