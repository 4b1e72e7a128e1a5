"""Keys that move what has the focus, such as a slider, although some are shortcuts of the window."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QSlider

_Key = Qt.Key
MOVES = (
    *(_Key.Key_Left, _Key.Key_Right, _Key.Key_Up, _Key.Key_Down),
    *(_Key.Key_PageUp, _Key.Key_PageDown, _Key.Key_Home, _Key.Key_End),
)
_ENTER = (_Key.Key_Return, _Key.Key_Enter)
_HELD = ~Qt.KeyboardModifier.KeypadModifier  # modifiers with which a key has another meaning


def keeps_key(event: QEvent | None) -> bool:
    """Keep a moving key from the window's shortcuts; return whether this was such an event."""
    keeps = (
        isinstance(event, QKeyEvent)
        and event.type() == QEvent.Type.ShortcutOverride
        and event.key() in MOVES
        and not event.modifiers() & _HELD
    )
    if keeps:
        event.accept()
    return keeps


class KeySlider(QSlider):
    """A horizontal slider that its keys move."""

    entered = pyqtSignal()
    """Return was pressed."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)

    def event(self, event: QEvent | None) -> bool:
        if keeps_key(event):
            return True
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _ENTER:
            self.entered.emit()
            return True
        return super().event(event)
