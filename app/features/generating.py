"""File › Generate: chains and trees, shown while their parameters are edited, that can be saved."""

from __future__ import annotations

import math
from functools import partial

from PyQt6.QtCore import QPoint, QSignalBlocker, Qt, QTimer
from PyQt6.QtWidgets import QCheckBox, QComboBox, QDialog, QFormLayout, QLabel, QPushButton, QSlider

import engine
from app.desktop import theme
from app.desktop.actions import MESSAGE, make_action
from app.desktop.dialogs import ask_path
from app.desktop.layouts import horizontal, vertical
from app.features.window_type import Window
from app.panels.number_box import DecimalBox, WholeBox
from app.reasons import reason

MAX_LINKS = 2000  # links
STEPS = 100  # of the slider, per power of ten
PAUSE = 250  # ms without a change before the robot is made
CHAIN, TREE = "chain", "tree"
MARGIN = 12  # px


class Generator(QDialog):
    """A dialog for a robot's parameters, which the window shows."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window = window
        self.setWindowTitle("Generate a robot")
        self.kind, self.straight, self.floating = (
            QComboBox(),
            QCheckBox("Straight, axes parallel"),
            QCheckBox("Floating base"),
        )
        self.kind.addItems([CHAIN, TREE])
        self.links, self.slider = WholeBox(), QSlider(Qt.Orientation.Horizontal)
        self.links.setRange(1, MAX_LINKS)
        self.links.setValue(12)
        self.slider.setRange(0, round(STEPS * math.log10(MAX_LINKS)))
        self.branching, self.prismatic, self.spherical = (_share(value) for value in (30.0, 0.0, 0.0))
        self.seed, self.other = WholeBox(), QPushButton("&New seed")
        self.seed.setRange(0, 999_999)
        self.note, self.save = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText), QPushButton("&Save as URDF…")
        self.generate = QPushButton("&Generate")
        theme.tint(self.note, "faint")
        self._set_tips()
        self._place()
        self._due = QTimer(self, singleShot=True, timeout=self.make)
        self._follow()
        for box in (self.links, self.seed, self.branching, self.prismatic, self.spherical):
            box.valueChanged.connect(self._change)
        self.kind.currentIndexChanged.connect(self._change)
        for check in (self.straight, self.floating):
            check.toggled.connect(self._change)
        self.slider.valueChanged.connect(lambda value: self.links.setValue(round(10 ** (value / STEPS))))
        self.other.clicked.connect(lambda: self.seed.setValue((self.seed.value() + 1) % 1_000_000))
        self.generate.clicked.connect(self.make)
        self.save.clicked.connect(self._ask)

    def _set_tips(self) -> None:
        for widget, name, tip in (
            (self.kind, "kind", "A chain, or a tree that branches"),
            (self.links, "links", f"Moving links, 1 to {MAX_LINKS}"),
            (self.slider, "links", f"Moving links, 1 to {MAX_LINKS}"),
            (self.branching, "branching", "Tree: probability that a link branches off an earlier one, percent"),
            (self.prismatic, "prismatic joints", "Share of prismatic joints, percent"),
            (self.spherical, "ball joints", "Share of ball joints, percent; together with prismatic ones at most 100"),
            (self.seed, "seed", "Random seed of lengths, masses and axes"),
            (self.other, "new seed", "Another robot with these settings"),
            (self.straight, "straight", "Chain: every joint 0.1 m above the previous one"),
            (self.floating, "floating base", "Tree: the root link moves freely"),
            (self.generate, "generate", "Show the robot of these settings in place of the one that is open"),
            (self.save, "save", "Save the robot as a URDF file and open it"),
        ):
            widget.setToolTip(tip)
            widget.setAccessibleName(name)

    def _place(self) -> None:
        form = QFormLayout()
        form.addRow("Kind", self.kind)
        form.addRow("Links", horizontal((self.slider, 1), self.links))
        form.addRow("Branching", self.branching)
        form.addRow("Prismatic joints", self.prismatic)
        form.addRow("Ball joints", self.spherical)
        form.addRow("Seed", horizontal((self.seed, 1), self.other))
        form.addRow("", self.straight)
        form.addRow("", self.floating)
        close = QPushButton("Close", clicked=self.close)
        for button in (self.other, self.generate, self.save, close):
            button.setAutoDefault(False)
        buttons = horizontal(self.generate, self.save, 1, close)
        vertical(form, self.note, buttons, of=self)

    def _change(self) -> None:
        self._follow()
        self._due.start(PAUSE)

    def _follow(self) -> None:
        """Enable the controls that apply; prismatic and ball joints together are at most 100 %."""
        is_tree = self.kind.currentText() == TREE
        self.branching.setEnabled(is_tree)
        self.floating.setEnabled(is_tree)
        self.straight.setEnabled(not is_tree)
        self.spherical.setMaximum(100.0 - self.prismatic.value())
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(STEPS * math.log10(self.links.value())))

    @property
    def model(self) -> engine.Model:
        """The robot with these parameters."""
        count, seed = self.links.value(), self.seed.value()
        shares = {"prismatic": self.prismatic.value() / 100, "spherical": self.spherical.value() / 100}
        if self.kind.currentText() == CHAIN:
            return engine.chain(count, seed, self.straight.isChecked(), **shares)
        return engine.tree(count, seed, self.branching.value() / 100, floating=self.floating.isChecked(), **shares)

    def make(self) -> None:
        """Show the robot in the window."""
        self._due.stop()
        self._window.files.start(partial(self._show, self.model))

    def _show(self, model: engine.Model) -> None:
        self._window.workbench.open(model)
        self._window.refresh()
        kinds = [joint.kind for joint in model.joints]
        reported = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        self.note.setText(f"{len(model.joints)} joints: {reported}; {model.nv} degrees of freedom")

    def _ask(self) -> None:
        if path := ask_path(self, "Save as URDF", f"{self.model.name}.urdf", "Robots (*.urdf)", "urdf"):
            self.write(path)

    def write(self, path: str) -> None:
        """Save the robot, and open the file."""
        try:
            with engine.replacing(path) as file:
                file.write(engine.to_urdf(self.model).encode())
        except OSError as error:
            self.note.setText(f"{path} was not written: {reason(error)}")
            return
        self._window.statusBar().showMessage(f"Saved {path}", MESSAGE)
        self._window.open(path)


class Generating:
    """Adds the menu entry, and makes the dialog when first requested."""

    def __init__(self, window: Window):
        self._window = window
        tip = "Make a chain or a tree of any length"
        self.action = make_action(window, "&Generate…", self.show, "Ctrl+G", tip=tip)
        window.menus.file.put(self.action)
        self.dialog: Generator | None = None

    def show(self) -> None:
        """Open the dialog, and show its robot if no other is open."""
        if self.dialog is None:
            self.dialog = Generator(self._window)
            self.dialog.move(self._place(self.dialog.sizeHint().width()))
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()
        open_now = self._window.workbench.robot.model
        if open_now is None:
            self.dialog.make()
        else:
            self.dialog.note.setText(f"{open_now.name} stays open until a setting is changed or Generate is pressed")

    def _place(self, width: int) -> QPoint:
        """Return a position over the docks on the right, clear of the viewport."""
        window = self._window
        top = window.viewport.mapTo(window, QPoint()).y()
        return window.mapToGlobal(QPoint(window.width() - width - MARGIN, top))


def _share(value: float) -> DecimalBox:
    box = DecimalBox()
    box.setRange(0.0, 100.0)
    box.setDecimals(0)
    box.setSingleStep(5.0)
    box.setSuffix(" %")
    box.setValue(value)
    return box
