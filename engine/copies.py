"""What is not pickled, nor copied: objects that hold a process, or what several threads write to."""

from __future__ import annotations

from typing import ClassVar, NoReturn


class NotCopied:
    """A base whose objects refuse `pickle`, `copy.copy` and `copy.deepcopy` by a TypeError; `instead` is what to do."""

    instead: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied; {self.instead}")
