"""An obstacle's own friction: between a body and it the smaller coefficient holds, in steps and in the text."""

import numpy as np
import pytest

import engine
from engine.algorithms import touching
from engine.scene.pairs import pairs


def tilted(friction: float | None, of_body: float | None, scene: float = 0.8) -> engine.Simulation:
    """A box that stands on an obstacle inclined by 0.3 rad, whose tangent is 0.309."""
    turn = engine.rotation_from_rpy([0.0, 0.3, 0.0])
    pose, at = np.eye(4), np.eye(4)
    pose[:3, :3] = at[:3, :3] = turn
    at[:3, 3] = turn @ [0.0, 0.0, 0.15]
    plate = engine.Obstacle("box", (2.0, 2.0, 0.2), pose, friction=friction)
    body = engine.free_body("box", (0.1, 0.1, 0.1), 1.0, friction=of_body)
    model = engine.compose(engine.Part(body, at, "box/"))
    return engine.Simulation(model, scene=engine.Scene(None, scene, obstacles=(plate,)))


@pytest.mark.parametrize(
    ("friction", "of_body", "expected"),
    [(None, None, 0.8), (0.1, None, 0.1), (None, 0.2, 0.2), (0.1, 0.2, 0.1), (0.5, 0.05, 0.05), (5.0, None, 0.8)],
)
def test_the_smaller_coefficient_holds(friction, of_body, expected):
    made = tilted(friction, of_body)
    assert pairs(made.model, made.settings.scene).friction.tolist() == [expected]
    (plate,), (shape,) = made.settings.scene.obstacles, made.model.collisions
    assert touching.coefficients(made.settings.scene, shape, plate)[0] == expected
    made.step(300)
    along = max(9.81 * (np.sin(0.3) - expected * np.cos(0.3)), 0.0)
    moved = float(np.linalg.norm(made.q[0, :3]))  # from where it was added
    assert moved == pytest.approx(along * (300 * made.dt) ** 2 / 2, rel=0.05, abs=2e-3)


@pytest.mark.parametrize("friction", [-0.1, np.nan, "rough", True])
def test_a_coefficient_below_zero_is_refused(friction):
    with pytest.raises(ValueError, match=r"the friction of the obstacle is .*; expected a coefficient of at least 0"):
        engine.Obstacle("sphere", (0.1,), friction=friction)
    with pytest.raises(ValueError, match="the friction of the body is"):
        engine.free_body("sphere", (0.1,), 1.0, friction=friction)


@pytest.mark.parametrize("color", [(1, 1, 1), (2, 0, 0, 1), "red"])
def test_a_colour_is_four_numbers(color):
    with pytest.raises(ValueError, match="the colour of the obstacle is"):
        engine.Obstacle("sphere", (0.1,), color=color)


def test_the_urdf_of_a_body_has_its_friction(tmp_path):
    path = tmp_path / "body.urdf"
    path.write_text(engine.to_urdf(engine.free_body("box", (0.1, 0.1, 0.1), 1.0, friction=0.35)))
    assert engine.load(path, floating=True).collisions[0].friction == 0.35
