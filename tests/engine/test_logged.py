"""Numbers that controllers and scripts log: checked, recorded, written, read, resampled and sent to windows."""

import csv

import numpy as np
import pytest

import engine

PROGRAM = """
PERIOD = 0.004
print("loaded")
def control(t, q, v):
    print("at", round(t, 3), end="\\n")
    logged = {"height error [m]": q[0]}
    if t > 0.009:
        logged["phase"] = np.float32(0.5) if t < 0.015 else float("nan")
    return [0.5, -0.25], logged
"""


@pytest.fixture
def model() -> engine.Model:
    return engine.load(engine.find_robot("double_pendulum"))


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.py"
        path.write_text("import numpy as np\n" + text, encoding="utf-8")
        return str(path)

    return write


def recorded(model: engine.Model, path: str, steps: int = 20, sparse: int = 10) -> engine.Recording:
    """A run under a controller, with a frame every `sparse` steps, whose inputs change in between."""
    simulation, recording = engine.Simulation(model, dt=1e-3), engine.Recording()
    recording.begin(simulation)
    with engine.Controller(path, model) as controller:
        controller.wait()
        for k in range(steps):
            if k % controller.every(1e-3) == 0:
                simulation.tau[0] = controller(simulation.time, simulation.q[0], simulation.v[0])
                simulation.logged = controller.logged
            recording.note(simulation)
            simulation.step()
            if (k + 1) % sparse == 0:
                recording.add(simulation)
    return recording


def test_efforts_act_and_numbers_are_logged_beside_them(model, write):
    with engine.Controller(write(PROGRAM), model) as controller:
        np.testing.assert_array_equal(controller(0.0, [0.1, 0], [0, 0]), [0.5, -0.25])
        assert controller.logged == {"height error [m]": 0.1}
        controller(0.01, [0.2, 0], [0, 0])
        assert controller.logged == {"height error [m]": 0.2, "phase": 0.5}, "names may come with time"
        controller(0.0, [0.2, 0], [0, 0])
        assert controller.logged == {"height error [m]": 0.2}, "and go"
        controller.load()
        assert not controller.logged


@pytest.mark.parametrize(
    ("logged", "problem"),
    [
        ("{'a': 'b'}", "'b' is logged as 'a'; expected one number"),
        ("{'a': q}", "is logged as 'a'; expected one number, or NaN where it has none"),
        ("{'a': np.inf}", "inf is logged as 'a'; expected a finite number, or NaN"),
        ("{5: 1.0}", "5 is the name of a logged number; expected text of 1 to 80 printable characters"),
        ("{'': 1.0}", "'' is the name of a logged number"),
        ("{'a\\n': 1.0}", "is the name of a logged number"),
        ("{str(k): 1.0 for k in range(257)}", "more than 256 different names"),
    ],
)
def test_what_cannot_be_logged_is_named_in_one_sentence(model, write, logged, problem):
    path = write(f"def control(t, q, v):\n    return 0 * v, {logged}\n")
    with engine.Controller(path, model) as controller, pytest.raises(engine.ControllerError) as error:
        controller(0.0, model.neutral(), [0, 0])
    assert problem in str(error.value)
    assert str(error.value).startswith("mine.py: ValueError: ")
    with pytest.raises(ValueError, match="is logged as 'a'"):
        engine.Simulation(model).log("a", "b")


def test_names_that_change_with_each_call_are_refused_before_they_fill_a_run(model, write):
    path = write("def control(t, q, v):\n    return 0 * v, {f'error {t}': 1.0}\n")
    with engine.Controller(path, model) as controller:
        for t in range(256):
            controller(t, model.neutral(), [0, 0])
        with pytest.raises(engine.ControllerError, match="more than 256 different names"):
            controller(256, model.neutral(), [0, 0])
    simulation = engine.Simulation(model)
    for name in map(str, range(256)):
        simulation.logged = {name: 1.0}
    with pytest.raises(ValueError, match="more than 256 different names"):
        simulation.logged = {"x": 1.0}
    simulation.reset()
    simulation.logged = {"x": 1.0}


def test_a_tuple_of_two_efforts_is_still_one(model, write):
    with engine.Controller(write("def control(t, q, v):\n    return (1.0, 2.0)\n"), model) as controller:
        np.testing.assert_array_equal(controller(0.0, model.neutral(), [0, 0]), [1, 2])


def test_a_reset_and_a_restored_state_drop_what_was_logged(model):
    simulation = engine.Simulation(model)
    simulation.log("a", 1.0)
    simulation.log("b", 2)
    assert simulation.logged == {"a": 1.0, "b": 2.0}
    checkpoint = simulation.checkpoint()
    simulation.restore(checkpoint)
    assert not simulation.logged
    simulation.log("a", 1.0)
    simulation.reset()
    assert not simulation.logged


