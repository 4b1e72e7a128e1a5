"""The measurements of the suites of `main.py bench`, and their figures."""

import json
import re
import sys

import numpy as np
import pytest

import engine
import main
from engine import figures
from engine.bench.suites import lengths, pictures, threads
from engine.selection import capabilities
from tests.bench import accuracy, command
from tests.bench import pictures as ours

LENGTHS = (4, 40)


@pytest.fixture(scope="module")
def drawn():
    """Return the function that draws each suite's figure, from few rows, and the names that it must show."""
    left, timed = accuracy.residuals(LENGTHS, batch=1), list(lengths.run(0.01, LENGTHS))
    raced = list(threads.run(0.01, (50, 100)))
    served = set(capabilities.algorithms(engine.chain(2), "cpu"))
    return {
        "accuracy": (lambda: ours.accuracy(left), {*accuracy.TEXTS, "float32", "float64"}),
        "algorithms": (lambda: pictures.algorithms(timed), served),
        "threads": (lambda: pictures.threads(raced), {"1 thread", "the ABA", "50", "100"}),
    }


@pytest.mark.parametrize("suite", ["accuracy", "algorithms", "threads"])
def test_a_picture_names_what_it_shows_and_is_the_same_every_time(drawn, suite, tmp_path):
    draw, names = drawn[suite]
    for name in ("first.svg", "again.svg"):
        figures.save(draw(), tmp_path / name)
    text = (tmp_path / "first.svg").read_text("utf-8")
    words = re.findall(r">([^<>]+)</text>", text)
    assert {name for name in names if not any(name in word for word in words)} == set()
    assert text == (tmp_path / "again.svg").read_text("utf-8")


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_picture_has_the_format_of_its_name(drawn, ending, start, tmp_path):
    path = tmp_path / f"times.{ending}"
    figures.require(path)
    figures.save(drawn["algorithms"][0](), path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_an_algorithm_without_an_answer_leaves_a_gap():
    rows = [accuracy.Row("abia", "float32", 4, False, 1e-6), accuracy.Row("abia", "float32", 9, False, float("inf"))]
    (panel,) = ours.accuracy(rows).axes
    np.testing.assert_array_equal(panel.lines[0].get_xydata(), [[4, 1e-6]])


def test_every_algorithm_of_the_cpu_is_timed_up_to_its_largest_size():
    served, short = set(capabilities.algorithms(engine.chain(2), "cpu")), capabilities.ALGORITHMS["jsiia"].largest
    few, many = lengths.run(0.01, (short, short + 1))
    assert set(few["us"]) == set(few["residual"]) == served
    assert set(many["us"]) == served - {"jsiia"}
    assert all(time > 0 for time in few["us"].values())
    assert all(left < 1e-11 for row in (few, many) for left in row["residual"].values())
    times, residuals = lengths.markdown([few, many]).split("\n\n")
    assert times.splitlines()[0] == f"| µs a call | {short} | {short + 1} |"
    assert len(times.splitlines()) == len(residuals.splitlines()) == 2 + len(served)


def test_bench_draws_and_prints_data_in_one_call(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(accuracy, "LENGTHS", LENGTHS)
    few = accuracy.residuals(LENGTHS, batch=1)
    few[0] = few[0]._replace(residual=float("inf"))
    monkeypatch.setattr(accuracy, "residuals", lambda lengths: [row for row in few if row.links in lengths])
    path = tmp_path / "left.svg"
    assert command.main(["--suite", "accuracy", "--json", "--picture", str(path)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len({row.pop("key") for row in rows}) == len(few)
    assert rows[0] == {**few[0]._asdict(), "residual": None}
    assert rows[1:] == [row._asdict() for row in few[1:]]
    assert path.read_text("utf-8").startswith("<?xml")
    assert command.main(["--suite", "accuracy"]) == 0
    assert capsys.readouterr().out.startswith("| float32 | 4 | 40 |")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--picture", "a.svg"), "--picture goes with --suite threads | algorithms"),
        (("--measure-choice", "--suite", "threads", "--picture", "a.svg"), "not with --measure-choice"),
        (("--suite", "threads", "--picture", "a.bmp"), "'a.bmp'; expected a name that ends in .svg, .png, .pdf"),
        (("--suite", "threads", "--picture", "nowhere/a.svg"), "there is no folder 'nowhere'"),
    ],
)
def test_a_picture_that_cannot_be_is_refused_before_anything_is_measured(capsys, words, message):
    assert main.main(["bench", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_without_matplotlib_one_sentence_says_what_to_install(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert command.main(["--suite", "accuracy", "--picture", str(tmp_path / "a.svg")]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
