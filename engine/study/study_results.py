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
    """The results in a folder, and the study that they are of.

    `columns` has arrays (N,) by name, sorted by `sample`: numbers, words or predicates, see docs/studies.md. Of robots
    that `diverged`, numbers that were kept are NaN. `varied` and `kept` name the columns. Where the study's robots or
    its controller are missing or have changed, `study` is None, and `refusal` says in a sentence why.

    `trust_xacro` is as for `load`. Raises ValueError where there are no results, or these are damaged.
    """

    def __init__(self, folder: str | Path, trust_xacro: bool = False):
        self.folder = Path(folder)
        self.columns: dict[str, NDArray[Any]] = results.read(self.folder)
        names = list(self.columns)
        if not {"sample", "diverged", "diverged_at"} <= set(names):
            raise ValueError(f"the parts in {str(folder)!r} lack columns of a study's results; run the study again")
        at = names.index("diverged")
        self.varied, self.kept = tuple(names[1:at]), tuple(names[at + 2 :])
        self.study: Study | None = None
        self.refusal = ""
        try:
            self.study = Study.of_results(self.folder, trust_xacro)
        except (OSError, ValueError) as error:
            self.refusal = str(error).partition("\n")[0]

    @staticmethod
    def parts(folder: str | Path) -> int:
        """Return how many files with results are in a folder, to which a run of the study may add."""
        return len(results.parts(Path(folder)))

    @property
    def title(self) -> str:
        """The study's title, or else its folder's name."""
        return (self.study.title if self.study is not None else "") or self.folder.stem

    @property
    def units(self) -> dict[str, str]:
        """The units of columns, by name; none without the `study`."""
        return {} if self.study is None else self.study.units

    @property
    def logarithmic(self) -> frozenset[str]:
        """The variables with logarithmic axes; none without the `study`."""
        return frozenset() if self.study is None else self.study.logarithmic

    def numbers(self, name: str) -> Array:
        """The column `name` (N,) as numbers: words by their places in their order, predicates as 0 and 1."""
        return summaries.numbers(self.columns[name])

    def words(self, name: str) -> list[str]:
        """The words of the column `name`, in their order; none of numbers."""
        column = self.columns[name]
        return np.unique(column).tolist() if column.dtype.kind == "U" else []

    def row(self, sample: int) -> dict[str, Any]:
        """Return a sample's row, by column name. Raises ValueError for an unknown sample."""
        at = int(np.searchsorted(self.columns["sample"], sample))
        if at == len(self.columns["sample"]) or self.columns["sample"][at] != sample:
            raise ValueError(f"there is no sample {sample} in the results")
        return {name: x[at].item() for name, x in self.columns.items()}

    def cells(self, x: Array, y: Array, color: Array, most: int, bins: int) -> Cells:
        """Means of `color` (N,) over a grid of x and y (N,): their values, or `bins` if they are more than `most`."""
        return summaries.cells(x, y, color, most, bins)

    def shares(self, x: Array, hits: NDArray[np.bool_], by: NDArray[Any] | None, name: str, bins: int) -> list[Line]:
        """How often `hits` (N,) holds over x (N,), in `bins`, with Wilson's intervals; a line for each of `by` (N,).

        `name` is what `by` is called.
        """
        return summaries.shares(x, hits, by, name, bins)

    def write(self, path: str | Path) -> None:
        """Write all columns as a table, .csv or .parquet. Raises ValueError for other suffixes."""
        results.write_table(Path(path), self.columns)
