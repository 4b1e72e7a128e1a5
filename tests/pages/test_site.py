"""The examples of docs/examples do what they show."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import page_text
import pytest
from page_text import ROOT
from PIL import Image

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
NEEDS = {"gpu": "cupy", "plot": "matplotlib", "study": "pyarrow"}


@pytest.mark.parametrize(
    "path", [pytest.param(each, marks=[pytest.mark.gpu] * (each.stem == "gpu"), id=each.stem) for each in EXAMPLES]
)
def test_an_example_prints_and_draws_what_it_shows(path: Path, tmp_path, monkeypatch, capsys):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason=f"{NEEDS[path.stem]} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
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
