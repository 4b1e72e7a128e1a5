"""Run files: after reading they continue to the same bits; invalid files are refused in a sentence."""

import csv
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from test_recording import assert_same, bits, drive, standing

import engine
from engine.cli import main
from engine.recording import files as run_files


@pytest.fixture
def recorded(rng):
    """A recording of a quadruped that is dragged, and placed by hand in the middle."""
    simulation, recording = standing("quadruped"), engine.Recording()
    recording.begin(simulation, about={"held": True})
    drive(simulation, recording, 0.4, rng)
    simulation.q[0, 2] += 0.01
    recording.add(simulation, begins=True)
    drive(simulation, recording, 0.2, rng)
    return recording


def save(path, recording: engine.Recording):
    engine.save_run(path, recording, recording.runs[-1], {"robot": "quadruped"})
    return path


def opened(path, name: str) -> engine.Recording:
    return engine.recording_of(engine.read_run(path), engine.load(engine.find_robot(name)))


def test_a_run_goes_through_a_file_to_the_bit(tmp_path, recorded):
    again = opened(save(tmp_path / "run.npz", recorded), "quadruped")
    (run,), (read,) = recorded.runs, again.runs
    assert recorded.span(run) == again.span(read)
    assert len(run) == len(read)
    for index in range(len(run)):
        one, other = recorded.frame(run, index), again.frame(read, index)
        assert_same(other.checkpoint, one.checkpoint)
        assert (one.time, one.begins) == (other.time, other.begins)
        for a, b in zip(one.checkpoint.contact, other.checkpoint.contact, strict=True):
            np.testing.assert_array_equal(bits(a), bits(b))
        assert (one.contacts is None) == (other.contacts is None)
        if one.contacts is not None:
            for a, b in zip(one.contacts, other.contacts, strict=True):
                np.testing.assert_array_equal(a, b)
        assert other.setup.about == {"held": True}
    for index, computed in again.resimulate(read, 3):
        assert_same(computed, recorded.frame(run, index).checkpoint)


def test_whole_numbers_of_one_simulation_are_not_rounded_by_those_of_another(tmp_path, monkeypatch):
    """Contact warm starts have other number types on other devices."""
    simulation, recording = standing("quadruped"), engine.Recording()
    key, original = 2**53 + 1, simulation.checkpoint
    for dtype in (np.int64, float):
        column = np.full((1, 2, 1), key, dtype)
        monkeypatch.setattr(simulation, "checkpoint", lambda x=column: original()._replace(contact=(x,)))
        recording.begin(simulation) if not recording.runs else recording.go_on(simulation, 1.0)
        simulation.step(2)
        recording.add(simulation)
    again = opened(save(tmp_path / "run.npz", recording), "quadruped")
    (run,) = again.runs
    columns = [again.frame(run, index).checkpoint.contact[0] for index in range(len(run))]
    assert [x.dtype for x in columns] == [np.int64, np.int64, float, float]
    assert all(np.all(x == key) for x in columns[:2])


class Playing(engine.Recording):
    """A recording to which frames, and another simulation, come while it is written."""

    def stored(self, run):
        frames = super().stored(run)
        simulation = standing("quadruped")
        self.go_on(simulation, 1.0)
        simulation.step(5)
        self.add(simulation)
        return frames


def test_a_run_that_plays_is_written_as_it_was_when_that_began(tmp_path, rng):
    simulation, recording = standing("quadruped"), Playing()
    recording.begin(simulation)
    drive(simulation, recording, 0.1, rng)
    number, setups = len(recording.runs[0]), len(recording.runs[0].setups)
    again = opened(save(tmp_path / "run.npz", recording), "quadruped")
    (run,) = again.runs
    assert len(run) == number < len(recording.runs[0])
    assert len(run.setups) == setups < len(recording.runs[0].setups)
    for index in range(number):
        assert_same(again.frame(run, index).checkpoint, recording.frame(recording.runs[0], index).checkpoint)


