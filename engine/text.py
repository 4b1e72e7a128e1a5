"""Text that comes from files, as part of a message."""


def in_one_line(text: str) -> str:
    """Escape line breaks and non-printing characters, as Python does."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
