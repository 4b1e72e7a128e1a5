"""`SideBySide`: two parts of a panel beside each other, or behind tabs where there is no room for both."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QSize
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from app.desktop.layouts import NO_MARGINS, Margins


class SideBySide(QWidget):
    """A form, and beside it what it makes; the second part takes all the room that the first can spare."""

    def __init__(
        self, names: tuple[str, str], parts: tuple[QWidget, QWidget], stretch: int = 0, spacing: int = 0,
        margins: Margins = NO_MARGINS,
    ):  # fmt: skip
        """`stretch` is the share of the first part, of that and 1, below its largest width."""
        super().__init__()
        self.parts, self.tabs = parts, QTabBar(drawBase=False, expanding=False)
        for name in names:
            self.tabs.addTab(name)
        self._alone = False
        column, row = QVBoxLayout(self), QHBoxLayout()
        column.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)  # `minimumSizeHint` is less than it
        column.setContentsMargins(*margins)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addLayout(row, 1)
        row.setSpacing(spacing)
        row.addWidget(parts[0], stretch)
        row.addWidget(parts[1], 1)
        row.addStretch(0)  # what is right of a first part that is alone and takes no more width
        self._row = row
        self.tabs.currentChanged.connect(self._share)
        self._share()

    def show_part(self, number: int, alone: bool = False) -> None:
        """Show the first part, 0, or the second, 1; `alone` shows the second without the other until the next call."""
        self._alone = alone
        self.tabs.setCurrentIndex(number)
        self._share()

    @property
    def beside(self) -> bool:
        """Whether there is room for both parts."""
        margins = self.layout().contentsMargins()
        return self.width() >= self.whole + margins.left() + margins.right()

    @property
    def whole(self) -> int:
        """The least width of both parts beside each other, px."""
        return sum(map(_least_width, self.parts)) + self._row.spacing()

    def _share(self) -> None:
        beside, index = self.beside, self.tabs.currentIndex()
        self.tabs.setVisible(not beside and not self._alone)
        for number, part in enumerate(self.parts):
            part.setVisible(number == 1 if self._alone else beside or number == index)

    def minimumSizeHint(self) -> QSize:
        least, margins = super().minimumSizeHint(), self.layout().contentsMargins()
        parts = self.parts[1:] if self._alone else self.parts
        return QSize(max(map(_least_width, parts)) + margins.left() + margins.right(), least.height())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._share()

    def event(self, event: QEvent | None) -> bool:
        if event is not None and event.type() == QEvent.Type.LayoutRequest:
            self._share()
        return super().event(event)


def _least_width(widget: QWidget) -> int:
    return max(widget.minimumWidth(), min(widget.minimumSizeHint().width(), widget.maximumWidth()))
