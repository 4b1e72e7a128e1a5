"""The automatic choice's inputs and texts: machine, kernels, a GPU's share, batches of two."""

import re
from pathlib import Path

import pytest
from test_choice import cache, table  # noqa: F401

import engine
from engine.selection import choice, timings
from engine.selection.timings import Case, Measurements, Row


def test_a_batch_of_two_is_named_and_a_batch_of_one_is_not():
    table().save()
    assert " for a batch of 2, " in choice.choose(engine.chain(10), batch=2).why
    assert "for a batch of" not in choice.choose(engine.chain(10), batch=1).why


def test_a_processor_bears_the_name_that_its_system_gives_it():
    path = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.*)$", path.read_text("utf-8"), re.MULTILINE) if path.exists() else []
    if not models:
        pytest.skip("the system names no model of processor")
    assert timings.processor() == models[0].strip()


def test_a_table_is_valid_for_the_text_of_kernels_and_of_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(timings, "__file__", str(tmp_path / "engine" / "selection" / "timings.py"))
    room = tmp_path / "engine" / "cpu" / "chains"
    room.mkdir(parents=True)
    digests = []
    for name in ("a.py", "b.cu", "c.cuh", "z.py"):
        (room / name).write_text("one")
        digests.append(timings.source_digest("cpu"))
        (room / name).write_text("two")
        digests.append(timings.source_digest("cpu"))
    assert len(set(digests)) == 8
    (room / "a.pyc").write_text("compiled")
    (room / "m.cpp").write_text("not ours")
    assert timings.source_digest("cpu") == digests[-1]


def test_a_part_of_a_robot_takes_as_long_as_a_whole_one(tmp_path):
    rows = [Row("chain", 8, batch, "float64", "abia", seconds, 0.0) for batch, seconds in ((1, 1e-6), (64, 1e-4))]
    tenth = Measurements(tmp_path, tuple(rows), share=0.1, device="cuda")
    assert tenth.seconds("abia", Case("chain", 8, 4, "float64")) == 1e-6
    assert tenth.seconds("abia", Case("chain", 8, 640, "float64")) == pytest.approx(1e-4)
