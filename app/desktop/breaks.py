"""Places at which a text of the window may be broken into lines besides its spaces."""

from __future__ import annotations

import re

HERE = "\N{ZERO WIDTH SPACE}"


def breakable(text: str) -> str:
    """Insert places for line breaks into paths and long names, none into numbers; keep kg and m² together."""
    text = re.sub(r"(?<=\d) (?=kg)|(?<=kg) (?=m²)", "\N{NO-BREAK SPACE}", text)
    return re.sub(r"(?<=[/\\_=])(?=\w)|(?<=\.)(?=[^\W\d])|(?<=[^\W\d]\.)(?=\d)", HERE, text)


def unbroken(text: str) -> str:
    """Return a text without what `breakable` inserted."""
    return text.replace(HERE, "").replace("\N{NO-BREAK SPACE}", " ")
