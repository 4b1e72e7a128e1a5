"""The background process in which LLVM optimises code while quickly compiled code runs.

It is a process, not a thread, since LLVM cannot be interrupted and Python waits at its end for threads inside it. It
ends with this one, whatever it is doing.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.child_process import end_process, own_session
from engine.per_process import OnePerProcess

Wanted = Callable[[], dict[str, tuple[bytes, str]]]
"""Returns the names, compressed LLVM IR and styles of the code to optimise."""
Made = Callable[[str, bytes], None]
"""Takes the name and object file of optimised code, in a thread of its own."""
DELAY = 1.0
"""s between the first request and the process's start: a program that ends sooner does not need it."""
POSSIBLE = "python" in Path(sys.executable or "").name.lower()
"""Whether the process can be started: a program with Python embedded may not be an interpreter."""


class _Background:
    """The optimising process, and the requests to it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None
        self._requested, self._pending = set[str](), set[str]()
        self._changed, self._result_lock = threading.Condition(), threading.Lock()
        self._problem, self._closed, self._owner = "", False, os.getpid()
        atexit.register(self._end)

    def request(self, wanted: Wanted, made: Made) -> None:
        """Optimise what `wanted` returns after a delay, and pass it to `made`."""
        with self._changed:
            if self._timer is None:
                self._timer = threading.Timer(DELAY, self._send, (wanted, made))
                self._timer.daemon = True
                self._timer.start()

    def finish(self, wanted: Wanted, made: Made) -> None:
        """Optimise everything now, and wait for it. Raises RuntimeError where something could not be compiled."""
        self._send(wanted, made)
        with self._changed:
            self._changed.wait_for(lambda: not self._pending)
            if self._problem:
                raise RuntimeError(self._problem)

    def _send(self, wanted: Wanted, made: Made) -> None:
        with self._changed:
            self._timer = None
        jobs = wanted()
        with self._changed:
            new = [name for name in jobs if name not in self._requested]
            if not new or self._closed:
                return
            if self._process is None:
                try:
                    self._process = _started()
                except OSError as error:
                    self._report(f"the optimising process cannot be started: {error}; slower code is used")
                    return
                threading.Thread(target=self._listen, args=(self._process, made), name="fast code", daemon=True).start()
            self._requested.update(new)
            self._pending.update(new)
            assert self._process.stdin is not None
            with suppress(OSError):  # it has ended, which `_listen` reports
                for name in sorted(new, key=lambda name: -len(jobs[name][0])):
                    code, style = jobs[name]
                    pickle.dump((name, zlib.decompress(code).decode(), style), self._process.stdin)
                self._process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes], made: Made) -> None:
        """Accept results as they arrive."""
        assert process.stdout is not None
        while True:
            try:
                name, content, problem = pickle.load(process.stdout)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                break
            try:
                with self._result_lock:
                    if self._closed:
                        return
                    if not problem:
                        made(name, content)
            except Exception as error:
                problem = repr(error)
            with self._changed:
                if problem:
                    self._report(f"{name} could not be optimised: {problem}")
                self._pending.discard(name)
                self._changed.notify_all()
        with self._changed:
            self._process = None
            end_process(process, process.stdin, process.stdout)
            if self._pending and not self._closed:
                self._report(f"the optimising process ended with {process.returncode}; slower code is used")
            self._pending.clear()
            self._changed.notify_all()

    def _report(self, problem: str) -> None:
        self._problem = problem
        logging.getLogger(__name__).warning("%s", problem)

    def _end(self) -> None:
        """End the process, and accept no more results, since LLVM ends as well."""
        with self._result_lock:
            self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._owner != os.getpid():
            return
        if self._process is not None:
            self._process.kill()  # unblocks a pending write to it
        with self._changed:
            if self._process is not None:
                end_process(self._process, self._process.stdin, self._process.stdout)


def _started() -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("background_child.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}, **own_session(),
    )  # fmt: skip


_background = OnePerProcess(_Background)


def request(wanted: Wanted, made: Made) -> None:
    """Optimise what `wanted` returns after a delay, and pass it to `made`; earlier requests are not repeated.

    With CATENA_OPTIMISATION=0, as in tests, nothing is optimised before `finish` is called.
    """
    if os.environ.get("CATENA_OPTIMISATION") != "0":
        _background().request(wanted, made)


def finish(wanted: Wanted, made: Made) -> None:
    """Optimise everything now, and wait for it. Raises RuntimeError where something could not be compiled."""
    _background().finish(wanted, made)
