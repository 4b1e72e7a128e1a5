"""Threads on standby for calls that share work through memory.

A call has a number, its *epoch*. Its leader writes the work into a *control block*, an array of integers, and then the
epoch; spinning pool threads see it and take part, sleeping ones are woken and join when they can. So no call waits for
a sleeping or late thread. After a call, pool threads spin for half a millisecond, yielding the processor to others.

The CPU shares work between threads in three ways, by how long a share lasts:

- *some µs*: `trees.dca`, one robot. A pool of its own; threads claim blocks, and wait for one another within a call.
- *some 10 µs*: `rigid_body.aba_threads`, a batch. One pool in a process; threads claim runs of robots, and never wait.
- *100 µs and more*: `stepping.stepper`, whole runs of steps. Python's own ThreadPoolExecutor, one in a process: waking
  it takes longer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from engine.cpu.runtime.epochs import STOP


class ThreadPool:
    """`count` threads. `run_thread(number)` takes part in calls as thread 1, 2, … until none has come for a while.

    It releases the GIL and keeps the memory it works in alive; `control` is the control block.
    """

    def __init__(self, run_thread: Callable[[int], None], count: int, control: NDArray[np.int64], name: str):
        self.sleeping: set[int] = set()
        self._run_thread, self._control = run_thread, control
        self._alarms = {number: threading.Lock() for number in range(1, count + 1)}
        for alarm in self._alarms.values():
            alarm.acquire()
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name=f"{name}-{number}", daemon=True)
            for number in self._alarms
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        while True:
            self._run_thread(number)
            if self._control[STOP]:
                return
            self.sleeping.add(number)
            self._alarms[number].acquire()

    def wake(self, threads: int) -> None:
        """Wake sleeping threads among the first `threads`, the leader included."""
        for number in tuple(self.sleeping):
            if number < threads:
                self.sleeping.discard(number)
                self._ring(number)

    def _ring(self, number: int) -> None:
        with suppress(RuntimeError):  # another thread has just woken it
            self._alarms[number].release()

    def dismiss(self) -> None:
        """End all threads, and wait until they have ended."""
        self._control[STOP] = 1
        for number in self._alarms:
            self._ring(number)
        for thread in self._threads:
            if thread is not threading.current_thread():  # garbage collection may run in any thread
                thread.join()
        self.sleeping.clear()
