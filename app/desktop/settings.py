"""Read values from the settings file, which the user or a crash may have damaged."""

from __future__ import annotations

from typing import TypeVar

from PyQt6.QtCore import QSettings

Value = TypeVar("Value")


def setting(settings: QSettings, key: str, default: Value) -> Value:
    """Return the value of a key; `default` if it is missing or has another type. Lists must hold strings."""
    kind = type(default)
    try:
        value = settings.value(key, default, kind)
    except TypeError:  # the value cannot be converted to that type
        return default
    if not isinstance(value, kind):
        return default
    if isinstance(value, list) and not all(isinstance(each, str) for each in value):
        return default
    return value
