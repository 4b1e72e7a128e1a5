"""The command `study`: its output, reports and refusals."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from small_studies import SWUNG, named

import engine
from engine import cli
from engine.study import pictures, results
from engine.study.summaries import wilson

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")


def test_the_command_reports_writes_csv_and_refuses_to_resume_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = named(tmp_path, SWUNG), tmp_path / "x.csv"
    assert cli.main(["study", str(path), "--resume"]) == 2
    assert "--resume: there are no results in" in capsys.readouterr().err
    assert cli.main(["study", str(path), "--processes", "1", "--csv", str(table), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["done"], output["samples"], output["diverged"]) == (4, 4, 1)
    found = engine.Study.results(tmp_path / "s.results")
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == list(found)
    assert [row[0] for row in rows[1:]] == ["0", "1", "2", "3"]
    assert [row[rows[0].index("elbow position")] for row in rows[1:]] == [
        "" if np.isnan(x) else repr(float(x)) for x in found["elbow position"]
    ]
    sound = found["elbow position"][~found["diverged"]]
    assert output["numbers"]["elbow position"] == {
        "least": sound.min(),
        "median": np.median(sound),
        "greatest": sound.max(),
    }
    assert output["predicates"]["bent"]["share"] == np.mean(sound > 0)
    assert cli.main(["study", str(path)]) == 0
    assert "4 of 4 samples, 1 diverged" in capsys.readouterr().out


def test_what_is_printed_meanwhile_does_not_spoil_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.Study, "run", lambda *_: print("(raylet) A worker died"))
    assert cli.main(["study", str(named(tmp_path, SWUNG)), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["done"] == 0
    assert err == "(raylet) A worker died\n"


def test_wilsons_interval() -> None:
    """For 8 of 10: Brown, Cai, DasGupta (2001) have 0.490 to 0.943."""
    assert wilson(8, 10)[::2] == pytest.approx((0.490, 0.943), abs=5e-4)
    assert wilson(0, 10)[::2] == pytest.approx((0.0, 0.2775), abs=5e-4)
    assert wilson(10, 10)[::2] == pytest.approx((0.7225, 1.0), abs=5e-4)


def test_without_pyarrow_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert cli.main(["study", str(named(tmp_path, SWUNG))]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "s.results").exists()
    with pytest.raises(ValueError, match=r"pyarrow is missing; install it with pip install "):
        results.parquet()


def figure_of(columns: dict[str, np.ndarray], *names: str | None):  # type: ignore[no-untyped-def]
    varied, kept = ("a", "b", "word"), {"number": False, "true": True}
    return pictures.draw("title", columns, pictures.axes(varied, kept, *names))


@pytest.fixture
def columns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A grid of 3 × 4, ten samples at each point of it, one of which diverged."""
    a, b = (side.repeat(10) for side in map(np.ravel, np.meshgrid([0.0, 1.0, 2.0], [10.0, 20.0, 30.0, 40.0])))
    diverged = np.arange(120) == 7
    number = np.where(diverged, np.nan, 100 * a + b)
    word = np.where(a > 0, "much", "little")
    true = rng.random(120) < a / 2
    return {"a": a, "b": b, "word": word, "number": number, "true": true, "diverged": diverged}


def test_a_grid_is_drawn_as_the_means_of_its_cells(columns: dict[str, np.ndarray]) -> None:
    pytest.importorskip("matplotlib")
    panel, bar = figure_of(columns, "a", "b", "number").axes
    (mesh,) = panel.collections
    assert np.asarray(mesh.get_array()).tolist() == [[100 * a + b for a in range(3)] for b in (10, 20, 30, 40)]
    assert (panel.get_xlabel(), panel.get_ylabel(), bar.get_ylabel()) == ("a", "b", "number")
    (lost,) = figure_of(columns, "a", "b", "diverged").axes[0].collections
    assert np.asarray(lost.get_array())[0].tolist() == [0.1, 0, 0]


