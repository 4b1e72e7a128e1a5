"""A place for a panel that may have less room than it asks for."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QFrame, QScrollArea, QWidget


class PanelScroller(QScrollArea):
    """Scrolls a widget where it has less than its least size; a resizable one scrolls below its favoured height."""

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if event is not None and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        room, least = self.maximumViewportSize(), self.widget().minimumSizeHint()
        if least.height() > room.height():  # the bar that this needs takes width, for which no second bar is wanted
            room.setWidth(room.width() - self.verticalScrollBar().sizeHint().width())
        self.widget().resize(room.expandedTo(least))


def scrolled(panel: QWidget) -> PanelScroller:
    """A panel that widens no window: it scrolls where it has too little room, and as the focus moves within it."""
    scroller = PanelScroller(frameShape=QFrame.Shape.NoFrame, focusPolicy=Qt.FocusPolicy.NoFocus)
    scroller.setWidget(panel)
    return scroller
