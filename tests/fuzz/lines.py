"""Track the product's lines that an input is the first to reach."""

import sys
from types import CodeType, FrameType
from typing import Any


class Lines:
    """Lines of functions whose file lies in one of some folders; each is noted once, and not looked for again."""

    def __init__(self, folders: tuple[str, ...]):
        self._folders = folders
        self._left: dict[CodeType, set[int]] = {}
        self._news = False
        self.seen = 0

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            ours = code.co_filename.startswith(self._folders)
            left = self._left[code] = {line for _, _, line in code.co_lines() if line} if ours else set()
        return self._stepped if left else None

    def _stepped(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        left = self._left[frame.f_code]
        if frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.seen += 1
            self._news = True
        return self._stepped

    def start(self) -> None:
        """Look from here on."""
        self._news = False
        sys.settrace(self._called)

    def stop(self) -> bool:
        """Look no longer; whether there was a new line."""
        sys.settrace(None)
        return self._news
