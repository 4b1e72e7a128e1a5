"""Names that pages give are there: files, the engine's names and their arguments, entries of menus."""

import inspect
import re
import subprocess

import page_text
import pytest
from page_text import ROOT
from PyQt6.QtWidgets import QMenu
from test_plain_english import SOURCES, remarks

import engine
from app.features import autosaved_runs

SUFFIXES = "py|cu|cuh|md|json|jsonl|txt|toml|npz|npy|csv|svg"
PLACEHOLDERS = {
    *("RUN.npz", "FILE.npz", "FILE.py", "FILE.png", "FILE.svg", "FILE.jsonl", "FILE.toml", "file.py"),
    *("contact.json", "x.json", "sitecustomize.py"),
    *("data.json", "data.csv", "rows.jsonl", "README.md"),  # of a folder that `main.py paper` writes
    "study.json",  # of a folder of results
    *("path.py", "coverage.py"),
}
NAMED = re.compile(r"(?<![\w/.*{}<>-])((?:[\w-]+/)*[\w-]+\.(?:py|cuh?|md|vert|frag|glsl))\b(?!\()")
"""Files that a source names."""


@pytest.fixture(scope="module")
def files() -> set[str]:
    """The repository's files, by each end of their paths."""
    git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if git.returncode == 0:
        names = set(git.stdout.split())
    else:
        names = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.*")}
    return {"/".join(name.split("/")[-k:]) for name in names for k in range(1, 2 + name.count("/"))}


@pytest.mark.parametrize("page", page_text.PAGES)
def test_files_that_a_page_names_are_there(page, files):
    named = set(re.findall(rf"`(?:\.\./)?([\w./-]+\.(?:{SUFFIXES}))`", page_text.prose(page))) - PLACEHOLDERS
    assert named - files == set()


@pytest.mark.parametrize("top", ["engine", "app", "tests"])
def test_files_that_comments_and_docstrings_name_are_there(top, files):
    paths = [path for path in sorted((ROOT / top).rglob("*")) if path.suffix in SOURCES]
    found = [
        (f"{path.relative_to(ROOT)}:{number}", name)
        for path in paths
        if NAMED.search(path.read_text("utf-8"))
        for number, remark in remarks(path)
        for name in NAMED.findall(remark)
    ]
    assert len(found) > 2
    assert [(place, name) for place, name in found if name not in files | PLACEHOLDERS] == []


def test_the_tree_of_the_page_of_the_architecture_is_that_of_the_repository():
    (tree,) = re.findall(r"# How it is built\s+```\n(.*?)```", page_text.source("docs/architecture.md"), re.DOTALL)
    root, missing = ROOT, []
    for line in tree.splitlines():
        name = line.strip().split(" ")[0].rstrip(",")
        if not line.startswith(" "):
            root = ROOT / name if name.endswith("/") else ROOT
            names = [name.rstrip("/")] if name.endswith("/") else [name]
            missing += [each for each in names if not (ROOT / each).exists()]
            names = re.findall(r"(?<=\s)([\w.]+/)(?=\s)", line)
            missing += [each for each in names if not (ROOT / each).exists()]
        else:
            names = re.findall(r"(?<![\w/])([\w]+(?:\.py|/))(?=[\s,;]|$)", line)
            near = [root, root / "cpu", root / "kernels", root / "bench"]
            missing += [each for each in names if not any((folder / each).exists() for folder in near)]
    assert missing == []
    assert tree.count("\n") > 15


@pytest.mark.parametrize("page", page_text.PAGES)
def test_names_of_the_engine_that_a_page_gives_are_there(page):
    text = page_text.source(page)
    for name in set(re.findall(r"\bengine\.([A-Za-z_]\w*)(?!\w*/)", re.sub(r"engine\.\w+\.|engine/", "", text))):
        assert hasattr(engine, name), f"engine.{name}"
    calls = re.findall(r"\b(?:engine\.)?(Simulation|ForwardDynamics|Parameters|Scene|Obstacle|load)\(([^()]*)\)", text)
    for name, arguments in calls:
        known = inspect.signature(getattr(engine, name)).parameters
        assert set(re.findall(r"(\w+)=", arguments)) <= set(known), f"{name}({arguments})"


def test_names_for_the_window_are_used_there_and_on_no_page():
    """Those of `engine.__all__` that may change in any version."""
    names = {"PHASE_MEANINGS", *re.findall(r"`(\w+)`", page_text.source("docs/api/window.md"))}
    assert names < set(engine.__all__)
    assert len(names) > 20
    app = "\n".join(path.read_text("utf-8") for path in (ROOT / "app").rglob("*.py"))
    assert [name for name in names if not re.search(rf"\bengine\.{name}\b", app)] == []
    pages = "\n".join(map(page_text.source, page_text.PAGES))
    assert [name for name in names if re.search(rf"\bengine\.{name}\b", pages)] == []


@pytest.mark.parametrize("page", page_text.PAGES)
def test_attributes_of_a_simulation_that_a_page_names_are_there(page):
    robot = engine.load(engine.find_robot("quadruped"))
    simulation = engine.Simulation(robot, scene=engine.Scene(), device="cpu")
    text = page_text.source(page)
    for path in set(re.findall(r"\b(?:sim|simulation|Simulation)\.([a-z_]+(?:\.[a-z_]+)?)", text)):
        found = simulation
        for name in path.split("."):
            if name in ("py", "md"):
                break
            assert hasattr(found, name), f"{page}: simulation.{path}"
            found = getattr(found, name)
    for name in set(re.findall(r"`contacts\.(\w+)`", text)):
        assert hasattr(simulation.contacts, name)


def entries(menu: QMenu, within: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The ways to all entries of a menu."""
    found: set[tuple[str, ...]] = set()
    menu.aboutToShow.emit()
    for action in menu.actions():
        way = (*within, action.text().replace("&", "").rstrip("…"))
        found.add(way)
        if action.menu() is not None:
            found |= entries(action.menu(), way)
    return found


def test_entries_of_menus_that_pages_name_are_there(window, tmp_path):
    autosaved_runs.AutosavedRuns(window, tmp_path)
    ways: set[tuple[str, ...]] = set()
    for top in window.menuBar().actions():
        name = top.text().replace("&", "")
        ways |= {(name,)} | entries(top.menu(), (name,))
    ends = {way[-1] for way in ways} | {" › ".join(way[-2:]) for way in ways}
    for page in page_text.PAGES:
        for reported in re.findall(r"\*((?:[A-Z][\w ]+ › )+[A-Z][\w ]+…?)\*", page_text.page_text(page)):
            assert " › ".join(reported.rstrip("…").split(" › ")) in ends, f"{page}: {reported}"
    assert len(ways) > 60
