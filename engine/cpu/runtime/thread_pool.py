"""Threads that stand by for calls which share their work out through memory, and how they are woken and ended.

A call has a number, its *turn*. Whoever leads it writes down what there is to do and then the turn; helpers that look
on see it and take part, those that sleep are woken and come when they can. So no call waits for a helper that sleeps or
is late. After a turn helpers look on for half a millisecond, giving way to whoever wants the processor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from engine.cpu.runtime import atomic, clock
from engine.cpu.runtime.numba_kernels import inline

IDLE_NS = 500_000
"""How long a helper looks on before it goes to sleep: longer than what a simulation does between two calls."""
LINE = 16  # words from one that threads contend for to the next: two cache lines, since they are fetched in pairs
TURN, STOP, OWN = 0, LINE, 2 * LINE
"""Places of the words that all teams have: the number of the present call, and whether to end; then come a team's
own."""


@inline
def next_turn(words, seen, buffer):
    """The turn after `seen`, once it comes; −1 once none has come for IDLE_NS, or the word STOP is set."""
    looks, deadline = 0, clock.now(buffer) + IDLE_NS
    while atomic.read(words, STOP) == 0:
        turn = atomic.read(words, TURN)
        if turn != seen:
            return turn
        looks += 1
        if looks % 64 == 0 and clock.now(buffer) > deadline:
            return -1
        atomic.linger(looks)
    return -1


class Helpers:
    """`count` threads. `stand_by(me)` takes part in calls as thread me = 1, 2, … until none has come for a while.

    It releases the GIL, and with the object holds on to whatever memory it works in; `words` are those that it watches.
    """

    def __init__(self, stand_by: Callable[[int], None], count: int, words: NDArray[np.int64], name: str):
        self.asleep: set[int] = set()
        self._stand_by, self._words = stand_by, words
        self._alarms = {me: threading.Lock() for me in range(1, count + 1)}
        for alarm in self._alarms.values():
            alarm.acquire()
        self._threads = [
            threading.Thread(target=self._work, args=(me,), name=f"{name}-{me}", daemon=True) for me in self._alarms
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, me: int) -> None:
        while True:
            self._stand_by(me)
            if self._words[STOP]:
                return
            self.asleep.add(me)
            self._alarms[me].acquire()

    def wake(self, threads: int) -> None:
        """Have those that sleep look on again, if they are among so many threads with the leader."""
        for me in tuple(self.asleep):
            if me < threads:
                self.asleep.discard(me)
                self._ring(me)

    def _ring(self, me: int) -> None:
        with suppress(RuntimeError):  # somebody else has just rung
            self._alarms[me].release()

    def dismiss(self) -> None:
        """End all threads, and wait until they have ended."""
        self._words[STOP] = 1
        for me in self._alarms:
            self._ring(me)
        for thread in self._threads:
            if thread is not threading.current_thread():  # a garbage collection may end an object from anywhere
                thread.join()
        self.asleep.clear()
