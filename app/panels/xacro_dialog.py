"""`XacroDialog`: asks for the arguments of a xacro file."""

from __future__ import annotations

from collections.abc import Mapping

from PyQt6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QLabel, QLineEdit, QScrollArea, QWidget

from app.desktop.layouts import vertical

NOTE = "As xacro takes them after its file, NAME:=VALUE. Sessions and recorded runs keep them."
WIDTH = 480  # px


class XacroDialog(QDialog):
    """A field for each argument, with its value in use."""

    def __init__(self, parent: QWidget, name: str, arguments: Mapping[str, str]):
        super().__init__(parent)
        self.setWindowTitle(f"Arguments of {name}")
        self._shown = dict(arguments)
        self.fields = {argument: QLineEdit(value) for argument, value in arguments.items()}
        rows, area, note = QWidget(), QScrollArea(), QLabel(NOTE, wordWrap=True)
        form = QFormLayout(rows)
        for argument, field in self.fields.items():
            field.setAccessibleName(argument)
            field.setCursorPosition(0)
            form.addRow(argument, field)
        area.setWidget(rows)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText("&Reload")
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        vertical((area, 1), note, self.buttons, of=self)
        self.resize(WIDTH, self.sizeHint().height())

    @property
    def changed(self) -> dict[str, str]:
        """The arguments whose value the user has changed."""
        texts = {argument: field.text() for argument, field in self.fields.items()}
        return {argument: text for argument, text in texts.items() if text != self._shown[argument]}
