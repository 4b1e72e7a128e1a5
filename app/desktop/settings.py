"""Read values from the settings file, which the user or a crash may have damaged, and write what must not be lost."""

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


def write(settings: QSettings, key: str, value: str) -> bool:
    """Write a value to the file at once, so that a crash does not lose it; return whether that was possible.

    If it was not, the key keeps its value.
    """
    now = QSettings(settings.fileName(), settings.format())  # of the same values; `settings` keeps its first error
    before = now.value(key)
    now.setValue(key, value)
    now.sync()  # to a temporary file, which is renamed
    if now.status() != QSettings.Status.AccessError:
        return True
    if before is None:
        now.remove(key)
    else:
        now.setValue(key, before)
    return False
