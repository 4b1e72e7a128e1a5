"""View › Angles in radians: the unit of all angles that the window shows and takes."""

from __future__ import annotations

from app.desktop.actions import make_action
from app.desktop.angles import ANGLES
from app.desktop.settings import setting
from app.features.batch_view import BatchView
from app.features.plots_view import PlotsView
from app.features.scene_view import SceneView
from app.features.window_type import Window

KEY = "radians"  # the settings' key


class AngleUnits:
    """Adds the menu entry, and has every panel show its angles again when the unit changes."""

    def __init__(self, window: Window):
        self._window = window
        ANGLES.radians = setting(window.settings, KEY, False)
        tip = "Show and enter angles in radians instead of degrees: sliders, fields, joints, batches and plots"
        self.action = make_action(window, "Angles in &radians", self._change, tip=tip, checkable=True)
        self.action.setChecked(ANGLES.radians)
        window.menus.view.put(self.action)
        window.loaded.connect(lambda _: window.feature(SceneView).panel.show_units())

    def _change(self, on: bool) -> None:
        if on == ANGLES.radians:
            return
        ANGLES.radians = on
        window, bench = self._window, self._window.workbench
        window.settings.setValue(KEY, on)
        window.joints.show_units()
        window.feature(BatchView).panel.show_units()
        window.feature(PlotsView).panel.show_units()
        window.feature(SceneView).panel.show_units()
        if bench.shown is not None:
            window.framed.emit(bench.shown)
        window.refresh()
