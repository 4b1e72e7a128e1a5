"""A scroll area for a panel that may get less space than it needs."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QObject, QSize, Qt
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
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if self.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff:
            hint.setWidth(self.widget().minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width())
        return hint

    def _fit(self) -> None:
        room, least = self.maximumViewportSize(), self.widget().minimumSizeHint()
        if self._height(room.width()) > room.height():  # the vertical bar takes width; a horizontal bar is not wanted
            room.setWidth(room.width() - self.verticalScrollBar().sizeHint().width())
        least.setHeight(self._height(max(room.width(), least.width())))
        self.widget().resize(room.expandedTo(least))

    def _height(self, width: int) -> int:
        """Return the least height of the widget at this width, which lines of text decide."""
        layout, least = self.widget().layout(), self.widget().minimumSizeHint().height()
        flows = layout is not None and layout.hasHeightForWidth()
        return max(least, layout.minimumHeightForWidth(width)) if flows else least


def scroller(panel: QWidget, sideways: bool = True) -> PanelScroller:
    """Return a scroll area for a panel, so that it enlarges no window; it scrolls to the focused widget.

    Unless it scrolls `sideways`, it is as wide as the panel needs.
    """
    scroller = PanelScroller(frameShape=QFrame.Shape.NoFrame, focusPolicy=Qt.FocusPolicy.NoFocus)
    scroller.setWidget(panel)
    for each in (panel, scroller.viewport()):  # the dock's own ground, as without a scroll area
        each.setAutoFillBackground(False)
    if not sideways:
        scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return scroller
