"""The house rules that a machine can keep: sizes, imports, names, paths, packaging. CONTRIBUTING.md says why."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from tests.statements import statements

ROOT = Path(__file__).parents[1]
MAX_FILE = 450
MAX_FUNCTION = 70
MAX_LINE = 120
CODE = {".py", ".cu", ".cuh", ".vert", ".frag", ".glsl"}
TEXT = {*CODE, ".md", ".toml", ".yaml", ".yml", ".urdf", ".xacro", ".qss", ".svg", ""}
TRACES = {
    "a path on one machine": re.compile(
        r"""(?:^|[\s"'`(=:])(?:/(?:home|root|work|tmp|opt|Users)/\w|[A-Z]:\\\\?Users)"""
    ),
    "a package registry's host": re.compile(r"pythonhosted|pypi\.(?:org|python)|/simple/|index-url"),
}


def _files() -> list[Path]:
    """The files that git tracks or will track; where there is no git, all files of the packaged folders."""
    git = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if git.returncode == 0:
        paths = [ROOT / name for name in git.stdout.split("\0") if name]
    else:
        paths = [path for top in ("engine", "app", "robots", "resources", "tests") for path in (ROOT / top).rglob("*")]
    return [path for path in paths if path.is_file()]


FILES = _files()
MODULES = [path for path in FILES if path.suffix == ".py"]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_no_file_is_long() -> None:
    lengths = {_name(path): len(path.read_text("utf-8").splitlines()) for path in FILES if path.suffix in CODE}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE} == {}


def test_no_line_of_cuda_is_long() -> None:
    """Ruff sees to the lines of Python."""
    texts = [path for path in FILES if path.suffix in (".cu", ".cuh")]
    long = [
        f"{_name(path)}:{number}: {len(line)}"
        for path in texts
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > MAX_LINE
    ]
    assert len(texts) > 50
    assert long == []


def test_every_module_says_what_it_is_and_no_function_is_long() -> None:
    """A module opens with a docstring."""
    silent, long = [], {}
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8"))
        if tree.body and not ast.get_docstring(tree):
            silent.append(_name(path))
        for node in statements(tree):
            if isinstance(node, ast.FunctionDef):
                long[f"{_name(path)}:{node.lineno}: {node.name}"] = (node.end_lineno or 0) - node.lineno + 1
    assert len(MODULES) > 100
    assert silent == []
    assert {name: lines for name, lines in long.items() if lines > MAX_FUNCTION} == {}


def functions_of_cuda(text: str) -> Iterator[tuple[str, int]]:
    """Name and lines, its head among them, of each function that is no part of another one."""

    def blanked(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = re.sub(r"//[^\n]*", blanked, text)
    text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*$", blanked, text, flags=re.MULTILINE)
    begin, open_blocks = 0, list[tuple[int, str]]()  # where each began, and the function's name, empty for other blocks
    for at, mark in enumerate(text):
        inside = any(name for _, name in open_blocks)
        if mark == "{":
            head = text[begin:at]
            named = re.findall(r"\b(?![A-Z_]+\b)(\w+)\s*\(", re.sub(r"__\w+__\s*\(\w+[^)]*\)", "", head))
            is_function = bool(named) and not inside and "=" not in head.partition("(")[0]
            open_blocks.append((begin + len(head) - len(head.lstrip()), named[0] if is_function else ""))
        elif mark == "}" and open_blocks:
            start, name = open_blocks.pop()
            if name:
                yield name, text.count("\n", start, at) + 1
        if mark in "{}" or (mark == ";" and not inside):
            begin = at + 1


def test_no_function_of_cuda_is_long() -> None:
    """Two steps of a kernel that have not been divided yet may only become shorter."""
    longer = {"advance_robot": 140, "advance_trees": 122}
    texts = [path.read_text("utf-8") for path in FILES if path.suffix in (".cu", ".cuh")]
    functions = [each for text in texts for each in functions_of_cuda(text)]
    assert len(functions) > 500
    assert {name for name, _ in functions} > {"advance_robot", "advance_groups", "free_motions", "scan"}
    assert {name: lines for name, lines in functions if lines > MAX_FUNCTION} == longer


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    found = []
    for path in FILES:
        if path.suffix not in TEXT or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            found += [
                f"{_name(path)}:{number}: {what}: {line.strip()}"
                for what, trace in TRACES.items()
                if trace.search(line)
            ]
    assert found == []


def test_import_contracts_hold() -> None:
    linter = _run("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache")
    assert linter.returncode == 0, linter.stdout


@pytest.mark.parametrize("module", ["PyQt6", "OpenGL", "pyqtgraph", "cupy", "matplotlib"])
def test_the_engine_starts_without_an_optional_package(module: str) -> None:
    """A machine without a screen or a GPU needs none of them installed."""
    program = f"import sys; sys.modules[{module!r}] = None; import engine, engine.cli; engine.chain(3)"
    python = _run("-W", "error", "-c", program)
    assert python.returncode == 0, python.stderr


def test_every_public_name_is_explained() -> None:
    for name in engine.__all__:
        value = getattr(engine, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), f"engine.{name} has no docstring"
        else:
            assert re.search(rf"\b{name}\b", engine.__doc__ or ""), f"engine's docstring does not say what {name} is"


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "--help"], ["info", "--help"], ["check", "--help"]], ids=" ".join
)
def test_help_is_answered(words: list[str]) -> None:
    program = _run("main.py", *words)
    assert program.returncode == 0, program.stderr
    assert "usage" in program.stdout.lower()


