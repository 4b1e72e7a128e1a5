"""What the ghost's panel shows while there is no ghost, and the scale of its colours."""

import numpy as np
import pytest

from app.panels.ghost import COMING, SCALE, GhostPanel, scale_of, tints


def test_a_ghost_that_is_still_to_come_is_told(qtbot):
    panel = GhostPanel()
    qtbot.addWidget(panel)
    panel.show_state(None, (), COMING)
    assert panel.now.text() == "–"  # none was asked for
    panel.on.click()
    panel.show_state(None, (), COMING)
    assert panel.now.text() == COMING
    panel.show_state(None, ())
    assert panel.now.text() == "–"
    panel.show_state(None, (), COMING)
    panel.refusal.setText("there is no GPU")
    panel.show_state(None, (), COMING)
    assert panel.now.text() == "–"


def shade(deviation, largest, recorded=True, size=0.8):
    """The colours of links that deviate by so much, of a ghost that deviated by `largest`."""
    return tints(np.array(deviation), scale_of(largest, size, recorded))[:, :3]


def test_colours_tell_metres_apart_where_runs_differ_by_metres():
    near, middle, far = shade([0.02, 0.4, 2.5], 2.5)
    last, first = np.array(SCALE[-1]), np.array(SCALE[0])
    np.testing.assert_allclose(shade([5.0, 0.05], 2.5), [last, first], atol=1e-6)  # 5 m is the step above
    np.testing.assert_allclose(near, first, atol=1e-6)
    assert np.abs(middle - far).max() > 0.3
    assert np.abs(middle - near).max() > 0.3
    chaotic = shade([0.02, 2.5], 2.5, recorded=False)
    assert np.abs(chaotic[0] - chaotic[1]).max() > 0.2


@pytest.mark.parametrize("recorded", [False, True])
def test_a_colour_scale_rises_by_steps_and_has_the_largest_deviation(recorded):
    scales = [scale_of(largest, 0.8, recorded) for largest in np.geomspace(1e-9, 50, 400)]
    lasts = [last for _, last in scales]
    assert lasts == sorted(lasts)
    assert all(last >= largest for last, largest in zip(lasts, np.geomspace(1e-9, 50, 400), strict=True))
    assert len(set(lasts)) < 20
    assert lasts[0] == pytest.approx(0.08 if not recorded else 8e-4)


def test_a_legend_has_the_numbers_of_its_colours(qtbot):
    panel = GhostPanel()
    qtbot.addWidget(panel)
    panel.resize(320, 400)
    before = panel.legend.grab().toImage()
    panel.legend.show_scale(scale_of(2.5, 0.8, recorded=True))
    assert panel.legend.grab().toImage() != before
