"""docs/measured_algorithms.md: its residuals, figures and rounds; tests/pages has the rest."""

import re
from pathlib import Path

import pytest

from engine import figures
from tests.bench import accuracy, pictures, rounds

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "measured_algorithms.md").read_text("utf-8")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_residuals_are_of_all_texts_and_lengths_and_can_be_measured_again(dtype):
    """Within a factor of 30: other processors round otherwise."""
    (table,) = re.findall(rf"\| {dtype} \|(.*?)\n\n", PAGE, re.DOTALL)
    head, _, *rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert tuple(map(int, head)) == accuracy.LENGTHS
    printed = {row[0]: row[1:] for row in rows}
    assert list(printed) == list(accuracy.TEXTS)
    few = accuracy.LENGTHS[:3]
    for (_, name, n), measured in accuracy.worst(accuracy.residuals(few, (dtype,))).items():
        assert 1 / 30 < measured / float(printed[name][few.index(n)]) < 30, f"{name}, {n} links"


def test_figures_are_there_and_small():
    pages = PAGE + "".join((DOCS / name).read_text("utf-8") for name in ("scheme_gpu.md", "studies.md"))
    figures = re.findall(r"!\[[^]]+\]\((.+?)\)", pages)
    assert len(figures) == 7
    assert {name: size for name in figures if (size := (DOCS / name).stat().st_size) > 100_000} == {}
    assert {path.name for path in (DOCS / "figures").iterdir()} == {Path(name).name for name in figures}


@pytest.mark.parametrize(
    ("shape", "bodies", "row"),
    [("binary", 255, "balanced binary tree, 255 bodies"), ("random", 256, "random tree, 256 bodies"),
     ("snake", 200, "floating snake, 200 bodies"), ("star", 4096, "star, 4096 bodies"),
     ("comb", 4096, "comb, 4096 bodies")],
)  # fmt: skip
def test_the_rounds_of_trees_are_those_of_the_schedule(shape, bodies, row):
    (reported,) = re.findall(rf"\| {row} \| (\d+) \|", PAGE)
    assert rounds.rounds(shape, bodies) == int(reported)


def test_the_figure_of_rounds_has_all_shapes(tmp_path):
    rows = [{"shape": shape, "bodies": n, "rounds": n.bit_length()} for shape in rounds.SHAPES for n in (16, 64)]
    figures.save(pictures.rounds_of_trees(rows), tmp_path / "rounds.svg")
    drawn = (tmp_path / "rounds.svg").read_text("utf-8")
    assert all(f">{shape}<" in drawn for shape in rounds.SHAPES)
    assert rounds.table(rows).row_count == len(rounds.SHAPES)
