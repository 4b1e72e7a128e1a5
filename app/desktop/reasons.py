"""Error messages as parts of sentences. Free of Qt."""

from __future__ import annotations

from pathlib import Path


def reason(fault: BaseException) -> str:
    """Return an exception's message; for OSError without its number and path, which the sentence already has."""
    if isinstance(fault, MemoryError) and (type(fault) is not MemoryError or not str(fault)):
        return "it does not fit into memory"  # libraries' subclasses describe arrays
    words = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return words or type(fault).__name__


def refusal(path: str, fault: BaseException) -> str:
    """Return why a robot's file was rejected: the first error, and the number of others."""
    errors = [each for each in getattr(fault, "diagnostics", ()) if each.severity == "error"]
    if not errors:
        return f"{Path(path).name}: {reason(fault)}"
    first = errors[0]
    name = f"{Path(path).name}, line {first.line}" if first.line else Path(path).name
    more = len(errors) - 1
    others = f" (and {more} more error{'s' * (more > 1)}, listed by File › Open)" if more else ""
    return f"{name}: {first.element}: {first.problem}; {first.fix}{others}"


def gpu_failure(fault: BaseException) -> str:
    """Return a message that the GPU failed, with the first line of its error."""
    words = str(fault).strip().split("\n")[0]
    return f"the GPU failed ({words or type(fault).__name__})"
