"""One module against a few test files, in seconds: what the tests that are meant for it do not see.

    python tests/mutation/one.py engine/lie.py lie
    python tests/mutation/one.py engine/holding.py holding cli --count 40 --seed 2026-11-22

Everything is imported once. Each forked process then executes the changed text in the module that is there, and puts
what it defines in the place of what others have imported of it. That takes a quarter of a second, but changes nothing
that has been compiled or made before: it suits modules of plain Python, and the small functions of kernels where tests
call them as Python. Otherwise `run.py` is right.
"""

import argparse
import datetime
import importlib
import os
import random
import resource
import sys
import tempfile
import types
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[k]) for k in (2, 1, 0)] + [str(Path(__file__).parents[1] / "engine")]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

import mutants as making  # noqa: E402
import pytest  # noqa: E402
import score  # noqa: E402
from rooms import ROOT  # noqa: E402

SECONDS = 60
"""CPU time limit for all tests of a mutant."""


def put(text: str, module: types.ModuleType, path: str) -> None:
    """Execute a changed text in its module, and give what it defines to all that imported it from there."""
    before = dict(vars(module))
    exec(compile(text, path, "exec", dont_inherit=True), vars(module))
    for other in list(sys.modules.values()):
        if other is module or not getattr(other, "__name__", "").startswith(("engine", "test_")):
            continue
        for name, value in list(vars(other).items()):
            if name in before and value is before[name]:
                setattr(other, name, vars(module)[name])


def passes(files: list[str], mutant: making.Mutant | None, text: str, module: types.ModuleType, shadow: Path) -> bool:
    """Whether all tests of those files pass, in a child process, with a mutant or None."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        if mutant is not None:
            shadow.write_text(mutant.applied(text), "utf-8")
            put(mutant.applied(text), module, str(shadow))
        words = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
        code = int(pytest.main([*words, *files]))
    finally:
        os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="the module's file, such as engine/lie.py")
    parser.add_argument("tests", nargs="+", help="test files of tests/engine, without test_ and .py")
    parser.add_argument("--count", type=int, help="so many mutants by chance (all)")
    parser.add_argument("--seed", default=datetime.date.today().isoformat(), help="what the sample hangs on (the day)")
    arguments = parser.parse_args()
    text = (ROOT / arguments.path).read_text("utf-8")
    module = importlib.import_module(arguments.path.removesuffix(".py").replace("/", "."))
    for name in arguments.tests:
        importlib.import_module(f"test_{name}")
    files = [str(ROOT / "tests" / "engine" / f"test_{name}.py") for name in arguments.tests]
    chosen = [mutant for mutant in making.mutants(text, arguments.path) if making.compiles(mutant, text)]
    if arguments.count:
        random.Random(f"{arguments.seed} {arguments.path}").shuffle(chosen)
        del chosen[arguments.count :]
    reported: list[score.Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        shadow = Path(folder) / "mutant.py"
        if not passes(files, None, text, module, shadow):
            parser.error("these tests fail as the module is")
        for mutant in chosen:
            fate = "survived" if passes(files, mutant, text, module, shadow) else "killed"
            reported.append(score.Outcome(arguments.path, mutant, fate, ", ".join(arguments.tests), len(files), True))
            if fate == "survived":
                reported[-1].show()
    print(score.table(reported, {}))


if __name__ == "__main__":
    main()
