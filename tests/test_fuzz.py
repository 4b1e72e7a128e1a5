"""A short run of the fuzzer over every reader of files, varying daily; CONTRIBUTING describes the long run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz"
INPUTS = 100  # for each reader
MESHES = {"stl", "obj", "collada", "ply", "off", "gltf"}
READERS = {"importer", "srdf", *MESHES, "heights", "sessions", "recordings", "results", "studies"}


def fuzz(*words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(FUZZ), *words], capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the fuzzer bounds its processes as POSIX does")
def test_no_mutated_file_does_worse_than_a_refusal(tmp_path: Path) -> None:
    code, message = fuzz("--inputs", str(INPUTS), "--keep", str(tmp_path))
    assert code == 0, message
    rows = [json.loads(line) for line in message.splitlines()]
    assert {row["target"] for row in rows} == READERS
    assert all(row["inputs"] == INPUTS for row in rows)
    assert all(0 < row["taken"] < INPUTS for row in rows)  # neither what is mutated nor what is read stands still


FAULTY = """
import json, os, sys
sys.path[:0] = [{fuzz!r}]
import fuzzing, targets
from pathlib import Path

def read(path, data):
    text = data.decode("latin-1")
    if text.startswith("a"):
        raise IndexError("a fault")
    if text.startswith("b"):
        os.abort()
    while text.startswith("c"):
        pass

fuzzing.PATIENCE = 0.5
change = lambda _, chance: chance.choice([b"a", b"b", b"c", b"d"])
target = targets.Target("faulty", lambda _: {{".x": [b"zz"]}}, change, read, ())
targets.TARGETS["faulty"] = target
report = fuzzing.fuzz("faulty", 12, 2, 1, 600.0, Path({keep!r}))
print(json.dumps([report.inputs, report.findings]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the fuzzer bounds its processes as POSIX does")
def test_a_fault_a_crash_and_a_hang_are_found_and_kept(tmp_path: Path) -> None:
    code = FAULTY.format(fuzz=str(FUZZ), keep=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    inputs, findings = json.loads(done.stdout.splitlines()[-1])
    assert inputs == 12
    assert sorted(name.partition(":")[0] for name in findings) == [
        "IndexError at <string>", "it takes too long", "the process ended with -6",
    ]  # fmt: skip
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"a", b"b", b"c"]
