"""What a process has one of, and a forked process anew: threads stay behind there, and locks as they were held."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class OnePerProcess(Generic[T]):
    """What `make` makes, when it is first asked for, whichever thread asks: ``one()``."""

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
        """Have it made anew when it is next asked for."""
        self._made: list[T] = []
        self._making = threading.Lock()
