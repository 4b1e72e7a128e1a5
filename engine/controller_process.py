"""The process of a user's controller: it executes the file, calls it, and sends what it returns and prints.

`engine.controller` is the other end of the pipe, and describes the file.
"""

from __future__ import annotations

import importlib
import io
import linecache
import os
import random
import signal
import site
import sys
import sysconfig
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from engine.files import content
from engine.logged import named_numbers
from engine.model import Model
from engine.real_numbers import efforts

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection

NAME = "user_controller"
MAX_MESSAGE, MAX_TRACEBACK = 500, 20_000
"""Reported characters of an error that a file raises, and of its traceback."""
MAX_LINES, MAX_LINE = 200, 500
"""Printed lines that are sent at once, and their characters."""
SEND_INTERVAL = 0.1  # s between two messages with the lines of a call that has not returned
Lines = tuple[tuple[float | None, str], ...]
"""Printed lines, each with the t of the call in s; None while the file is loaded."""


class Ready(NamedTuple):
    """The file was executed; `period` is its PERIOD."""

    period: float | None


class Result(NamedTuple):
    """The answer to a question: the efforts, and what the file logs with them, None for nothing."""

    number: int
    tau: NDArray[np.float64]
    logged: dict[str, float] | None


class Printed(NamedTuple):
    """What the file has printed."""

    lines: Lines


class Failure(NamedTuple):
    message: str
    line: int | None
    detail: str


def main() -> None:
    """Run the controller's process; the parent's end closes its standard input."""
    with suppress(OSError):  # if memory runs out, Linux ends this process, not the one with the run
        Path("/proc/self/oom_score_adj").write_text("1000")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which then ends this process too
    pipe = Connection(int(sys.argv[1]))
    sys.stdout = sys.stderr = output = _Output(sys.stderr, pipe)  # a file's prints are not output of the program
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _serve(pipe, output)


class _Output(io.TextIOBase):
    """What the file prints: written on, and kept until `send`, if the program wants it; the newest `MAX_LINES` lines.

    Lines of the main thread, for which the program waits, are also sent while a call lasts.
    """

    def __init__(self, beyond: TextIO, pipe: Connection):
        self._beyond, self._pipe, self._mine = beyond, pipe, os.getpid()
        self._lines: deque[tuple[float | None, str]] = deque(maxlen=MAX_LINES)
        self._rest, self._left_out, self._due, self._adding = "", 0, 0.0, threading.RLock()
        self.time: float | None = None
        """The t of the present call, s; None while the file is loaded."""
        self.wanted = False
        """Whether the program wants the lines."""

    def write(self, text: str) -> int:
        self._beyond.write(text)
        if self.wanted and os.getpid() == self._mine:
            with self._adding:
                *lines, rest = (self._rest + text).split("\n")
                self._rest = rest[: MAX_LINE + 1]
                for line in lines:
                    self._left_out += len(self._lines) == MAX_LINES
                    self._lines.append((self.time, line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} …"))
            if threading.current_thread() is threading.main_thread() and perf_counter() > self._due:
                self.send()
        return len(text)

    def flush(self) -> None:
        self._beyond.flush()

    def fileno(self) -> int:
        return self._beyond.fileno()

    def isatty(self) -> bool:
        return self._beyond.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._beyond.encoding

    def send(self) -> None:
        """Send the lines since the last call."""
        if not self._lines:
            return
        with self._adding:
            lines, left_out = tuple(self._lines), self._left_out
            self._lines.clear()
            self._left_out = 0
        self._due = perf_counter() + SEND_INTERVAL
        if left_out:
            lines = ((lines[0][0], f"… {left_out} printed lines left out"), *lines)
        with suppress(OSError):  # the program has ended
            self._pipe.send(Printed(lines))


def _end_with_parent() -> None:
    try:
        os.read(0, 1)
    except OSError:  # the file has closed it: the pipe reports it too
        return
    _end_all()


def _end_all() -> NoReturn:
    """End this process and all that it has started, once the pipe or standard input reports the parent's end."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _serve(pipe: Connection, output: _Output) -> None:
    """Load and call, as requested by the program."""
    control: Callable[..., Any] | None = None
    path, nv, known, mine, names = "", 0, set(sys.modules), os.getpid(), set[str]()
    while True:
        try:
            kind, *rest = pipe.recv()
        except (EOFError, OSError):
            _end_all()
        reply: Ready | Result | Failure | None = None
        try:
            if kind == "load":
                path, model, parameters, seed, output.wanted = rest
                nv, control, output.time, names = model.nv, None, None, set()
                forget(known)
                module = execute(path, model, parameters, seed)
                control, reply = module.control, Ready(period_of(module))
            elif control is not None:
                number, output.time, q, v = rest
                reply = Result(number, *answer_of(control(output.time, q, v), nv, names))
        except BaseException as error:  # SystemExit too: any error of a file is reported
            control, reply = None, failure_of(error, path)
        end_copies(mine)
        output.send()
        if reply is not None:
            with suppress(OSError):  # the program has ended
                pipe.send(reply)


def answer_of(returned: Any, nv: int, known: set[str]) -> tuple[NDArray[np.float64], dict[str, float] | None]:
    """Return the efforts (nv,) in what `control` returned, and the numbers that it logs, None for nothing.

    Raises ValueError in one sentence for anything but efforts, alone or with a dict as `named_numbers` takes it, which
    adds its names to those `known`.
    """
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Mapping):
        return efforts(returned[0], nv), named_numbers(returned[1], known)
    return efforts(returned, nv), None


def end_copies(mine: int) -> None:
    """End a copy of the process that the file made by `os.fork`: only the original may respond."""
    if os.getpid() != mine:
        os._exit(0)


def forget(known: set[str]) -> None:
    """Forget modules that are not `known` and not installed, the user's own, so that their state starts over."""
    libraries = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    installed = *libraries, *site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parent)
    places = [Path(place).resolve() for place in installed]
    for name in set(sys.modules) - known:
        module = sys.modules[name]
        where = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
        if where and not any(Path(where).resolve().is_relative_to(place) for place in places):
            del sys.modules[name]
    importlib.invalidate_caches()


