"""The readers' guarantees, as the fuzzer checks them."""


class Broken(AssertionError):
    """The product has violated a guarantee without raising."""


class Refused(Exception):
    """The file was not taken, as it should be."""


def sentence(text: str) -> None:
    """Raise Broken if a refusal is not a sentence."""
    if not text or len(text) > 3000 or not text.isprintable():
        raise Broken(f"no sentence: {text[:300]!r}")
