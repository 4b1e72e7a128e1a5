"""The measurement form: robots, algorithms, devices, number types, batch size and time, or how times grow."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QStandardItemModel
from PyQt6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

import engine
from app.desktop.actions import ALGORITHM_TIPS, algorithm_name
from app.desktop.dialogs import ask_file
from app.desktop.layouts import horizontal
from app.jobs.comparing import Measurement
from app.panels.moving_keys import KeySlider
from app.panels.number_box import DecimalBox, WholeBox
from app.panels.pick_box import Checked, PickBox, Role, Unchecked

ALGORITHMS = engine.algorithms(engine.chain(2))
TIMES, OVER_LINKS, OVER_BATCH = range(3)
MEASURES = ("times, robot by robot", "growth with the links of a chain", "growth with the batch")
DEVICES: dict[str, tuple[str, ...] | None] = {"all": None, "CPU": ("cpu",), "GPU": ("cuda",)}
DTYPES = {"float64": ("float64",), "float32": ("float32",), "both": ("float64", "float32")}
BOTH = 2
MAX_LINKS_POWER, MAX_BATCH_POWER = 12, 20
"""Largest powers of two: the links of a chain, and the robots of a batch."""
STEPS = 16  # slider steps per power of two
SENSIBLE_BATCH = 4096  # largest batch measured by default
BATCH_STEP = 4  # ratio of successive batch sizes, where times are measured over the batch


class CompareForm(QWidget):
    """The settings, and the measurement that they describe."""

    changed = pyqtSignal()
    failed = pyqtSignal(str)
    """The problem with a user's file."""

    def __init__(self) -> None:
        super().__init__()
        self.measure, self.devices, self.dtypes = (_choices(names) for names in (MEASURES, DEVICES, DTYPES))
        self.own = QPushButton("Add your own…")
        self.own.setToolTip("A function (model, q, v, tau) → q̈ of a Python file; see docs/own_algorithm.py")
        self.own.clicked.connect(self._ask_own)
        self.robot_box, self.algorithm_box = PickBox("robots"), PickBox("algorithms", self.own)
        self.robots, self.algorithms = self.robot_box.list, self.algorithm_box.list
        self.loaded = self.robot_box.add("", None)
        self.loaded.setHidden(True)
        for path in sorted(engine.ROBOTS.glob("*.urdf")):
            self.robot_box.add(path.stem, path.stem)
        self._shown, self._was = self._ships("arm7"), Unchecked  # and its check state before it was shown
        self._shown.setCheckState(Checked)
        self.chain = self.robot_box.add("", None, checked=True)
        for name in ALGORITHMS:
            item = self.algorithm_box.add(algorithm_name(name), name, checked=True)
            item.setToolTip(ALGORITHM_TIPS.get(name, name))
        self.links = KeySlider()
        self.links.setRange(0, MAX_LINKS_POWER * STEPS)
        self.links.setToolTip("The length of the generated chain, from 1 to 4096 links")
        self.links_label = QLabel()
        self.links_label.setMinimumWidth(self.fontMetrics().horizontalAdvance("Chain up to"))
        self.length = WholeBox()
        self.length.setRange(1, 1 << MAX_LINKS_POWER)
        self.length.setSuffix(" links")
        self.length.setStepType(WholeBox.StepType.AdaptiveDecimalStepType)
        self.length.setToolTip(self.links.toolTip())
        self.batch, self.seconds = WholeBox(), DecimalBox()
        for box in (self.batch, self.seconds):
            box.setButtonSymbols(WholeBox.ButtonSymbols.NoButtons)
            box.setStepType(WholeBox.StepType.AdaptiveDecimalStepType)
        self.batch.setRange(1, 1 << MAX_BATCH_POWER)
        self.batch.setToolTip("Robots that one call computes")
        self.seconds.setRange(0.05, 60.0)
        self.seconds.setValue(0.5)
        self.seconds.setSuffix(" s")
        self.seconds.setToolTip("How long each algorithm is timed; more makes the intervals narrower")
        self.links.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # for its arrow keys
        self._arrange()
        self.links.valueChanged.connect(lambda: self.length.setValue(self._slider_length()))
        self.length.valueChanged.connect(self._move_slider)
        self.length.valueChanged.connect(self._refresh)
        self.measure.currentIndexChanged.connect(self._refresh)
        self.robots.itemChanged.connect(self.changed)
        self.algorithms.itemChanged.connect(self.changed)
        self.links.setValue(round(math.log2(100) * STEPS))

    def _arrange(self) -> None:
        self.batch_name = QLabel()
        chain = horizontal((self.links, 1), self.length)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(6)
        wide: tuple[tuple[QLabel, QWidget | QHBoxLayout], ...] = (
            (QLabel("Measure"), self.measure),
            (QLabel("Robots"), self.robot_box),
            (QLabel("Algorithms"), self.algorithm_box),
            (self.links_label, chain),
        )
        for row, (label, what) in enumerate(wide):
            grid.addWidget(label, row, 0)
            grid.addWidget(what, row, 1, 1, 3) if isinstance(what, QWidget) else grid.addLayout(what, row, 1, 1, 3)
        for row, (name, widget, other, second) in enumerate(
            (
                (QLabel("Devices"), self.devices, self.batch_name, self.batch),
                (QLabel("Precision"), self.dtypes, QLabel("Time each"), self.seconds),
            ),
            len(wide),
        ):
            for column, each in enumerate((name, widget, other, second)):
                grid.addWidget(each, row, column)
        for column in (1, 3):
            grid.setColumnStretch(column, 1)
        grid.setRowStretch(grid.rowCount(), 1)

    @property
    def chain_length(self) -> int:
        """The number of links of the generated chain."""
        return self.length.value()

    def _move_slider(self, links: int) -> None:
        """Move the slider to a number that was typed."""
        if links != self._slider_length():
            blocked = self.links.blockSignals(True)
            self.links.setValue(round(math.log2(links) * STEPS))
            self.links.blockSignals(blocked)

    def _slider_length(self) -> int:
        """Return the slider's length: powers of two and of ten, and between them numbers of two digits."""
        octave, rest = divmod(self.links.value(), STEPS)
        links = 2 ** (octave + rest / STEPS)
        ten = 10 ** round(math.log10(links))
        if abs(math.log2(links / ten)) < 0.5 / STEPS:
            return ten
        return int(round(links, -max(0, int(math.log10(links)) - 1))) if rest else 1 << octave

    def set_loaded(self, model: engine.Model, floating: bool) -> None:
        """List the robot that the window shows, its root free or not, in place of the previous one.

        A robot that ships is in the list already.
        """
        self._shown.setCheckState(self._was)
        ships = model.source is not None and Path(model.source).parent == engine.ROBOTS and not floating
        self.loaded.setHidden(ships)
        self.loaded.setText(f"{model.name} (shown)")
        self.loaded.setData(Role, model)
        self._shown = self._ships(Path(model.source).stem) if ships else self.loaded
        self._was = self._shown.checkState() if ships else Unchecked
        self._shown.setCheckState(Checked)

    def _ships(self, name: str) -> QListWidgetItem:
        return next(item for item in self.robot_box.entries if item.data(Role) == name)

    def problem(self) -> str:
        """Return why these settings cannot be measured; "" if they can."""
        if not self.algorithm_box.ticked:
            return "Choose at least one algorithm"
        if self.measure.currentIndex() == TIMES and not self._models():
            return "Choose at least one robot"
        return ""

    def request(self) -> Callable[[], Measurement]:
        """Return a function that makes the measurement; it reads files, so the measuring thread must call it."""
        names: tuple[str, ...] | None = tuple(item.data(Role) for item in self.algorithm_box.ticked)
        if names == ALGORITHMS:
            names = None
        devices, dtypes = (table[box.currentText()] for table, box in ((DEVICES, self.devices), (DTYPES, self.dtypes)))
        batch, seconds, measure = self.batch.value(), self.seconds.value(), self.measure.currentIndex()
        if measure == TIMES:
            return partial(engine.Comparison, tuple(self._models()), names, devices, dtypes, batch, seconds)
        growth = partial(engine.Scaling, algorithms=names, devices=devices, dtype=dtypes[0], seconds=seconds)
        chain = self.chain_length
        if measure == OVER_LINKS:
            return partial(growth, "links", _sizes(2, chain), batch=batch)
        return partial(growth, "batch", _sizes(BATCH_STEP, batch), model=f"chain:{chain}")

    def add_own(self, path: str, function: str) -> None:
        """Add a user's function to the list, selected; do nothing if it is there."""
        name = f"{path}:{function}"
        if name not in [item.data(Role) for item in self.algorithm_box.entries]:
            self.algorithm_box.add(f"{Path(path).name}:{function}", name, checked=True).setToolTip(name)

    def _ask_own(self) -> None:
        self.algorithm_box.hidePopup()
        if not (path := ask_file(self, "Add an algorithm of your own", kinds="Python (*.py)")):
            return
        try:
            names = functions(Path(path))
        except (OSError, ValueError) as error:
            self.failed.emit(str(error))
            return
        name, fine = names[0], True
        if len(names) > 1:
            name, fine = QInputDialog.getItem(self, "Add an algorithm of your own", "Function:", names, 0, False)
        if fine:
            self.add_own(path, name)

    def _models(self) -> list[engine.Model | str]:
        models = [item.data(Role) for item in self.robot_box.ticked if item is not self.chain]
        ticked = self.chain.checkState() == Checked and not any(_is_chain(each, self.chain_length) for each in models)
        return [*models, f"chain:{self.chain_length}"] if ticked else models

    def _refresh(self) -> None:
        measure, links = self.measure.currentIndex(), self.chain_length
        blocked = self.robots.blockSignals(True)
        self.chain.setText(f"chain of {links} link{'s' if links > 1 else ''}")
        self.robots.blockSignals(blocked)
        self.robot_box.refresh()
        self.robot_box.setEnabled(measure == TIMES)
        self.links_label.setText("Chain up to" if measure == OVER_LINKS else "Chain")
        self.batch_name.setText("Batch to" if measure == OVER_BATCH else "Batch")
        if measure == OVER_BATCH and self.batch.value() == 1:
            self.batch.setValue(SENSIBLE_BATCH)
        cast(QStandardItemModel, self.dtypes.model()).item(BOTH).setEnabled(measure == TIMES)
        if measure != TIMES and self.dtypes.currentIndex() == BOTH:
            self.dtypes.setCurrentIndex(0)
        self.changed.emit()


def _is_chain(model: engine.Model | str, links: int) -> bool:
    """Whether a robot of the list is the generated chain of that many links, which File › Generate may have made."""
    if isinstance(model, str) or model.source is not None or model.name != f"chain{links}":
        return False
    chain = engine.chain(links)
    return all(np.array_equal(getattr(model, name), getattr(chain, name)) for name in ("kind", "home_rotation"))


def functions(path: Path) -> list[str]:
    """Return a Python file's public functions, without running it. Raises OSError, or ValueError with the line."""
    try:
        tree = ast.parse(engine.file_content(path))
    except SyntaxError as error:
        raise ValueError(f"{path.name}, line {error.lineno}: {error.msg}") from error
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    if not names:
        raise ValueError(f"{path.name} has no function; write one as docs/own_algorithm.py has it")
    return names


def _choices(names: Iterable[str]) -> QComboBox:
    box = QComboBox()
    box.addItems(list(names))
    return box


def _sizes(factor: int, largest: int) -> tuple[int, ...]:
    """Return the powers of a factor up to the largest size, and that size itself."""
    powers = [factor**power for power in range(int(math.log(largest, factor) + 1e-9) + 1)]
    return tuple(sorted({*powers, largest}))