def execute(path: str, model: Model, parameters: Mapping[str, float], seed: int) -> ModuleType:
    """Return the file's module, freshly executed and started."""
    linecache.checkcache(path)
    random.seed(seed)
    np.random.seed(seed)
    module = ModuleType(NAME)
    module.__file__ = path
    sys.modules[NAME] = module  # where dataclasses and pickle look up a class's module
    exec(compile(content(path), path, "exec"), module.__dict__)
    if not callable(getattr(module, "control", None)):
        raise AttributeError(f"{Path(path).name} has no function control(t, q, v)")
    for name, value in parameters.items():
        _replace(module, name, value)
    if callable(getattr(module, "start", None)):
        module.start(model)
    return module


def _replace(module: ModuleType, name: str, value: float) -> None:
    """Replace a number that the file assigns; an int stays an int if the value is whole."""
    own = module.__dict__.get(name)
    if not isinstance(own, int | float) or isinstance(own, bool):
        problem = "not a number" if name in module.__dict__ else "missing"
        raise ValueError(f"the parameter {name} is {problem}; assign it a number at the top level, {name} = 1.0")
    module.__dict__[name] = int(value) if isinstance(own, int) and float(value).is_integer() else float(value)


def period_of(module: ModuleType) -> float | None:
    period = getattr(module, "PERIOD", None)
    if period is None:
        return None
    if not (isinstance(period, int | float) and np.isfinite(period) and period > 0):
        raise ValueError(f"PERIOD is {period!r}; expected a positive number of seconds")
    return float(period)


def _short(words: str) -> str:
    return words if len(words) <= MAX_MESSAGE else f"{words[:MAX_MESSAGE]} …"


def failure_of(error: BaseException, path: str) -> Failure:
    """Return the error, with the file's line that is deepest in the traceback."""
    try:
        words = str(error)
    except BaseException:  # SystemExit too
        words = "its message cannot be read"
    wording = _short(f"{type(error).__name__}: {words}" if words else type(error).__name__)
    name, detail = Path(path).name, "".join(traceback.format_exception(error))[-MAX_TRACEBACK:]
    if isinstance(error, SyntaxError) and error.filename == path:
        wording = _short(f"SyntaxError: {error.msg}: {(error.text or '').strip()}")
        return Failure(f"{name}, line {error.lineno}: {wording}", error.lineno, detail)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    if not frames and isinstance(error, OSError) and error.filename == path:
        wording = f"it cannot be read: {error.strerror}; put the file back, or load another one"
    if not frames:
        return Failure(f"{name}: {wording}", None, detail)
    line = frames[-1].lineno
    return Failure(f"{name}, line {line}: {wording} ({_short(frames[-1].line or '')})", line, detail)
