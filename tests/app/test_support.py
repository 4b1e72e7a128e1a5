"""What a robot rests on: its support polygon, the centre of mass above it, and each link's centre of pressure."""

import numpy as np
import pytest
from test_collision_shapes import choose
from windows import play_for, settle, wait

import engine
from app.features.overlay_view import OverlayView
from app.gl.glyphs import PRISMATIC_COLOR, REVOLUTE_COLOR, WHOLE, X
from app.simulation.contacts import Contacts
from app.simulation.support import support_of

DOWN = np.array([0.0, 0.0, -9.81])
QUADRUPED = engine.load(engine.ROBOTS / "quadruped.urdf")
ROUND = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.0)]


def contacts(points, presses=None, normals=None, links=None, others=None) -> Contacts:
    """Contacts at points (C, 3), which press by 1 N each along normals that point upwards, unless given."""
    points, count = np.array(points, float), len(points)
    normal = np.tile([0.0, 0.0, 1.0], (count, 1)) if normals is None else np.array(normals, float)
    press = np.ones(count) if presses is None else np.array(presses, float)
    link, other = (np.full(count, of) if each is None else np.array(each) for of, each in ((0, links), (-1, others)))
    return Contacts(points, normal, press[:, None] * normal, np.full(count, "stick"), link, other, np.zeros(count))


def flat(height: float = 0.0) -> np.ndarray:
    return np.array([(*each, height) for each in ROUND])


def test_the_polygon_is_the_hull_and_the_margin_the_distance_from_its_edge():
    for center, margin in (((1.0, 0.4), 0.4), ((0.1, 0.5), 0.1), ((2.3, 0.5), -0.3), ((2.3, 1.4), -0.5)):
        found = support_of(QUADRUPED, contacts(flat(0.2)), np.array([*center, 5.0]), DOWN)
        assert {tuple(each) for each in found.corners} == {(*each, 0.2) for each in ROUND[:4]}
        assert found.margin == pytest.approx(margin)
        np.testing.assert_allclose(found.below, [*center, 0.2], atol=1e-12)


def test_a_line_or_a_point_supports_nothing_that_is_not_right_above_it():
    line = support_of(QUADRUPED, contacts([(0, 0, 0), (1, 0, 0), (0.5, 0, 0)]), np.array([0.5, 0.2, 1.0]), DOWN)
    assert line.margin == pytest.approx(-0.2)
    assert len(line.corners) == 2
    point = support_of(QUADRUPED, contacts([(1, 1, 0), (1, 1, 0)]), np.array([1.0, 1.5, 1.0]), DOWN)
    assert point.margin == pytest.approx(-0.5)
    assert len(point.corners) == 1


def test_the_polygon_is_seen_along_gravity_and_the_projection_lies_in_its_plane():
    """On a slope the centre of mass falls beyond the lower edge that it is right above when seen from the top."""
    angle = 0.4
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    slope = flat() @ R.T
    normal = np.tile(R[:, 2], (len(slope), 1))
    center = R @ [1.0, 0.5, 2.0]
    upright = support_of(QUADRUPED, contacts(slope, normals=normal), center, DOWN)
    assert upright.margin == pytest.approx(2.0 * np.cos(angle) - center[0])
    assert upright.margin < 0.3
    np.testing.assert_allclose(upright.below[:2], center[:2])
    assert R[:, 2] @ upright.below == pytest.approx(0.0)
    turned = support_of(QUADRUPED, contacts(slope, normals=normal), center, R @ DOWN)
    assert turned.margin == pytest.approx(0.5)
    np.testing.assert_allclose(turned.below, R @ [1.0, 0.5, 0.0], atol=1e-12)


def test_the_centre_of_pressure_of_each_link_is_weighted_by_what_presses():
    points = [(0, 0, 0), (1, 0, 0), (3, 0, 0), (3, 1, 0)]
    found = support_of(QUADRUPED, contacts(points, [3, 1, 0, 2], links=[2, 2, 4, 4]), np.zeros(3), DOWN)
    assert found.links.tolist() == [2, 4]
    np.testing.assert_allclose(found.pressed, [(0.25, 0, 0), (3, 1, 0)])


