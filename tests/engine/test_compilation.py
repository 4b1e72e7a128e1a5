"""Compilation in a child process: its selection, duration, and termination."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def fresh(cache: Path, script: str) -> str:
    """Return the output of a script in a new process with that cache folder."""
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
assert perf_counter() - began < 20
assert not compilation.running and compilation.wait(0) and compilation.needed
""",
    )


def test_an_estimate_does_not_have_the_collector_stop_all_threads(tmp_path):
    fresh(
        tmp_path,
        """
import gc
import engine
compilation, full = engine.Compilation(engine.Simulation(engine.chain(2))), []
gc.callbacks.append(lambda phase, info: full.append(phase) if info["generation"] == 2 else None)
gc.collect()
full.clear()
assert compilation.seconds > 0.1
assert not full
""",
    )


def test_a_process_stands_by_where_no_code_is_on_disk_and_is_the_one_that_compiles(tmp_path):
    """It ends with who started it, used or not."""
    script = """
import engine, os, sys
from engine import compilation
engine.Compilation.stand_by()
waiting = compilation._waiting_process()._process
print(waiting and waiting.pid)
if len(sys.argv) > 1:
    made = engine.Compilation(engine.Simulation(engine.chain(2)))
    made.start()
    assert made._process is waiting
    assert made.wait() and not made.needed
"""
    first, second = fresh(tmp_path, script), fresh(tmp_path, "import sys\nsys.argv += ['compile']" + script)
    for line in (first, second):
        with pytest.raises(ProcessLookupError):
            os.kill(int(line), 0)
    assert fresh(tmp_path, script) == "None\n"
    assert int(fresh(tmp_path, script.replace("stand_by()", "stand_by(always=True)")))


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


def test_code_that_another_process_made_is_all_that_the_first_step_needs(tmp_path):
    script = """
import engine, os
from pathlib import Path

import pytest
from engine.compile import machine
compilation = engine.Compilation(engine.Simulation(model := engine.chain(2)))
guess = compilation.seconds
compilation.start(nice=10)
assert compilation.wait() and not compilation.needed
kept = sorted(Path(os.environ["CATENA_CACHE_DIR"]).glob("code/*/*"))
machine.compiled = None  # to compile would be an error
simulation = engine.Simulation(model, kp=3.0)
simulation.step(10)
assert sorted(Path(os.environ["CATENA_CACHE_DIR"]).glob("code/*/*")) == kept
print(guess, engine.Compilation(simulation).seconds)
"""
    guess, remembered = map(float, fresh(tmp_path, script).split())
    assert guess != remembered
    assert 0.1 < remembered < 600


def test_kept_code_is_loaded_in_less_than_half_a_second_of_work(tmp_path):
    script = """
import engine, time
simulation = engine.Simulation(engine.load({robot!r}))
began = time.process_time()
simulation.step(1)
print(time.process_time() - began)
""".format(robot=f"{ROOT}/robots/arm7.urdf")
    first, second = float(fresh(tmp_path, script)), float(fresh(tmp_path, script))
    assert second < min(0.5, first / 5)


def test_neither_the_first_step_nor_the_first_answer_loads_the_bench(tmp_path):
    fresh(
        tmp_path,
        """
import engine, sys
model = engine.chain(2)
engine.forward_dynamics(model, *[[0.0] * 2] * 3)
engine.forward_dynamics(model, *[[[0.0] * 2] * 40] * 3)
engine.Simulation(model).step(1)
assert "engine.bench" not in sys.modules
assert engine.Interval is engine.bench.intervals.Interval
""",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_a_run_says_that_it_compiles_on_a_terminal_and_only_the_first_time(tmp_path, on_a_terminal):
    messages = []
    for _ in range(1 + on_a_terminal):
        end, terminal = os.openpty()
        run = subprocess.run(
            [sys.executable, ROOT / "main.py", "run", "pendulum", "--seconds", "0.002", "--json"],
            env={**os.environ, "CATENA_CACHE_DIR": str(tmp_path)}, stdout=subprocess.PIPE,
            stderr=terminal if on_a_terminal else subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        os.write(terminal, b"\n")  # so that there is something to read
        messages.append((run.stderr or "") + os.read(end, 10_000).decode())
        os.close(end)
        os.close(terminal)
    line = r"^compiling once for this machine, about \d+ s\r$"
    assert [len(re.findall(line, text, re.MULTILINE)) for text in messages] == ([1, 0] if on_a_terminal else [0])


def test_no_python_file_of_the_present_folder_is_run(tmp_path):
    """Whoever opens a robot in a folder of somebody else's runs nothing that lies there."""
    here = tmp_path / "somebody's"
    here.mkdir()
    for name in ("json", "ctypes", "engine"):
        (here / f"{name}.py").write_text("open('run', 'w').close()\n")
    fresh(
        tmp_path / "cache",
        f"""
import engine, os
compilation = engine.Compilation(engine.Simulation(engine.chain(2)))
os.chdir({str(here)!r})
compilation.start()
assert compilation.wait(60) and not compilation.needed
assert not os.path.exists('run')
""",
    )


def test_a_robot_on_the_ground_is_prepared_for_other_grounds_first(tmp_path):
    script = f"""
import engine
model = engine.load("{ROOT}/robots/quadruped.urdf")
standing = engine.Compilation(engine.Simulation(model, integrator="implicit", scene=engine.Scene()))
pushed, *others = standing.others()
rough = engine.Scene(engine.HeightField([[0, 0.1], [0.2, 0]], 1.0))
stairs = engine.Scene(obstacles=[engine.Obstacle("box", (1, 1, 1))])
for scene, other in zip((rough, stairs), others):
    simulation = engine.Simulation(model, integrator="implicit", scene=scene)
    print(engine.Compilation(simulation).makes_the_same_as(other))
print(len(others))
"""
    *same, count = fresh(tmp_path, script).split()
    assert same == ["True", "True"]
    assert int(count) > 4
