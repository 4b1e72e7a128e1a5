"""The limit of the frame rate: chosen in the preferences, obeyed by the viewport, and remembered."""

import math
import time
from dataclasses import replace

import pytest
from PyQt6.QtWidgets import QLabel
from windows import screen_of, wait

from app.desktop.settings import setting
from app.features.attaching import FrameRate, Preferences


def test_the_limit_is_chosen_and_remembered(window, make_window):
    window.features[Preferences].action.trigger()
    box, limit = window.features[Preferences].rate, window.viewport.limit
    assert (box.currentText(), limit.fps) == ("As the screen allows", math.inf)
    assert "fewer frames save battery" in [each.text() for each in box.parent().findChildren(QLabel)]
    for name, fps in (("30", 30.0), ("60", 60.0)):
        box.setCurrentIndex(box.findData(name))
        assert limit.fps == fps
        assert setting(window.settings, "frame_rate", "") == name
        assert make_window().viewport.limit.fps == fps
    window.features[Preferences].dialog.restore()
    assert limit.fps == math.inf
    window.settings.setValue("frame_rate", "many")
    assert make_window().features[FrameRate].choice == "screen"


@pytest.mark.parametrize("fps", [8.0, math.inf])
def test_no_more_frames_are_drawn_than_the_limit_allows_and_the_last_one_in_full(qtbot, arm, monkeypatch, fps):
    viewport, requested = arm.viewport, []
    screen = screen_of(viewport)
    wait(qtbot, lambda: viewport.detail[0] == 1.0 and not screen.busy)
    viewport.limit.fps, ask = fps, screen.ask
    monkeypatch.setattr(screen, "ask", lambda *view: (requested.append(view), ask(*view)))
    began = time.monotonic()
    for step in range(150):
        viewport.see(replace(viewport.camera, azimuth=0.01 * step))
        qtbot.wait(5)
    frames, seconds = len(requested), time.monotonic() - began
    if fps == math.inf:
        assert frames >= 150
    else:
        assert 0.5 * fps * seconds < frames <= fps * seconds + 2
    wait(qtbot, lambda: screen.view.camera.azimuth == viewport.camera.azimuth and viewport.detail[0] == 1.0)
