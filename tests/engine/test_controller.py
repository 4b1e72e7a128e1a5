"""Users' controllers: their outputs, hold times, and failures."""

import time

import numpy as np
import pytest

import engine
from engine import controller as module

EXAMPLE = "docs/controller.py"


@pytest.fixture
def model() -> engine.Model:
    return engine.load(engine.find_robot("double_pendulum"))


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def run(path: str, model: engine.Model, seconds: float = 0.2, dt: float = 1e-3) -> np.ndarray:
    simulation = engine.Simulation(model, dt=dt)
    with engine.Controller(path, model) as controller:
        controller.wait()
        every = controller.every(dt)
        for _ in range(round(seconds / dt) // every):
            simulation.tau[0] = controller(simulation.time, simulation.q[0], simulation.v[0])
            simulation.step(every)
    return np.concatenate([simulation.q[0], simulation.v[0]])


def test_it_answers_and_its_answer_is_held_for_its_period(model, write):
    path = write("PERIOD = 0.01\ndef control(t, q, v):\n    return [t, q[1] - 2 * v[0]]\n")
    own = engine.Simulation(model, dt=1e-3)
    for _ in range(20):
        own.tau[0] = [own.time, own.q[0, 1] - 2 * own.v[0, 0]]
        own.step(10)
    np.testing.assert_array_equal(run(path, model), np.concatenate([own.q[0], own.v[0]]))


@pytest.mark.parametrize("name", ["arm6", "arm7", "scara", "double_pendulum"])
def test_the_example_damps_each_robot_that_was_pushed(name, chance):
    """The gain of one number for all joints was too large for a wrist: its velocity changed its sign at each answer."""
    model = engine.load(engine.find_robot(name))
    simulation, seen = engine.Simulation(model, dt=1e-3), []
    simulation.v[0] = 0.3 * chance.standard_normal(model.nv)
    with engine.Controller(EXAMPLE, model) as controller:
        every = controller.every(1e-3)
        for _ in range(1500 // every):
            simulation.tau[0] = controller(simulation.time, simulation.q[0], simulation.v[0])
            simulation.step(every)
            seen.append(simulation.v[0].copy())
    assert np.abs(np.diff(seen[-100:], 2, axis=0)).max() < 0.1


def test_runs_repeat_bit_for_bit_also_with_chance_and_memory(model, write):
    text = "import random\nimport numpy as np\nseen = []\ndef control(t, q, v):\n    seen.append(t)\n"
    path = write(text + "    return np.random.normal(size=2) + random.random() + len(seen) / 10\n")
    first = run(path, model)
    np.testing.assert_array_equal(run(path, model), first)
    with engine.Controller(path, model) as controller:
        one = controller(0.0, model.neutral(), [0, 0])
        assert np.any(controller(0.0, model.neutral(), [0, 0]) != one)
        controller.load()
        np.testing.assert_array_equal(controller(0.0, model.neutral(), [0, 0]), one)


def test_modules_that_the_file_imports_are_executed_anew_too(model, write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "gains.py").write_text("calls = []\n")
    (tmp_path / "memory.py").write_text("seen = []\n")
    text = "import memory\nfrom own import gains\nimport scipy.linalg\ndef control(t, q, v):\n"
    text += "    memory.seen.append(t)\n    gains.calls.append(t)\n    return [len(memory.seen), len(gains.calls)]\n"
    with engine.Controller(write(text), model) as controller:
        for _ in range(2):
            for count in (1, 2):
                np.testing.assert_array_equal(controller(0.0, model.neutral(), [0, 0]), [count, count])
            controller.load()


def test_a_file_that_was_saved_is_read_again(model, write):
    path = write("def control(t, q, v):\n    return [1, 2]\n")
    with engine.Controller(path, model) as controller:
        np.testing.assert_array_equal(controller(0.0, model.neutral(), [0, 0]), [1, 2])
        write("def control(t, q, v):\n    return [3, 4]\n")
        controller.load()
        np.testing.assert_array_equal(controller(0.0, model.neutral(), [0, 0]), [3, 4])


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("def control(t, q, v):\n    return [", r"line 2: SyntaxError: '\[' was never closed", 2),
        ("", r"mine\.py has no function control\(t, q, v\)", None),
        ("\ndef control(t, q, v):\n    return q / missing\n", r"line 3: NameError: .*\(return q / missing\)", 3),
        (
            "def control(t, q, v):\n    return q[:1]\n",
            r"shape \(1,\); expected 2 numbers, an effort per velocity",
            None,
        ),
        (
            "def control(t, q, v):\n    return [0, -1e300]\n",
            r"returned -1e\+300 at \[1\]; expected an effort up to",
            None,
        ),
        ("def control(t, q, v):\n    -q\n", r"control returned nothing \(None\); expected 2 numbers", None),
        (
            "def control(t, q, v):\n    return 1j * q\n",
            r"returned array\(.*\) \(complex numbers\); expected 2 numbers",
            None,
        ),
        ("def control(t, q, v):\n    return 'off'\n", r"control returned 'off' \(text\); expected 2 numbers", None),
        ("def control(t, q, v):\n    return q * float('nan')\n", r"nan at \[0\]", None),
        ("raise SystemExit('no')\n", "line 1: SystemExit: no", 1),
        ("PERIOD = -1\ndef control(t, q, v):\n    return q\n", "PERIOD is -1", None),
        ("import os\ndef control(t, q, v):\n    os._exit(3)\n", "ended by itself", None),
    ],
)
def test_what_fails_is_told_with_its_line_and_then_nothing_runs(model, write, text, message, line):
    with engine.Controller(write(text), model) as controller:
        with pytest.raises(engine.ControllerError, match=message) as fault:
            controller(0.0, model.neutral(), [0, 0])
        assert fault.value.line == line
        for again in (lambda: controller.ask(0.0, model.neutral(), [0, 0]), lambda: controller.loaded):
            with pytest.raises(engine.ControllerError, match=message):
                again()
        write("def control(t, q, v):\n    return [5, 6]\n")
        controller.load()
        np.testing.assert_array_equal(controller(0.0, model.neutral(), [0, 0]), [5, 6])