def test_robots_of_a_batch_go_through_a_file(tmp_path, rng):
    model = engine.load(engine.find_robot("arm7"))
    parameters = engine.Parameters(model, 3)
    parameters.mass *= rng.uniform(0.8, 1.2, parameters.mass.shape)
    simulation = engine.Simulation(
        model.with_gravity((0, 0.1, -3)), 3, q=model.random(rng, 3), device="cpu", integrator="rk4", kp=3.0,
        scene=engine.Scene(engine.slope(0.3), obstacles=[engine.Obstacle("box", (0.1, 0.2, 0.3), (0.9, 0.0, 0.2))]),
    )  # fmt: skip
    recording = engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, 0.1, rng)
    again = opened(save(tmp_path / "run.npz", recording), "arm7")
    (run,) = again.runs
    setup = again.frame(run, 0).setup
    assert setup.settings.scene.ground == simulation.settings.scene.ground
    np.testing.assert_array_equal(setup.model.gravity, [0, 0.1, -3])
    for index, computed in again.resimulate(run, 0):
        assert_same(computed, recording.frame(recording.runs[0], index).checkpoint)


def test_a_run_whose_batch_changed_is_written_from_there_on(tmp_path, rng, arm7):
    one = engine.Simulation(arm7, 1, device="cpu", kp=3.0)
    three = engine.Simulation(arm7, 3, device="cpu", kp=3.0)
    recording = engine.Recording()
    recording.begin(one)
    drive(one, recording, 0.05, rng)
    recording.go_on(three, one.time)
    drive(three, recording, 0.1, rng)
    (run,) = recording.runs
    again = opened(save(tmp_path / "run.npz", recording), "arm7")
    (other,) = again.runs
    assert len(other) < len(run)
    assert again.span(other) == (one.time, recording.span(run)[1])
    assert engine.recorded_trajectory(recording, run).q.shape[:2] == (3, len(other))
    for index, computed in again.resimulate(other, 0):
        assert_same(computed, recording.frame(run, index + len(run) - len(other)).checkpoint)


def test_parameters_go_through_a_file(tmp_path, rng, arm7):
    parameters = engine.Parameters(arm7, 2)
    parameters.friction += rng.uniform(0, 1, parameters.friction.shape)
    simulation = engine.Simulation(arm7, 2, q=arm7.random(rng, 2), device="cpu", parameters=parameters)
    recording = engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, 0.1, rng)
    again = opened(save(tmp_path / "run.npz", recording), "arm7")
    for index, computed in again.resimulate(again.runs[0], 0):
        assert_same(computed, recording.frame(recording.runs[0], index).checkpoint)


def test_the_file_is_a_trajectory_like_that_of_a_headless_run(tmp_path, recorded, capsys):
    path = tmp_path / "headless.npz"
    main(["run", "quadruped", "--seconds", "0.1", "--every", "5", "--hold", "--slope", "3", "--out", str(path)])
    capsys.readouterr()
    headless, window = (np.load(each) for each in (path, save(tmp_path / "run.npz", recorded)))
    shared = {"time", "q", "v", "tau", "joint_names", "coordinate_names", "settings"}
    assert shared <= set(headless.files)
    assert shared <= set(window.files)
    for name in ("q", "v", "tau"):
        assert headless[name].shape[1:] == window[name].shape[1:]
    again = opened(path, "quadruped")
    (run,) = again.runs
    assert again.span(run) == (0.0, pytest.approx(0.1))
    frame = again.frame(run, run.last)
    np.testing.assert_array_equal(frame.checkpoint.q[0], headless["q"][-1])
    settings = frame.setup.settings
    assert settings.scene.ground == engine.slope(np.radians(3))
    assert np.any(settings.kp > 0)
    simulation = frame.setup.simulation()
    simulation.restore(frame.checkpoint._replace(contact=simulation.checkpoint().contact))
    simulation.step(10)


def test_a_file_from_before_tells_step_and_gravity(tmp_path, arm7):
    path = tmp_path / "old.npz"
    q = np.tile(arm7.neutral(), (4, 1))
    settings = {"robot": "arm7", "dt": 2e-3, "gravity": [0, 0, -1.6], "integrator": "rk4"}
    np.savez(path, time=np.arange(4.0), q=q, v=0 * q, tau=0 * q, settings=np.array(json.dumps(settings)))
    recording = opened(path, "arm7")
    setup = recording.frame(recording.runs[0], 2).setup
    assert (setup.settings.dt, setup.settings.integrator, setup.model.gravity[2]) == (2e-3, "rk4", -1.6)


