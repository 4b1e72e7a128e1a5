"""Edit › Preferences: the settings that the window remembers, most of which are in menus too."""

from __future__ import annotations

from PyQt6.QtWidgets import QListWidget

from app.desktop.actions import make_action
from app.desktop.menus import ADD_TIP
from app.features.angle_units import AngleUnits
from app.features.appearance import CHOICES, Appearance
from app.features.contact_view import ContactView
from app.features.frame_rate import CHOICES as RATES
from app.features.frame_rate import SCREEN, FrameRate
from app.features.idle_measuring import IdleMeasuring
from app.features.overlay_view import OverlayView
from app.features.reloading import Reloading
from app.features.text_size import CHOICES as SIZES
from app.features.text_size import NORMAL, TextSize
from app.features.time_view import BUDGETS, DEFAULT_BUDGET, TimeView
from app.features.window_type import Window
from app.panels.preferences import PreferencesDialog

STEP = 64  # MB, step of the recording limit


class Preferences:
    """Adds the menu entry, and makes the dialog when first opened."""

    def __init__(self, window: Window):
        self._window = window
        tip = (
            "Theme, text size, overlays, unit of angles, frame rate, recording limit, reloading, package folders and "
            "measuring in one place"
        )
        self.action = make_action(window, "&Preferences…", self.show, "Ctrl+,", tip=tip)
        window.menus.edit.put(self.action, apart=True)
        self.dialog: PreferencesDialog | None = None

    def show(self) -> None:
        """Open the dialog, without blocking the window."""
        if self.dialog is None:
            self.dialog = self._made()
        self.theme.setCurrentIndex(self.theme.findData(self._window.feature(Appearance).choice))
        self.size.setCurrentIndex(self.size.findData(self._window.feature(TextSize).choice))
        self.limit.setValue(self._window.feature(TimeView).budget)
        self.rate.setCurrentIndex(self.rate.findData(self._window.feature(FrameRate).choice))
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    def _made(self) -> PreferencesDialog:
        dialog = PreferencesDialog(self._window)
        appearance, view = self._window.feature(Appearance), self._window.feature(TimeView)
        texts = {name: text.replace("&", "") for name, (text, _) in CHOICES.items()}
        self.theme = dialog.add_choice("Theme", texts, "system")
        self.theme.currentIndexChanged.connect(lambda _: appearance.choose(self.theme.currentData()))
        for name, action in appearance.actions.items():
            action.triggered.connect(lambda _, name=name: self.theme.setCurrentIndex(self.theme.findData(name)))
        self.size = dialog.add_choice("Text size", SIZES, NORMAL, "applies at the next start")
        size = self._window.feature(TextSize)
        self.size.setCurrentIndex(self.size.findData(size.choice))
        self.size.currentIndexChanged.connect(lambda _: size.choose(self.size.currentData()))
        kinds = self._window.feature(OverlayView).actions.values()
        overlays = [self._window.feature(ContactView).action, self._window.view_controls.collisions, *kinds]
        self.overlays = dialog.add_ticks("Overlays", [(action, action is overlays[0]) for action in overlays])
        self.units = dialog.add_ticks("Units", [(self._window.feature(AngleUnits).action, False)])
        self.rate = dialog.add_choice("Frame rate", RATES, SCREEN, "fewer frames save battery")
        rate = self._window.feature(FrameRate)
        self.rate.setCurrentIndex(self.rate.findData(rate.choice))
        self.rate.currentIndexChanged.connect(lambda _: rate.choose(self.rate.currentData()))
        text = "beyond it the oldest frames are dropped"
        self.limit = dialog.add_number("Recording limit", text, "MB", (*BUDGETS, STEP), DEFAULT_BUDGET)
        self.limit.setValue(view.budget)
        self.limit.valueChanged.connect(view.set_budget)
        automatic = (self._window.feature(Reloading).watching, self._window.feature(IdleMeasuring).action)
        self.automatic = dialog.add_ticks("Automatic", [(action, True) for action in automatic])
        self._add_folders(dialog)
        dialog.add_buttons()
        return dialog

    def _add_folders(self, dialog: PreferencesDialog) -> None:
        menu = self._window.files.package_menu
        self.folders, self.add, self.remove = dialog.add_list("Package folders", ADD_TIP)
        _fill(self.folders, menu.folders)
        menu.changed.connect(lambda: _fill(self.folders, menu.folders))
        self.add.clicked.connect(menu.ask)
        self.remove.clicked.connect(lambda: menu.forget(self.folders.currentItem().text()))


def _fill(texts: QListWidget, folders: tuple[str, ...]) -> None:
    texts.clear()
    texts.addItems(folders)
