"""Results of a study that are opened: their columns, tables of them, summaries for charts, and runs of samples."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from small_studies import PUSHED, SWUNG, named

import engine
from engine.study import summaries
from engine.study.summaries import wilson

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed; studies' results are Parquet")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that has been run, beside its file."""
    folder = tmp_path_factory.mktemp("pushed")
    engine.Study.read(named(folder, 'title = "Pushed"\n' + PUSHED)).run(folder / "s.results", processes=0)
    return folder / "s.results"


def test_opened_results_equal_those_that_were_kept(pushed: Path) -> None:
    opened = engine.StudyResults(pushed)
    assert (opened.title, opened.refusal, opened.study.count) == ("Pushed", "", 12)
    assert opened.varied == opened.study.varied
    assert opened.kept == tuple(opened.study.kept)
    for name, column in engine.Study.results(pushed).items():
        assert opened.columns[name].tobytes() == column.tobytes()
    row = opened.row(5)
    assert row["sample"] == 5
    assert row["friction"] == opened.columns["friction"][5]
    for sample in (-1, 12):
        with pytest.raises(ValueError, match=f"there is no sample {sample} in the results"):
            opened.row(sample)


def test_a_run_is_had_again_bit_for_bit_and_goes_on_where_it_is(pushed: Path, tmp_path: Path) -> None:
    opened = engine.StudyResults(pushed)
    again = opened.study.save_run(7, tmp_path / "run.npz")
    assert again == {name: x for name, x in opened.row(7).items() if name in again}
    assert set(again) == {*opened.kept, "diverged"}
    saved = engine.read_run(tmp_path / "run.npz")
    assert saved.settings["robot"] == str(engine.find_robot("quadruped"))
    recording = engine.recording_of(saved, engine.load(engine.find_robot("quadruped")))
    (run,) = recording.runs
    setup = run.setups[0]
    assert setup.settings.dt == 0.005
    assert setup.settings.scene.friction == opened.row(7)["friction"]
    assert setup.settings.parameters.mass[0, 0] == pytest.approx(
        engine.load(engine.find_robot("quadruped")).mass[0] * opened.row(7)["mass"]
    )
    assert setup.wrenches
    assert setup.settings.kp.max() > 0


def test_robots_that_are_generated_are_in_the_file_of_a_run(tmp_path: Path) -> None:
    text = SWUNG.replace('"double_pendulum"', '"chain:4"').replace('"shoulder"', '"joint1"').replace("elbow", "joint2")
    study = engine.Study.read(named(tmp_path, text.replace("1e9, ", "")))
    study.save_run(2, tmp_path / "run.npz")
    saved = engine.read_run(tmp_path / "run.npz")
    model = engine.robot_of_text(saved, engine.load)
    assert model.nv == 4
    assert len(engine.recording_of(saved, model).runs) == 1


def test_what_has_changed_since_is_told_and_the_results_stay(tmp_path: Path) -> None:
    shutil.copy(engine.find_robot("double_pendulum"), tmp_path / "own.urdf")
    text = SWUNG.replace('"double_pendulum"', '"own.urdf"')
    engine.Study.read(named(tmp_path, text)).run(tmp_path / "s.results", processes=0)
    assert engine.StudyResults(tmp_path / "s.results").study.count == 4
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.copytree(tmp_path / "s.results", moved / "s.results")
    assert engine.StudyResults(moved / "s.results").study.count == 4  # where it was
    (tmp_path / "own.urdf").write_text((tmp_path / "own.urdf").read_text().replace("1.0", "1.5"))
    opened = engine.StudyResults(tmp_path / "s.results")
    assert opened.study is None
    assert opened.refusal == ("a file has changed since the study was run, of own.urdf; its runs cannot be repeated")
    (tmp_path / "own.urdf").unlink()
    opened = engine.StudyResults(tmp_path / "s.results")
    assert opened.study is None
    assert "there is no file" in opened.refusal
    assert len(opened.columns["sample"]) == 4
    manifest = json.loads((tmp_path / "s.results" / "study.json").read_text())
    (tmp_path / "s.results" / "study.json").write_text(json.dumps(manifest | {"study": [1], "about": 3}))
    assert "is damaged; run the study again" in engine.StudyResults(tmp_path / "s.results").refusal


