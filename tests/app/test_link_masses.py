"""Masses of links that are typed in the window in place of their files'."""

import numpy as np
import pytest
from test_sessions import play, save
from windows import in_simulation, number_typed, wait

import engine
from app.acting.drives import Drive
from app.desktop.context_menus import LINK, Clicked
from app.features.attaching import RobotView, UndoView
from app.features.link_masses import LinkMasses
from app.features.sessions import Sessions
from app.features.state_transfer import transfer_settings
from app.recording.run_files import describe, understand
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Settings

ARM = engine.find_robot("arm7")
HAND = "hand"


def simulated(window) -> engine.Model:
    return in_simulation(window.workbench, lambda running: running.own_model)


def test_a_typed_mass_is_simulated_shown_and_undone(qtbot, opened):
    window = opened(ARM)
    bench, masses = window.workbench, window.features[LinkMasses]
    model, stack = bench.robot.model, window.features[UndoView].stack
    link, body = model.link_names.index(HAND), int(model.link_body[model.link_names.index(HAND)])
    assert not masses.action.isEnabled()
    window.selection.choose(0)
    assert not masses.action.isEnabled(), "its base is fixed to the world"
    window.selection.choose(link)
    before = model.mass[body]
    with number_typed(2 * before) as requested:
        masses.action.trigger()
    assert requested[0].startswith(f"Mass of {HAND}. Mass in kg")
    wait(qtbot, lambda: simulated(window).mass[body] == pytest.approx(2 * before, rel=1e-5))
    np.testing.assert_allclose(simulated(window).inertia[body], 2 * model.inertia[body], rtol=1e-5)
    np.testing.assert_allclose(simulated(window).mass.sum(), model.mass.sum() + before, rtol=1e-5)
    window.features[RobotView].action.trigger()
    facts = window.features[RobotView].panel.inspector
    wait(qtbot, lambda: f"mass\t{2 * before:.3f} kg" in facts.text())
    stack.undo()
    wait(qtbot, lambda: simulated(window).mass[body] == before)
    assert bench.robot.settings.masses == ()


def test_the_mass_of_the_file_is_an_entry_of_a_link_whose_mass_was_set(opened):
    window = opened(ARM)
    model = window.workbench.robot.model
    link = Clicked(LINK, HAND, model.link_names.index(HAND))
    body = int(model.link_body[link.number])

    def entries() -> dict:
        return {each.text(): each for each in window.menus.context.of(link).actions()}

    assert "Mass of the &file" not in entries()
    window.workbench.configuring.set_mass(body, 3.0)
    entries()["Mass of the &file"].trigger()
    assert window.workbench.robot.settings.masses == ()


def test_gravity_compensation_is_for_the_masses_that_are_set(qtbot, opened):
    window = opened(ARM)
    bench = window.workbench
    body = int(bench.robot.model.link_body[bench.robot.model.link_names.index(HAND)])
    bench.configuring.set_mass(body, 3.0)
    for k in range(7):
        bench.joints.set_joint_drive(k, Drive("effort", 0.0, weight=True))
    bench.joints.set_coordinate(1, 0.5)
    play(qtbot, window, 0.3)
    assert np.abs(bench.robot.newest.v).max() < 1e-3


@pytest.mark.parametrize("played", [False, True], ids=["without a run", "with its run"])
def test_a_session_keeps_them(qtbot, opened, make_window, tmp_path, played):
    window = opened(ARM)
    body = int(window.workbench.robot.model.link_body[-1])
    window.workbench.configuring.set_mass(body, 3.0)
    path = tmp_path / "heavy.catena"
    if played:
        play(qtbot, window, 0.1)
        save(qtbot, window, path)
    else:
        window.features[Sessions].save(str(path))
    again = make_window()
    again.features[Sessions].open(str(path))
    wait(qtbot, lambda: again.workbench.robot.settings.masses == ((body, 3.0),))
    wait(qtbot, lambda: simulated(again).mass[body] == pytest.approx(3.0))


def test_runs_keep_them_and_another_file_takes_those_of_the_same_links(arm7):
    settings = Settings(masses=((2, 3.0), (6, 0.5)))
    assert understand(describe(settings)) == settings
    name = arm7.link_names[int(np.argmax(arm7.link_body == 2))]
    other = engine.load(engine.find_robot("double_pendulum"))
    assert transfer_settings(settings, arm7, arm7) == settings
    assert name not in other.link_names
    assert transfer_settings(settings, arm7, other).masses == ()


def test_each_robot_of_a_batch_differs_from_the_mass_that_is_set(arm7):
    made = BatchSpread(5, mass=0.2, seed=3).parameters(arm7, masses=((2, 3.0),))
    assert made.mass[0, 2] == pytest.approx(3.0)
    assert np.all(np.abs(made.mass[1:, 2] / 3.0 - 1) <= 0.2)
    np.testing.assert_allclose(made.mass[0, 3], arm7.mass[3])
