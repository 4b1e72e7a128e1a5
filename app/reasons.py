"""Error messages as parts of sentences. Free of Qt."""

from __future__ import annotations

from pathlib import Path


def reason(error: BaseException) -> str:
    """Return an exception's message; for OSError without its number and path, which the sentence already has."""
    if isinstance(error, MemoryError) and (type(error) is not MemoryError or not str(error)):
        return "it does not fit into memory"  # libraries' subclasses describe arrays
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words or type(error).__name__


def unreadable(path: str, error: BaseException) -> str:
    """Return why a file cannot be read, as a sentence of its own: the system's messages are given the file's path."""
    return f"{path} cannot be read: {reason(error)}" if isinstance(error, OSError) and error.strerror else reason(error)


def refusal(path: str, error: BaseException) -> str:
    """Return why a robot's file was rejected: the first error, and the number of others."""
    errors = [each for each in getattr(error, "diagnostics", ()) if each.severity == "error"]
    if not errors:
        return f"{Path(path).name}: {reason(error)}"
    first = errors[0]
    name = f"{Path(path).name}, line {first.line}" if first.line else Path(path).name
    more = len(errors) - 1
    others = f" (and {more} more error{'s' * (more > 1)}, listed by File › Open)" if more else ""
    return f"{name}: {first.element}: {first.problem}; {first.fix}{others}"


def gpu_failure(error: BaseException) -> str:
    """Return a message that the GPU failed, with the first line of its error."""
    words = str(error).strip().split("\n")[0]
    return f"the GPU failed ({words or type(error).__name__})"
