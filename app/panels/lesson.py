"""The lesson panel: a step's text, picture, processor time and code, and the playback controls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from html import escape

from PyQt6.QtCore import QPointF, QSize, Qt, QTimer, QUrl, pyqtSignal
from PyQt6.QtGui import QFontInfo, QResizeEvent, QTextCursor
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QTabWidget, QTextBrowser, QToolButton, QWidget

import engine
from app.desktop import theme, type_scale
from app.desktop.layouts import NO_MARGINS, horizontal, vertical
from app.desktop.panel_scroller import scroller
from app.panels.drawing import Drawing
from app.panels.lesson_question import QuestionForm
from app.panels.moving_keys import KeySlider

SECONDS = 2.5  # per step, at speed 1
LARGER = 1.5  # font scale for a lecture
WORDS = 0.375  # least share of the text in the height of text and picture
SMALLEST = 0.7  # the size of words in pictures, relative to the text's
PICTURED = 430  # px of width that a picture keeps before the text must scroll
SPEEDS = (0.5, 1.0, 2.0, 5.0)
PICK = "Click a part in the picture, or a link of the robot, for its two equations in numbers."
CHOOSE = "Choose a lesson."
SUITED = "Lessons for this robot:"
ROBOT = "robot"  # the scheme of a link that opens one


class _Parts(QSplitter):
    """Says when it has another size."""

    resized = pyqtSignal()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class LessonPanel(QWidget):
    """Shows one lesson, step by step."""

    shown = pyqtSignal(object)
    """The `engine.LessonStep` now shown; None if there is no lesson."""
    again = pyqtSignal()
    """The user requested the lesson for the robot's current state."""
    requested = pyqtSignal(str)
    """The name of another lesson that the user requested."""
    robot_requested = pyqtSignal(str)
    """The name of a robot that ships, to open for the lesson that the open robot does not suit."""

    def __init__(self) -> None:
        super().__init__()
        self.lesson: engine.Lesson | None = None
        self.number = 0
        """The index of the current step, from 0."""
        self.title, self.text = QLabel(wordWrap=True), QTextBrowser()
        self.title.setFont(type_scale.font("heading", bold=True))
        self.title.setMargin(8)
        self.text.setAccessibleName("lesson")
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        self.picture, self.clock = Drawing("picture of the work"), Drawing("time on processors")
        self.handles, self.pull = QLabel(wordWrap=True, textFormat=Qt.TextFormat.RichText), QComboBox()
        self.handles.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.handles.setMargin(8)
        self.picture.clicked.connect(self._pick_at)
        self._part: engine.LessonPart | None = None
        self.code = QTextBrowser()
        self.code.setLineWrapMode(QTextBrowser.LineWrapMode.NoWrap)
        self.code.setAccessibleName("algorithm's text")
        self.tabs, self.question = QTabWidget(), QuestionForm()
        pictured = QWidget()
        vertical((self.picture, 1), self.handles, of=pictured, margins=NO_MARGINS, spacing=0)
        for widget, name in ((pictured, "Picture"), (self._timed(), "Processors"), (self.code, "Program text")):
            self.tabs.addTab(widget, name)
        self.pull.setToolTip("Pull a joint by 1 N m, or N: orange is what that changes")
        self.pull.setAccessibleName("pulled joint")
        self.pull.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.pull.setMinimumContentsLength(len("Pull no joint"))
        self.pull.currentIndexChanged.connect(self._show)
        self.tabs.setCornerWidget(self.pull)
        self._parts, self._moved = _Parts(Qt.Orientation.Vertical, childrenCollapsible=False), False
        for each in (self.text, self.tabs):
            self._parts.addWidget(each)
        self._parts.splitterMoved.connect(self._keep_parts)
        self._parts.resized.connect(self._share)
        content = QWidget()
        vertical(self.title, (self._parts, 1), of=content, margins=NO_MARGINS, spacing=4)
        self._area = scroller(content, sideways=False)
        vertical((self._area, 1), self.question, self._transport(), of=self, margins=(0, 0, 0, 4), spacing=4)
        self._large = False
        self._tab = 0  # the tab that the user selected, shown where it has content
        self.tabs.tabBarClicked.connect(self._choose_tab)
        self.tabs.currentChanged.connect(self._share)
        self._timer = QTimer(self, timeout=self._play_on)
        theme.signals.changed.connect(self._apply_theme)
        self.show_none(CHOOSE, engine.Lesson.names())

    def _follow(self, link: QUrl) -> None:
        (self.robot_requested if link.scheme() == ROBOT else self.requested).emit(link.path())

    def _timed(self) -> QWidget:
        """The counted times, with the measured ones below."""
        timed, self.measured = QWidget(), QLabel(wordWrap=True)
        self.measured.setMargin(8)
        vertical((self.clock, 1), self.measured, of=timed, margins=NO_MARGINS, spacing=0)
        return timed

    def _transport(self) -> QHBoxLayout:
        self.back, self.play, self.next, self.fresh = (QToolButton() for _ in range(4))
        for button, icon, tip, slot in (
            (self.back, "left", "Previous step (Alt+Left)", self.show_previous),
            (self.play, "play", "Play the lesson (Alt+Down)", self.toggle),
            (self.next, "right", "Next step (Alt+Right)", self.show_next),
            (self.fresh, "reset", "Compute the lesson again for the robot's present state", self.again.emit),
        ):
            button.setIcon(theme.icon(icon))
            button.setIconSize(QSize(16, 16))
            button.setToolTip(tip)
            button.setAccessibleName(tip.partition(" (")[0])
            button.clicked.connect(slot)
        self.bar, self.place, self.speed = KeySlider(), QLabel(), QComboBox()
        self.bar.setAccessibleName("step")
        self.bar.valueChanged.connect(self.go)
        for speed in SPEEDS:
            self.speed.addItem(f"{speed:g} ×", speed)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.setToolTip("Speed of playback")
        self.speed.setAccessibleName("speed")
        self.speed.currentIndexChanged.connect(self._set_pace)
        parts = self.back, self.play, self.next, (self.bar, 1), self.place, self.speed, self.fresh
        return horizontal(*parts, margins=(8, 0, 8, 0))

    # The content.

    def show_none(self, reason: str, lessons: Sequence[str] = (), robot: str = "") -> None:
        """Show why there is no lesson, with links to `lessons`, by name, and to open a `robot` for the wanted one."""
        self.pause()
        self.lesson, self.number, self._part = None, 0, None
        self.pull.hide()
        self.title.setText("Lesson")
        links = "".join(f'<p><a href="{name}">{escape(engine.Lesson.title_of(name))}</a></p>' for name in lessons)
        instead = f'<p><a href="{ROBOT}:{robot}">Open {robot} for this lesson</a></p>' if robot else ""
        heading = f"<p>{SUITED}</p>" if robot and lessons else ""
        self.text.setHtml(f"<p>{escape(reason)}</p>{instead}{heading}{links}")
        self.code.clear()
        self.tabs.hide()
        self.place.clear()
        self.bar.blockSignals(True)
        self.bar.setRange(0, 0)
        self.bar.blockSignals(False)
        self.question.ask(None)
        for drawing in (self.picture, self.clock):
            drawing.show_drawing(lambda _: "")
        self._enable()
        self.shown.emit(None)

    def show_lesson(self, lesson: engine.Lesson, number: int = 0) -> None:
        """Show a lesson, starting at step `number`, from 0."""
        self.pause()
        self._part = None
        self.lesson, self.number = lesson, min(max(number, 0), len(lesson.steps) - 1)
        self.pull.blockSignals(True)
        self.pull.clear()
        self.pull.addItems(["Pull no joint", *(f"Pull {name}" for name in lesson.model.joint_names)])
        self.pull.blockSignals(False)
        self.bar.blockSignals(True)
        self.bar.setRange(0, len(lesson.steps) - 1)
        self.bar.blockSignals(False)
        self._enable()
        self._show()

    def _enable(self) -> None:
        for each in (self.back, self.play, self.next, self.bar, self.fresh):
            each.setEnabled(self.lesson is not None)

    @property
    def step(self) -> engine.LessonStep | None:
        """The current step; None if there is no lesson."""
        return self.lesson.steps[self.number] if self.lesson else None

    def _show(self) -> None:
        step = self.step
        if step is None:
            return
        self.title.setText(step.title)
        self.text.setHtml(step.html(theme.COLORS))
        self._show_picture()
        self.clock.show_drawing(step.clock)
        self.measured.setText(step.measured)
        self.measured.setVisible(bool(step.measured))
        self._show_code(step)
        self.question.ask(step.question)
        filled = step.has_picture, step.has_clock, bool(step.code[1])
        for tab, has in enumerate(filled):
            self.tabs.setTabEnabled(tab, has)
        self.tabs.setVisible(any(filled))
        if any(filled):
            self.tabs.setCurrentIndex(self._tab if filled[self._tab] else filled.index(True))
        self.place.setText(f"{self.number + 1} of {len(self.lesson.steps)}")
        self.bar.blockSignals(True)
        self.bar.setValue(self.number)
        self.bar.blockSignals(False)
        self.back.setEnabled(self.number > 0)
        self.next.setEnabled(self.number + 1 < len(self.lesson.steps))
        self._share()

    def _share(self) -> None:
        """Give the text the height it needs, but leave enough for a picture as wide as the usual panel; do nothing once
        the user has moved the splitter handle.

        Words in pictures are no larger than the title and not much smaller than the text, for which both scroll.
        """
        tab, width = self.tabs.currentIndex(), self.tabs.width()
        drawing, label = ((self.picture, self.handles), (self.clock, self.measured), (None, None))[tab]
        text, title = QFontInfo(self.text.document().defaultFont()), self.title.fontInfo()
        room = self.width() - self._area.verticalScrollBar().sizeHint().width()
        for each in (self.picture, self.clock):
            each.set_type(SMALLEST * text.pixelSize() if each is drawing else 0.0, title.pixelSize(), room)
        room = sum(self._parts.sizes())
        if self._moved or self.tabs.isHidden() or not room:
            return
        words = math.ceil(self.text.document().size().height()) + 2 * self.text.frameWidth() + 2
        free = 0.0
        if drawing is not None:
            below = 0 if label.isHidden() else label.heightForWidth(width)
            free = room - self.tabs.tabBar().height() - drawing.height_for(min(width, PICTURED)) - below
        least = min(WORDS * room, words) if self._large or not self.question.isHidden() else WORDS * room
        top = round(max(least, min(words, free)))
        if top != self._parts.sizes()[0]:
            self._parts.setSizes([top, room - top])

    def _keep_parts(self) -> None:
        self._moved = True

    @property
    def marks(self) -> engine.LessonMarks:
        """The selected part, or the parts that a pull has changed."""
        if self._part is not None:
            return engine.LessonMarks(part=(self._part.first, self._part.last))
        joint = self.pull.currentIndex() - 1
        return self.lesson.pulled(joint) if joint >= 0 else engine.LessonMarks()

    def _show_picture(self) -> None:
        """Show the picture with its marks, and the equations of a selected part."""
        step, marks = self.step, self.marks
        self.pull.setVisible(self.lesson.has_pull)
        self.picture.show_drawing(partial(step.picture, marks=marks))
        if self._part is not None:
            self.handles.setText(_equations(self.lesson, self._part))
        elif step.parts:
            self.handles.setText(PICK)
        self.handles.setVisible(bool(step.parts))
        self.shown.emit(step)

    def _pick_at(self, at: QPointF) -> None:
        if self.step is not None:
            self._pick(self.step.part_at(at.x(), at.y()))

    def pick_of(self, link: int) -> None:
        """Select the largest part that contains a link of the model, if parts are shown; none for a link below 0."""
        if self.step is not None and self.step.parts:
            self._pick(self.step.part_of(link) if link >= 0 else None)

    def _pick(self, part: engine.LessonPart | None) -> None:
        self._part = part
        self._show_picture()

    def refresh(self) -> None:
        """Show the step again, since more is known about it."""
        self._show()

    def present(self, on: bool) -> None:
        """Switch between type that is large enough for a projector and the usual size."""
        self._large = on
        self._apply_theme()

    def _apply_theme(self) -> None:
        """Apply fonts, which a new palette resets, and colours."""
        on = self._large
        self.title.setFont(type_scale.font("title" if on else "heading", bold=True))
        for browser, font in ((self.text, type_scale.font()), (self.code, type_scale.fixed_font())):
            font.setPointSizeF(font.pointSizeF() * (LARGER if on else 1.0))
            browser.document().setDefaultFont(font)
        font = type_scale.font()
        font.setPointSizeF(font.pointSizeF() * (LARGER if on else 1.0))
        for each in (self.handles, self.measured, self.tabs.tabBar(), self.pull, self.place, self.speed):
            each.setFont(font)
        self.question.present(font)
        self._show()

    def _choose_tab(self, tab: int) -> None:
        if tab >= 0 and self.tabs.isTabEnabled(tab):
            self._tab = tab

    def _show_code(self, step: engine.LessonStep) -> None:
        name, lines, here = step.code
        rows = []
        for k, line in enumerate(lines):
            text = escape(line) or " "
            rows.append(f'<span style="background:{theme.COLORS["chosen"]}">{text}</span>' if k in here else text)
        head = f'<p style="color:{theme.COLORS["faint"]}">{name}</p>' if lines else ""
        family = type_scale.fixed_font().family()
        self.code.setHtml(f"{head}<pre style=\"font-family:'{family}'\">{chr(10).join(rows)}</pre>")
        if here:
            cursor = QTextCursor(self.code.document().findBlockByNumber(here.start + (1 if head else 0)))
            self.code.setTextCursor(cursor)
            self.code.ensureCursorVisible()

    # The transport.

    def go(self, number: int) -> None:
        """Show the step with this index, from 0."""
        if self.lesson and 0 <= number < len(self.lesson.steps) and number != self.number:
            self.number, self._part = number, None
            self._show()

    def show_next(self) -> None:
        self.pause()
        self.go(self.number + 1)

    def show_previous(self) -> None:
        self.pause()
        self.go(self.number - 1)

    @property
    def playing(self) -> bool:
        return self._timer.isActive()

    def toggle(self) -> None:
        """Pause, or play from the current step, from the start if it is the last."""
        if self.playing or self.lesson is None:
            self.pause()
            return
        if self.number + 1 == len(self.lesson.steps):
            self.go(0)
        self._set_pace()
        self._timer.start()
        self.play.setIcon(theme.icon("pause"))

    def pause(self) -> None:
        self._timer.stop()
        self.play.setIcon(theme.icon("play"))

    def _set_pace(self) -> None:
        self._timer.setInterval(round(1000 * SECONDS / self.speed.currentData()))

    def _play_on(self) -> None:
        self.go(self.number + 1)
        if self.lesson is None or self.number + 1 == len(self.lesson.steps):
            self.pause()


def _equations(lesson: engine.Lesson, part: engine.LessonPart) -> str:
    """Return a part's links, and its equations with numbers below, in Qt's rich text."""
    handles = lesson.handles(part)
    accent, faint = (theme.COLORS[name] for name in ("accent", "faint"))
    lines = (
        f'<span style="color:{accent}">{lesson.equation_html(equation)}</span> = ({numbers}) '
        f'<span style="color:{faint}">{whose}</span>'
        for equation, numbers, whose in handles.rows
    )
    return f"<b>{handles.links}, by two handles</b> (about x, y, z, and along)<br>{'<br>'.join(lines)}"
