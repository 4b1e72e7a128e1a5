"""The lesson on contact: each law holds, points stick and slip, and the relaxed law lifts a box as stated."""

import re
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import engine
from engine.algorithms import contact_law
from engine.algorithms.step import integrate
from engine.lessons import contact, pages
from engine.lessons.lesson import Lesson

ROBOTS = ("arm7", "arm6", "scara", "snake50", "quadruped", "humanoid", 3, 16)


def robot(name: str | int) -> engine.Model:
    return engine.chain(name) if isinstance(name, int) else engine.load(engine.find_robot(name))


def lesson(name: str | int) -> Lesson:
    model, rng = robot(name), np.random.default_rng(1)
    return Lesson("contact", model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_push_moves_the_last_link_as_the_mass_matrix_says(name: str | int, rng: np.random.Generator) -> None:
    """With the engine's poses and mass matrix, and differences of where the centre of mass is."""
    model = robot(name)
    q, step = model.random(rng), 1e-6
    G = contact.mobility(model, q)

    def center(way: np.ndarray) -> np.ndarray:
        return pages.joints(model, integrate(model, q, way, 1.0))[1][-1]

    J = np.stack([(center(step * e) - center(-step * e)) / (2 * step) for e in model.coupling.C.T[: model.nv]], 1)
    expected = J @ np.linalg.solve(engine.mass_matrix(model, q), J.T)
    np.testing.assert_allclose(np.linalg.eigvalsh(G), np.linalg.eigvalsh(expected), rtol=1e-5, atol=1e-7)
    assert G[0, 0] == pytest.approx(expected[2, 2], rel=1e-5)
    assert G[1, 0] == pytest.approx(np.hypot(*expected[2, :2]), rel=1e-4, abs=1e-7)
    assert abs(G[2, 0]) < 1e-12 * np.trace(G)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_exact_law_is_the_engine_s_and_the_relaxed_one_leaves_the_slip_out(name: str | int) -> None:
    made = lesson(name)
    G = made.trace.of("mobility")[0].values[0]
    b, _ = contact.impact(G)
    assert b[0] == pytest.approx(-contact.APPROACH)
    for stage in made.trace.of("stick", "slip", "relaxed"):
        impulse, u, stopping, mu = stage.values
        np.testing.assert_allclose(u, G @ impulse + b, atol=1e-12)
        np.testing.assert_allclose(G @ stopping, -b, atol=1e-9)
        assert np.hypot(*stopping[1:]) == pytest.approx(contact.SIDEWAYS * stopping[0], rel=1e-6)
        assert np.hypot(*impulse[1:]) <= mu * impulse[0] * (1 + 1e-12)
        if stage.name != "relaxed":
            rows = contact_law.ConstraintRows(np.eye(3), b, np.array([mu]), np.zeros((0, 3)))
            assert contact_law.residual(rows, G, impulse) < 1e-12
            np.testing.assert_allclose(contact_law.solve(rows, G), impulse, rtol=1e-8, atol=1e-9)
            assert abs(u[0]) < 1e-12
        else:
            # u in the dual cone, on its edge, and no work: that is the convex law.
            assert u[0] == pytest.approx(mu * np.hypot(*u[1:]), rel=1e-9)
            assert abs(u @ impulse) < 1e-12
            assert u[0] > 0
    stick, slip = (made.trace.of(name)[0].values[1] for name in ("stick", "slip"))
    assert np.abs(stick).max() < 1e-12
    assert np.hypot(*slip[1:]) > 1e-3
    assert contact.SLIPS < contact.SIDEWAYS < contact.STICKS


def test_where_nothing_slips_the_laws_are_the_same() -> None:
    G = lesson("arm7").trace.of("mobility")[0].values[0]
    exact, relaxed = (contact.touch(law, G, contact.impact(G)[0], contact.STICKS) for law in ("exact", "relaxed"))
    np.testing.assert_allclose(exact.impulse, relaxed.impulse, rtol=1e-9, atol=1e-12)


def test_a_push_straight_up_moves_a_robot_aside_and_the_impulse_that_slips_is_another() -> None:
    made = lesson("arm7")
    assert float(made.facts["pushed_aside"]) > 0
    stick, slip = (made.trace.of(name)[0].values[0] for name in ("stick", "slip"))
    cut = contact_law.project(stick, contact.SLIPS)
    assert np.linalg.norm(slip - cut) > 1e-3


def test_the_relaxed_law_lifts_the_box_by_74_mm_and_the_exact_one_does_not() -> None:
    """The value in docs/contact.md; the flight is a throw with the velocity that the first step gives."""
    exact, relaxed, fast = contact.slide("exact"), contact.slide("relaxed"), contact.slide("relaxed", 6.0)
    assert np.abs(exact[:, 1]).max() < 1e-15
    made = lesson("arm7")
    assert made.facts["lift"] == f"{1000 * relaxed[:, 1].max():.0f}" == "74"
    rise = relaxed[1, 1] / contact.DT
    assert relaxed[:, 1].max() == pytest.approx(rise**2 / (2 * contact.GRAVITY), rel=0.01)
    slip = (relaxed[1, 0] - relaxed[0, 0]) / contact.DT
    assert rise == pytest.approx(contact.FRICTION * slip, rel=1e-9)
    assert fast[:, 1].max() == pytest.approx(4 * relaxed[:, 1].max(), rel=0.01)
    question = made.steps[-1].question
    assert question.is_right(str(4 * 74))
    assert not question.is_right(str(2 * 74))
    assert len(relaxed) == len(exact), "as many steps, since as much impulse goes up as the weight takes down"
    assert relaxed[-1, 0] == pytest.approx(exact[-1, 0], rel=1e-4)
    assert float(made.facts["flight"]) == pytest.approx(2 * rise * slip / contact.GRAVITY, rel=0.01)
    landed = relaxed[relaxed[:, 0] > float(made.facts["flight"]) + 0.005, 1]
    assert 0 < 1000 * landed.max() < 1, "then it slides on just above the floor"
    assert (np.diff(landed) <= 0).all(), "without another hop"
    link = made.model.link_names.index(made.facts["last_link"])
    assert made.model.link_body[link] == len(made.model.parent) - 1
    assert exact[-1, 0] == pytest.approx(contact.SPEED**2 / (2 * contact.FRICTION * contact.GRAVITY), rel=2e-3)


def test_the_engine_s_box_comes_as_far() -> None:
    way = contact.of_engine()
    assert way[0] == pytest.approx(contact.slide("exact")[-1, 0], rel=1e-9)
    assert lesson("humanoid").error < 1e-9


def test_pictures_show_cones_and_the_way() -> None:
    made = lesson("arm7")
    drawn = {made.trace.stages[s.index].name: s.picture(pages.DARK) for s in made.steps if s.has_picture}
    for name, cones in (("stick", 1), ("slip", 1), ("relaxed", 2)):
        areas = [p for p in etree.fromstring(drawn[name]).iter("{*}polygon") if "fill-opacity:0.22" in p.get("style")]
        assert len(areas) == cones
    # The impulse ends within the cone or on its edge: as wide as the coefficient of friction for its height.
    for name, mu in (("stick", contact.STICKS), ("slip", contact.SLIPS), ("relaxed", contact.SLIPS)):
        area = next(iter(etree.fromstring(drawn[name]).iter("{*}polygon"))).get("points")
        (x0, y0), (x1, y1), _ = (map(float, p.split(",")) for p in area.split())
        assert (x0 - x1) / (y0 - y1) == pytest.approx(mu, abs=0.01)
    assert drawn["exact box"].count("<line") < drawn["relaxed box"].count("<line")
    heights = re.findall(r">(\d+)</text>", drawn["relaxed box"])
    assert "74" in heights


def test_a_robot_whose_last_link_cannot_come_down_says_so() -> None:
    model = engine.chain(3, straight=True)  # all axes upright
    with pytest.raises(ValueError, match=r"has the last link of .* come down, which no joint lets it do as it stands"):
        contact.mobility(model, np.zeros(3))


def test_a_robot_whose_limb_is_straight_says_so() -> None:
    """Its last link moves up and aside in one proportion only, so that there is nothing between sticking and none."""
    model = engine.load(engine.ROBOTS / "double_pendulum.urdf")
    with pytest.raises(ValueError, match=r"pushed up and aside, which as it stands are one motion; bend its limb"):
        contact.mobility(model, model.neutral())
    bent = contact.mobility(model, np.array([0.5, 1.0]))
    assert np.linalg.eigvalsh(bent[:2, :2])[0] > 0


def test_the_other_lessons_are_written_where_one_does_not_serve_as_the_robot_stands(tmp_path: Path) -> None:
    model = engine.chain(3, straight=True)
    refused = pages.write(tmp_path, model, (np.zeros(3),) * 3)
    assert "come down" in refused["contact"]
    names = {path.stem for path in tmp_path.iterdir()}
    assert names == {*Lesson.names(), "index"} - set(refused)
    assert "come down" in (tmp_path / pages.INDEX).read_text("utf-8")
