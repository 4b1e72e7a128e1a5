"""Which link is chosen: in the picture, in the tree, or by whatever else follows it."""

from __future__ import annotations

from PyQt6.QtCore import QObject, pyqtSignal

NONE = -1


class Selection(QObject):
    """One link, or none."""

    changed = pyqtSignal(int)
    """The link, −1 for none."""

    def __init__(self, parent: QObject | None = None):
        super().__init__(parent)
        self.link = NONE
        """Its index in `model.link_names`; −1 for none."""

    def choose(self, link: int) -> None:
        """Choose that link, or with −1 none."""
        if link != self.link:
            self.link = link
            self.changed.emit(link)
