"""Files of earlier formats are read."""

from __future__ import annotations

import json

import numpy as np
from test_recording_files import opened, save

import engine


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