def test_a_run_that_goes_on_while_it_is_written_is_whole(tmp_path, recorded, monkeypatch):
    (run,) = recorded.runs
    simulation, stored = recorded.frame(run, run.last).setup.simulation(), recorded.stored
    simulation.restore(recorded.frame(run, run.last).checkpoint)
    count = len(run)

    def and_go_on(run):
        frames = stored(run)
        recorded.note(simulation)
        simulation.step(5)
        recorded.add(simulation)
        return frames

    monkeypatch.setattr(recorded, "stored", and_go_on)
    path = tmp_path / "run.npz"
    written = engine.save_run(path, recorded, run, {"robot": "quadruped"})
    assert len(run) > count == len(written.time)
    assert len(opened(path, "quadruped").runs[0]) == count


def test_a_branch_is_written_with_what_was_before(tmp_path, recorded):
    (run,) = recorded.runs
    branch = recorded.branch(run, 5)
    read = opened(save(tmp_path / "branch.npz", recorded), "quadruped")
    assert len(read.runs[0]) == len(branch) == 6
    assert read.span(read.runs[0]) == (0.0, recorded.frame(run, 5).time)


def test_a_table_has_a_column_for_each_number(tmp_path, recorded):
    (run,), model = recorded.runs, recorded.frame(recorded.runs[0], 0).setup.model
    path, whole = tmp_path / "run.csv", engine.recorded_trajectory(recorded, recorded.runs[0])
    engine.save_csv(path, model, whole)
    names, *rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))
    base = [f"q:floating_base.{part}" for part in ("x [m]", "y [m]", "z [m]", "qx", "qy", "qz", "qw")]
    assert names[:9] == ["time [s]", *base, "q:FL_hip_joint [rad]"]
    assert names[1 + model.nq : 4 + model.nq] == [f"v:floating_base.{part} [rad/s]" for part in ("wx", "wy", "wz")]
    assert names[4 + model.nq] == "v:floating_base.vx [m/s]"
    assert names[1 + model.nq + model.nv] == "tau:floating_base.wx [N m]"
    assert names[4 + model.nq + model.nv] == "tau:floating_base.vx [N]"
    wrenches = 6 * len(whole.wrench_links)
    assert len(names) == len(set(names)) == 1 + model.nq + 2 * model.nv + wrenches
    table = np.array(rows, float)
    assert len(table) == len(run)
    np.testing.assert_array_equal(table[:, 0], whole.time)
    np.testing.assert_array_equal(table[:, 1 : 1 + model.nq], whole.q)
    np.testing.assert_array_equal(table[:, -model.nv - wrenches : -wrenches], whole.tau)
    np.testing.assert_array_equal(table[:, -wrenches:], whole.wrench.reshape(len(run), -1))


