"""Reading what was kept in the settings, whose file the user or a crash may have damaged."""

from __future__ import annotations

from typing import TypeVar

from PyQt6.QtCore import QSettings

Value = TypeVar("Value")


def kept(settings: QSettings, key: str, default: Value) -> Value:
    """What was kept under a key; `default` where that is nothing, or not of its kind. Lists are of texts."""
    kind = type(default)
    try:
        value = settings.value(key, default, kind)
    except TypeError:  # what is there cannot be brought to that kind
        return default
    if not isinstance(value, kind):
        return default
    if isinstance(value, list) and not all(isinstance(each, str) for each in value):
        return default
    return value
