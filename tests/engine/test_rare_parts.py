"""Rarely used parts: stored as source, and compiled at the first call, once for all threads."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from engine.compile import kernel, rare


@rare
def _seldom(x, most):
    total = 0.0
    for k in range(x.size):
        x[k] = min(x[k], most)
        total += x[k]
    return total


@kernel
def _clipped(x, most):
    return _seldom(x, most) if x[0] > most else -1.0


_IN_A_NEW_PROCESS = """
import numpy as np
from engine.compile import machine, parts
from tests.engine.test_rare_parts import _clipped
made, original = [], machine.compiled
machine.compiled = lambda *how: made.append(how) or original(*how)
print(_clipped(np.ones(2), 2.0), len(made))
{then}
print(len(made), _clipped(np.full(2, 3.0), 2.0), len(made))
"""


def _printed(then: str = "") -> list[str]:
    run = [sys.executable, "-c", _IN_A_NEW_PROCESS.format(then=then)]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.usefixtures("cache")
def test_what_few_calls_need_is_made_by_the_first_of_them_and_kept():
    """If another process has compiled it, none does."""
    assert [_printed(), _printed()] == [["-1.0", "1", "1", "4.0", "2"], ["-1.0", "0", "0", "4.0", "0"]]


@pytest.mark.usefixtures("cache")
def test_what_loaded_code_may_call_is_made_beforehand_where_that_is_asked_for():
    assert _printed("parts.make_rare()") == ["-1.0", "1", "2", "4.0", "2"]


@pytest.mark.usefixtures("cache")
def test_threads_that_call_what_is_rare_at_once_find_it_made_once(compiled):
    """The arrays that it writes to are known before."""
    locked = np.full(2, 3.0)
    locked.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        _clipped(locked, 2.0)
    assert _clipped(np.ones(2), 2.0) == -1.0
    assert len(compiled) == 1
    found: list[float] = []
    together = threading.Barrier(4)

    def clip() -> None:
        x = np.full(1000, 3.0)
        together.wait()
        found.append(_clipped(x, 2.0) + x[999])

    threads = [threading.Thread(target=clip) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2002.0] * 4
    assert len(compiled) == 2
