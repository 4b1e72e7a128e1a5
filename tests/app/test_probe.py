"""Sampling in the simulation's thread: rate, quantities, and cost."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from test_worker import until

import engine
from app.plotting.catalogue import catalogue
from app.plotting.probe import SPACING, Probe
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Loaded, Settings
from app.simulation.running import running_of


def quantities(model, *labels):
    return tuple(each for each in catalogue(model) if each.label in labels)


def opened(bench, name):
    bench.open(engine.find_robot(name))
    events = []
    until(lambda: events.extend(bench.poll()) or any(isinstance(each, Loaded) for each in events))
    until(lambda: bench.poll() is None or not bench.computation.compiling)
    return bench.robot.model


def gathered(bench, blocks):
    blocks += bench.probe.take()
    return np.concatenate([block.time for block in blocks] or [np.zeros(0)])


def stepped(probe, running, count):
    """So many steps, in batches as short as the probe asks for."""
    while count:
        batch = min(count, probe.most_steps(running) or count)
        running.advance(batch)
        probe.after_steps(running, batch)
        count -= batch
    probe.flush(running)


def test_samples_are_evenly_apart_and_change_no_bit(monkeypatch, quadruped):
    monkeypatch.setattr("app.plotting.probe.GATHERED", math.inf)  # else a pause of the machine is learnt as their cost
    plain, running, probe = running_of(quadruped, Settings()), running_of(quadruped, Settings()), Probe()
    probe.begin(quantities(quadruped, "FL_hip_joint position", "total energy"), running)
    probe._cost = 0.0
    stepped(probe, running, 60)
    plain.advance(60)
    np.testing.assert_array_equal(running.simulation.q, plain.simulation.q)
    np.testing.assert_array_equal(running.simulation.v, plain.simulation.v)
    times = np.concatenate([block.time for block in probe.take()])
    np.testing.assert_allclose(np.diff(times), SPACING, atol=1e-12)
    assert times[0] == 0
    assert times[-1] == pytest.approx(0.060)


def test_samples_that_cost_much_are_farther_apart(monkeypatch, arm7):
    """By a clock that other programs do not delay."""
    now, energy = [0.0], engine.energy

    def clock():
        now[0] += 1e-5
        return now[0]

    def slow(*state):
        now[0] += 0.004 * len(state[1])
        return energy(*state)

    monkeypatch.setattr("app.plotting.probe.time", SimpleNamespace(perf_counter=clock))
    monkeypatch.setattr(engine, "energy", slow)
    running, probe = running_of(arm7, Settings()), Probe()
    probe.begin(quantities(arm7, "total energy"), running)
    stepped(probe, running, 20)
    probe.take()
    stepped(probe, running, 400)
    times = np.concatenate([block.time for block in probe.take()])
    assert np.diff(times)[1:].min() > 0.03  # 4 ms of 5 % would be 80, and the mean of two costs is learnt


def test_nothing_plotted_shortens_no_batch(arm7):
    running, probe = running_of(arm7, Settings()), Probe()
    assert probe.most_steps(running) is None
    probe.after_steps(running, 10)
    probe.after_jump(running)
    assert not probe.take()
    assert not probe.waits


def test_a_run_is_sampled_from_its_reset_on(bench):
    model = opened(bench, "double_pendulum")
    (joint, *_) = model.joint_names
    bench.probe.watch(quantities(model, f"{joint} position"))
    bench.play()
    blocks = []
    until(lambda: len(gathered(bench, blocks)) > 50)
    times = gathered(bench, blocks)
    assert np.all(np.diff(times) > 0)
    bench.pause()
    bench.reset()
    until(lambda: gathered(bench, blocks)[-1] == 0.0)
    value = blocks[-1].values[-1]
    bench.joints.set_coordinate(0, 0.5)
    until(lambda: blocks[-1].values[-1] != value or gathered(bench, blocks) is None)
    assert blocks[-1].values[-1] == 0.5
    assert blocks[-1].time[-1] == 0.0


def test_what_was_sampled_as_it_paused_is_sent_when_asked_for(bench):
    model = opened(bench, "double_pendulum")
    bench.probe.watch(quantities(model, "total energy"))
    bench.step()
    blocks = []
    until(lambda: gathered(bench, blocks)[-1:].tolist() == [0.0] or len(gathered(bench, blocks)) > 1)
    for _ in range(8):
        bench.step()
    bench.probe.send()
    until(lambda: (bench.frame(), bench.robot.time)[1] == pytest.approx(9 * bench.robot.settings.dt))
    until(lambda: not bench.probe.waits)
    assert gathered(bench, blocks)[-1] >= 8 * bench.robot.settings.dt


def test_another_robot_has_none_of_the_old_ones(bench):
    model = opened(bench, "arm7")
    bench.probe.watch(quantities(model, "joint7 position", "|momentum|"))
    until(lambda: len(gathered(bench, [])) > 0)
    opened(bench, "double_pendulum")
    bench.probe.take()
    bench.play()
    until(lambda: (bench.frame(), bench.robot.time)[1] > 0.1)
    assert not bench.probe.take()
    assert bench.robot.playing


def test_settings_change_while_it_is_sampled(bench):
    model = opened(bench, "arm7")
    bench.probe.watch(quantities(model, "total energy", "joint2 velocity", "joint2 torque"))
    bench.play()
    blocks = []
    until(lambda: len(gathered(bench, blocks)) > 20)
    bench.configuring.set_gravity(False)
    bench.configuring.set_integrator("rk4")
    count = len(gathered(bench, blocks))
    until(lambda: len(gathered(bench, blocks)) > count + 30)
    assert bench.robot.playing
    assert np.all(np.isfinite(blocks[-1].values))


def test_pending_samples_are_of_the_robot_that_was_looked_at(monkeypatch, arm7):
    monkeypatch.setattr("app.plotting.probe.GATHERED", math.inf)  # so that all samples are pending at the change
    running, probe = running_of(arm7, Settings(spread=BatchSpread(robots=3, mass=0.5))), Probe()
    running.select_robot(1)
    probe.begin(quantities(arm7, "potential energy"), running)
    probe.take()
    running.advance(20)
    probe.after_steps(running, 20)
    _, q, v = running.state()
    running.select_robot(2)
    probe.begin(quantities(arm7, "total energy"), running)
    before, _ = probe.take()
    assert before.robot == 1
    own = running.simulation.parameters.robot(1)
    assert before.values[-1, 0] == pytest.approx(float(engine.energy(own, q, v)[1]))


def test_of_a_batch_the_robot_that_is_looked_at_is_sampled(bench):
    model = opened(bench, "arm7")
    bench.configuring.set_spread(BatchSpread(robots=4, mass=0.5))
    bench.probe.watch(quantities(model, "potential energy"))
    blocks = []
    robot = bench.robot
    until(lambda: bench.poll() is not None and (bench.frame(), robot.newest)[1] is not None and robot.newest.batch)
    bench.select_robot(2)
    bench.step()

    def looked_at():
        bench.probe.send()
        return len(gathered(bench, blocks)) and blocks[-1].robot == 2

    until(looked_at)
    bench.frame()
    energies = {block.robot: block.values[-1, 0] for block in blocks}
    assert energies[0] != energies[2]


def test_on_a_gpu_there_is_a_sample_for_each_frame(pretended_gpu, bench):
    model = opened(bench, "arm7")
    bench.configuring.set_device("cuda")
    until(lambda: bench.poll() is not None and bench.computation.device == "cuda")
    bench.probe.watch(quantities(model, "joint2 position", "joint2 torque"))
    bench.play()
    blocks = []
    until(lambda: len(gathered(bench, blocks)) > 10)
    times = gathered(bench, blocks)
    assert np.all(np.diff(times[times > 0]) > 0)  # before it plays there may be several of the same time
    assert max(pretended_gpu.launches) > 2
