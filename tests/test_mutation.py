"""The mutation tester: what it changes, that what it plants is what runs, and that it leaves alone what it must."""

import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).with_name("mutation")
sys.path.insert(0, str(FOLDER))

import mutants as making  # noqa: E402
import rooms  # noqa: E402
import score  # noqa: E402

TEXT = '''"""A module."""
LEAST: float = 1e-9  # η


class Lever:
    arm = 2

    def turned(self, a, b):
        """Words."""
        if a < b and not self.arm:
            raise ValueError(f"{a + b} is too little")
        self.arm = rotate(
            a - 1.0,
            b,
        )
        return [x for x in (a, b) if x == LEAST]
'''


def _changes(kind: str) -> set[tuple[str, str, str]]:
    found = [mutant for mutant in making.mutants(TEXT, "lever.py") if mutant.kind == kind]
    return {(x.symbol, " ".join(x.old.split()), "".join(x.new.split())) for x in found}


def test_each_kind_of_bug_is_made_where_it_can_be():
    turned = "Lever.turned"
    assert _changes("boundary") == {(turned, "a < b", "(a<=b)")}
    assert _changes("comparison") == {(turned, "a < b", "(a>=b)"), (turned, "x == LEAST", "(x!=LEAST)")}
    assert _changes("condition") == {
        (turned, "a < b and not self.arm", "(not(a<band(notself.arm)))"),
        (turned, "a < b and not self.arm", "(a<bornotself.arm)"),
        (turned, "not self.arm", "(self.arm)"), (turned, "x == LEAST", "(not(x==LEAST))"),
    }  # fmt: skip
    assert _changes("arithmetic") == {(turned, "a - 1.0", "(a+1.0)")}
    assert _changes("constant") == {("LEAST", "1e-9", "2e-09"), ("Lever", "2", "3"), (turned, "1.0", "2.0")}
    assert {old[:5] for _, old, new in _changes("left out") if new == "pass"} == {"raise", "self."}
    assert [old for _, old, _ in _changes("swapped")] == ["rotate( a - 1.0, b, )"]


def test_every_mutant_is_one_change_that_leaves_the_lines_below_where_they_were():
    for mutant in making.mutants(TEXT, "lever.py"):
        changed = mutant.applied(TEXT)
        assert changed != TEXT
        assert making.compiles(mutant, TEXT)
        assert changed.count("\n") == TEXT.count("\n")
        assert changed.endswith("return [x for x in (a, b) if x == LEAST]\n") or mutant.line == 16


def test_every_module_of_the_engine_is_in_one_room_or_left_out_for_a_reason():
    every = {str(path.relative_to(rooms.ROOT)) for path in (rooms.ROOT / "engine").glob("**/*.py")}
    counted = [path for room in rooms.ROOMS for path in rooms.modules(room)]
    assert len(counted) == len(set(counted))
    others = [path for path in every - set(counted) - rooms.LEFT_OUT if not path.startswith(rooms.FOLDERS_LEFT_OUT)]
    assert sorted(others) == []
    assert all(rooms.tests(room) for room in rooms.ROOMS)


def test_what_is_called_equivalent_is_still_there_and_has_a_reason():
    by_path: dict[str, list[making.Mutant]] = {}
    for path, symbol, old, new in score.equivalents():
        found = by_path.setdefault(path, making.mutants((rooms.ROOT / path).read_text("utf-8"), path))
        assert any(score.key(mutant) == (path, symbol, old, new) for mutant in found), (path, symbol, old, new)
    assert all(score.equivalents().values())


PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import numpy as np
import mutants, planting

path = "engine/kernels/spatial.py"
text = Path(sys.argv[2], path).read_text("utf-8")
planted = next(x for x in mutants.mutants(text, path) if (x.symbol, x.kind) == ("add", "arithmetic"))
planting.settle(Path.cwd(), Path.cwd() / "nothing")
planting.plant(planted, Path.cwd())
from engine.kernels import spatial
from engine.compile import kernel

@kernel
def reaches(x, y):
    y[0] = spatial.dot(spatial.add((x[0], 0.0, 0.0), (x[1], 0.0, 0.0)), (1.0, 0.0, 0.0))

@kernel
def does_not(x, y):
    y[0] = spatial.dot(spatial.sub((x[0], 0.0, 0.0), (x[1], 0.0, 0.0)), (2.0, 0.0, 0.0))

y = np.zeros(1)
for function in (reaches, does_not):
    function(np.array([1.0, 5.0]), y)
    print(y[0])
print(*sorted(path.name.rpartition("_")[0] for path in Path("cache").rglob("*_*") if path.is_file()))
"""


def test_what_is_planted_is_what_runs_compiled_and_is_not_kept(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    words = [sys.executable, "program.py", str(FOLDER), str(rooms.ROOT)]
    python = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert python.stdout.splitlines() == ["-4.0", "-8.0", "does_not"], python.stderr


WORK = """
import sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
import forks, planting

def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def compiles(_):
    planting._not_counted(compute)(1.5)
    return 7

def hangs(_):
    compute(60)
    return 8

def waits(_):
    time.sleep(60)
    return 9

forks.WALL = 100
jobs = [forks.Job(work, 1, lambda code, _, work=work: print(work.__name__, code)) for work in (compiles, hangs)]
print(forks.run_jobs(jobs, 2, Path.cwd()))
began = time.monotonic()
print(forks.run_jobs([forks.Job(waits, 60, print)] * 3, 2, Path.cwd(), began + 0.3), time.monotonic() - began < 30)
"""


def test_work_is_ended_by_its_own_limit_which_compiling_is_not_counted_in_and_by_that_of_all(tmp_path):
    (tmp_path / "program.py").write_text(WORK, "utf-8")
    words = [sys.executable, "program.py", str(FOLDER)]
    python = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    *alone, _, last = python.stdout.splitlines()
    assert sorted(alone) == ["compiles 7", f"hangs {-signal.SIGXCPU}"], python.stderr
    assert last == "2 True"
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