def test_recorded_numbers_are_in_frames_files_tables_and_each_resampled_step(model, write, tmp_path):
    recording = recorded(model, write(PROGRAM))
    (run,) = recording.runs
    assert run.logged_names == ("height error [m]", "phase")
    assert [sorted(recording.frame(run, k).logged) for k in range(3)] == [[], ["height error [m]"], [*run.logged_names]]
    steps, source, _ = engine.resample(recording, run)
    assert [steps.frame(source, k).logged.get("phase", 0) == 0.5 for k in range(21)] == [False] * 13 + [True] * 4 + [
        False
    ] * 4

    path = tmp_path / "run.npz"
    written = engine.save_run(path, recording, run, {"robot": "double_pendulum"})
    saved = engine.read_run(path)
    assert written.logged_names == saved.trajectory.logged_names == run.logged_names
    np.testing.assert_array_equal(saved.trajectory.logged, written.logged)
    again = engine.recording_of(saved, model)
    assert again.runs[0].logged_names == run.logged_names
    more, other, _ = engine.resample(again, again.runs[0])
    for k in range(21):
        known = {name: x for name, x in steps.frame(source, k).logged.items() if x == x}
        assert more.frame(other, k).logged == known

    engine.save_csv(tmp_path / "run.csv", model, written)
    rows = list(csv.DictReader((tmp_path / "run.csv").read_text("utf-8").splitlines()))
    assert [row["log:phase"] for row in rows] == ["", "", ""], "NaN is an empty cell"
    assert [bool(row["log:height error [m]"]) for row in rows] == [False, True, True]


def test_a_branch_begins_with_the_numbers_of_the_frames_that_it_shares(model, write):
    recording = recorded(model, write(PROGRAM))
    (run,) = recording.runs
    branch = recording.branch(run, 1)
    assert branch.logged_names == run.logged_names
    assert recording.frame(branch, 1).logged == recording.frame(run, 1).logged


def test_the_command_run_writes_what_its_controller_logged(write, tmp_path, capsys):
    from engine.cli import main

    out = tmp_path / "run.npz"
    how = "--dt", "0.001", "--seconds", "0.02", "--every", "4", "--integrator", "rk4"
    assert main(["run", "double_pendulum", "--controller", write(PROGRAM), "--out", str(out), *how]) == 0
    capsys.readouterr()
    run = engine.read_run(out).trajectory
    assert run.logged_names == ("height error [m]", "phase")
    np.testing.assert_array_equal(run.logged[:, 0], run.q[[0, 0, 1, 2, 3, 4], 0], "that of the call before each state")
    np.testing.assert_array_equal(run.logged[:, 1], [np.nan, np.nan, np.nan, np.nan, 0.5, np.nan])


@pytest.mark.parametrize(
    "damage",
    [
        {"logged": np.zeros((2, 2))},
        {"logged": np.full((3, 2), np.inf)},
        {"logged_names": np.array(["a", "a"])},
        {"logged_names": np.zeros(2)},
        {"logged_names": np.array(["a", "b\n"])},
        {"change_logged": np.zeros((1, 1))},
    ],
)
def test_damaged_numbers_in_a_file_are_refused(model, write, tmp_path, damage):
    recording, path = recorded(model, write(PROGRAM)), tmp_path / "run.npz"
    engine.save_run(path, recording, recording.runs[0], {"robot": "double_pendulum"})
    with np.load(path) as arrays:
        np.savez(path, **{**arrays, **damage})
    with pytest.raises(ValueError, match=r"run\.npz"):
        engine.recording_of(engine.read_run(path), model)


def test_printed_lines_arrive_with_the_time_of_their_call(model, write):
    lines = []
    with engine.Controller(write(PROGRAM), model, printed=lines.extend) as controller:
        controller.wait()
        for t in (0.0, 0.004):
            controller(t, model.neutral(), [0, 0])
    assert lines == [(None, "loaded"), (0.0, "at 0.0"), (0.004, "at 0.004")]


def test_many_and_long_lines_are_bounded_and_those_before_a_failure_arrive(model, write):
    text = (
        "def control(t, q, v):\n    if t > 0:\n        print('last words')\n        1 / 0\n"
        "    print('x' * 5000)\n    for k in range(1000):\n        print(k, end='\\n')\n    return 0 * v\n"
    )
    lines = []
    with engine.Controller(write(text), model, printed=lines.extend) as controller:
        controller(0.0, model.neutral(), [0, 0])
        assert len(lines) <= 400
        assert lines[-1] == (0.0, "999")
        assert max(len(text) for _, text in lines) < 600
        assert any("printed lines left out" in text for _, text in lines)
        with pytest.raises(engine.ControllerError):
            controller(0.1, model.neutral(), [0, 0])
    assert lines[-1] == (0.1, "last words")


def test_one_that_prints_for_ever_is_ended_like_one_that_hangs(model, write):
    path = write(
        "import time\ndef control(t, q, v):\n    while t > 0:\n        time.sleep(0.01)\n        print(t)\n"
        "    return 0 * v\n"
    )
    with engine.Controller(path, model, patience=0.5, printed=lambda _: None) as controller:
        controller(0.0, model.neutral(), [0, 0])
        with pytest.raises(engine.ControllerError, match="has not come to an end"):
            controller(0.1, model.neutral(), [0, 0])
