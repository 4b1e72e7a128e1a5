"""Objects that refuse to be pickled or copied, since they hold a process or locks."""

from __future__ import annotations

from typing import ClassVar, NoReturn


class NotCopied:
    """A base whose objects refuse `pickle`, `copy.copy` and `copy.deepcopy` by a TypeError, which names `instead`."""

    instead: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied; {self.instead}")
