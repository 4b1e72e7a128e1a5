"""The mobility of a link's point, against the mass matrix and finite differences, and for a free body by hand."""

import numpy as np
import pytest

import engine


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