def test_a_run_that_no_reader_takes_is_not_written(tmp_path, recorded, monkeypatch):
    path, arrays = save(tmp_path / "run.npz", recorded), {}
    with np.load(path) as found:
        arrays = {name: found[name].nbytes for name in found.files}
    before = path.read_bytes()
    monkeypatch.setattr(run_files, "MAX_BYTES", sum(arrays.values()) - 1)
    with pytest.raises(ValueError, match=r"the run's arrays take .* are read again; export a shorter run"):
        save(path, recorded)
    monkeypatch.setattr(run_files, "MAX_BYTES", sum(arrays.values()) // 2)
    monkeypatch.setattr(run_files, "_put_packed", lambda *_: pytest.fail("it was built before its size was known"))
    with pytest.raises(ValueError, match=r"the run's arrays take"):
        save(path, recorded)
    assert path.read_bytes() == before


def test_what_holds_for_all_robots_is_written_once(tmp_path, rng):
    simulation, recording = standing("arm7", 5), engine.Recording()
    recording.begin(simulation)
    for _ in range(4):
        simulation.tau[:] = rng.normal(size=7)
        recording.note(simulation)
        simulation.step(3)
        recording.add(simulation)
    path = save(tmp_path / "run.npz", recording)
    assert np.load(path)["frame_tau"].shape[1:] == (1, 7)
    again = opened(path, "arm7")
    for index, computed in again.resimulate(again.runs[0], 0):
        assert_same(computed, recording.frame(recording.runs[0], index).checkpoint)


def changed(path, **arrays: object):
    """The file with other arrays; None takes one away."""
    with np.load(path, allow_pickle=True) as found:
        kept = {**found, **arrays}
    np.savez(path, **{name: x for name, x in kept.items() if x is not None})
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"q": None}, "it lacks the array 'q'"),
        ({"time": np.array([0.0, 1.0])}, "its times are not in order, or not as many as its states"),
        ({"settings": np.array("no JSON")}, "Expecting value"),
        ({"settings": np.array("[]")}, "its settings are not a JSON object"),
        ({"settings": np.array([{}], object)}, "its array settings.npy is no array of numbers or text"),
        ({"settings": np.array('{"format": 99}')}, "is of format 99, and this Catena reads up to 2; take a newer one"),
        ({"settings": np.array('{"format": "2"}')}, "its format is '2', and no whole number"),
        ({"settings": np.array('{"format": null}')}, "its format is None, and no whole number"),
        ({"settings": np.array("[" * 10**5)}, "maximum recursion depth exceeded"),
        ({"q": np.zeros((3, 19), int)}, "its q has numbers of type int64, not of floating point"),
        ({"setups": np.array("[{}]")}, "its simulation settings are invalid"),
        ({"frame_setup": np.full(1, 7)}, "its simulation settings are invalid"),
        ({"frame_contact0_0_numbers": np.full(3, 10**6)}, "its simulation settings are invalid"),
    ],
)  # fmt: skip
def test_what_is_no_run_is_refused_in_a_sentence(tmp_path, recorded, arrays, message):
    path = changed(save(tmp_path / "run.npz", recorded), **arrays)
    with pytest.raises(ValueError, match=r".") as refusal:
        opened(path, "quadruped")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith("run.npz ")


@pytest.mark.parametrize(
    ("message", "reported"),
    [
        ({"batch": 10**9, "parameters": True}, "its batch is 1000000000, and it has states of 1"),
        ({"batch": float("inf")}, "its batch is inf"),
        ({"scene": 5}, "its scene is 5"),
        ({"scene": {"class": "Plane", "normal": [0, 0, 5], "offset": 0}}, "no unit vector"),
        ({"algorithm": "nonsense"}, "algorithm is 'nonsense'"),
        ({"algorithm": ["abia"]}, "algorithm is ['abia']"),
        ({"device": "abacus"}, "device is 'abacus'"),
        ({"dt": float("nan")}, "its time step is nan"),
        ({"threads": float("inf")}, "cannot convert float infinity to integer"),
        ({"threads": 10**6}, "its threads are 1000000; expected 1 to 1024"),
        ({"threads": 0}, "its threads are 0; expected 1 to 1024"),
        ({"contact_shapes": [[10**6, 10**6]] * 6}, "contact_shapes is "),
        ({"contact_shapes": [[1, -24, 3]] * 6}, "contact_shapes is "),
        ({"contact_shapes": [[1, "24", 3]] * 6}, "cannot be interpreted as an integer"),
    ],
)
def test_what_a_file_says_of_its_simulation_is_held_against_what_there_is(tmp_path, recorded, message, reported):
    path = save(tmp_path / "run.npz", recorded)
    texts = json.loads(str(np.load(path)["setups"]))
    for text in texts:
        text |= message
    with pytest.raises(ValueError, match=r"^run\.npz contains no run: its simulation settings") as refusal:
        opened(changed(path, setups=np.array(json.dumps(texts))), "quadruped")
    assert reported in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("setups", lambda _: np.array("no JSON")),
        ("setup_0_kp", lambda x: x[:, 1:]),
        ("setup_0_kd", lambda x: np.tile(x, (2, 1))),
        ("frame_touch_link", lambda x: x + 10**6),
        ("frame_touch_link", lambda x: x - 10**6),
        ("frame_touch_other", lambda x: x - 1),
        ("frame_touch_other", lambda x: x + 10**6),
        ("frame_touch_number", lambda x: x + 1),
        ("frame_touch_number", lambda x: -x),
        ("frame_touch_point", lambda x: x[:, :2]),
        ("frame_frozen", lambda x: x[:, :0]),
        ("frame_tau", lambda x: x[:, :, 1:]),
        ("frame_contact0_0_count", lambda x: -x),
        ("frame_contact0_0_numbers", lambda x: x.astype(float)),
        ("frame_steps", lambda x: x * 10**9),
        ("frame_steps", lambda x: x // 2),
    ],
)
def test_arrays_that_do_not_fit_their_simulation_are_refused(tmp_path, recorded, name, change):
    path = save(tmp_path / "run.npz", recorded)
    with np.load(path) as found:
        arrays = {name: change(found[name])}
    with pytest.raises(ValueError, match=r"^run\.npz contains no run: its simulation settings"):
        opened(changed(path, **arrays), "quadruped")


