"""Undo of what the user removes from the plots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from app.features.undo_view import UndoView
from app.features.window_type import Window
from app.panels.phase_plot import KEY
from app.panels.plots import PlotsPanel

Layout = Sequence[Sequence[str]]
"""The keys of each plot's quantities."""


class PlotUndo:
    """Puts plots back that were removed, beside those that were added since; their curves are computed again."""

    def __init__(self, window: Window, panel: PlotsPanel):
        self._undo, self._panel = window.feature(UndoView), panel
        panel.removed.connect(self._add)

    def _add(self, before: Layout) -> None:
        after = self._panel.layout_keys
        self._undo.add(self._text(before, after), partial(self._put, before, after), partial(self._put, after, before))

    def _text(self, before: Layout, after: Layout) -> str:
        gone = _curves(before) - _curves(after)
        named = self._panel.list.model.quantities.named(next(iter(gone))[-1]) if len(gone) == 1 else None
        return "Remove plots" if named is None else f"Remove plot of {named.label}"

    def _put(self, layout: Layout, replaced: Layout) -> bool:
        """Show a layout in place of another one, and what the panel has beyond both; return True."""
        known = _curves(layout) | _curves(replaced)
        added = [keys for keys in map(partial(_without, known), self._panel.layout_keys) if keys]
        self._panel.set_plots([*layout, *added])
        return True


def _curves(layout: Layout) -> set[tuple[str, ...]]:
    """Return what identifies each curve of a layout: its key, or those of x and y of a phase plot."""
    return {curve for keys in layout for curve in _of_plot(keys)}


def _of_plot(keys: Sequence[str]) -> list[tuple[str, ...]]:
    if keys and keys[0] == KEY:
        return list(zip(keys[1::2], keys[2::2], strict=True))
    return [(key,) for key in keys]


def _without(known: set[tuple[str, ...]], keys: Sequence[str]) -> list[str]:
    """Return the keys of a plot without the known curves, empty if no other is left."""
    rest = [key for curve in _of_plot(keys) if curve not in known for key in curve]
    return [KEY, *rest] if rest and keys[0] == KEY else rest