def test_only_what_carries_counts():
    links, center = len(QUADRUPED.link_names), np.zeros(3)
    sideways = [(1.0, 0, 0)] * len(ROUND)
    assert support_of(QUADRUPED, contacts(flat(), normals=sideways), center, DOWN) is None
    assert support_of(QUADRUPED, contacts(flat(), others=[1] * len(ROUND)), center, DOWN) is None, "its own link"
    assert support_of(QUADRUPED, contacts(flat(), others=[links] * len(ROUND)), center, DOWN).links.tolist() == [0]
    body = contacts(flat(), normals=[(0.0, 0, -1)] * len(ROUND), links=[links] * len(ROUND), others=[3] * len(ROUND))
    assert support_of(QUADRUPED, body, center, DOWN).links.tolist() == [3], "a body below the robot"
    assert support_of(QUADRUPED, contacts(flat()), center, np.zeros(3)) is None, "no gravity"
    assert support_of(engine.load(engine.find_robot("arm7")), contacts(flat()), center, DOWN) is None, "fixed"


def drawn(window, mesh: str, color) -> np.ndarray:
    """The places (N, 3) of the glyphs of a colour."""
    copies = window.viewport.view().extras.glyphs[mesh]
    return copies.poses[np.all(np.isclose(copies.colors, color), axis=1), :3, 3]


def test_the_overlay_says_whether_a_standing_robot_tips(qtbot, opened):
    window = opened(engine.ROBOTS / "quadruped.urdf")
    play_for(qtbot, window, 0.3)
    settle(qtbot, window)
    bench, action = window.workbench, window.features[OverlayView].actions["support"]
    assert window.viewport.view().extras.glyphs == {}
    choose(qtbot, window, action)
    feet = {bench.robot.model.link_names[k] for k in bench.shown.contacts.link}
    assert len(feet) == 4
    assert len(drawn(window, "rod", PRISMATIC_COLOR)) == 4, "the edges"
    assert len(drawn(window, "rod", REVOLUTE_COLOR)) == 4, "a centre of pressure for each foot"
    (below,) = drawn(window, "ball", WHOLE)
    assert abs(below[2]) < 0.01
    (label,) = window.viewport.view().extras.labels
    facts = dict(line.split("\t") for line in window.joint_column.facts.text().splitlines() if "\t" in line)
    margin = float(facts["support margin, mm"])
    assert margin > 20
    assert label.text.startswith("CoM ")
    assert label.text.endswith(" mm inside")
    assert float(label.text.split()[1]) == pytest.approx(margin, rel=0.02)
    foot = bench.robot.model.link_names.index(sorted(feet)[0])
    window.selection.choose(foot)
    wait(qtbot, lambda: "CoP, mm" in window.joint_column.facts.text())
    window.selection.choose(-1)

    film = window.viewport.shot.view_of(bench.shown, (320, 240))
    assert [each.text for each in film.extras.labels] == [label.text]
    choose(qtbot, window, action)
    assert window.viewport.view().extras.glyphs == {}


def test_a_centre_of_mass_outside_the_support_is_red(qtbot, opened):
    window = opened(engine.ROBOTS / "quadruped.urdf")
    play_for(qtbot, window, 0.3)
    settle(qtbot, window)
    choose(qtbot, window, window.features[OverlayView].actions["support"])
    viewport, shown = window.viewport, window.workbench.shown
    away = shown.link_poses.copy()
    away[:, 0, 3] += 1.0  # as if it had moved off its contacts
    viewport.set_poses(away, contacts=shown.contacts)
    (label,) = viewport.view().extras.labels
    assert label.text.endswith("outside")
    assert len(drawn(window, "ball", X)) == 1
    assert len(drawn(window, "rod", X)) == 5, "the edges, and the line from the centre of mass"
