"""The modes of joint constraints, row by row as the law says: at rest, at bounds, within rounding of either."""

import numpy as np
import pytest

from engine.kernels import joint_constraints as rows
from engine.kernels.active_set import ROWS
from engine.kernels.joint_constraints import BACKWARD, FORWARD, HIGH, LOW, STUCK
from engine.kernels.joint_rows import JointRows, bounds, is_row, set_mode
from engine.kernels.step_state import ActiveSet
from engine.step_settings import FRICTION, LOWER, NO_POSITION, NO_ROW, UPPER, VELOCITY_LIMIT

F, REST = 0.5, rows.rest_speed(0.0)


@pytest.mark.parametrize(
    ("v", "low", "high", "f", "mode"),
    [
        (0.0, -1, 1, 0.0, FORWARD), (0.0, -1, 1, F, STUCK), (REST, -1, 1, F, STUCK), (-REST, -1, 1, F, STUCK),
        (2 * REST, -1, 1, F, FORWARD), (-2 * REST, -1, 1, F, BACKWARD), (-REST, -1, 1, 0.0, BACKWARD),
        (0.0, -1, 0.0, F, HIGH), (0.0, 0.0, 1, F, LOW), (0.0, 0.0, 0.0, F, HIGH), (REST, -1, 0.0, 0.0, HIGH),
        (0.0, -1, 1e-13, F, STUCK), (0.0, -1e-13, 1, F, STUCK), (0.5, -1, 0.0, F, HIGH), (-0.5, 0.0, 1, F, LOW),
        (1.0, -1, 1, F, HIGH), (1 - 0.5 * REST, -1, 1, F, HIGH), (1 - 3 * REST, -1, 1, F, FORWARD),
        (-1.0, -1, 1, F, LOW), (-1 + 0.5 * REST, -1, 1, F, LOW), (-1 + 3 * REST, -1, 1, F, BACKWARD),
    ],
)  # fmt: skip
def test_a_row_begins_held_where_it_rests_or_is_as_fast_as_it_may_be(v, low, high, f, mode):
    assert rows.initial_mode(v, low, high, f) == mode


@pytest.mark.parametrize(
    ("after", "low", "high", "f", "mode"),
    [
        (0.0, -1, 1, 0.0, FORWARD), (0.0, -1, 1, F, STUCK), (1.0, -1, 1, F, HIGH), (-1.0, -1, 1, F, LOW),
        (0.5, -1, 1, F, FORWARD), (-0.5, -1, 1, F, BACKWARD), (0.0, -1, 0.0, F, HIGH), (0.0, 0.0, 1, F, LOW),
    ],
)  # fmt: skip
def test_a_feasible_velocity_has_its_mode(after, low, high, f, mode):
    assert rows.feasible_mode(after, low, high, f) == mode


@pytest.mark.parametrize(
    ("mode", "after", "f", "following"),
    [
        (FORWARD, 1.125, F, FORWARD), (FORWARD, 1.25, F, HIGH), (BACKWARD, -1.125, F, BACKWARD),
        (BACKWARD, -1.25, F, LOW), (FORWARD, -0.125, F, FORWARD), (FORWARD, -0.25, F, STUCK),
        (FORWARD, -0.25, 0.0, FORWARD),
        (BACKWARD, 0.125, F, BACKWARD), (BACKWARD, 0.25, F, STUCK), (BACKWARD, 0.25, 0.0, BACKWARD),
        (FORWARD, 0.5, F, FORWARD), (BACKWARD, -0.5, F, BACKWARD), (BACKWARD, 1.25, F, HIGH), (FORWARD, -1.25, F, LOW),
    ],
)  # fmt: skip
def test_a_sliding_row_stops_where_it_leaves_its_bounds_or_turns_back_against_friction(mode, after, f, following):
    assert rows.next_mode_of_sliding(mode, after, f, -1.0, 1.0, 0.125) == following


@pytest.mark.parametrize(
    ("mode", "r", "low", "high", "following"),
    [
        (STUCK, 0.625, -1, 1, STUCK), (STUCK, 0.75, -1, 1, BACKWARD), (STUCK, -0.625, -1, 1, STUCK),
        (STUCK, -0.75, -1, 1, FORWARD), (STUCK, 0.0, -1, 1, STUCK),
        (HIGH, -0.375, -1, 1, HIGH), (HIGH, -0.25, -1, 1, FORWARD), (HIGH, -0.75, -1, 1, HIGH),
        (HIGH, 0.625, -1, 0, HIGH), (HIGH, 0.75, -1, 0, BACKWARD),
        (LOW, 0.375, -1, 1, LOW), (LOW, 0.25, -1, 1, BACKWARD), (LOW, 0.75, -1, 1, LOW),
        (LOW, -0.625, 0, 1, LOW), (LOW, -0.75, 0, 1, FORWARD),
    ],
)  # fmt: skip
def test_a_held_row_is_let_go_where_holding_it_takes_more_than_friction_gives(mode, r, low, high, following):
    assert rows.next_mode_of_held(mode, r, F, low, high, 0.125) == following


