"""Common to the figures of benchmarks and studies. Matplotlib, the extra `plots`, is imported on use."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
MARKS = {
    "abia": ("#7f8794", "o"),
    "dca": ("#d55e00", "s"),
    "jsiia": ("#0072b2", "^"),
    "abia-hybrid": ("#009e73", "D"),
    "cfa": ("#cc79a7", "v"),
    "pinocchio": ("#e69f00", "P"),
    "mujoco-warp": ("#56b4e9", "X"),
}
"""The colour of each algorithm and peer, distinguishable by colour-blind readers (M. Okabe, K. Ito 2008; grey replaces
black for dark backgrounds), and its marker. The window uses the same.
"""
OWN = ("#e6ab02", "#7570b3", "#66a61e", "#e7298a", "#a6761d")
"""The colours of users' algorithms."""
SEQUENCE = ("#56b4e9", "#0072b2", "#009e73", "#e69f00", "#d55e00")


def mark(algorithm: str) -> tuple[str, str]:
    """Return an algorithm's colour and marker in all figures; a user's depend on its name only."""
    name = algorithm.partition(" (")[0]
    return MARKS.get(name, (OWN[sum(name.encode()) % len(OWN)], "*"))


def algorithm_color(algorithm: str) -> str:
    """Return an algorithm's colour in all figures, as #rrggbb, by its name or ``file.py:function``."""
    return mark(algorithm)[0]


def require(path: Path) -> None:
    """Raise ValueError, before anything is measured, if no figure can be written to `path`."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a picture is asked for as {path.name!r}; expected a name that ends in {', '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} for the picture {path.name!r}; make it first")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError(
            "pictures need the package matplotlib, which is not installed; pip install matplotlib, or install Catena "
            "with its extra `plots`"
        )


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its suffix. Equal figures give files with equal bytes."""
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    omitted = {"svg": ("Date", "Creator"), "png": ("Software",), "pdf": ("Creator", "Producer", "CreationDate")}
    settings: Any = {"svg.hashsalt": "catena", "svg.fonttype": "none", "font.family": ["DejaVu Sans", "sans-serif"]}
    with rc_context(settings), files.replacing(path) as file:
        figure.savefig(file, format=kind, dpi=150, metadata=dict.fromkeys(omitted[kind]))


def figure(width: float, height: float = 3.9) -> Figure:
    """Return an empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def axes(panel: Axes, links: Iterable[int], title: str, y: str, x: str = "links") -> None:
    """Set titles, ticks at the numbers of links or robots, and a light grid."""
    ticks = sorted(set(links))
    panel.set_xticks(ticks, [str(n) for n in ticks], fontsize=8)
    panel.minorticks_off()
    panel.set_title(title, fontsize=9)
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.grid(color="0.9", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def power(size: int) -> str:
    """Format a tick, with large numbers as powers of two."""
    return f"$2^{{{size.bit_length() - 1}}}$" if size > 4096 else f"{size}"
