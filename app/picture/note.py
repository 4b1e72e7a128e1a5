"""`PictureNote`, a sentence at the viewport's upper edge, and `PictureButton`, a button in a lower corner."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtWidgets import QLabel, QPushButton, QWidget

EDGE, PADDING = 16, 40  # px from the viewport's edge, and beside the note's text


class PictureNote(QLabel):
    """An overlay of a viewport, hidden while its text is empty."""

    def __init__(self, viewport: QWidget):
        super().__init__(viewport, objectName="note", alignment=Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.hide()
        viewport.installEventFilter(self)

    def say(self, text: str) -> None:
        """Show a sentence; hide the note if it is empty."""
        self.setText(text)
        self.setVisible(bool(text))
        if text:
            self._place()

    def _place(self) -> None:
        room = self.parentWidget().width()
        width = min(room - 2 * EDGE, self.fontMetrics().horizontalAdvance(self.text()) + PADDING)
        self.setFixedSize(width, self.heightForWidth(width))
        self.move((room - width) // 2, EDGE)
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)


class PictureButton(QPushButton):
    """A button in the viewport's lower left corner, or the `right` one, hidden at first."""

    def __init__(self, viewport: QWidget, text: str = "", right: bool = False):
        super().__init__(text, viewport, objectName="note")
        self._right = right
        self.hide()
        viewport.installEventFilter(self)

    def place(self) -> None:
        """Move it to its corner, at the size of its text."""
        viewport, size = self.parentWidget(), self.sizeHint()
        left = viewport.width() - size.width() - EDGE if self._right else EDGE
        self.setGeometry(left, viewport.height() - size.height() - EDGE, size.width(), size.height())
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.place()
        return super().eventFilter(watched, event)
