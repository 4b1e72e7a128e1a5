"""The equations of the pages, each verbatim beside a check that works it out in plain NumPy and asks the program.

`of` enters a check with the formulas that it transcribes. A page is to have each as it stands, and test_equations.py
asks that every displayed equation of a page, and every formula in a sentence that states a law, is among them.
"""

import re
from collections.abc import Callable

import numpy as np
import page_text
from scipy.linalg import block_diag

Check = Callable[[], None]
CHECKS: list[tuple[str, tuple[str, ...], Check]] = []


def of(page: str, *formulas: str) -> Callable[[Check], Check]:
    """Enter the check of these formulas of a page."""

    def enter(check: Check) -> Check:
        CHECKS.append((page, formulas, check))
        return check

    return enter


BESIDE = {
    "docs/contact.md": ("docs/contact_solver.md", "docs/contact_solver_gpu.md", "docs/collision.md"),
    "docs/scheme.md": ("docs/scheme_gpu.md", "docs/measured_algorithms.md"),
}
"""Pages that continue the equations of another and their numbers."""


def prose(page: str) -> str:
    """A page, and those that continue its equations, without their examples."""
    return "\n".join(map(page_text.prose, (page, *BESIDE.get(page, ()))))


def displayed(page: str) -> list[str]:
    """Return the displayed equations, with their numbers."""
    return [found.strip() for found in re.findall(r"\$\$(.*?)\$\$", prose(page), re.DOTALL)]


def inline(page: str) -> list[str]:
    """The formulas in sentences."""
    text = re.sub(r"\$\$.*?\$\$", "", prose(page), flags=re.DOTALL)
    return [page_text.flat(found) for found in re.findall(r"\$([^$]+)\$", text)]


def states(formula: str) -> bool:
    """Whether it says that something is, or is at most, something else."""
    return bool(re.search(r"=|\\le\b|\\ge\b|\\leftarrow", formula))


def same(*sides: object, atol: float = 1e-9) -> None:
    """Check that all sides agree, to rounding in units of the first."""
    first, *others = (np.asarray(side, float) for side in sides)
    for other in others:
        assert first.shape == other.shape
        np.testing.assert_allclose(other, first, rtol=0, atol=atol * max(1.0, float(np.max(np.abs(first), initial=0))))


def beside(parts: np.ndarray, above: bool = False) -> np.ndarray:
    """A block matrix with parts[1:] below its diagonal, or above it."""
    m, k = parts.shape[1:]
    return np.pad(block_diag(*parts[1:]), ((0, m), (k, 0)) if above else ((m, 0), (0, k)))