def test_how_far_a_held_row_pulls_beyond_its_friction():
    assert rows.friction_excess(STUCK, -3.0, F, -1.0) == rows.friction_excess(STUCK, 3.0, F, -1.0) == 2.5
    assert rows.friction_excess(LOW, -3.0, F, -1.0) == 3.5
    assert rows.friction_excess(LOW, -3.0, F, 0.0) == 2.5
    assert rows.friction_excess(HIGH, 3.0, F, -1.0) == 3.5


def test_a_row_with_friction_slides_on_its_own_side_of_rest():
    assert rows.sliding_interval(FORWARD, -2.0, 3.0, F) == (0.0, 3.0)
    assert rows.sliding_interval(BACKWARD, -2.0, 3.0, F) == (-2.0, 0.0)
    assert rows.sliding_interval(FORWARD, -2.0, 3.0, 0.0) == (-2.0, 3.0)
    assert [mode for mode in range(-2, 3) if rows.slides(mode)] == [BACKWARD, FORWARD]


DT = 0.25


def _row(lower, upper, most, q_of_v=0, has_limits=True):
    joints = np.zeros((8, 1))
    joints[[LOWER, UPPER, VELOCITY_LIMIT, FRICTION], 0] = lower, upper, most, F
    return JointRows(DT, has_limits, True, np.array([q_of_v]), joints)


def test_bounds_are_what_a_step_may_move_and_no_faster_than_the_velocity_limit():
    for q, expected in (
        (0.0, (-4.0, 8.0)), (1.5, (-10.0, 2.0)), (-0.75, (-1.0, 10.0)), (2.0, (-10.0, 0.0)), (3.0, (-10.0, 0.0)),
        (-1.0, (0.0, 10.0)), (-5.0, (0.0, 10.0)), (2.0 - 0.5 * REST, (-10.0, 0.0)), (-1.0 + 0.5 * REST, (0.0, 10.0)),
    ):  # fmt: skip
        assert bounds(_row(-1.0, 2.0, 10.0), 0, np.array([q])) == expected
    near = bounds(_row(-1.0, 2.0, 10.0), 0, np.array([2.0 - 4 * REST]))[1]
    assert near == pytest.approx(4 * REST / DT, rel=1e-3)
    assert bounds(_row(-1.0, 2.0, 10.0), 0, np.array([-1.0 + 4 * REST]))[0] == pytest.approx(-near, rel=1e-3)
    assert bounds(_row(-1.0, 2.0, 10.0, has_limits=False), 0, np.zeros(1)) == (-np.inf, np.inf)
    assert bounds(_row(-1.0, 2.0, 10.0, NO_POSITION), 0, np.array([9.0])) == (-4.0, 8.0)
    assert is_row(_row(0, 0, 0, NO_POSITION), 0)
    assert not is_row(_row(0, 0, 0, NO_ROW), 0)


class Start:
    def __init__(self, q, v):
        self.q, self.v = np.array([[q]]), np.array([[v]])


class Forces:
    def __init__(self):
        self.force, self.held, self.target_acceleration = np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))


@pytest.mark.parametrize(
    ("before", "mode", "force", "after"),
    [
        (STUCK, FORWARD, -F, None), (STUCK, BACKWARD, F, None), (FORWARD, BACKWARD, 2 * F, None),
        (FORWARD, STUCK, F, 0.0), (BACKWARD, HIGH, -F, 8.0), (HIGH, LOW, 0, -4.0), (LOW, STUCK, 0, 0.0),
    ],
)  # fmt: skip
def test_a_mode_is_put_into_forces_or_into_a_lock_on_the_velocity_that_it_prescribes(before, mode, force, after):
    active, forces = ActiveSet(np.array([[before]]), np.zeros((1, ROWS, 1)), np.zeros(1, np.int64)), Forces()
    set_mode(mode, 0, 0, _row(-1.0, 2.0, 10.0), Start(0.0, 1.0), active, forces)
    assert active.mode[0, 0] == mode
    assert forces.force[0, 0] == force
    assert forces.held[0, 0] == (after is not None)
    if after is not None:
        assert 1.0 + DT * forces.target_acceleration[0, 0] == after
