"""A status bar that makes room for long messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PyQt6.QtCore import QEvent, QRect, QSize, Qt
from PyQt6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PyQt6.QtWidgets import QStatusBar, QStyle, QStyleOption, QWidget

from app.desktop import type_scale
from app.desktop.actions import MESSAGE
from app.desktop.layouts import NO_MARGINS, horizontal

EDGE = 6  # px to the left of a message, and between it and its neighbour


class MessageBar(QStatusBar):
    """Hides yielding widgets one after another until a message fits; then it takes two lines, and others yield to it
    where these would be cut; at last the second one is elided.

    The tooltip shows the whole message. No message widens the window.
    """

    def __init__(self, parent: QWidget | None):
        super().__init__(parent)
        self._yielding: Sequence[QWidget] = ()
        self._standing: Sequence[QWidget] = ()
        self._mentioned = self._advice = self.progress = ""
        self._timed = False  # whether the message leaves by itself
        """`progress`: the last message of how far something is, which the next one replaces."""
        notes = _Notes(self._lay_out)
        self._notes = horizontal(of=notes, margins=NO_MARGINS)
        self.addPermanentWidget(notes)
        self.messageChanged.connect(self._make_room)

    def showMessage(self, text: str | None, msecs: int = 0) -> None:
        self._timed = msecs > 0
        super().showMessage((text or "").replace("\n", " "), msecs)

    def mention(self, text: str) -> None:
        """Show a message of what may happen often, unless one of another sort is still to be read."""
        if self.currentMessage() in ("", self._mentioned):
            self._mentioned = text
            self.showMessage(text, MESSAGE)

    def advise(self, text: str) -> None:
        """Show a message of what Play would do, until `drop_advice`."""
        self._advice = text
        self.showMessage(text, MESSAGE)

    def drop_advice(self) -> None:
        """Remove the message of `advise`, if it is still shown."""
        if self.currentMessage() == self._advice:
            self.clearMessage()

    def show_progress(self, text: str) -> None:
        """Show how far something is, unless a message for a limited time is still to be read."""
        if self.currentMessage() in ("", self.progress) or not self._timed:
            self.progress = text
            self.showMessage(text)

    def hide_when_narrow(self, *widgets: QWidget, standing: Sequence[QWidget] = ()) -> None:
        """Set the widgets to hide, the first one first; only the bar may show or hide them.

        `standing` ones are hidden only while two lines would not do.
        """
        self._yielding, self._standing = widgets, standing

    def add_note(self, widget: QWidget) -> None:
        """Add a widget whose text comes and goes, left of the permanent ones, which keep their places."""
        self._notes.addWidget(widget)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # a child was resized, added or removed
            self._make_room()
        return done

    def _make_room(self) -> None:
        text = self.currentMessage()
        self.setToolTip(text)
        room = self.width() - 2 * EDGE - self.fontMetrics().horizontalAdvance(text)
        lasting = [each for each in self._neighbours() if each not in (*self._yielding, *self._standing)]
        room -= sum(map(_width, (*lasting, *self._standing)))
        requested = sum(_width(each) for each in self._yielding)
        for widget in self._yielding:
            hides = requested > room
            requested -= _width(widget) if hides else 0
            if widget.isHidden() != hides:
                widget.setHidden(hides)
        shown = [each for each in self._yielding if not each.isHidden()]
        room = self.width() - 2 * EDGE - sum(map(_width, (*lasting, *shown, *self._standing)))
        for widget in self._standing:
            hides = bool(text) and " ".join(two_lines(text, room, QFontMetrics(type_scale.font("small")))) != text
            room += _width(widget) if hides else 0
            if widget.isHidden() != hides:
                widget.setHidden(hides)

    def _lay_out(self) -> None:
        """Give all widgets their places now, not after the next picture, in which a longer note would be cut."""
        self._make_room()
        if (layout := self.layout()) is not None:
            layout.activate()

    def _neighbours(self) -> list[QWidget]:
        """Return the widgets beside a message; a maximised or full-screen window has no size grip."""
        return [each for each in self.children() if isinstance(each, QWidget) and each.isVisibleTo(self)]

    def paintEvent(self, event: QPaintEvent) -> None:
        if not (text := self.currentMessage()):
            super().paintEvent(event)
            return
        painter, option = QPainter(self), QStyleOption()
        option.initFrom(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelStatusBar, option, painter, self)
        end = min((each.x() for each in self._neighbours()), default=self.width()) - EDGE
        painter.setPen(self.palette().windowText().color())
        lines = two_lines(text, end - EDGE, self.fontMetrics())
        if len(lines) > 1:
            painter.setFont(type_scale.font("small"))
            lines = two_lines(text, end - EDGE, painter.fontMetrics())
        painter.drawText(QRect(EDGE, 0, end - EDGE, self.height()), Qt.AlignmentFlag.AlignVCenter, "\n".join(lines))


class _Notes(QWidget):
    """The place of the notes, which calls `resized` as soon as one of them asks for another width."""

    def __init__(self, resized: Callable[[], None]) -> None:
        super().__init__()
        self._resized = resized

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._resized()
        return done


def two_lines(text: str, width: int, metrics: QFontMetrics) -> list[str]:
    """Return a text of a width, px, as one line, or broken at a space into two with an ellipsis for what is left."""
    if metrics.horizontalAdvance(text) <= width:
        return [text]
    words, first = text.split(" "), 1
    while metrics.horizontalAdvance(" ".join(words[: first + 1])) <= width:
        first += 1
    return [
        metrics.elidedText(" ".join(part), Qt.TextElideMode.ElideRight, width)
        for part in (words[:first], words[first:])
    ]


def _width(widget: QWidget) -> int:
    """The widget's preferred width with its margin, px."""
    return widget.sizeHint().width() + EDGE
