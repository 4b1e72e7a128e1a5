"""The joint panel: a row per coordinate with a slider that sets it and follows it.

The sliders are painted, not widgets, so that a thousand rows cost no more than the visible ones. One row may be opened:
its height grows by that of a widget shown below its line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from PyQt6.QtCore import QEvent, QSize, Qt, pyqtSignal
from PyQt6.QtGui import (
    QActionGroup,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from app.acting.coordinates import Coordinate
from app.acting.drives import Drive
from app.desktop import theme
from app.desktop.context_menus import JOINT, Clicked
from app.panels.joint_sliders import Painter, groove_of, row_height
from app.panels.joint_table import (
    BASE,
    DRIVE,
    EFFORT,
    NAME,
    SLIDER,
    VALUE,
    VELOCITY,
    JointTable,
    common_ending,
    shortened,
)

NARROW, WIDE = 350, 560  # px, the least widths at which drives are shown, and velocities and efforts
ENDS = {Qt.Key.Key_Home: -math.inf, Qt.Key.Key_End: math.inf}
STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageDown: -10, Qt.Key.Key_PageUp: 10} | ENDS
"""The keys that move a slider with the focus, and by how many steps."""
PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
EXTENDING = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
FINEST = 100  # steps, the least number from end to end
CELL = 20  # px, of a cell's width beside its text
LEAST = "-000.0 °"  # that fits into a column of numbers, whatever its rows can have
LEAST_NAME, WIDEST_NAME = 50, 200  # px, of the names
WIDEST_SHORT = 130  # px, up to which names without their ending make the panel wider
NO_ROBOT, NO_JOINTS = "The joints of the robot, each with its slider", "This robot has no joint that moves"
SLIDER_LEAST = 62  # px, the least width of a slider; longer names are elided, with the full name in the tooltip
SLIDER_FAIR = 80  # px, the least width for which names are shown with their ending
SLIDER_WIDE = 110  # px, the least width for which names of joints that follow others are whole


SEEN = 1e-4  # rad or m: a smaller change is not shown, unless a short travel has more digits


class JointPanel(QTableView):
    """The table with its sliders; a dragged slider stays under the mouse, also during play."""

    moved = pyqtSignal(int, float)
    """A row, and the requested value in rad or m."""
    released = pyqtSignal(int)
    """The row whose slider the mouse or a key released."""
    stepped = pyqtSignal(int, float)
    """A row, and the change of its value that a key asks for, rad or m."""
    mode_asked = pyqtSignal(int, bool)
    """A row, and whether it is to be driven by effort instead of holding its position."""
    menu_made = pyqtSignal(object, object)
    """A row's context `QMenu` and the row as `Clicked`; features add their entries to it."""

    extended = pyqtSignal(int, bool)
    """A row whose name was clicked with Ctrl, or with Shift: True, for all from the opened row to it."""
    all_asked = pyqtSignal()
    """Ctrl+A: the opened row's widget is to edit all rows."""

    def __init__(self) -> None:
        super().__init__()
        self._extends = False  # from such a click to its release
        self._opened: tuple[int, QWidget] | None = None
        self.table = JointTable()
        self.driven = self.table.driven
        """A row, and the setpoint or effort that was typed."""
        self.setModel(self.table)
        self.setItemDelegate(Painter(self))
        self.table.edited.connect(self.move_to)
        self._held: tuple[int, float] | None = None
        self._seen = SEEN
        self._shown = np.zeros(0)  # (nq,): the last state shown
        self._names: tuple[str, dict[str, int], list[int], set[int]] = "", {}, 5 * [0], set()  # see `show_units`
        self.live = True
        """Whether keys move a slider with the focus; else they are the window's shortcuts, as in a recorded frame."""
        self.nothing = NO_ROBOT
        """The text shown if there are no rows."""
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)  # arrow keys move between cells, Tab enters the opened row's widget
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names with a common beginning differ at their ends
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(row_height())
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(SLIDER, QHeaderView.ResizeMode.Stretch)
        for column in (VELOCITY, EFFORT):
            self.setColumnWidth(column, self.fontMetrics().horizontalAdvance("-000.0 mm/s") + CELL)

    def set_rows(self, rows: Sequence[Coordinate], q: np.ndarray) -> None:
        """Show another robot's coordinates at q, (nq,)."""
        self._held, self._shown = None, q.copy()
        self.close_row()
        self.table.set_rows(rows, q)
        self._seen = SEEN * 10.0 ** -max((row.more_digits for row in rows if not row.angular), default=0)
        self.nothing = "" if rows else NO_JOINTS
        self.show_units()

    def show_units(self) -> None:
        """Fit the columns to the names and units of the rows that are not hidden; the units may have changed."""
        rows, advance = [*self._shown_rows().values()], self.fontMetrics().horizontalAdvance
        ending = common_ending([row.label for row in rows if row.driveable])
        widths = {row.label: advance(row.label) for row in rows}
        own = {row.label for row in rows if row.leader is None}
        base = {name for name in own if name.startswith(BASE)}
        shorts = {widths.get(name) or advance(name) for name in {shortened(each, ending) for each in own}}
        short = max(shorts, default=0)
        every, owned, based = (max((widths[each] for each in names), default=0) for names in (widths, own, base))
        # What the column of names would rather hold: all, those of sliders, those with an ellipsis for their ending.
        self._names = ending, widths, [every, owned, max(short, based), short, short], shorts
        self._show_numbers()
        self.updateGeometry()

    def _shown_rows(self) -> dict[int, Coordinate]:
        """Return the rows that no search hides, by their numbers."""
        return {k: row for k, row in enumerate(self.table.rows) if not self.isRowHidden(k)}

    def _show_numbers(self) -> None:
        """Fit the columns of numbers to the widest that their rows can have."""
        rows, advance = self._shown_rows(), self.fontMetrics().horizontalAdvance
        drives = {self.table.widest_drive(k) for k, row in rows.items() if row.driveable}
        for column, widest in ((VALUE, {row.widest for row in rows.values()}), (DRIVE, drives)):
            self.setColumnWidth(column, max(map(advance, {*widest, LEAST})) + CELL)
        self._fit()
        self.viewport().update()

    def _fit(self) -> None:
        """Give the names what the sliders can spare, which get the rest; those that do not fit lose their ending.

        Drives, velocities and efforts are shown where rows fill them and names and sliders have room beside them.
        """
        ending, widths, wanted, shorts = self._names
        driven = any(row.driveable for row in self._shown_rows().values())
        for least, hidden in ((WIDE, ()), (NARROW, (VELOCITY, EFFORT)), (0, (DRIVE, VELOCITY, EFFORT))):
            for column in (DRIVE, VELOCITY, EFFORT):
                self.setColumnHidden(column, column in hidden or not driven)
            numbers = sum(self.columnWidth(column) for column in (VALUE, DRIVE, VELOCITY, EFFORT))  # 0 for hidden ones
            room = self.viewport().width() - numbers - CELL
            if self.width() >= least and room - SLIDER_FAIR >= min(wanted[3], WIDEST_NAME):
                break
        self.table.set_lacking(hidden if driven else ())
        spared = [min(WIDEST_NAME, room - slider) for slider in (SLIDER_WIDE, *3 * (SLIDER_FAIR,), SLIDER_LEAST)]
        most = max([spared[1], *(each for each in shorts if each <= spared[-1])])  # where not even all of these fit
        width = next((each for each, limit in zip(wanted, spared, strict=True) if each <= limit), most)
        width = max(LEAST_NAME, width)
        self.setColumnWidth(NAME, width + CELL)
        self.table.shorten({name for name, needed in widths.items() if needed > width}, ending)

    def minimumSizeHint(self) -> QSize:
        """Return a size in which the narrowest sliders leave room for names without their ending."""
        names = min(self._names[2][3], WIDEST_SHORT) + CELL
        return QSize(names + SLIDER_LEAST + self.columnWidth(VALUE), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._place()
        if 0 <= self.rowViewportPosition(min(self.table.marked, default=-1)) < event.oldSize().height():
            self.mark(self.table.marked)  # which was in sight

    def updateGeometries(self) -> None:
        """Place the opened row's widget again; Qt also calls this after scrolling."""
        super().updateGeometries()
        self._place()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        self._place()

    def open_row(self, row: int, widget: QWidget) -> None:
        """Show a widget below a row's line, and close any other opened row."""
        self.close_row()
        widget.setParent(self.viewport())
        self._opened = row, widget
        self.setRowHeight(row, row_height() + widget.sizeHint().height())
        widget.show()
        self.updateGeometries()  # else the scroll range would be too small for the taller row
        self.scrollTo(self.table.index(row, NAME))

    def close_row(self) -> None:
        """Hide the opened row's widget and restore the row's height."""
        if self._opened is not None:
            (row, widget), self._opened = self._opened, None
            widget.hide()
            self.setRowHeight(row, row_height())
            self.edit_together(frozenset())

    def edit_together(self, rows: frozenset[int]) -> None:
        """Highlight the rows that the opened row's widget edits together."""
        self.table.together = rows
        self.viewport().update()

    def _place(self) -> None:
        if self._opened is not None:
            row, widget = self._opened
            top = self.rowViewportPosition(row) + row_height()
            widget.setGeometry(0, top, self.viewport().width(), widget.sizeHint().height())

    def mark(self, rows: frozenset[int]) -> None:
        """Mark rows, and scroll to the first."""
        self.table.marked = rows
        if rows:
            self.updateGeometries()  # else the scroll range would be too small for rows that were hidden
            self.scrollTo(self.table.index(min(rows), NAME))
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.nothing:
            painter = QPainter(self.viewport())
            painter.setPen(theme.color("faint"))
            around = self.viewport().rect().adjusted(12, 12, -12, -12)
            painter.drawText(around, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.nothing)

    def show_held(self, rows: frozenset[int]) -> None:
        """Set the rows whose position gains hold."""
        if rows != self.table.held:
            self.table.held = rows
            self._show_numbers()

    def show_drives(self, drives: Mapping[int, Drive]) -> None:
        """Set the drives of rows that have more than a constant setpoint or effort."""
        if drives != self.table.drives:
            self.table.drives = drives
            self._show_numbers()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the row that was clicked, or for the menu key of the current one, which Qt would miss."""
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
            self.scrollTo(index)
            place = self.viewport().mapToGlobal(self.visualRect(index).center())
        else:
            index, place = self.indexAt(event.pos()), event.globalPos()
        if index.isValid():
            self.row_menu(index.row()).popup(place)

    def row_menu(self, row: int) -> QMenu:
        """Return a row's context menu: its drive mode, and entries of other features."""
        menu = self.mode_menu(row) if self.table.rows[row].holdable else QMenu(self)
        self.menu_made.emit(menu, Clicked(JOINT, self.table.rows[row].name, row))
        return menu

    def mode_menu(self, row: int) -> QMenu:
        """Return the menu of a row's drive mode."""
        menu = QMenu(self)
        either = QActionGroup(menu)
        for text, by_effort in (("Hold position", False), ("Drive by effort", True)):
            action = menu.addAction(text)
            action.setCheckable(True)
            either.addAction(action)
            action.setChecked(by_effort == (row not in self.table.held))
            action.triggered.connect(lambda _, by_effort=by_effort: self.mode_asked.emit(row, by_effort))
        return menu

    def show_motion(self, v: np.ndarray, effort: np.ndarray) -> None:
        """Show velocities and drive efforts, (nv,) each, if the columns are visible."""
        self.table.v, self.table.effort = v.copy(), effort.copy()
        if not self.isColumnHidden(VELOCITY):
            self.viewport().update()

    def show_state(self, q: np.ndarray, target: np.ndarray, tau: np.ndarray) -> None:
        """Show the state q, (nq,), setpoints and efforts, (nv,). A dragged row requests its value again."""
        self._shown = q.copy()
        same = np.array_equal(target, self.table.target) and np.array_equal(tau, self.table.tau)
        if self._held is None and same and np.abs(q - self.table.q).max(initial=0.0) < self._seen:
            return
        self.table.q[:] = q
        self.table.target, self.table.tau = target.copy(), tau.copy()
        if self._held is not None:
            self.move_to(*self._held)
        self.viewport().update()

    def move_to(self, index: int, value: float) -> None:
        """Show a row at a value, rad or m, and request it."""
        row = self.table.rows[index]
        row.put(self.table.q, value)
        self.moved.emit(index, value)
        self.viewport().update()

    def put_back(self) -> None:
        """Release the slider and show the actual state, since a requested value was refused."""
        self._held = None
        self.table.q[:] = self._shown
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        if left and index.column() == SLIDER and self.table.rows[index.row()].leader is None:
            self._held = (index.row(), 0.0)
            self.setCurrentIndex(index)  # for the keys
            self._drag(event)
        elif left and index.column() == NAME and event.modifiers() & EXTENDING:
            self._extends = True
            self.extended.emit(index.row(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._held is not None:
            self._drag(event)
        else:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._held is None:
            if not self._extends:
                super().mouseReleaseEvent(event)
            self._extends = False
            return
        row, self._held = self._held[0], None
        self.released.emit(row)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.indexAt(event.position().toPoint()).column() == SLIDER:
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    def _drag(self, event: QMouseEvent) -> None:
        index = self._held[0]
        row, groove = self.table.rows[index], groove_of(self.visualRect(self.table.index(index, SLIDER)))
        share = min(max((event.position().x() - groove.left()) / groove.width(), 0.0), 1.0)
        self._held = (index, row.lower + share * (row.upper - row.lower))
        self.move_to(*self._held)

    def _steps(self, event: QKeyEvent) -> float:
        """Return the steps by which a key moves the slider with the focus; 0 for other keys, or without one."""
        index = self.currentIndex()
        if not self.live or index.column() != SLIDER or self.table.rows[index.row()].leader is not None:
            return 0
        return STEPS.get(Qt.Key(event.key()), 0) if event.modifiers() in PLAIN else 0

    def event(self, event: QEvent) -> bool:
        """Keep the keys of a slider with the focus from the window's shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._steps(event):
            event.accept()
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Begin at the first slider, unless a cell was current before."""
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason) and (
            not self.currentIndex().isValid() or self.currentIndex().column() == NAME
        ):
            self.setCurrentIndex(self.table.index(max(self.currentIndex().row(), 0), SLIDER))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self.all_asked.emit()
            return
        if not (steps := self._steps(event)):
            super().keyPressEvent(event)
            return
        index = self.currentIndex().row()
        row = self.table.rows[index]
        if math.isinf(steps):
            self.move_to(index, row.upper if steps > 0 else row.lower)
            return
        self.stepped.emit(index, steps * min(1.0 / row.scale, (row.upper - row.lower) / FINEST))

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if self._steps(event) and not event.isAutoRepeat():
            self.released.emit(self.currentIndex().row())
        else:
            super().keyReleaseEvent(event)
