"""A Qt table model of a robot's coordinates and their current values."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from PyQt6.QtCore import QAbstractTableModel, QModelIndex, Qt, pyqtSignal

from app.acting.coordinates import Coordinate
from app.acting.drives import Drive
from app.desktop import theme
from app.desktop.numbers import plain

NAME, SLIDER, VALUE, DRIVE, VELOCITY, EFFORT = range(6)
HEADS = "joint", "position", "", "drive", "velocity", "effort"
ELLIPSIS = "…"
BASE = "floating_"  # the beginning of the names of a free base's rows

Role = Qt.ItemDataRole
# Combined once here, since a table requests them for each cell whenever it is painted.
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
READ = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
TYPED = READ | Qt.ItemFlag.ItemIsEditable


class JointTable(QAbstractTableModel):
    """The coordinates and their current values, a row each."""

    edited = pyqtSignal(int, float)
    """A row, and the requested value in rad or m."""
    driven = pyqtSignal(int, float)
    """A row, and its setpoint in rad or m if its position is held, else its effort in N m or N."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Coordinate] = ()
        self.held: frozenset[int] = frozenset()
        """The rows whose position gains hold; the others are driven by an effort."""
        self.drives: Mapping[int, Drive] = {}
        """The drives of rows with a velocity, a wave, or gravity compensation."""
        self.marked: frozenset[int] = frozenset()
        """The rows of the selected link's joint."""
        self.together: frozenset[int] = frozenset()
        """The rows that the form of one of them edits together."""
        self.lacking = ""
        """The columns that a wider table has, in the heading of the sliders."""
        self.short: Mapping[str, str] = {}
        """The names displayed in place of those for which the column is too narrow."""
        self.q = self.target = self.tau = self.v = self.effort = np.zeros(0)

    def set_rows(self, rows: Sequence[Coordinate], q: np.ndarray) -> None:
        self.beginResetModel()
        self.rows, self.q, self.marked = rows, q.copy(), frozenset()
        self.endResetModel()

    def set_lacking(self, columns: Sequence[int]) -> None:
        """Name in the heading of the sliders the columns for which there is no room."""
        lacking = f" (+ {', '.join(HEADS[each] for each in columns)})" if columns else ""
        if lacking != self.lacking:
            self.lacking = lacking
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, SLIDER, SLIDER)

    def shorten(self, names: Collection[str], ending: str) -> None:
        """Display these names without their ending, and where one is a free base's, all of those."""
        bases = [row.label for row in self.rows if row.label.startswith(BASE)]
        cut = [*names, *bases] if any(name.startswith(BASE) for name in names) else names
        self.short = {name: shortened(name, ending) for name in cut}

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else 6

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation == Qt.Orientation.Horizontal and role == Role.DisplayRole:
            return HEADS[section] + (self.lacking if section == SLIDER else "")
        if role == Role.ToolTipRole and section == SLIDER and self.lacking:
            return f"Make the column wider to see {self.lacking.strip(' (+)')}"
        if role == Role.TextAlignmentRole:
            return LEFT
        return None

    def flags(self, index: QModelIndex) -> Qt.ItemFlag:
        free = self.rows[index.row()].leader is None
        row = self.rows[index.row()]
        can = free if index.column() == VALUE else row.driveable and index.column() == DRIVE
        return TYPED if can else READ

    def data(self, index: QModelIndex, role: int = Role.DisplayRole) -> object:
        row, column = self.rows[index.row()], index.column()
        if column == DRIVE and role in (Role.DisplayRole, Role.EditRole):
            return self._drive(index.row(), role)
        if column in (VELOCITY, EFFORT) and role in (Role.DisplayRole, Role.ToolTipRole):
            return self._motion(row, column, role)
        if role == Role.DisplayRole and column != SLIDER:
            return self.short.get(row.label, row.label) if column == NAME else row.format(row.value(self.q))
        if role == Role.EditRole and column == VALUE:
            return row.value(self.q) * row.scale
        if role == Role.ToolTipRole:
            if column == DRIVE and row.driveable:
                return self._drive_hint(index.row())
            return self._hint(row) + (", at a limit" if row.limited and row.at_limit(self.q) else "")
        if role == Role.TextAlignmentRole and column >= VALUE:
            return RIGHT
        if role == Role.BackgroundRole and index.row() in self.marked | self.together:
            return theme.color("chosen")
        if role == Role.ForegroundRole and (row.leader is not None or column == DRIVE):
            return theme.color("warning" if column == DRIVE and self._cut(index.row()) else "faint")
        return None

    def setData(self, index: QModelIndex, value: Any, role: int = Role.EditRole) -> bool:
        if role == Role.EditRole and index.column() == DRIVE:
            scale = 1.0 if self.mode(index.row()) == "effort" else self.rows[index.row()].scale
            self.driven.emit(index.row(), float(value) / scale)
            return True
        if role != Role.EditRole or index.column() != VALUE:
            return False
        self.edited.emit(index.row(), float(value) / self.rows[index.row()].scale)
        return True

    def _drive(self, number: int, role: int) -> object:
        """The setpoint or effort of a row: as text, or as a number in the displayed unit."""
        row = self.rows[number]
        if not row.driveable or row.effort_v >= len(self.target):
            return None
        mode, drive = self.mode(number), self.drives.get(number)
        plain = self.target[row.effort_v] if mode == "target" else self.tau[row.effort_v]
        value = plain if drive is None else drive.value
        if role == Role.EditRole:
            return float(value * (1.0 if mode == "effort" else row.scale))
        if mode == "effort":
            value = min(max(value, -row.effort), row.effort)  # what acts
        wave = "~ " if drive is not None and drive.wave != "constant" else ""
        return f"{'→ ' if mode == 'target' else ''}{wave}{row.format(value, mode)}"

    def _cut(self, number: int) -> bool:
        """Whether a larger effort than its limit is asked of a row's drive."""
        row = self.rows[number]
        by_effort = row.driveable and row.effort_v < len(self.tau) and self.mode(number) == "effort"
        return by_effort and abs(self.tau[row.effort_v]) > row.effort

    def mode(self, number: int) -> str:
        """Return a row's drive mode, one of `drives.MODES`."""
        if number in self.drives:
            return self.drives[number].mode
        return "target" if number in self.held else "effort"

    def widest_drive(self, number: int) -> str:
        """Return the widest text that a row's drive can have in its mode."""
        row, mode, drive = self.rows[number], self.mode(number), self.drives.get(number)
        wave = "~ " if drive is not None and drive.wave != "constant" else ""
        return f"→ {wave}{row.widest}" if mode == "target" else f"{wave}-000.0 {row.unit_of(mode)}"

    def unit(self, number: int, column: int) -> str:
        """Return the unit of a row's value, or in the drive column the unit of its setpoint."""
        return self.rows[number].unit_of(self.mode(number) if column == DRIVE else "target")

    def _motion(self, row: Coordinate, column: int, role: int) -> str | None:
        """Return a row's velocity or drive effort; the tooltip has the limit."""
        if not row.driveable or row.effort_v >= len(self.v):
            return None
        value, limit, unit = self.v[row.effort_v] * row.scale, row.velocity * row.scale, f"{row.unit}/s"
        digits = 1 if column == EFFORT else 1 + row.more_digits
        if column == EFFORT:
            value, limit, unit = self.effort[row.effort_v], row.effort, row.effort_unit
        if role == Role.ToolTipRole:
            what = "effort" if column == EFFORT else "velocity"
            most = f"at most {plain(limit)} either way" if math.isfinite(limit) else "without limit"
            return f"{row.name}: {what}, {unit}, {most}"
        return f"{round(value, digits) + 0.0:.{digits}f} {unit}" if math.isfinite(value) else "–"

    def _drive_hint(self, number: int) -> str:
        row = self.rows[number]
        most = f"at most {row.effort:g} {row.effort_unit} either way" if math.isfinite(row.effort) else "without limit"
        if (drive := self.drives.get(number)) is not None:
            return f"{row.name}: {drive.kind}, {drive.wave}{', compensated' if drive.weight else ''}; effort {most}"
        if number in self.held:
            return f"{row.name}: position setpoint, in {row.unit}; effort {most}"
        asked = f"; {self.tau[row.effort_v]:.4g} is asked of it" if self._cut(number) else ""
        return f"{row.name}: effort of the drive, in {row.effort_unit}, {most}{asked}"

    @staticmethod
    def _hint(row: Coordinate) -> str:
        if row.leader is not None:
            return f"{row.name} follows {row.leader}: {row.multiplier:g} × {row.leader} {row.offset:+g}"
        if not row.limited:
            return f"{row.name}, without limits"
        lower, upper = (f"{end * row.scale:.{1 + row.more_digits}f}" for end in (row.lower, row.upper))
        return f"{row.name}, from {lower} to {upper} {row.unit}"


def common_ending(names: Sequence[str]) -> str:
    """Return the words, each after a "_", in which all names end, such as "_joint"; empty if there are none."""
    words, count = [name.split("_") for name in names], 0
    while (
        len(words) > 1 and all(len(each) > count + 1 for each in words) and len({each[~count] for each in words}) == 1
    ):
        count += 1
    return "".join(f"_{word}" for word in words[0][-count:]) if count else ""


def shortened(name: str, ending: str) -> str:
    """Return a name with an ellipsis for its ending; of a free base's, for its beginning."""
    if name.startswith(BASE):
        return f"{ELLIPSIS}{name.removeprefix(BASE)}"
    short = name.removesuffix(ending)
    return f"{short}{ELLIPSIS}" if short and short != name else name