def test_a_heat_map_has_the_values_that_were_simulated_and_units(columns: dict[str, np.ndarray]) -> None:
    pytest.importorskip("matplotlib")
    uneven = columns | {"a": np.where(columns["a"] == 2, 50.0, columns["a"] + 0.1)}
    names = pictures.axes(("a", "b"), {"number": False}, "a", "b", "number")
    panel, bar = pictures.draw("title", uneven, names, {"a": "N", "b": "", "number": "J"}).axes
    assert [text.get_text() for text in panel.get_xticklabels()] == ["0.1", "1.1", "50"]
    (mesh,) = panel.collections
    assert np.unique(np.diff(mesh.get_coordinates()[0, :, 0])).tolist() == [1.0]
    assert (panel.get_xlabel(), panel.get_ylabel(), bar.get_ylabel()) == ("a [N]", "b", "number [J]")
    many = columns | {"b": np.tile(np.geomspace(1.0, 100.0, 40), 3)}
    panel, _ = pictures.draw("title", many, names).axes
    assert panel.get_ylim() == pytest.approx((1.0, 100.0))


def test_a_predicate_is_drawn_as_its_share_with_its_interval(columns: dict[str, np.ndarray]) -> None:
    pytest.importorskip("matplotlib")
    (panel,) = figure_of(columns, "a", "true", "b").axes
    assert len(panel.lines) == len(panel.collections) == 4
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["b 10", "b 20", "b 30", "b 40"]
    sound = ~columns["diverged"]
    for line, b in zip(panel.lines, (10, 20, 30, 40), strict=True):
        own = [columns["true"][(columns["a"] == a) & (columns["b"] == b) & sound] for a in range(3)]
        assert line.get_xydata().tolist() == [[a, x.mean()] for a, x in enumerate(own)]
    assert len(figure_of(columns, "a", "true", "number").axes[0].lines) == 1


def test_what_lies_on_no_grid_is_a_dot_each(columns: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    pytest.importorskip("matplotlib")
    columns["b"] = rng.random(120)
    (dots,) = figure_of(columns, "a", "b", "number").axes[0].collections
    assert len(dots.get_offsets()) == 119
    names = pictures.axes(("a", "b"), {"number": False, "true": True}, "b", "number", None)
    (panel, *_) = pictures.draw("title", columns, names, logarithmic={"b"}).axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    panel = figure_of(columns, "b", "number", "word").axes[0]
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["little", "much"]
    (panel,) = figure_of(columns, "b", "number", "true").axes  # without a bar of numbers
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["false", "true"]
    assert len({line.get_color() for line in panel.lines}) == 2
    assert [tick.get_text() for tick in figure_of(columns, "word", "number", "a").axes[0].get_xticklabels()] == [
        "little", "much",
    ]  # fmt: skip


def test_the_command_draws_and_tells_columns_that_are_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    words = ["study", str(named(tmp_path, SWUNG)), "--processes", "1", "--picture", str(tmp_path / "x.svg")]
    assert cli.main([*words, "--x", "shoulder velocitty"]) == 2
    output = capsys.readouterr().err
    assert "there is no column 'shoulder velocitty'; use one of" in output
    assert "perhaps 'shoulder velocity' is meant" in output
    assert not (tmp_path / "s.results").exists()
    assert cli.main(words) == 0
    assert "elbow position" in (tmp_path / "x.svg").read_text("utf-8")


def test_more_samples_than_dots_are_a_heat_map_of_bins(rng: np.random.Generator) -> None:
    pytest.importorskip("matplotlib")
    x, y = rng.random((2, 60_000))
    columns = {"a": x, "b": y, "number": 3 * x + y, "diverged": np.zeros(len(x), bool)}
    (mesh,) = figure_of(columns, "a", "b", "number").axes[0].collections
    means = np.asarray(mesh.get_array())
    assert means.shape == (200, 200)
    middles = (np.arange(200) + 0.5) / 200
    off = means - (3 * middles + middles[:, None])
    assert np.nanmax(np.abs(off)) < 2 / 200
    assert np.isnan(off).mean() < 0.4
