"""Work in a Python process of its own, which can be ended at any time, whatever it is doing.

A function's generator runs there, and what it yields comes back here; arguments and answers travel pickled through
pipes. A process is fresh: it has its own memory, its own hash seed, and loads all compiled code anew.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import IO, Any, NamedTuple

from engine import files

LOOK = 0.02
"""Seconds between two looks at whether to stop."""
TELL = 0.5
"""Seconds of silence after which it is said that there is no answer yet."""


class Silence(NamedTuple):
    """No answer has come for so many seconds."""

    seconds: float


class Ended(Exception):
    """The process ended before its work was done; the message says how."""


class _Over(NamedTuple):
    """The work is done, or has failed with this traceback."""

    failure: str = ""


class Child:
    """A process that carries out one piece of work after the other. It begins to start at once; `end` ends it."""

    def __init__(self) -> None:
        # As here, where pytest or a user's script may have put folders in front; -P: nothing from the current folder.
        paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path)
        options: dict[str, Any] = {"start_new_session": True}  # Ctrl-C is heard here, which then ends it
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=files.environment() | {"PYTHONPATH": paths},
            **options,
        )  # fmt: skip
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="answers of a process", daemon=True).start()

    def work(
        self, function: Callable[..., Iterator[Any]], *arguments: Any, stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Any]:
        """What `function`, of a module, yields there; and `Silence` every now and then while nothing comes.

        Once `stop` returns True the process is ended, and so is the iterator. Raises Ended where the process ends by
        itself, and RuntimeError where the function raises.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pickle.dumps((function, arguments)))
            self._process.stdin.flush()
        except OSError:
            raise Ended(self._how()) from None
        over = None
        try:
            heard = told = perf_counter()
            while over is None and not stop():
                now = perf_counter()
                try:
                    answer = self._answers.get(timeout=LOOK)
                except queue.Empty:
                    if now - told > TELL:
                        told = now
                        yield Silence(now - heard)
                    continue
                heard = told = now
                if answer is None:
                    raise Ended(self._how())
                if isinstance(answer, _Over):
                    over = answer
                else:
                    yield answer
        finally:
            if over is None:  # whatever it goes on with, nobody waits for it
                self.end()
        if over is not None and over.failure:
            raise RuntimeError(over.failure)

    def end(self) -> None:
        """End the process, but on Windows with all that it has started, and wait until it has ended."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):  # nobody of it is left
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):  # for what was not sent any more
            self._process.stdin.close()

    def _listen(self) -> None:
        """Take answers in as they come; None: there will be no more."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            try:
                while True:
                    self._answers.put(pickle.load(stream))
            except (EOFError, OSError, pickle.UnpicklingError):
                self._answers.put(None)

    def _how(self) -> str:
        """How the process ended."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        if code >= 0:
            return f"its process ended itself with the exit code {code}"
        try:
            return f"its process was ended by the signal {signal.Signals(-code).name}"
        except ValueError:
            return f"its process was ended by the signal {-code}"


class Children:
    """Some such processes, which start side by side; where the `with` block ends, so do they."""

    def __init__(self, count: int):
        self._children = [Child() for _ in range(count)]
        self._ready = 0

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end()

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, index: int) -> Child:
        return self._children[index]

    def start_again(self, index: int) -> None:
        """Have another process in the place of one that has ended."""
        self._children[index].end()
        self._children[index] = Child()

    def starting(self, stop: Callable[[], bool]) -> Iterator[int]:
        """How many have started, until all have, or `stop` returns True."""
        while self._ready < len(self._children) and not stop():
            yield self._ready
            for _ in self._children[self._ready].work(_nothing, stop=stop):
                yield self._ready
            self._ready += 1

    def share(
        self, function: Callable[..., Iterator[Any]], works: Sequence[tuple[Any, ...]], stop: Callable[[], bool]
    ) -> Iterator[int]:
        """Have the function carry out every work, whoever is free the next; how many are done, now and then.

        Once `stop` returns True all processes are ended, and so is the iterator.
        """
        waiting, done, ended = deque(works), list[None](), threading.Event()

        def carry_out(child: Child) -> None:
            with suppress(IndexError):  # none is left
                while not (stop() or ended.is_set()):
                    work = waiting.popleft()
                    for _ in child.work(function, *work, stop=lambda: stop() or ended.is_set()):
                        pass
                    done.append(None)

        with ThreadPoolExecutor(len(self)) as pool:
            carried_out = [pool.submit(carry_out, child) for child in self._children]
            try:
                told = 0
                while wait(carried_out, LOOK).not_done:
                    if told < (told := len(done)):
                        yield told
            finally:
                ended.set()
        for each in carried_out:
            each.result()
        yield len(done)


def _nothing() -> Iterator[None]:
    return iter(())


def main() -> None:
    """The process: work in, answers out, until there is nobody any more to answer."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what users' functions print is no answer
    sys.stdout = sys.stderr
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(asked, work), daemon=True).start()
    while True:
        function, arguments = work.get()
        try:
            for answer in function(*arguments):
                _send(answer, answers)
            over = _Over()
        except Exception:
            over = _Over(traceback.format_exc())
        _send(over, answers)


def _receive(stream: IO[bytes], work: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            work.put(pickle.load(stream))
    except EOFError:  # whoever asked has gone
        pass
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(1)


def _send(answer: Any, stream: IO[bytes]) -> None:
    pickle.dump(answer, stream)
    stream.flush()
