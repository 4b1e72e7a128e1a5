"""Bugs that were invented from the sources alone: each is planted in a copy of the tree, and the tests are asked.

    uv run python tests/mutation/planted.py tests/mutation/planted.json --only a01,a02
    uv run python tests/mutation/planted.py NEW.json      # another list: for each bug its room, file, old and new text

Asked are the comparison of steps, the laws, and the tests that name the file most often; the rest of the suite may find
more. The list has a line for each bug; `observable` says what a user would see of it. One whose text is no longer in
its file is taken out.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".mypy_cache", ".ruff_cache", "uv.lock")
STEPS = "tests/differential/test_steps.py"
NEAREST = 8  # files of tests


def nearest(root: Path, file: str, folders: list[str]) -> list[str]:
    """The test files that name a module most often, those of its own name first."""
    name, found = Path(file).stem, []
    for path in (path for folder in folders for path in (root / folder).glob("test_*.py")):
        score = len(re.findall(rf"\b{re.escape(name)}\b", path.read_text("utf-8"))) + 20 * (name in path.stem)
        if score:
            found.append((-score, path.relative_to(root).as_posix()))
    return [path for _, path in sorted(found)[:NEAREST]]


def arguments(root: Path, room: str, file: str) -> list[list[str]]:
    """Return pytest's arguments, in sequence until a test fails."""
    laws = sorted(path.relative_to(root).as_posix() for path in (root / "tests/differential").glob("test_*_laws.py"))
    window = sorted(path.relative_to(root).as_posix() for path in (root / "tests/app").glob("test_laws_of_*.py"))
    reached = ["tests/differential/test_reached.py"]
    return {
        "engine": [[STEPS, "-k", "on_the_cpu"], laws, nearest(root, file, ["tests/engine", "tests"]), reached],
        "window": [window, nearest(root, file, ["tests/app"])],
        "gpu": [[STEPS, "-k", "host or on_the_gpu"], nearest(root, file, ["tests/engine"])],
        "pages": [["tests/pages"], ["tests/engine/test_cli.py", *nearest(root, file, ["tests/engine"])]],
    }[room]


def verdict(root: Path, bug: dict[str, str]) -> str:
    """Return the test that detects a bug, or that none does."""
    path = root / bug["file"]
    sound = path.read_text("utf-8")
    if sound.count(bug["old"]) != 1:
        return "its text is not there any more"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    path.write_text(sound.replace(bug["old"], bug["new"]), "utf-8")
    try:
        for words in filter(None, arguments(root, bug["room"], bug["file"])):
            call = [sys.executable, "-m", "pytest", "-q", "-n0", "--maxfail=1", "-p", "no:cacheprovider", *words]
            output = subprocess.run(call, cwd=root, env=environment, capture_output=True, text=True, check=False).stdout
            if failed := re.search(r"^(?:FAILED|ERROR) (.*)$", output, re.MULTILINE):
                return f"found by {failed[1]}"
    finally:
        path.write_text(sound, "utf-8")
    return "PASSES"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("--only", default="", help="names of bugs, with commas between")
    given = parser.parse_args()
    chosen = [name for name in given.only.split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        shutil.copytree(ROOT, root, ignore=LEFT_OUT)
        for name, bug in json.loads(given.list.read_text("utf-8")).items():
            if not chosen or name in chosen:
                print(f"{name} {bug['room']}: {verdict(root, bug)}", flush=True)


if __name__ == "__main__":
    main()
