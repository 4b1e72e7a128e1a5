"""Properties of any robot's file, sound or not: files of robots and dialects, mutated by `tests/fuzz`."""

import random
import sys
from pathlib import Path

import dialect_files
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import ModelError

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS / "fuzz"))

import mutations  # noqa: E402

ROBOTS = [path.read_bytes() for path in sorted(engine.ROBOTS.glob("*.urdf"))]
SEEDS = [content for content in (*dialect_files.contents().values(), *ROBOTS) if len(content) < 20_000]
MOVES = ("parent", "kind", "home_rotation", "home_position", "mass", "first_moment", "inertia", "link_body", "lower",
         "upper", "velocity_limit", "effort_limit", "damping", "friction")  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data, chance = draw(st.sampled_from(SEEDS)), random.Random(draw(st.integers(0, 2**64 - 1)))
    for _ in range(draw(st.integers(1, 3))):
        data = mutations.of_xml(data, chance)
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated")


def errors(found: list[engine.Diagnostic]) -> list[engine.Diagnostic]:
    return [entry for entry in found if entry.severity == "error"]


@settings(max_examples=100, deadline=None)
@given(mutated())
def test_load_refuses_what_check_calls_an_error_and_nothing_else(folder: Path, data: bytes) -> None:
    path = folder / "checked.urdf"
    path.write_bytes(data)
    found = engine.check(path)
    try:
        model = engine.load(path)
    except ModelError as refused:
        assert errors(found)
        assert list(refused.diagnostics) == found
    else:
        assert not errors(found)
        assert list(model.diagnostics) == found
    in_order = sorted(found, key=lambda entry: ("as if it were cut off" not in str(entry), entry.line or 0))
    assert found == in_order, "by lines, after that of a file that ends too soon"
    assert all(entry.line is None or 1 <= entry.line <= data.count(b"\n") + 1 for entry in found)


@settings(max_examples=100, deadline=None)
@given(mutated())
def test_the_repaired_copy_of_any_file_moves_alike(folder: Path, data: bytes) -> None:
    path, copy = folder / "faulty.urdf", folder / "repaired.urdf"
    path.write_bytes(data)
    before = engine.check(path)
    count, left = engine.repair(path, copy, overwrite=True)
    assert path.read_bytes() == data
    assert (count == 0) <= (copy.read_bytes() == data)
    assert not any(entry.repair for entry in left)
    assert len(errors(left)) <= len(errors(before))
    if not errors(before):
        one, other = engine.load(path), engine.load(copy)
        for name in MOVES:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
