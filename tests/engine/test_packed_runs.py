"""Compressed run files: the unpacked size is limited by the file's size, and by the parts read."""

import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from test_recording_files import opened, recorded, save  # noqa: F401  # recorded is a fixture

import engine
from engine import cli, unpack_command
from engine.recording.run_format import save_trajectory


class Taken:
    """The most bytes that a call takes beside what there is."""

    most = 0

    def __call__(self, work):
        tracemalloc.start()
        try:
            work()
        finally:
            self.most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return self.most


@pytest.fixture
def taken():
    return Taken()


def test_zeros_beside_a_run_are_not_unpacked(tmp_path, recorded, taken):  # noqa: F811
    """Arrays that nothing reads stay packed, and a name that something reads is bounded by the file's size."""
    path = save(tmp_path / "run.npz", recorded)
    whole = dict(np.load(path))
    np.savez_compressed(path, **whole, more=np.zeros(12_500_000))
    assert path.stat().st_size < 1e6
    assert taken(lambda: opened(path, "quadruped")) < 50e6
    np.savez_compressed(path, **whole, frame_more=np.zeros(12_500_000))
    tracemalloc.reset_peak()
    with pytest.raises(
        ValueError, match=r"arrays would take 100 MB, and of a file of 0\.\d MB at most \d+ are unpacked"
    ):
        taken(lambda: engine.read_run(path))
    assert taken.most < 50e6
    for bad, reported in (
        ({"frame_more": np.zeros((10**12, 0))}, "has the shape"),
        ({"frame_more": np.zeros(2, "V0")}, "holds values of type"),
        ({"settings": np.array("x" * 3_000_000)}, "text would take 12 MB"),
        ({name: np.zeros((100_000, 19)) for name in "qv"} | {"time": np.arange(100_000.0)}, "times are not in order"),
        (
            {"q": np.zeros((90_000, 19)), "time": np.zeros(90_000)}
            | dict.fromkeys(("v", "tau"), np.zeros((90_000, 1))),
            "90000 states, and a file of 0.1 MB has at most",
        ),
    ):
        np.savez_compressed(path, **{**whole, **bad})
        with pytest.raises(ValueError, match=reported):
            engine.read_run(path)


def test_a_header_that_is_too_long_is_not_read(tmp_path, recorded, taken):  # noqa: F811
    path = save(tmp_path / "run.npz", recorded)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "frame_more.npy", b"\x93NUMPY\x02\x00" + (200_000_000).to_bytes(4, "little") + bytes(200_000_000)
        )
    with pytest.raises(ValueError, match=r"frame_more\.npy is no array as numpy.save writes them"):
        taken(lambda: engine.read_run(path))
    assert taken.most < 50e6


def test_a_robot_that_rests_for_long_is_written_so_that_it_is_read_again(tmp_path):
    """Packed, its states take less than two bytes each, which bombs do, too."""
    model, samples = engine.load(engine.find_robot("pendulum")), 60_000
    rest = np.zeros((samples, 1))
    run = engine.Trajectory(np.arange(samples) * 1e-3, rest, rest, rest)
    path = tmp_path / "run.npz"
    save_trajectory(path, model, run, {"robot": "pendulum", "dt": 1e-3})
    assert path.stat().st_size < samples * 8 * 4 + 10_000
    assert len(engine.read_run(path).trajectory.time) == samples
    save_trajectory(
        path, model, engine.Trajectory(*(x[:15_000] for x in (run.time, rest, rest, rest))), {"robot": "pendulum"}
    )
    assert path.stat().st_size < 15_000 * 8


def test_a_run_that_an_earlier_version_packed_is_read_once_it_is_unpacked(tmp_path, monkeypatch, capsys, taken):
    """The robot rested for long; unpacking it needs much memory, which a file may not demand unasked."""
    model, samples, settings = engine.load(engine.find_robot("quadruped")), 60_000, {"robot": "quadruped", "dt": 1e-3}
    q, rest = np.tile(model.neutral(), (samples, 1)), np.zeros((samples, model.nv))
    run = engine.Trajectory(np.arange(samples) * 1e-3, q, rest, rest)
    old, plain = tmp_path / "old.npz", tmp_path / "plain.npz"
    save_trajectory(plain, model, run, settings)
    arrays = dict(np.load(plain))
    np.savez_compressed(old, **arrays)
    assert old.stat().st_size < 1e6
    with pytest.raises(ValueError, match=r"60000 states.*`main\.py unpack old\.npz NEW\.npz`"):
        engine.read_run(old)
    plain.unlink()
    assert taken(lambda: cli.main(["unpack", str(old), str(plain)])) < 10e6
    assert capsys.readouterr().out.startswith(f"uncompressed run written to {plain}, ")
    assert cli.main(["unpack", str(old), str(plain), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"run": str(old), "file": str(plain)}
    found = engine.read_run(plain)
    assert all(np.array_equal(found.arrays[name], x) for name, x in arrays.items())
    assert len(engine.recording_of(found, model).runs[0]) == samples
    (tmp_path / "half.npz").write_bytes(old.read_bytes()[:-1000])
    for name, reported in (("half", "cannot be unpacked: File is not a zip file"), ("none", "No such file"), ("", "")):
        monkeypatch.setattr(unpack_command, "MAX_BYTES", 2**30 if name else 1_000_000)
        before = plain.read_bytes()
        assert cli.main(["unpack", str(tmp_path / f"{name or 'old'}.npz"), str(plain)]) == 2
        assert (reported or "its arrays take 0.0 GB, and at most 0 are read") in capsys.readouterr().err
        assert plain.read_bytes() == before
