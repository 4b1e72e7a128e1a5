"""What readers promise, as the fuzzer holds them to it."""

from __future__ import annotations


class Broken(AssertionError):
    """The product has not kept a promise, though it raised nothing."""


class Refused(Exception):
    """The file was not taken, as it should be."""


def sentence(text: str) -> None:
    """Broken where a refusal is no sentence."""
    if not text or len(text) > 3000 or not text.isprintable():
        raise Broken(f"no sentence: {text[:300]!r}")
