"""The form of a lesson's question: typed, selected or dragged answers, and whether they are right."""

from __future__ import annotations

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QFont, QResizeEvent
from PyQt6.QtWidgets import QButtonGroup, QLabel, QLineEdit, QPushButton, QRadioButton, QVBoxLayout, QWidget

import engine
from app.desktop import theme
from app.desktop.layouts import horizontal, vertical
from app.panels.moving_keys import KeySlider

RIGHT, NOT_YET, NO_NUMBER = "Right.", "Not yet.", "The answer is a number, such as 12 or 0.5."
MARGIN = 10  # px at both sides


class QuestionForm(QWidget):
    """Asks a lesson's question, and shows whether the answer given is right."""

    def __init__(self) -> None:
        super().__init__()
        self.answer, self.check, self.wording = QLineEdit(), QPushButton("Chec&k"), QLabel(wordWrap=True)
        self.answer.setPlaceholderText("your answer")
        self.answer.setAccessibleName("answer")
        self.choices = QButtonGroup(self)
        self.choices.idClicked.connect(self._judge)
        self.check.clicked.connect(self._judge)
        self.answer.returnPressed.connect(self._judge)
        self.drag, self.dragged = KeySlider(), QLabel()
        self.drag.setAccessibleName("answer, dragged")
        self.drag.valueChanged.connect(self._show_dragged)
        self.answer.textEdited.connect(self.wording.clear)
        self.drag.entered.connect(self._judge)
        self._buttons, row = QVBoxLayout(), horizontal(self.answer, self.drag, self.dragged, self.check)
        vertical(self._buttons, row, self.wording, of=self, margins=(MARGIN, 0, MARGIN, 6))
        self._question: engine.LessonQuestion | None = None

    def present(self, font: QFont) -> None:
        """Apply a font to all widgets of the form."""
        self.setFont(font)
        for each in self.findChildren(QWidget):
            each.setFont(font)
        self._keep_room()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._keep_room()

    def _keep_room(self) -> None:
        """Keep the height of the longest verdict free, so that the choices stay where they are when one appears."""
        if self._question is not None:
            wording, width = self.wording, self.contentsRect().width() - 2 * MARGIN
            text = f"{NOT_YET} {self._question.hint}"
            rows = wording.fontMetrics().boundingRect(0, 0, width, 0, Qt.TextFlag.TextWordWrap, text)
            wording.setMinimumHeight(rows.height())

    def ask(self, question: engine.LessonQuestion | None) -> None:
        """Show a question; hide the form for None."""
        self.setVisible(question is not None)
        if question == self._question:
            return
        self._question = question
        self._keep_room()
        self.answer.clear()
        self.wording.clear()
        for button in self.choices.buttons():
            self.choices.removeButton(button)
            button.deleteLater()
        choices = question.choices if question else ()
        dragged = bool(question and question.dragged)
        self.drag.setRange(0, max(len(choices) - 1, 0))
        self.drag.setValue(0)
        self._show_dragged()
        for k, text in enumerate(() if dragged else choices):
            button = QRadioButton(text)
            button.setFont(self.font())
            self.choices.addButton(button, k)
            self._buttons.addWidget(button)
        for each, shown in (
            (self.answer, not choices),
            (self.drag, dragged),
            (self.dragged, dragged),
            (self.check, dragged or not choices),
        ):
            each.setVisible(question is not None and shown)

    def _show_dragged(self) -> None:
        self.wording.clear()
        if self._question and self._question.dragged:
            self.dragged.setText(self._question.choices[self.drag.value()])

    def _judge(self) -> None:
        chosen = self.choices.checkedButton()
        answer = self.dragged.text() if self._question.dragged else chosen.text() if chosen else self.answer.text()
        right = self._question.is_right(answer)
        theme.tint(self.wording, "good" if right else "warning")
        self.wording.setFont(self.font())  # a new tint resets it
        wrong = f"{NOT_YET} {self._question.hint}" if self._question.is_possible(answer) else NO_NUMBER
        self.wording.setText(RIGHT if right else wrong)