def test_numbers_that_are_not_finite_are_refused(tmp_path, recorded):
    path = save(tmp_path / "run.npz", recorded)
    q = np.load(path)["q"].copy()
    q[3, 0] = np.nan
    with pytest.raises(ValueError, match="its q has numbers that are not finite"):
        opened(changed(path, q=q), "quadruped")


def test_another_robots_run_is_refused(tmp_path, recorded):
    words = "of a robot with 19 coordinates and 18 velocities, and arm7 has 7 and 7; name the robot "
    with pytest.raises(ValueError, match=words):
        opened(save(tmp_path / "run.npz", recorded), "arm7")


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(b"PK\x03\x04 but not for long")
    with pytest.raises(ValueError, match=r"it is not an \.npz file, or is cut short"):
        engine.read_run(path)
    with pytest.raises(FileNotFoundError):
        engine.read_run(tmp_path / "none.npz")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_is_refused_at_once_though_nobody_writes_to_it(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "run.npz")
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it was opened, and waited for"))
    with pytest.raises(ValueError, match=r"^run\.npz contains no run: it is a pipe, which cannot be read twice; write"):
        engine.read_run(tmp_path / "run.npz")


def test_a_damaged_file_is_refused_in_a_sentence(tmp_path):
    model, path = engine.load(engine.find_robot("pendulum")), tmp_path / "run.npz"
    recording = engine.Recording()
    recording.begin(engine.Simulation(model, device="cpu"))
    whole = save(path, recording).read_bytes()
    refused = 0
    for place in range(0, len(whole), 31):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            engine.read_run(path)
        except (ValueError, OSError) as fault:
            assert "\n" not in str(fault)
            refused += 1
    assert refused > len(whole) // 31 // 2
    locked = bytearray(whole)
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(sign) + flags] |= 1
    path.write_bytes(bytes(locked))
    with pytest.raises(ValueError, match=r"run\.npz contains no run: .* is encrypted"):
        engine.read_run(path)


def test_a_small_file_cannot_ask_for_much_memory(tmp_path, recorded, monkeypatch):
    path = save(tmp_path / "run.npz", recorded)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("frame_bomb.npy", header.getvalue())
    with pytest.raises(ValueError, match=r"its array frame_bomb\.npy is not whole"):
        engine.read_run(path)
    save(path, recorded)
    monkeypatch.setattr(run_files, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="its arrays take"):
        engine.read_run(path)


def test_what_goes_on_from_a_run_of_the_command_on_the_ground_is_saved(tmp_path):
    """Its frames say nothing of what contacts start from; those that follow do."""
    file, model = tmp_path / "run.npz", engine.load(engine.find_robot("quadruped"))
    assert main(["run", "quadruped", "--seconds", "0.1", "--out", str(file)]) == 0
    recording = engine.recording_of(engine.read_run(file), model)
    (run,) = recording.runs
    frame = recording.frame(run, 10)
    simulation = frame.setup.simulation()
    contact = tuple(np.zeros_like(x) for x in simulation.checkpoint().contact)
    simulation.restore(frame.checkpoint._replace(contact=contact))
    recording.branch(run, 10)
    for _ in range(5):
        simulation.step()
        recording.add(simulation)
    assert recording.frame(run, run.first).checkpoint.contact == ()
    engine.save_run(file, recording, recording.runs[-1], {"robot": "quadruped"}, lambda about: about)
    (again,) = (found := engine.recording_of(engine.read_run(file), model)).runs
    last = found.frame(again, again.last).checkpoint
    assert [x.shape for x in last.contact] == [x.shape for x in contact]
    np.testing.assert_array_equal(last.q, simulation.q)