def test_one_that_hangs_is_ended_and_one_that_is_dropped_at_once(model, write, monkeypatch):
    path = write("def control(t, q, v):\n    while t > 0:\n        pass\n    return q\n")
    controller = engine.Controller(path, model, patience=0.2)
    controller(0.0, model.neutral(), [0, 0])
    controller.ask(1.0, model.neutral(), [0, 0])
    assert controller.answer(0.0) is None
    with pytest.raises(engine.ControllerError, match=r"has not come to an end in \d+\.\d s"):
        controller.answer()
    controller = engine.Controller(path, model, patience=60.0)
    controller(0.0, model.neutral(), [0, 0])
    controller.ask(1.0, model.neutral(), [0, 0])
    began = time.perf_counter()
    controller.end()
    assert time.perf_counter() - began < 20, "it was waited for"
    monkeypatch.setattr(module, "FIRST", 0.1)
    controller = engine.Controller(write("while True:\n    pass\n"), model)
    with pytest.raises(engine.ControllerError, match="loading it has not come to an end"):
        controller.wait()


def test_each_load_may_take_its_time_for_the_first_answer(model, write, monkeypatch):
    """A file that compiles at its first call does so again when it is reloaded."""
    path = write(
        "import time\nasked = []\n\n"
        "def control(t, q, v):\n    asked or time.sleep(0.6)\n    asked.append(t)\n    return 0 * v\n"
    )
    monkeypatch.setattr(module, "FIRST", 60.0)
    with engine.Controller(path, model, patience=0.3) as controller:
        for _ in range(2):
            for t in (0.0, 0.1):
                assert not controller(t, np.zeros(2), np.zeros(2)).any()
            controller.load()
            controller.wait()


def test_a_period_is_a_whole_number_of_steps(model, write):
    with engine.Controller(write("PERIOD = 0.0025\ndef control(t, q, v):\n    return q\n"), model) as controller:
        controller.wait()
        assert controller.every(5e-4) == 5
        with pytest.raises(engine.ControllerError, match=r"not a whole number of time steps of 0.001 s"):
            controller.every(1e-3)


@pytest.mark.parametrize("path", sorted(engine.ROBOTS.glob("*.urdf")), ids=lambda path: path.stem)
def test_the_example_asks_for_no_growing_efforts(path, rng):
    """Those for the snake, whose motors carry a tenth of it, grew to 10 000 N m within a second."""
    model = engine.load(path)
    poses = [model.neutral(), *(model.random(rng) for _ in range(20))]
    weight = max(np.abs(engine.bias(model, q, np.zeros(model.nv))[model.q_of_v >= 0]).max() for q in poses)
    simulation, asked = engine.Simulation(model, dt=1e-3), 0.0
    with engine.Controller(EXAMPLE, model) as controller:
        controller.wait()
        for _ in range(250):
            simulation.tau[0] = controller(simulation.time, simulation.q[0], simulation.v[0])
            asked = max(asked, float(np.abs(simulation.tau).max()))
            simulation.step(controller.every(1e-3))
    assert asked < 10 * weight


@pytest.mark.parametrize("name", ["double_pendulum", "arm7"])
def test_the_example_carries_a_robot(name):
    model = engine.load(engine.find_robot(name))
    end = run(EXAMPLE, model, 0.4)
    assert np.abs(end[1 : model.nv] - model.neutral()[1:]).max() < 0.1
    assert abs(end[0]) > 0.05
