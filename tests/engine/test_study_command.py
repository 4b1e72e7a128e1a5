"""The command `study`: what it writes, reports and refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from small_studies import SWUNG, named

import engine
from engine import cli
from engine.study import results
from engine.study.command import wilson

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")


def test_the_command_reports_writes_csv_and_refuses_to_resume_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = named(tmp_path, SWUNG), tmp_path / "x.csv"
    assert cli.main(["study", str(path), "--resume"]) == 2
    assert "--resume: there are no results in" in capsys.readouterr().err
    assert cli.main(["study", str(path), "--processes", "1", "--csv", str(table), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["done"], said["samples"], said["diverged"]) == (4, 4, 1)
    found = engine.Study.results(tmp_path / "s.results")
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == list(found)
    assert [row[0] for row in rows[1:]] == ["0", "1", "2", "3"]
    assert [row[rows[0].index("elbow position")] for row in rows[1:]] == [
        "" if np.isnan(x) else repr(float(x)) for x in found["elbow position"]
    ]
    sound = found["elbow position"][~found["diverged"]]
    assert said["numbers"]["elbow position"] == {
        "least": sound.min(),
        "median": np.median(sound),
        "greatest": sound.max(),
    }
    assert said["predicates"]["bent"]["share"] == np.mean(sound > 0)
    assert cli.main(["study", str(path)]) == 0
    assert "4 of 4 samples, 1 diverged" in capsys.readouterr().out


def test_wilsons_interval() -> None:
    """Of 8 in 10: Brown, Cai, DasGupta (2001) have 0.490 to 0.943."""
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
