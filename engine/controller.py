"""User controllers: a Python file with a function ``control(t, q, v)`` that returns τ, run in a process of its own.

t is in s, q (nq,) and v (nv,) are the state, and τ (nv,), N m or N, drives the joints until the next call. Numbers that
it returns beside τ, as in ``return tau, {"height error [m]": 0.01}``, are `Controller.logged` and act on nothing. The
file may set ``PERIOD``, s, for how long τ is held: a whole number of time steps, by default one. A function
``start(model)``, if there is one, is called first, with the `Model`. Runs repeat bit for bit: `load` executes the file
again, and the user's own modules that it imports, with `random` and `np.random` seeded; `np.random.default_rng` repeats
only with a seed. `parameters` can replace numbers that the file assigns, before `start` is called. docs/controller.py
is an example.

>>> with engine.Controller("docs/controller.py", model) as controller:
...     every = controller.every(simulation.dt)
...     for _ in range(1000 // every):
...         simulation.tau[0] = controller(simulation.time, simulation.q[0], simulation.v[0])
...         simulation.step(every)
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import controller_process, files
from engine.child_process import end_process, search_path
from engine.controller_process import (
    Failure,
    Lines,
    Printed,
    Ready,
    Result,
    answer_of,
    end_copies,
    execute,
    failure_of,
    forget,
    period_of,
)
from engine.model import Model
from engine.uncopyable import NotCopied
from engine.validation import Array

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection

FIRST, PATIENCE = 30.0, 2.0
"""The time limits in s of loading with the first call, and of every later call."""
POLL_INTERVAL = 0.5  # s between two checks whether the process has ended
LATE = 1.0
"""Seconds after which a call, or loading, is reported."""
LATE_CALL = "{} has not returned for 1 s: the simulation waits"
LATE_LOADING = "{} is still being started: the simulation waits"
SEED = 0


class ControllerError(RuntimeError):
    """A controller failed: the message says how and on which `line` of its file, `detail` is the traceback."""

    def __init__(self, message: str, line: int | None = None, detail: str = ""):
        super().__init__(message)
        self.line, self.detail = line, detail


class Controller(NotCopied):
    """A user's file and the process in which it runs, which can be ended at any time. Starts to load at once.

    Either call it, and wait; or `ask`, and poll `answer`. An error, also of loading, is raised as `ControllerError` by
    the next method called; then nothing runs until `load`.
    """

    instead = "it is a process: make another of the same file, Controller(path, model)"

    def __init__(
        self,
        path: str | Path,
        model: Model,
        patience: float | None = PATIENCE,
        parameters: Mapping[str, float] | None = None,
        seed: int = SEED,
        late: Callable[[str], None] | None = None,
        printed: Callable[[Lines], None] | None = None,
    ):
        """`patience`: the time limit of a call in s; None for no limit. `parameters`, `seed`: see `load`.

        `late` is called once, with a message, when a call or loading is waited for longer than 1 s. `printed` is called
        with the lines that the file has printed, which also appear on standard error: pairs of the call's t, None while
        loading, and the text.
        """
        self.path, self.model, self._patience, self._late = Path(path), model, patience, late
        self._printed = printed
        self.logged: Mapping[str, float] = {}
        """What the last answer logged: numbers by name, NaN for one that has no value; empty without any."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._number = 0  # of the last question
        self._requested, self._limit = 0.0, 0.0
        self._period: float | None = None
        self._ready = self._returned = self._loading = self._waiting = False
        self._error: ControllerError | None = None  # which ended it, raised again until `load`
        self.load(parameters, seed)

    def load(self, parameters: Mapping[str, float] | None = None, seed: int = SEED) -> None:
        """Execute the current file, in the same process unless that is busy; a pending question is dropped.

        `parameters` replace numbers that the file assigns at its top level; `random` and `np.random` are seeded with
        `seed`.
        """
        if self._pipe is None or self._loading or self._waiting:
            self.end()
            self._start()
        self._ready, self._returned, self._error = False, False, None
        self._loading, self._waiting, self._requested = True, False, perf_counter()
        self._limit = self._requested + FIRST
        self.logged, wanted = {}, self._printed is not None
        self._send(("load", str(self.path.resolve()), self.model, dict(parameters or {}), seed, wanted))

    def _start(self) -> None:
        self._pipe, other_end = multiprocessing.Pipe()
        # A session of its own, which ends with all processes that the file starts.
        options: dict[str, Any] = {"pass_fds": (other_end.fileno(),), "start_new_session": True}
        if sys.platform == "win32":
            os.set_handle_inheritable(other_end.fileno(), True)
            startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [other_end.fileno()]})
            options = {"startupinfo": startup, "creationflags": subprocess.CREATE_NO_WINDOW}
        program = f"from {controller_process.__name__} import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, str(other_end.fileno())],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=files.environment() | {"PYTHONPATH": search_path()},
            **options,
        )  # fmt: skip
        other_end.close()

    def ask(self, t: float, q: ArrayLike, v: ArrayLike) -> None:
        """Start a call with the time t, s, q (nq,) and v (nv,); a pending one is dropped."""
        self._number += 1
        self._waiting, self._requested = True, perf_counter()
        self._limit = self._requested + (self._patience or 0.0) if self._returned else self._requested + FIRST
        self._send(("control", self._number, float(t), np.array(q, float), np.array(v, float)))

    def answer(self, seconds: float | None = None) -> Array | None:
        """Return τ (nv,) of the last `ask`, waiting at most `seconds`; None if it is not ready."""
        until = np.inf if seconds is None else perf_counter() + seconds
        while True:
            message = self._receive(until)
            if message is None:
                return None
            if isinstance(message, Result) and message.number == self._number:
                self._returned, self._waiting, self.logged = True, False, message.logged or {}
                return message.tau

    def wait(self) -> None:
        """Wait until the file is loaded."""
        while not self._ready:
            self._receive(np.inf)

    @property
    def loaded(self) -> bool:
        """Whether the file is loaded."""
        if not self._ready:
            self._receive(0.0)
        return self._ready

    def every(self, dt: float) -> int:
        """Return the number of steps of `dt`, s, for which τ is held; the file must be loaded."""
        return held_steps(self.path.name, self._period, dt)

    def __call__(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return τ (nv,), N m or N, for q (nq,) and v (nv,); waits for it."""
        self.ask(t, q, v)
        tau = self.answer()
        assert tau is not None
        return tau

    def _send(self, message: tuple[Any, ...]) -> None:
        if self._pipe is None:
            raise self._error or ControllerError(f"{self.path.name} has stopped; load it again")
        with suppress(OSError):  # `_receive` reports that it has ended
            self._pipe.send(message)

    def _receive(self, until: float) -> Ready | Result | None:
        """Return the next message, None if none arrives by `until`. Raises the controller's error."""
        if self._pipe is None:
            raise self._error or ControllerError(f"{self.path.name} has stopped; load it again")
        limit = np.inf if self._patience is None else self._limit
        try:
            while self._await(self._pipe, until, limit):
                message = self._pipe.recv()
                if not isinstance(message, Printed):
                    break
                if self._printed is not None:
                    self._printed(message.lines)
                if perf_counter() > limit:
                    raise self._too_slow()
            else:
                return None
        except (EOFError, OSError):
            raise self._failed(f"{self.path.name}: its process has ended by itself") from None
        if isinstance(message, Failure):
            raise self._failed(*message)
        if isinstance(message, Ready):
            self._ready, self._loading, self._period = True, False, message.period
        return message  # type: ignore[no-any-return]

    def _await(self, pipe: Connection, until: float, limit: float) -> bool:
        """Return whether a message arrives by `until`. Raises EOFError, and ControllerError after the time `limit`."""
        while not pipe.poll(min(max(0.0, min(until, limit) - perf_counter()), POLL_INTERVAL)):
            if self._process is not None and _has_ended(self._process) and not pipe.poll(0):
                raise EOFError  # a process that it has started may still hold the pipe open
            if perf_counter() < min(until, limit):
                self._report_late()
            elif until <= limit:
                return False
            else:
                raise self._too_slow()
        return True

    def _too_slow(self) -> ControllerError:
        what, waited = "control(t, q, v)" if self._ready else "loading it", perf_counter() - self._requested
        return self._failed(f"{self.path.name}: {what} has not come to an end in {waited:.1f} s, and was ended")

    def _report_late(self) -> None:
        if self._late is not None and perf_counter() > self._requested + LATE:
            self._late((LATE_CALL if self._ready else LATE_LOADING).format(self.path.name))
            self._late = None

    def _failed(self, message: str, line: int | None = None, detail: str = "") -> ControllerError:
        self.end()
        self._error = ControllerError(message, line, detail)
        return self._error

    def end(self) -> None:
        """End the process at once, and all that it has started."""
        if self._process is not None:
            end_process(self._process, self._process.stdin, session=True)
        if self._pipe is not None:
            self._pipe.close()
        self._process, self._pipe, self._ready = None, None, False

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class OwnController:
    """A controller in this process, for processes that do nothing else and that another one can end.

    It is loaded and called like a `Controller`, with the same bits, without interprocess communication.
    """

    def __init__(self, path: Path, model: Model, parameters: Mapping[str, float], seed: int):
        self.path, self._model, self._known, self._mine = path, model, set(sys.modules), os.getpid()
        self.load(parameters, seed)

    def load(self, parameters: Mapping[str, float], seed: int) -> None:
        """Execute the file. Raises ControllerError."""
        forget(self._known)
        try:
            module = execute(str(self.path.resolve()), self._model, parameters, seed)
            self._control, self._period = module.control, period_of(module)
        except BaseException as error:  # SystemExit too
            raise ControllerError(*failure_of(error, str(self.path.resolve()))) from None
        finally:
            end_copies(self._mine)

    def wait(self) -> None:
        """Do nothing: it is loaded."""

    def every(self, dt: float) -> int:
        """Return the number of steps of `dt`, s, for which τ is held."""
        return held_steps(self.path.name, self._period, dt)

    def __call__(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return τ (nv,), N m or N. Raises ControllerError."""
        try:
            return answer_of(self._control(float(t), np.array(q, float), np.array(v, float)), self._model.nv, set())[0]
        except BaseException as error:
            raise ControllerError(*failure_of(error, str(self.path.resolve()))) from None
        finally:
            end_copies(self._mine)

    def end(self) -> None:
        """Do nothing: it ends with its process."""


def held_steps(name: str, period: float | None, dt: float) -> int:
    """Return the steps of a period, 1 for None. Raises ControllerError where it is not a whole number of them."""
    if period is None:
        return 1
    steps = round(period / dt)
    if steps < 1 or abs(steps * dt - period) > 1e-9 * period:
        raise ControllerError(
            f"{name}: PERIOD is {period:g} s, which is not a whole number of time steps of {dt:g} s; "
            "choose a time step that divides it, or another PERIOD"
        )
    return steps


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has ended, without reaping it where the system allows, so that its id stays reserved."""
    if sys.platform == "win32" or not hasattr(os, "waitid"):  # as on macOS before Python 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
