"""The examples of docs/examples do what they show, docstrings say what the site shows of them, and the site builds."""

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import page_text
import pytest
from page_text import ROOT
from PIL import Image

import engine

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
NEEDS = {"gpu": "cupy", "plot": "matplotlib", "study": "pyarrow"}
GENERATOR = ("sphinx", "myst_parser", "latex2mathml", "furo")


@pytest.mark.parametrize(
    "path", [pytest.param(each, marks=[pytest.mark.gpu] * (each.stem == "gpu"), id=each.stem) for each in EXAMPLES]
)
def test_an_example_prints_and_draws_what_it_shows(path: Path, tmp_path, monkeypatch, capsys):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason=f"{NEEDS[path.stem]} is not installed")
    monkeypatch.chdir(tmp_path)
    if NEEDS.get(path.stem) == "matplotlib":
        importlib.import_module("matplotlib").use("agg")
    runpy.run_path(str(path), run_name="__main__")
    shown = re.search(r"(?:^# .*\n)*\Z", path.read_text("utf-8"), re.MULTILINE)[0].replace("# ", "")
    assert capsys.readouterr().out == shown
    pictures = list(tmp_path.glob("*.png"))
    assert shown or pictures, "it shows nothing"
    for picture in pictures:
        both = [Image.open(each).convert("L") for each in (picture, path.with_suffix(".webp"))]
        drawn, kept = (np.asarray(each, float) for each in both)
        assert drawn.shape == kept.shape
        assert np.corrcoef(drawn.ravel(), kept.ravel())[0, 1] > 0.98


def test_examples_are_short_and_each_stands_in_the_list():
    titles = {}
    for path in EXAMPLES:
        title, *lines = path.read_text("utf-8").splitlines()
        titles[path.stem] = title.strip('".')
        code = [line for line in lines if line and not line.startswith(("#", "import ", "from "))]
        assert len(code) <= (30 if path.stem == "environment" else 12), path.stem
    listed = re.findall(r"^- \[(.+)\]\(examples/(\w+)\.py\)$", page_text.source("docs/examples.md"), re.MULTILINE)
    assert sorted((name, title) for title, name in listed) == sorted(titles.items())
    assert len(listed) >= 30


def test_each_public_name_stands_on_one_page_of_the_interface():
    pages = [path.read_text("utf-8") for path in (ROOT / "docs" / "api").glob("*.md")]
    lists = re.findall(r"^`\w+`(?:,\s`\w+`)*$", "\n".join(pages), re.MULTILINE)
    named = re.findall(r"\w+", " ".join(lists))
    assert sorted(named) == sorted(name for name in engine.__all__ if callable(getattr(engine, name)))


def test_the_site_is_made_without_a_warning_and_needs_no_network(tmp_path):
    missing = [name for name in GENERATOR if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} of the group docs are not installed")
    site = tmp_path / "site"
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs", ".", str(site)]
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    pages = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.html")}
    loaded = [found for page in pages.values() for found in re.findall(r"<(?:link|script|img)[^>]*https?:[^>]*>", page)]
    assert loaded == []
    named = re.findall(r'id="engine\.(\w+)"', "".join(page for name, page in pages.items() if "/api/" in name))
    assert set(named) == {name for name in engine.__all__ if callable(getattr(engine, name))}
    equations = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", page_text.source("docs/scheme.md"), re.DOTALL)
    assert pages["docs/scheme.html"].count("<math") == len(equations)
    assert pages["docs/examples.html"].count("literalinclude") == 0
    assert pages["index.html"] == pages["README.html"]
