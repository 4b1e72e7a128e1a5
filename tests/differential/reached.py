"""Coverage of the kernels by the random cases, with kernels run as Python: lines, branches and choices.

    python -m tests.differential.reached --count 400 --seed 0

A *line* is a statement, a *branch* a transition from a line to another (coverage.py counts both), a *choice* one of the
two outcomes of `x if condition else y`. They are counted in all kernels of a CPU step (`as_python.of_a_step`), for one
robot of each case and few steps. Uncovered items are listed, unless `unreached.toml` gives the reason.
"""

import argparse
import ast
import json
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import engine
from engine.compile import Function
from tests.differential.as_python import as_python, of_a_step
from tests.differential.cases import Case, case
from tests.differential.corners import CORNERS, corner

ROOT = Path(engine.__file__).parent.parent
SLOW = ("table", "tree_on_threads")
LONG = 10  # seconds of work for a case that are reported
LISTED = Path(__file__).with_name("unreached.toml")


class Item(NamedTuple):
    """A coverage item: the text of its line, and for a branch that of its target line."""

    file: str
    function: str
    line: str
    number: int
    column: int = 0


class Text(NamedTuple):
    """A kernel: the place of its source, and its choices: line, column, and condition."""

    function: Function
    file: Path
    lines: range
    choices: dict[tuple[int, int], str]
    ready: Callable[..., Any]


class _Choices(ast.NodeTransformer):
    def __init__(self, file: Path):
        self.file, self.found = str(file), dict[tuple[int, int], str]()

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.found[node.lineno, node.col_offset] = ast.unparse(node.test)
        place = ast.Tuple([ast.Constant(x) for x in (self.file, node.lineno, node.col_offset)], ast.Load())
        self.generic_visit(node)
        told = ast.Call(ast.Name("_told", ast.Load()), [place, node.test], [])
        node.test = ast.copy_location(told, node.test)
        return node


def texts() -> list[Text]:
    """Return the kernels of a step, each with instrumented source."""
    trees: dict[Path, list[ast.FunctionDef]] = {}
    found = []
    for function in of_a_step():
        code = function.function.__code__
        file = Path(code.co_filename)
        if file not in trees:
            nodes = ast.walk(ast.parse(file.read_text("utf-8")))
            trees[file] = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        node = next(x for x in trees[file] if x.decorator_list and x.decorator_list[0].lineno == code.co_firstlineno)
        body = node.body[1:] if ast.get_docstring(node) else node.body
        choices = _Choices(file)
        plain = choices.visit(node)
        plain.decorator_list = [ast.copy_location(ast.Name("_same", ast.Load()), x) for x in node.decorator_list]
        namespace: dict[str, Any] = {}
        whole = ast.fix_missing_locations(ast.Module([plain], []))
        own = function.function.__globals__
        with patch.dict(own, {"_same": lambda x: x}):
            exec(compile(whole, str(file), "exec"), own, namespace)
        lines = range(body[0].lineno, int(node.end_lineno or 0) + 1)
        found.append(Text(function, file, lines, choices.found, namespace[node.name]))
    return found


@dataclass
class Reached:
    """Covered and existing items, by file and line."""

    texts: list[Text]
    lines: dict[Path, set[int]] = field(default_factory=dict)
    missed_lines: dict[Path, set[int]] = field(default_factory=dict)
    branches: dict[Path, set[tuple[int, int]]] = field(default_factory=dict)
    missed_branches: dict[Path, set[tuple[int, int]]] = field(default_factory=dict)
    choices: Counter[tuple[str, int, int, bool]] = field(default_factory=Counter)

    def missed(self, files: Iterable[Path] | None = None) -> list[Item]:
        """Return the uncovered items; branches of an uncovered line are omitted."""
        return [item for text in self.texts if files is None or text.file in files for item in self._missed(text)]

    def _missed(self, text: Text) -> Iterator[Item]:
        source = text.file.read_text("utf-8").splitlines()
        name, function = str(text.file.relative_to(ROOT)), text.function.__name__
        missed = self.missed_lines[text.file]
        for k in text.lines:
            if k in missed:
                yield Item(name, function, source[k - 1].strip(), k)
        for k, to in sorted(self.missed_branches[text.file]):
            if k in text.lines and k not in missed:
                goal = source[to - 1].strip() if to > 0 else "end"
                if to not in missed:
                    yield Item(name, function, f"{source[k - 1].strip()} -> {goal}", k)
        for (k, column), requested in text.choices.items():
            for answer in (True, False):
                if not self.choices[str(text.file), k, column, answer] and k not in missed:
                    yield Item(
                        name, function, f"{'' if answer else 'not '}({requested}) in {source[k - 1].strip()}", k, column
                    )

    def counts(self, texts: list[Text]) -> tuple[int, int]:
        """Return the number of items in these kernels, and of covered ones."""
        there = reached = 0
        for text in texts:
            for got, missed in (
                (self.lines[text.file], self.missed_lines[text.file]),
                (self.branches[text.file], self.missed_branches[text.file]),
            ):
                inside = [
                    [x for x in some if (x if isinstance(x, int) else x[0]) in text.lines] for some in (got, missed)
                ]
                reached += len(inside[0])
                there += len(inside[0]) + len(inside[1])
            told = [self.choices[str(text.file), *at, x] > 0 for at in text.choices for x in (True, False)]
            there, reached = there + len(told), reached + sum(told)
        return there, reached


