"""Coverage of the kernels by random cases and corners, and agreement of the corners' steps with the reference."""

from pathlib import Path

import numpy as np
import pytest

from tests.differential import reached
from tests.differential.as_python import as_python
from tests.differential.cases import Case, case
from tests.differential.corners import CORNERS, ON_THE_CPU, corner
from tests.differential.differences import differences, served
from tests.differential.test_steps import hold

LEAST = 0.97
SEEDS = 5  # cases of a corner: always the same, since some stand exactly where rounding decides


@pytest.mark.parametrize("name", CORNERS)
def test_a_cpu_step_of_a_corner_is_the_reference_texts(name: str, tmp_path: Path):
    for seed in range(SEEDS):
        hold(corner(name, seed), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CORNERS)
def test_many_corners_on_the_cpu(name: str, tmp_path: Path):
    for seed in range(20, 60):
        hold(corner(name, seed), tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CORNERS)
def test_a_gpu_step_of_a_corner_is_the_reference_texts(name: str, tmp_path: Path):
    for seed in range(SEEDS):
        if served(found := corner(name, seed), "cuda", "float64"):
            hold(found, tmp_path, "cuda")


@pytest.mark.parametrize("name", ON_THE_CPU)
def test_corners_that_the_cpu_alone_is_held_to(name: str):
    assert differences(corner(name, 0), "cpu", "float64") == []


@pytest.mark.parametrize("found", [case(3), case(12), corner("stacked", 1), corner("tree_on_threads", 0)])
def test_kernels_as_python_step_as_compiled(found: Case):
    simulations = [found.simulation(), found.simulation()]
    simulations[0].step()
    with as_python():
        simulations[1].step()
    for x, y in zip(*(simulation.state() for simulation in simulations), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_cases_and_corners_reach_nearly_all_kernel_lines():
    found = reached.measured(250, 0, 30)
    there, got = found.counts(found.texts)
    assert got >= LEAST * there, reached.report(found)
    new = reached.unlisted(found.missed(), reached.listed())
    assert len(new) <= (1 - LEAST) * there, reached.report(found)


def test_lines_listed_as_unreached_exist():
    """Each entry of unreached.toml names lines of a kernel, and says why."""
    for entry in reached.listed():
        source = (reached.ROOT / entry["file"]).read_text("utf-8")
        assert f"def {entry['function']}(" in source, entry
        assert entry["reason"], entry
        for line in entry["lines"]:
            text = line.split(" in ", 1)[1] if line.startswith(("(", "not (")) else line.split(" -> ")[0]
            assert text in source, line
