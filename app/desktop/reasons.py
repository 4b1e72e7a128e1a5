"""Why something could not be done, in the words of a sentence. Free of Qt."""

from __future__ import annotations


def reason(fault: BaseException) -> str:
    """What an exception says: of the system's, its words without number and path, which the sentence has already."""
    if isinstance(fault, MemoryError) and (type(fault) is not MemoryError or not str(fault)):
        return "it does not fit into memory"  # libraries' own kinds tell of arrays
    words = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return words or type(fault).__name__


def gpu_failure(fault: BaseException) -> str:
    """That a GPU failed, with the first line of what it said."""
    words = str(fault).strip().split("\n")[0]
    return f"the GPU failed ({words or type(fault).__name__})"
