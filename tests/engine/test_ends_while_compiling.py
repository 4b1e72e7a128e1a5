"""A program that ends while a background process still compiles for it: it does not wait, and no process is left."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from engine.compile import background

ROOT = Path(__file__).parents[2]
_ENDS_EARLY = """
import numpy as np
from engine.compile import background
background.DELAY = 0.0
from engine.cpu.rigid_body.rnea import all_finite
assert all_finite(np.zeros((2, 2)))
while background._background()._process is None or not background._background()._pending:
    pass
print(background._background()._process.pid)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="whether a process runs is asked by a signal")
def test_a_program_that_ends_waits_for_no_code_and_leaves_no_process(tmp_path):
    """Unfinished code is not stored, but code that has run is."""
    environment = {**os.environ, "CATENA_CACHE_DIR": str(tmp_path), "CATENA_OPTIMISATION": "3", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", _ENDS_EARLY], env=environment, capture_output=True, text=True, check=True
    )
    assert not run.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.stdout), 0)


@pytest.mark.parametrize("left", [0, 1, 40, 400])
def test_the_process_ends_in_silence_where_the_program_ended_within_a_request(left):
    request = pickle.dumps(("name", "text " * 200, "LOOPS"))
    command = [sys.executable, "-P", str(Path(background.__file__).with_name("background_child.py"))]
    ended = subprocess.run(command, input=request[:left], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
