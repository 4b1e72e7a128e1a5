"""Studies on either device: a sample's bits in any batch, and repeated as a single run."""

from pathlib import Path

import numpy as np
import pytest
from small_studies import PUSHED, SWUNG, named, same

import engine

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")
CUDA = pytest.mark.gpu
HOW = [("cpu", "float64"), pytest.param("cuda", "float64", marks=CUDA), pytest.param("cuda", "float32", marks=CUDA)]
OWN_MASSES = '[[vary]]\nwhat = "mass"\nof = "all"\nfactor = true\nnormal = [1.0, 0.2]\n'
OWN_SLOPE = '[[vary]]\nwhat = "slope"\nuniform = [-5.0, 5.0]\n'
STUDIES = {
    "own masses": PUSHED.replace("samples = 4", "samples = 40"),
    "alike": PUSHED.replace("samples = 4", "samples = 40").replace(OWN_MASSES, "").replace(OWN_SLOPE, ""),
    "without ground": "trajectories = [2, 3]\n" + SWUNG,
}


@pytest.mark.parametrize(("device", "dtype"), HOW)
@pytest.mark.parametrize("text", STUDIES.values(), ids=STUDIES)
def test_no_bit_depends_on_batches(text: str, device: str, dtype: str, tmp_path: Path) -> None:
    study = engine.Study.read(named(tmp_path, f'device = "{device}"\ndtype = "{dtype}"\n{text}'))
    study.run(tmp_path / "r", processes=0)
    study.run(tmp_path / "few", processes=0, batch=17)
    assert same(engine.Study.results(tmp_path / "r"), engine.Study.results(tmp_path / "few"))
    kept = sorted((tmp_path / "r").glob("*.npz"))
    assert len(kept) == 2
    for file in kept:
        there, again = engine.read_run(file).trajectory, study.trajectory(int(file.stem.rpartition("-")[2]))
        assert there.q.tobytes() == again.q.tobytes()
        assert there.v.tobytes() == again.v.tobytes()


@pytest.mark.gpu
def test_processes_for_gpus_come_to_the_same_bits(tmp_path: Path) -> None:
    study = engine.Study.read(named(tmp_path, f'device = "cuda"\ndtype = "float32"\n{PUSHED}'))
    study.run(tmp_path / "here", processes=0)
    study.run(tmp_path / "there", batch=3)
    assert same(engine.Study.results(tmp_path / "here"), engine.Study.results(tmp_path / "there"))
    assert not np.any(engine.Study.results(tmp_path / "there")["diverged"])