@contextmanager
def looking() -> Iterator[Reached]:
    """Within it kernels are Python, and at its end it is known what was reached."""
    import coverage

    with as_python(), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Reached(texts())
        counted = found.choices

        def told(place: tuple[str, int, int], answer: Any) -> bool:
            is_so = bool(answer)
            counted[(*place, is_so)] += 1
            return is_so

        files = sorted({text.file for text in found.texts})
        before = [text.function.function for text in found.texts]
        for text in found.texts:
            text.function.function.__globals__["_told"] = told
            text.function.function = text.ready
        cover = coverage.Coverage(data_file=None, branch=True, include=[str(x) for x in files], config_file=False)
        cover.start()
        try:
            yield found
        finally:
            cover.stop()
            for text, function in zip(found.texts, before, strict=True):
                text.function.function = function
                function.__globals__.pop("_told", None)
            _take(found, cover, Path(folder) / "reached.json", files)


def _take(found: Reached, cover: Any, report: Path, files: list[Path]) -> None:
    cover.json_report(morfs=[str(x) for x in files], outfile=str(report), ignore_errors=False)
    told = json.loads(report.read_text("utf-8"))["files"]
    by_file = {Path(name).resolve(): entry for name, entry in told.items()}
    for file in files:
        entry = by_file.get(file.resolve())
        assert entry is not None, f"nothing of {file} was reached"
        found.lines[file], found.missed_lines[file] = set(entry["executed_lines"]), set(entry["missing_lines"])
        found.branches[file] = {(a, b) for a, b in entry["executed_branches"]}
        found.missed_branches[file] = {(a, b) for a, b in entry["missing_branches"]}


def alone(found: Case, robot: int) -> Case:
    """Return a case with one of its robots; unchanged if robots are computed in blocks of eight."""
    if found.batch == 1 or found.code().lanes > 1:
        return found
    rows = slice(robot, robot + 1)
    state = {key: None if x is None else x[rows] for key, x in found.state.items()}
    settings = dict(found.settings)
    for name in ("kp", "kd"):
        gain = settings[name]
        if isinstance(gain, list) and gain and isinstance(gain[0], list) and len(gain) > 1:
            settings[name] = gain[rows]
    if settings["parameters"] is not None:
        settings["parameters"] = {key: x[rows] for key, x in settings["parameters"].items()}
    return replace(found, state=state, settings=settings)


def walk(found: Case, whole: bool = False) -> None:
    """Two steps of a case; if `whole`, the second under controls, recorded and timed as a rollout's."""
    simulation = found.simulation(timed=whole)
    with suppress(engine.Diverged):
        simulation.step()
        if whole:
            controls = np.repeat(simulation.tau[:, None], 2, 1)
            batch, nq, nv = found.batch, simulation.model.nq, simulation.model.nv
            simulation.advance(2, controls, 2, (np.zeros((batch, 2, nq)), np.zeros((batch, 2, nv))))
        else:
            simulation.step()


def cases(count: int, seed: int, corners: int) -> Iterator[tuple[str, int, Case]]:
    """Return `count` cases of each corner, and `count` random cases, one robot each."""
    for name in CORNERS:
        for number in range(seed, seed + (corners // 5 if name in SLOW else corners)):
            yield f"corner({name!r}, {number})", number, corner(name, number)
    for number in range(seed, seed + count):
        found = case(number)
        yield f"case({number})", number, alone(found, number % found.batch)


def unlisted(missed: list[Item], listed: list[dict]) -> list[Item]:
    """Return what is neither covered nor listed."""
    known = {(x["file"], x["function"], line) for x in listed for line in x["lines"]}
    return [x for x in missed if (x.file, x.function, x.line) not in known]


def listed() -> list[dict]:
    """The entries of unreached.toml."""
    return list(tomllib.loads(LISTED.read_text("utf-8")).get("unreached", [])) if LISTED.exists() else []


def report(found: Reached) -> str:
    """A table by files, and what is not reached and not listed."""
    files = sorted({text.file for text in found.texts})
    lines = []
    for file in [*files, None]:
        there, reached = found.counts([text for text in found.texts if file in (text.file, None)])
        name = "in all" if file is None else str(file.relative_to(ROOT))
        lines.append(f"{name:52} {reached:5} of {there:5}  {100 * reached / max(there, 1):5.1f} %")
    missed = found.missed()
    new = unlisted(missed, listed())
    lines.append(f"{len(missed)} places not reached, {len(missed) - len(new)} of them listed; those that are not:")
    lines += [f"  {x.file}:{x.number} {x.function}: {x.line}" for x in new]
    return "\n".join(lines)


def measured(count: int, seed: int, corners: int) -> Reached:
    """Return the coverage of `count` random cases and of each corner."""
    with looking() as found:
        for name, number, one in cases(count, seed, corners):
            began = time.process_time()
            walk(one, number % 4 == 0)
            if (spent := time.process_time() - began) > LONG:
                print(f"{name} takes {spent:.0f} s")
    return found


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=250, help="random cases")
    parser.add_argument("--corners", type=int, default=30, help="cases of each corner")
    parser.add_argument("--seed", type=int, default=0)
    requested = parser.parse_args()
    began = time.process_time()
    print(report(measured(requested.count, requested.seed, requested.corners)))
    print(f"{time.process_time() - began:.0f} s of work")


if __name__ == "__main__":
    main()
