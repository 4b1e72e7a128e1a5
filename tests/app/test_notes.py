"""Notes of the status bar whose texts grow."""

from PyQt6.QtCore import QEvent, QObject
from PyQt6.QtWidgets import QApplication, QLabel

from app.desktop.message_bar import MessageBar


class Pictures(QObject):
    """By how much a label is too narrow for its text in each picture of it, px."""

    def __init__(self, label: QLabel):
        super().__init__(label)
        self.missing = list[int]()
        label.installEventFilter(self)

    def eventFilter(self, watched: QLabel, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.missing.append(watched.sizeHint().width() - watched.width())
        return False


def test_a_note_that_grows_is_cut_in_no_picture(qtbot):
    """One is shown for long where the simulation takes most of the time."""
    bar, note, beside = MessageBar(None), QLabel("stand.py"), QLabel("a robot")
    qtbot.addWidget(bar)
    bar.add_note(note)
    bar.addPermanentWidget(beside)
    bar.hide_when_narrow(beside)
    bar.resize(600, 30)
    bar.show()
    qtbot.waitExposed(bar)
    qtbot.wait(50)
    pictures = Pictures(note)
    for milliseconds in ("9.4", "9.42", "19.42", "9", "119.125"):
        note.setText(f"stand.py takes {milliseconds} ms for 1 ms of motion")
        for _ in range(3):
            QApplication.processEvents()
    assert len(pictures.missing) >= 5
    assert max(pictures.missing) <= 0
