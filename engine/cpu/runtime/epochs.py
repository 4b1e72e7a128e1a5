"""Waiting in shared memory, inside kernels: for the next epoch of a `thread_pool`, and for a word to grow."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import now
from engine.compile.shared import pause, read, yield_processor

IDLE_NS = 500_000
"""How long a pool thread spins before it sleeps: longer than a simulation's work between two calls."""
LINE = 16  # words between contended ones: two cache lines, since they are fetched in pairs
EPOCH, STOP, OWN = 0, LINE, 2 * LINE
"""Places in every control block: the number of the present call, and whether to end; then come a pool's own."""
SPINS = 100  # a few µs


@inline
def back_off(spins):
    """Wait briefly, after `spins` earlier ones; in a long wait other threads get the processor."""
    if spins < SPINS:
        pause()
    else:
        yield_processor()


@inline
def wait_for(control, place, least):
    """Wait until control[place] is `least` or more."""
    spins = 0
    while read(control, place) < least:
        back_off(spins)
        spins += 1


@inline
def next_epoch(control, seen):
    """Return the epoch after `seen` once it comes, or −1 after IDLE_NS without one, or when the word STOP is set."""
    polls, deadline = 0, now() + IDLE_NS
    while read(control, STOP) == 0:
        epoch = read(control, EPOCH)
        if epoch != seen:
            return epoch
        polls += 1
        if polls % 64 == 0 and now() > deadline:
            return -1
        back_off(polls)
    return -1
