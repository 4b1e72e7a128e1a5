"""Why something could not be done, in the words of a sentence. Free of Qt."""

from __future__ import annotations

from pathlib import Path


def reason(fault: BaseException) -> str:
    """What an exception says: of the system's, its words without number and path, which the sentence has already."""
    if isinstance(fault, MemoryError) and (type(fault) is not MemoryError or not str(fault)):
        return "it does not fit into memory"  # libraries' own kinds tell of arrays
    words = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return words or type(fault).__name__


def refusal(path: str, fault: BaseException) -> str:
    """Why a robot's file was refused: of a file with errors how many there are, and the first."""
    errors = [each for each in getattr(fault, "diagnostics", ()) if each.severity == "error"]
    if not errors:
        return f"{Path(path).name}: {reason(fault)}"
    first = errors[0]
    name = f"{Path(path).name}, line {first.line}" if first.line else Path(path).name
    more = len(errors) - 1
    others = f" (and {more} more error{'s' * (more > 1)}, listed by File › Open)" if more else ""
    return f"{name}: {first.element}: {first.fault}; {first.cure}{others}"


def gpu_failure(fault: BaseException) -> str:
    """That a GPU failed, with the first line of what it said."""
    words = str(fault).strip().split("\n")[0]
    return f"the GPU failed ({words or type(fault).__name__})"
