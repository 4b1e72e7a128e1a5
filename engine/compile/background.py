"""The process beside this one in which LLVM makes fast code, while what was made quickly runs.

A process, and no threads: LLVM cannot be interrupted, and Python waits at its end for threads that are inside it. It
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
from typing import Any

from engine.process import OnePerProcess

Wanted = Callable[[], dict[str, tuple[bytes, str]]]
"""Returns names, intermediate code, compressed, and styles, of what is to be made."""
Made = Callable[[str, bytes], None]
"""Takes the name and the object file of what was made, in a thread of its own."""
DELAY = 1.0
"""s between the first request and the process's start: who ends sooner has no use for it."""
POSSIBLE = "python" in Path(sys.executable or "").name.lower()
"""Whether such a process can be started: a program that Python is built into may be no interpreter itself."""


class _Background:
    """The process, and what it has been asked for."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None
        self._asked, self._left = set[str](), set[str]()
        self._changed, self._taking = threading.Condition(), threading.Lock()
        self._fault, self._over, self._owner = "", False, os.getpid()
        atexit.register(self._end)

    def ask(self, wanted: Wanted, made: Made) -> None:
        """Have made what `wanted` returns after a while, and hand it to `made`."""
        with self._changed:
            if self._timer is None:
                self._timer = threading.Timer(DELAY, self._send, (wanted, made))
                self._timer.daemon = True
                self._timer.start()

    def finish(self, wanted: Wanted, made: Made) -> None:
        """The same at once, and wait for it. Raises RuntimeError where something could not be made."""
        self._send(wanted, made)
        with self._changed:
            self._changed.wait_for(lambda: not self._left)
            if self._fault:
                raise RuntimeError(self._fault)

    def _send(self, wanted: Wanted, made: Made) -> None:
        with self._changed:
            self._timer = None
        jobs = wanted()
        with self._changed:
            new = [name for name in jobs if name not in self._asked]
            if not new or self._over:
                return
            if self._process is None:
                try:
                    self._process = _started()
                except OSError as error:
                    self._tell(f"no process can be started that makes fast code: {error}; slower code runs on")
                    return
                threading.Thread(target=self._listen, args=(self._process, made), name="fast code", daemon=True).start()
            self._asked.update(new)
            self._left.update(new)
            assert self._process.stdin is not None
            with suppress(OSError):  # it has ended, which `_listen` reports
                for name in sorted(new, key=lambda name: -len(jobs[name][0])):
                    code, style = jobs[name]
                    pickle.dump((name, zlib.decompress(code).decode(), style), self._process.stdin)
                self._process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes], made: Made) -> None:
        """Take what is made as it comes."""
        assert process.stdout is not None
        while True:
            try:
                name, content, fault = pickle.load(process.stdout)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                break
            try:
                with self._taking:
                    if self._over:
                        return
                    if not fault:
                        made(name, content)
            except Exception as error:
                fault = repr(error)
            with self._changed:
                if fault:
                    self._tell(f"{name} could not be made fast: {fault}")
                self._left.discard(name)
                self._changed.notify_all()
        with self._changed:
            self._process = None
            _close(process)
            if self._left and not self._over:
                self._tell(f"the process that makes fast code ended with {process.returncode}; slower code runs on")
            self._left.clear()
            self._changed.notify_all()

    def _tell(self, fault: str) -> None:
        self._fault = fault
        logging.getLogger(__name__).warning("%s", fault)

    def _end(self) -> None:
        """End the process; nothing is taken from it any more, since LLVM ends as well."""
        with self._taking:
            self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._owner != os.getpid():
            return
        if self._process is not None:
            self._process.kill()  # who writes to it goes on
        with self._changed:
            if self._process is not None:
                _close(self._process)


def _started() -> subprocess.Popen[bytes]:
    options: dict[str, Any] = {"start_new_session": True}  # Ctrl-C is heard here
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("background_child.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}, **options,
    )  # fmt: skip


def _close(process: subprocess.Popen[bytes]) -> None:
    """End the process and wait for that."""
    process.kill()
    with suppress(OSError), process:  # what was not sent stays
        pass


_background = OnePerProcess(_Background)


def ask(wanted: Wanted, made: Made) -> None:
    """Have made what `wanted` returns after a while, and hand it to `made`; what was asked for before is not again.

    With CATENA_OPTIMISATION=0, as tests have it, nothing is made before `finish` is called.
    """
    if os.environ.get("CATENA_OPTIMISATION") != "0":
        _background().ask(wanted, made)


def finish(wanted: Wanted, made: Made) -> None:
    """The same at once, and wait for it. Raises RuntimeError where something could not be made."""
    _background().finish(wanted, made)
