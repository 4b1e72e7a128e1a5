"""`StudyResults`: results of a study, for viewing, export, and repeating single samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.study import results, summaries
from engine.study.study import Study
from engine.study.summaries import Cells, Line
from engine.validation import Array


class StudyResults:
    """The results in a folder, and their study.

    `columns` has arrays (N,) by name, sorted by `sample`: numbers, words or predicates, see docs/studies.md. Kept
    numbers of robots that `diverged` are NaN. `varied` and `kept` name the columns. If the study's robots or its
    controller are missing or have changed, `study` is None, and `refusal` is the reason in a sentence.

    Raises ValueError if there are no results, or they are damaged.
    """

    def __init__(self, folder: str | Path, trust_xacro: bool = False):
        self.folder = Path(folder)
        self.columns: dict[str, NDArray[Any]] = results.read(self.folder)
        names = list(self.columns)
        if not {"sample", "diverged", "diverged_at"} <= set(names):
            raise ValueError(f"the parts in {str(folder)!r} lack columns of a study's results; run the study anew")
        at = names.index("diverged")
        self.varied, self.kept = tuple(names[1:at]), tuple(names[at + 2 :])
        self.study: Study | None = None
        self.refusal = ""
        try:
            self.study = Study.of_results(self.folder, trust_xacro)
        except (OSError, ValueError) as error:
            self.refusal = str(error).partition("\n")[0]

    @property
    def title(self) -> str:
        """The study's title, or else its folder's name."""
        return (self.study.title if self.study is not None else "") or self.folder.stem

    def numbers(self, name: str) -> Array:
        """Return a column (N,) as numbers: words by their order, predicates as 0 and 1."""
        return summaries.numbers(self.columns[name])

    def words(self, name: str) -> list[str]:
        """Return the distinct words of a column, in order; none for numbers."""
        column = self.columns[name]
        return np.unique(column).tolist() if column.dtype.kind == "U" else []

    def row(self, sample: int) -> dict[str, Any]:
        """Return a sample's row, by column name. Raises ValueError for an unknown sample."""
        at = int(np.searchsorted(self.columns["sample"], sample))
        if at == len(self.columns["sample"]) or self.columns["sample"][at] != sample:
            raise ValueError(f"there is no sample {sample} in the results")
        return {name: x[at].item() for name, x in self.columns.items()}

    def cells(self, x: Array, y: Array, color: Array, most: int, bins: int) -> Cells:
        """Return means of `color` (N,) over a grid of x and y (N,), binned if they have many values."""
        return summaries.cells(x, y, color, most, bins)

    def shares(self, x: Array, hits: NDArray[np.bool_], by: NDArray[Any] | None, name: str, bins: int) -> list[Line]:
        """Return a predicate's share (N,) over x (N,), with Wilson's intervals; one line per value of `by` (N,)."""
        return summaries.shares(x, hits, by, name, bins)

    def write(self, path: str | Path) -> None:
        """Write all columns as a table, .csv or .parquet. Raises ValueError for other suffixes."""
        results.write_table(Path(path), self.columns)
