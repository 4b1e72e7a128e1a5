"""Objects that exist once per process and are made again after a fork, which drops threads and copies locks as held."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class OnePerProcess(Generic[T]):
    """The result of `make`, made on first use by any thread: ``one()``."""

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def __call__(self) -> T:
        if not self._made:
            with self._making:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]

    def forget(self) -> None:
        """Discard it, so that the next use makes it again."""
        self._made: list[T] = []
        self._making = threading.Lock()
