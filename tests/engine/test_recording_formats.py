"""Files of earlier formats, and of the command line, are read."""

import json

import numpy as np
import pytest
from test_recording_files import opened, save

import engine
from engine.cli import main


def test_a_file_of_the_format_before_obstacles_had_a_friction_is_read(tmp_path):
    pose = np.eye(4)
    pose[:3, 3] = 1.0, 0.0, 0.2
    box = engine.Obstacle("box", (0.4, 0.4, 0.4), pose, friction=0.3)
    scene = engine.Scene(engine.Plane(), obstacles=(box,))
    simulation = engine.Simulation(engine.load(engine.find_robot("quadruped")), scene=scene)
    recording = engine.Recording()
    recording.begin(simulation)
    simulation.step(2)
    recording.add(simulation)
    path = save(tmp_path / "run.npz", recording)
    with np.load(path) as found:
        arrays = dict(found)
    settings, setups = json.loads(str(arrays["settings"])), json.loads(str(arrays["setups"]))
    assert settings["format"] == 2
    settings["format"] = 1
    for setup in setups:
        for obstacle in setup["scene"]["obstacles"]:
            assert obstacle.pop("friction") == 0.3
            assert obstacle.pop("color") is None
    np.savez(path, **{**arrays, "settings": json.dumps(settings), "setups": json.dumps(setups)})
    read = opened(path, "quadruped")
    (box,) = read.frame(read.runs[0], 0).setup.settings.scene.obstacles
    assert (box.shape, box.size, box.friction, box.color) == ("box", (0.4, 0.4, 0.4), None, None)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_run_of_the_command_line_goes_on_with_what_held_it(tmp_path, capsys, batch):
    """Its file has no setpoints: they are the positions at its start, here no robot's zero."""
    path, q = tmp_path / "run.npz", "0,0.6,0,-0.5,0,0.3,0" if batch == 1 else "random"
    words = ["arm7", "--hold", "--q", q, "--batch", str(batch), "--seconds", "0.2", "--every", "10"]
    assert main(["run", *words, "--out", str(path)]) == 0
    capsys.readouterr()
    model = engine.load(engine.find_robot("arm7"))
    recording = engine.recording_of(engine.read_run(path), model)
    (run,) = recording.runs
    frame, last = recording.frame(run, 5), recording.frame(run, run.last)
    simulation = frame.setup.simulation()
    contact = simulation.checkpoint().contact
    simulation.restore(frame.checkpoint._replace(contact=contact))
    simulation.step(last.checkpoint.steps - frame.checkpoint.steps)
    np.testing.assert_array_equal(simulation.q, last.checkpoint.q)
    np.testing.assert_array_equal(simulation.v, last.checkpoint.v)
