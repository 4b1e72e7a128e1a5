"""Measure how long a thread holds Python's lock while another waits for it, and the machine's share of that."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HELD = 0.1
"""Seconds that a reader may keep the lock."""


@contextmanager
def watched(look: Callable[[], None] = lambda: None) -> Iterator[list[float]]:
    """The most seconds of the program's computing while one of its threads, which sleeps shortly, was not let run.

    Calls `look` now and then. Collections of garbage pass by what the tests before have left.
    """
    found, end = [0.0], threading.Event()

    def watch() -> None:
        before = time.process_time()
        while not end.wait(0.001):
            now = time.process_time()
            found[0] = max(found[0], now - before)
            look()
            before = time.process_time()

    watcher = threading.Thread(target=watch)
    gc.freeze()
    watcher.start()
    try:
        yield found
    finally:
        end.set()
        watcher.join()
        gc.unfreeze()


def allowed(held: float) -> float:
    """`HELD`, and if `held` is more, what plain Python, which keeps the lock for 5 ms, is measured at just now.

    On a busy machine a thread waits for its turn on a core as well, which no reader can change.
    """
    if held < HELD:
        return HELD
    with watched() as longest:
        until = time.thread_time() + 0.5
        while time.thread_time() < until:
            pass
    return HELD + longest[0]


def afresh(call: str) -> Any:
    """Return the result of a test module's function, given as text, from a new process; its types are JSON's.

    A process that has run other tests uses gigabytes, which slow down memory allocation and every measurement.
    """
    folders = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2]), *sys.path])
    module = call.partition(".")[0]
    done = subprocess.run(
        [sys.executable, "-c", f"import json, {module}; print(json.dumps({call}))"], check=False, capture_output=True,
        text=True, env={**os.environ, "PYTHONPATH": folders},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
