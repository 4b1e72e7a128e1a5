"""A scroll area for a panel that may get less space than it needs."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QFrame, QScrollArea, QWidget


class PanelScroller(QScrollArea):
    """Scrolls a widget only below its minimum size; `widgetResizable` would scroll it below its size hint."""

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if event is not None and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        room, least = self.maximumViewportSize(), self.widget().minimumSizeHint()
        if least.height() > room.height():  # the vertical bar takes width; a horizontal bar is not wanted
            room.setWidth(room.width() - self.verticalScrollBar().sizeHint().width())
        self.widget().resize(room.expandedTo(least))


def scrolled(panel: QWidget) -> PanelScroller:
    """Return a scroll area for a panel, so that it widens no window; it scrolls to the focused widget."""
    scroller = PanelScroller(frameShape=QFrame.Shape.NoFrame, focusPolicy=Qt.FocusPolicy.NoFocus)
    scroller.setWidget(panel)
    return scroller
