"""The selected link, shared by the viewport, the tree and other views."""

from __future__ import annotations

from PyQt6.QtCore import QObject, pyqtSignal

NONE = -1


class Selection(QObject):
    """One selected link, or none."""

    changed = pyqtSignal(int)
    """The selected link, −1 for none."""

    def __init__(self, parent: QObject | None = None):
        super().__init__(parent)
        self.link = NONE
        """The link's index in `model.link_names`; −1 for none."""

    def choose(self, link: int) -> None:
        """Select a link; −1 selects none."""
        if link != self.link:
            self.link = link
            self.changed.emit(link)