def test_every_resource_is_packaged() -> None:
    """All files but Python's must match a pattern of package-data, or an installed `catena` would lack them."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    packaged = {path for top in patterns for pattern in patterns[top] for path in (ROOT / top).glob(pattern)}
    tops = [ROOT / top for top in ("engine", "app", "robots", "resources")]
    data = {path for path in FILES if path.suffix != ".py" and any(top in path.parents for top in tops)}
    assert data, "no shipped data was found at all"
    assert sorted(data - packaged) == []


PAGES = [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text("utf-8"))
    assert [target for target in targets if "://" not in target and not ((ROOT / name).parent / target).exists()] == []


_FLOORS = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("| of | floors |")[2].partition("\n\n")[0]


def test_the_table_of_floors_is_that_of_the_contracts() -> None:
    """The floors of docs/architecture.md, top down, a semicolon between them, against import-linter's layers."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers: dict[str, list[set[str]]] = {}
    for contract in contracts:
        for container in contract.get("containers", []):
            layers[container] = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    written: dict[str, list[set[str]]] = {}
    for of, floors in re.findall(r"^\| (`(?:engine|app).*?) \| (.+) \|$", _FLOORS, re.MULTILINE):
        for container in re.findall(r"`([\w.]+)`", of):
            written.setdefault(container, []).extend(set(re.findall(r"`(\w+)`", each)) for each in floors.split(";"))
    assert set(written) == {"engine", "engine.cpu", "engine.cuda", "app"}
    assert written == {container: layers[container] for container in written}


def _where_things_go() -> Iterator[tuple[str, str, Path | None]]:
    """What the table of docs/extending.md is about, by row, each place there, and where that lies.

    A name without a folder lies where the one before it does; a dash continues the row above.
    """
    text, about = (ROOT / "docs" / "extending.md").read_text("utf-8"), ""
    for what, places in re.findall(r"^\| (?!new|---)(.+?) \| (.+) \|$", text, re.MULTILINE):
        folder, about = ROOT, about if what.startswith("–") else what
        for place in re.findall(r"`([\w./]+(?:/|\.(?:py|cu|cuh|toml)))`", places):
            near = [root / place for root in (folder, ROOT, ROOT / "engine") if (root / place).exists()]
            if near and "/" in place:
                folder = near[0].parent
            yield about, place, near[0] if near else None


def test_the_places_where_things_go_are_there() -> None:
    found = list(_where_things_go())
    assert len({about for about, _, _ in found}) >= 10
    assert [(about, place) for about, place, path in found if path is None and place != "command.py"] == []


OF_FEWER_JOINTS = (
    "cpu/chains", "cuda/chains", "cuda/collision", "cuda/rigid_body/lane_bodies", "cuda/rigid_body/limbs",
    "cuda/rigid_body/written_out.py", "cuda/runtime/header.py", "cuda/stepping/chain_group_stepper.py",
    "cuda/stepping/limb_step.cuh", "kernels/contact/body_pairs.py", "kernels/contact/mimics.py",
)  # fmt: skip
"""What names a kind of joint, but takes robots with certain joints alone, or their axes one by one."""


def test_all_that_depends_on_the_kind_of_a_joint_is_where_an_elementary_joint_goes() -> None:
    listed = {path for about, _, path in _where_things_go() if about == "an elementary joint"}
    missing = []
    for path in sorted(path for part in ("kernels", "cpu", "cuda") for path in (ROOT / "engine" / part).rglob("*.*")):
        name = path.relative_to(ROOT / "engine").as_posix()
        if path.suffix not in (".py", ".cu", ".cuh") or path in listed or name.startswith(OF_FEWER_JOINTS):
            continue
        if re.search(r"\b(FREE|SPHERICAL|REVOLUTE|PRISMATIC)\b", path.read_text("utf-8")):
            missing.append(name)
    assert missing == []
