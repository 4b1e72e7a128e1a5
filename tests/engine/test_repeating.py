"""Equal seed and inputs give equal bits: from Python, the shell and a file, for any number of threads."""

import json
import shutil

import numpy as np
import pytest

import engine
from engine import cli
from engine.recording import Recording, files
from engine.recording.run_format import save_trajectory


@pytest.fixture
def call(capsys):
    def run(*words):
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


CONTROLLER = """
import numpy as np

def control(t, q, v):
    return 0.3 * np.sin(5 * t) - 0.1 * v
"""
RUNS = {
    "arm": ("arm7", "--q", "random", "--seed", 5, "--seconds", 0.3, "--every", 7),
    "batch": ("arm6", "--batch", 9, "--q", "random", "--v", 0.5, "--seconds", 0.2, "--integrator", "rk4"),
    "standing": ("quadruped", "--hold", "--seconds", 0.3, "--friction", 0.6),
    "sliding": ("humanoid", "--slope", 20, "--seconds", 0.25, "--self-collision"),
    "mimic": ("scara", "--algorithm", "jsiia", "--seconds", 0.2, "--no-limits", "--gravity", 1, 0, -3),
    "cfa": ("snake50", "--no-ground", "--algorithm", "cfa", "--seconds", 0.1, "--dt", 0.0005),
    "dca": ("snake50", "--no-ground", "--algorithm", "dca", "--seconds", 0.1),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", RUNS)
def test_the_file_of_a_run_runs_again_to_the_same_bits(call, tmp_path, name):
    out = tmp_path / "run.npz"
    assert call("run", *RUNS[name], "--out", out)[0] == 0
    code, text, error = call("repeat", out, "--json")
    assert (code, error) == (0, "")
    message = json.loads(text)
    assert message["same"]
    assert message["steps"] > 50
    assert message["samples"] > 3


@pytest.mark.parametrize("driven", ["controls", "controller"])
def test_repeat_takes_controls_from_the_run_file(call, tmp_path, driven, rng):
    out, given = tmp_path / "run.npz", tmp_path / ("tau.npy" if driven == "controls" else "sway.py")
    if driven == "controls":
        np.save(given, rng.uniform(-1, 1, (200, 7)))
    else:
        given.write_text(CONTROLLER)
    words = ("run", "arm7", "--seconds", 0.2, "--dt", 0.001, f"--{driven}", given, "--every", 4, "--out", out)
    assert call(*words)[0] == 0
    given.unlink()  # the file has what it returned
    assert call("repeat", out)[0] == 0


def test_a_run_that_diverged_repeats_to_the_step_before(call, tmp_path):
    out = tmp_path / "run.npz"
    words = ("--v", 90, "--integrator", "semi-implicit", "--dt", 0.003, "--no-limits")
    assert call("run", "snake50", "--no-ground", *words, "--out", out)[0] == 1
    assert call("repeat", out)[0] == 0


def test_a_recording_that_was_pushed_about_repeats(call, tmp_path, rng):
    robot = engine.find_robot("quadruped")
    model = engine.load(robot)
    simulation = engine.Simulation(model, 2, scene=engine.Scene(), q=model.random(rng, 2), device="cpu")
    recording = Recording()
    recording.begin(simulation)
    for k in range(12):
        simulation.tau[:, 6:] = rng.uniform(-2, 2, (2, model.nv - 6))
        if k == 5:
            simulation.wrench[0, 1, 3:] = 30.0
        recording.note(simulation)
        simulation.step(10)
        recording.add(simulation)
    (run,) = recording.runs
    out = tmp_path / "pushed.npz"
    files.save_run(out, recording, run, {"robot": str(robot)})
    code, text, _ = call("repeat", out)
    assert code == 0
    assert "14 states after 120 steps, the same to the bit" in text


def test_a_run_of_python_says_how_its_robot_was_read(call, tmp_path):
    out, source = tmp_path / "run.npz", engine.find_robot("scara")
    for options in ({"floating": True}, {"mimic": False}, {"package_dirs": (tmp_path,)}):
        model = engine.load(source, **options)
        simulation, recording = engine.Simulation(model), Recording()
        recording.begin(simulation)
        recording.note(simulation)
        simulation.step(3)
        recording.add(simulation)
        engine.save_run(out, recording, recording.runs[0], {"robot": "scara"})
        assert call("repeat", out)[0] == 0, options
        assert engine.read_run(out).settings.get("package_dir", []) == model.options["package_dirs"]
        engine.save_run(out, recording, recording.runs[0], {"robot": "scara", "no_mimic": True})
        assert engine.read_run(out).settings["no_mimic"] is True
    floating, fixed = engine.load(source, floating=True), engine.load(source)
    for recorded, named, base in ((floating, fixed, "floating"), (fixed, floating, "fixed")):
        simulation, recording = engine.Simulation(recorded), Recording()
        recording.begin(simulation)
        engine.save_run(out, recording, recording.runs[0], {"robot": "scara"})
        with pytest.raises(ValueError, match=f"recorded with, or load this one with a {base} base"):
            engine.recording_of(engine.read_run(out), named)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_robot_in_which_nothing_moves_repeats_and_is_exported(call, tmp_path, batch):
    robot, out = tmp_path / "still.urdf", tmp_path / "run.npz"
    robot.write_text('<robot name="still"><link name="a"/></robot>')
    assert call("run", robot, "--batch", batch, "--seconds", 0.01, "--dt", 0.001, "--out", out)[0] == 0
    assert json.loads(call("repeat", out, "--json")[1])["samples"] == 11
    simulation, recording = engine.Simulation(engine.load(robot), batch), Recording()
    recording.begin(simulation)
    for _ in range(2):
        recording.note(simulation)
        simulation.step(3)
        recording.add(simulation)
    files.save_run(out, recording, recording.runs[0], {"robot": str(robot)})
    code, text, _ = call("repeat", out)
    assert (code, "3 states after 6 steps, the same to the bit" in text) == (0, True)


def test_a_bit_that_differs_is_told_with_its_time(call, tmp_path):
    robot, out = tmp_path / "arm.urdf", tmp_path / "run.npz"
    shutil.copy(engine.find_robot("double_pendulum"), robot)
    assert call("run", robot, "--seconds", 0.1, "--every", 10, "--q", "random", "--out", out)[0] == 0
    with np.load(out) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["q"][4, 1] = np.nextafter(arrays["q"][4, 1], 9)
    np.savez(out, **arrays)
    time = f"{arrays['time'][4]:g}"
    code, _, error = call("repeat", out)
    assert code == 1
    assert f"the state at {time} s differs by " in error
    assert json.loads(call("repeat", out, "--json")[1])["first_difference_s"] == pytest.approx(arrays["time"][4])
    moved = robot.rename(tmp_path / "moved.urdf")
    code, _, error = call("repeat", out)
    assert (code, "give --robot FILE" in error) == (2, True)
    assert call("repeat", out, "--robot", moved)[0] == 1
    assert call("repeat", moved)[0] == 2


def test_states_without_steps_are_not_called_the_same(call, tmp_path):
    """The window exports the samples of a file of `run` without what drove them between."""
    out, again = tmp_path / "run.npz", tmp_path / "again.npz"
    assert call("run", "arm7", "--seconds", 0.2, "--every", 10, "--out", out)[0] == 0
    saved = files.read_run(out)
    model = engine.load(engine.find_robot("arm7"))
    recording = files.recording_of(saved, model)
    (run,) = recording.runs
    files.save_run(again, recording, run, {"robot": "arm7"})
    code, text, error = call("repeat", again)
    assert (code, text) == (2, "")
    assert "21 states and no steps between them" in error
    assert "repeat the file that it opened" in error

    simulation = recording.frame(run, run.last).setup.simulation()
    simulation.reset(recording.frame(run, run.last).checkpoint.q, recording.frame(run, run.last).checkpoint.v)
    recording.go_on(simulation, 0.2)
    recording.note(simulation)
    simulation.step(30)
    recording.add(simulation)
    files.save_run(again, recording, run, {"robot": "arm7"})
    code, text, _ = call("repeat", again)
    assert code == 0
    assert "3 states after 30 steps, the same to the bit; no steps lead to 20 more" in text
    assert json.loads(call("repeat", again, "--json")[1])["not_compared"] == 20


def test_what_no_file_says_is_not_guessed(call, tmp_path):
    """A rollout under torques, saved without them, states its result alone."""
    model = engine.load(engine.find_robot("pendulum"))
    trajectory = engine.rollout(model, [0.1], controls=np.full((50, 1), 0.2))
    save_trajectory(tmp_path / "run.npz", model, trajectory, {"robot": "pendulum", "dt": 1e-3})
    code, _, error = call("repeat", tmp_path / "run.npz")
    assert code == 2
    assert "does not say what drove each of its steps" in error


@pytest.mark.parametrize("robot", ["arm7", "quadruped"])
def test_shell_and_python_come_to_the_same_bits(call, tmp_path, robot):
    out, batch = tmp_path / "run.npz", 5
    words = (
        "--batch",
        batch,
        "--q",
        "random",
        "--seed",
        3,
        "--seconds",
        0.1,
        "--dt",
        0.001,
        "--integrator",
        "implicit",
    )
    assert call("run", robot, *words, "--out", out)[0] == 0
    model = engine.load(engine.find_robot(robot))
    q = model.random(np.random.default_rng(3), batch)
    scene = engine.Scene() if robot == "quadruped" else None
    if scene is not None:
        q = np.stack([engine.put_down(model, scene, row) for row in q])
    with np.load(out) as file:
        np.testing.assert_array_equal(file["q"][:, 0], q)
        for threads in (1, 2, 5):
            trajectory = engine.rollout(model, q, steps=100, integrator="implicit", scene=scene, threads=threads)
            np.testing.assert_array_equal(file["q"], trajectory.q)
            np.testing.assert_array_equal(file["v"], trajectory.v)
