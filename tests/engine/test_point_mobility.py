"""The mobility of a link's point, against the mass matrix and finite differences, and for a free body by hand."""

import numpy as np
import pytest
from mimics import mimics

import engine
from engine import lie

FREE = """<robot name="brick"><link name="brick"><inertial><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link></robot>"""


@pytest.mark.parametrize("name", ["arm7", "scara", "mimics"])
def test_it_is_the_jacobian_times_the_inverse_mass_matrix(name, rng, tmp_path):
    model = mimics(tmp_path, 3) if name == "mimics" else engine.load(engine.find_robot(name))
    link, p = len(model.link_names) - 1, rng.normal(size=3)
    q = model.random(rng)

    def place(q: np.ndarray) -> np.ndarray:
        return (engine.link_poses(model, q)[link] @ np.append(p, 1.0))[:3]

    assert model.nq == model.nv
    steps = 1e-6 * np.eye(model.nv)
    J = np.stack([place(q + step) - place(q - step) for step in steps], 1) / 2e-6
    expected = J @ engine.inverse_mass_matrix(model, q) @ J.T
    np.testing.assert_allclose(engine.point_mobility(model, q, link, p), expected, rtol=1e-6, atol=1e-8)


def test_a_free_body_answers_by_its_mass_and_inertia(tmp_path, rng):
    (tmp_path / "brick.urdf").write_text(FREE, encoding="utf-8")
    model = engine.load(str(tmp_path / "brick.urdf"), floating=True)
    q, p = model.random(rng), np.array([0.3, -0.2, 0.5])
    R = engine.link_poses(model, q)[0, :3, :3]
    arm = lie.skew(p)
    own = np.eye(3) / 2 - arm @ np.diag([10.0, 5.0, 1 / 0.3]) @ arm
    np.testing.assert_allclose(engine.point_mobility(model, q, 0, p), R @ own @ R.T, rtol=1e-12, atol=1e-13)


def test_what_stands_fast_does_not_answer_and_nonsense_is_refused(arm7):
    assert not engine.point_mobility(arm7, arm7.neutral(), 0, (0.1, 0.0, 0.0)).any()
    with pytest.raises(ValueError, match="numbered from 0"):
        engine.point_mobility(arm7, arm7.neutral(), 99, (0, 0, 0))
    with pytest.raises(ValueError, match="three finite numbers"):
        engine.point_mobility(arm7, arm7.neutral(), 1, (0, np.nan, 0))


@pytest.mark.written_out
@pytest.mark.usefixtures("new_process", "cache")
def test_no_robot_needs_code_of_its_own(compiled):
    """A window has the code of this function compiled ahead, for any robot that is then pulled."""
    engine.point_mobility(engine.chain(1), [0.0], 1, (0.0, 0.0, 0.0))
    compiled.clear()
    for model in (engine.chain(13), engine.load(engine.find_robot("quadruped"))):
        assert engine.point_mobility(model, model.neutral(), len(model.link_names) - 1, (0.1, 0.0, 0.0)).any()
    assert compiled == []
