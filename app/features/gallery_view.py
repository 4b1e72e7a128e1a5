"""The gallery of bundled robots over the empty viewport."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, QObject
from PyQt6.QtGui import QCursor

from app.features.lesson_view import LessonView
from app.features.window_type import Window
from app.panels.gallery import Gallery

MARGIN = 16  # px around it


class GalleryView(QObject):
    """Shows the gallery while no robot is open or loading."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window = window
        self.gallery = Gallery(window.viewport)
        self.gallery.chosen.connect(window.open)
        self.gallery.lessons_asked.connect(self._show_lessons)
        window.viewport.installEventFilter(self)
        window.viewport.setFocusProxy(self.gallery.cards)
        window.refreshed.connect(self._refresh)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    def _show_lessons(self) -> None:
        self._window.feature(LessonView).menu.popup(QCursor.pos())

    def _fit(self) -> None:
        self.gallery.fit(self._window.viewport.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN))

    def _refresh(self) -> None:
        bench, viewport = self._window.workbench, self._window.viewport
        empty = bench.robot.model is None and not bench.opening.loading and not viewport.failed
        if empty == self.gallery.isVisibleTo(viewport):
            return
        focused = self._window.focusWidget() is self.gallery.cards  # or will be, once the window is active
        viewport.setFocusProxy(self.gallery.cards if empty else None)
        self.gallery.setVisible(empty)
        if empty:
            self._fit()
            self.gallery.raise_()
        elif focused:
            viewport.setFocus()  # otherwise the next control gets it, and the arrow keys