def test_the_samples_are_a_folder_of_tables_alone_and_those_of_earlier_versions_are_read(
    pushed: Path, tmp_path: Path
) -> None:
    """What is not Parquet in their folder would stop pandas and polars."""
    folder = tmp_path / "old.results"
    shutil.copytree(pushed, folder)
    parts = list((folder / "samples").iterdir())
    assert {part.suffix for part in parts} == {".parquet"}
    table = parquet.read_table(folder / "samples")
    assert sorted(table["sample"].to_pylist()) == list(range(12))
    for part in parts:
        part.rename(folder / part.name)
    found, opened = engine.StudyResults(folder).columns, engine.StudyResults(pushed).columns
    assert all(np.array_equal(found[name], x, equal_nan=x.dtype.kind == "f") for name, x in opened.items())


def test_tables_are_those_of_the_results(pushed: Path, tmp_path: Path) -> None:
    opened = engine.StudyResults(pushed)
    opened.write(tmp_path / "x.parquet")
    opened.write(tmp_path / "x.csv")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.column_names == list(opened.columns)
    assert table["trunk position z min"].to_numpy().tobytes() == opened.columns["trunk position z min"].tobytes()
    assert table["diverged_at"].null_count == 12
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0].split(",") == list(opened.columns)
    assert len(lines) == 13
    with pytest.raises(ValueError, match=r"a table is written as \.csv or \.parquet, and not as '\.xlsx'"):
        opened.write(tmp_path / "x.xlsx")


def test_words_are_read_as_words(tmp_path: Path) -> None:
    text = 'robot = "pendulum"\nseconds = 0.01\n[[vary]]\nwhat = "algorithm"\nvalues = ["jsiia", "abia"]\n'
    text += '[[vary]]\nwhat = "dt"\nvalues = [0.001, 0.002]\n[[keep]]\nquantity = "total energy"\n'
    engine.Study.read(named(tmp_path, text)).run(tmp_path / "r", processes=0)
    opened = engine.StudyResults(tmp_path / "r")
    assert opened.columns["algorithm"].tolist() == ["jsiia", "jsiia", "abia", "abia"]
    assert opened.columns["algorithm"].dtype.kind == "U"
    assert (opened.words("algorithm"), opened.words("dt")) == (["abia", "jsiia"], [])
    assert opened.numbers("algorithm").tolist() == [1, 1, 0, 0]


def test_cells_have_the_means_of_their_samples(rng: np.random.Generator) -> None:
    x, y, color = rng.integers(0, 4, 500) * 0.5, rng.uniform(-1, 1, 500), rng.normal(size=500)
    found = summaries.cells(x, y, color, 100, 7)
    assert (found.x.exact, found.y.exact) == (True, False)
    edges = np.linspace(y.min(), y.max(), 8)
    for j in range(7):
        for i, value in enumerate((0.0, 0.5, 1.0, 1.5)):
            own = (x == value) & (y >= edges[j]) & ((y < edges[j + 1]) | (j == 6))
            assert found.samples[j, i] == np.count_nonzero(own)
            assert found.mean[j, i] == pytest.approx(color[own].mean() if own.any() else np.nan, nan_ok=True)


def test_values_along_a_side_are_put_into_bins_unless_they_are_a_grid(rng: np.random.Generator) -> None:
    grid = np.linspace(0, 359, 360)
    assert summaries.side(np.tile(grid, 5)).exact
    assert not summaries.side(np.tile(rng.uniform(0, 360, 360), 5)).exact
    assert summaries.side(np.tile([0.1, 1.0, 10.0], 5)).exact
    assert summaries.side(np.full(9, 3.0)).values.tolist() == [3.0]
    assert len(summaries.side(rng.random(10**5), bins=50).values) == 50


def test_lines_of_shares_have_wilsons_intervals(rng: np.random.Generator) -> None:
    x, hits, by = rng.integers(0, 3, 300).astype(float), rng.random(300) < 0.3, rng.integers(0, 2, 300)
    lines = summaries.shares(x, hits, by, "kind")
    assert [line.label for line in lines] == ["kind 0", "kind 1"]
    for value, line in enumerate(lines):
        for k, at in enumerate(line.x):
            own = (x == at) & (by == value)
            assert (line.low[k], line.share[k], line.high[k]) == wilson(
                np.count_nonzero(hits[own]), np.count_nonzero(own)
            )
    assert len(summaries.shares(x, hits, np.arange(300), "sample")) == 1
