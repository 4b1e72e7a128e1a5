"""`PictureNote`: a sentence at the viewport's upper edge."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtWidgets import QLabel, QWidget

TOP, PADDING = 16, 40  # px from the viewport's edge, and beside the note's text


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
        width = min(room - 2 * TOP, self.fontMetrics().horizontalAdvance(self.text()) + PADDING)
        self.setFixedSize(width, self.heightForWidth(width))
        self.move((room - width) // 2, TOP)
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)
