"""Run work in a child Python process that can be killed at any time.

A function's generator runs there, and its items are yielded here; arguments and items are pickled through pipes. A
child has its own memory and hash seed, and loads all compiled code again.
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

POLL_INTERVAL = 0.02
"""Seconds between two checks whether to stop."""
SILENCE_SECONDS = 0.5
"""Seconds without an item after which `Silence` is yielded."""


class Silence(NamedTuple):
    """No item for this number of seconds."""

    seconds: float


class Ended(Exception):
    """The process ended before its work was done; the message says how."""


class _Over(NamedTuple):
    """The work is done, or has failed with this traceback."""

    failure: str = ""


def own_session() -> dict[str, Any]:
    """Return the options of `subprocess.Popen` for a process that does not receive this one's Ctrl-C."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def search_path() -> str:
    """Return this process's path as PYTHONPATH; pytest or a user's script may have extended it."""
    return os.pathsep.join(str(Path(path).absolute()) for path in sys.path)


def end_process(process: subprocess.Popen[bytes], *pipes: IO[bytes] | None, session: bool = False) -> None:
    """Kill a process, with the `session` that it leads except on Windows, wait for it, and close pipes to it."""
    if session and sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):  # none is left
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for pipe in pipes:
        with suppress(OSError):  # of unsent data
            if pipe is not None:
                pipe.close()


class Child:
    """A process that executes one piece of work at a time. It starts at once; `end` kills it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=files.environment() | {"PYTHONPATH": search_path()},
            **own_session(),  # Ctrl-C is handled here, which then ends it
        )  # fmt: skip
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="answers of a process", daemon=True).start()

    def work(
        self, function: Callable[..., Iterator[Any]], *arguments: Any, stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Any]:
        """Yield the items of `function`, a module's, run in the child; and `Silence` periodically while there are none.

        Once `stop` returns True the process is killed and the iteration ends. Raises Ended if the process ends by
        itself, and RuntimeError if the function raises.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pickle.dumps((function, arguments)))
            self._process.stdin.flush()
        except OSError:
            raise Ended(self._how()) from None
        over = None
        try:
            last_reply = reported = perf_counter()
            while over is None and not stop():
                now = perf_counter()
                try:
                    reply = self._replies.get(timeout=POLL_INTERVAL)
                except queue.Empty:
                    if now - reported > SILENCE_SECONDS:
                        reported = now
                        yield Silence(now - last_reply)
                    continue
                last_reply = reported = now
                if reply is None:
                    raise Ended(self._how())
                if isinstance(reply, _Over):
                    over = reply
                else:
                    yield reply
        finally:
            if over is None:  # nobody waits for the rest
                self.end()
        if over is not None and over.failure:
            raise RuntimeError(over.failure)

    def end(self) -> None:
        """Kill the process, with all its descendants except on Windows, and wait for its end."""
        end_process(self._process, self._process.stdin, session=True)

    def _listen(self) -> None:
        """Queue items as they arrive; None at the end."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            try:
                while True:
                    self._replies.put(pickle.load(stream))
            except (EOFError, OSError, pickle.UnpicklingError):
                self._replies.put(None)

    def _how(self) -> str:
        """Describe how the process ended."""
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
    """Several child processes, started in parallel and killed at the end of the `with` block."""

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
        """Replace a process that has ended."""
        self._children[index].end()
        self._children[index] = Child()

    def starting(self, stop: Callable[[], bool]) -> Iterator[int]:
        """Yield how many have started, until all have, or `stop` returns True."""
        while self._ready < len(self._children) and not stop():
            yield self._ready
            for _ in self._children[self._ready].work(_nothing, stop=stop):
                yield self._ready
            self._ready += 1

    def share(
        self, function: Callable[..., Iterator[Any]], works: Sequence[tuple[Any, ...]], stop: Callable[[], bool]
    ) -> Iterator[int]:
        """Run the function on every work, each on the next free process; yield the number done, periodically.

        Once `stop` returns True all processes are killed and the iteration ends.
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
                reported = 0
                while wait(carried_out, POLL_INTERVAL).not_done:
                    if reported < (reported := len(done)):
                        yield reported
            finally:
                ended.set()
        for each in carried_out:
            each.result()
        yield len(done)


def _nothing() -> Iterator[None]:
    return iter(())


def main() -> None:
    """The child process: read work and write items until the parent closes the pipe."""
    requested, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # keeps users' prints out of the pipe
    sys.stdout = sys.stderr
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requested, work), daemon=True).start()
    while True:
        function, arguments = work.get()
        try:
            for reply in function(*arguments):
                _send(reply, replies)
            over = _Over()
        except Exception:
            over = _Over(traceback.format_exc())
        _send(over, replies)


def _receive(stream: IO[bytes], work: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            work.put(pickle.load(stream))
    except EOFError:  # the parent has ended
        pass
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(1)


def _send(reply: Any, stream: IO[bytes]) -> None:
    pickle.dump(reply, stream)
    stream.flush()
