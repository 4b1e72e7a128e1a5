"""Machine code made in a process of its own: what is needed, how long it takes, and ending it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def fresh(cache: Path, script: str) -> str:
    """What a script prints in a process of its own, with that cache folder."""
    environment = {**os.environ, "CATENA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_a_compilation_that_is_cancelled_ends_at_once_and_is_still_needed(tmp_path):
    fresh(
        tmp_path,
        """
import engine
from time import perf_counter
compilation = engine.Compilation(engine.Simulation(engine.chain(2)))
assert compilation.needed and 0.1 < compilation.seconds < 1000
compilation.start()
assert compilation.running and not compilation.wait(0.01)
began = perf_counter()
compilation.cancel()
assert perf_counter() - began < 1
assert not compilation.running and compilation.wait(0) and compilation.needed
""",
    )


def test_what_else_robots_may_take_is_listed_once_and_only_what_serves_them(tmp_path):
    script = """
import engine
for model in (engine.chain(2), engine.load("robots/humanoid.urdf")):
    others = engine.Compilation(engine.Simulation(model)).others()
    print(len(others), all(other.needed for other in others), len({other.name for other in others}))
"""
    for line in fresh(tmp_path, script.replace("robots/", f"{ROOT}/robots/")).splitlines():
        count, needed, names = line.split()
        assert needed == "True"
        assert count == names != "0"
