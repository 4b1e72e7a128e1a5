"""Equations of lessons, each line in Unicode, converted to HTML for the window and to MathML for pages.

An equation may contain: letters, with a dot above as in q̇ or V̇; small raised and lowered signs (ᵀ ⁻¹ ᵢ₊₁), or `_` and
letters (F_c, F_next); a function's name before its bracket (ad(V)); numbers and operators; two spaces or more between
equations of one line. Letters are italic, except ᵀ and words of several letters.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙₛₘ", "0123456789+−ijknsm", strict=True))
_RAISED = dict(zip("ᵀ⁻¹²³ⁿʲ", "T−123nj", strict=True))
_TOKEN = re.compile(
    r"(?P<word>[A-Za-z]{2,}(?=\())"
    rf"|(?P<base>[^\W\d_][\u0300-\u036f]*|[)⌉⌋])"
    rf"(?P<low>[{''.join(_LOWERED)}]+|_[A-Za-zα-ω]+)?(?P<high>[{''.join(_RAISED)}]+)?(?P<low2>[{''.join(_LOWERED)}]+)?"
    r"|(?P<number>\d+(?:[.,]\d+)*)(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿʲ]+)?|(?P<gap> {2,})|(?P<space> )|(?P<sign>.)"
)


GAP = "&nbsp;" * 5 + " "
"""What is between two equations of a line."""
LONG, BREAKING = 30, ("=", "+", "−")
"""Characters of an equation that may be wider than a panel, and the signs before which it may be broken."""


class _Part(NamedTuple):
    """A symbol with its subscript and superscript; `kind` is the group of `_TOKEN` that matched it."""

    kind: str
    base: str
    low: str = ""
    high: str = ""


def _parts(equation: str) -> list[_Part]:
    parts = []
    for match in _TOKEN.finditer(equation):
        if match["base"]:
            lows = ((match["low"] or "").lstrip("_"), match["low2"] or "")
            low = ",".join("".join(_LOWERED.get(x, x) for x in each) for each in lows if each)
            high = "".join(_RAISED[x] for x in match["high"] or "")
            parts.append(_Part("letter" if match["base"][0].isalpha() else "sign", match["base"], low, high))
        elif match["number"]:
            parts.append(_Part("number", match["number"], "", "".join(_RAISED[x] for x in match["power"] or "")))
        else:
            parts.append(_Part(match.lastgroup or "sign", match[0]))
    return parts


@lru_cache(maxsize=512)
def as_html(equation: str) -> str:
    """Return a line of equations in Qt's rich text, to be broken between them, and in a long one before its signs."""
    return GAP.join(map(_one_as_html, re.split(" {2,}", unicodedata.normalize("NFD", equation))))


def _one_as_html(equation: str) -> str:
    out, parts = [], _parts(equation)
    for place, (kind, base, low, high) in enumerate(parts):
        shown = f"<i>{base}</i>" if kind == "letter" else html.escape(base)
        if kind == "space" and not (len(equation) > LONG and parts[place + 1].base in BREAKING):
            shown = "&nbsp;"
        below, above = ("".join(f"<i>{x}</i>" if _italic(x) else x for x in _runs(text)) for text in (low, high))
        out.append(shown + (f"<sub>{below}</sub>" if low else "") + (f"<sup>{above}</sup>" if high else ""))
    return "".join(out)


def as_mathml(equation: str, display: bool = True) -> str:
    """Return a `math` element for each equation of a line, as blocks if `display`, else inline in a sentence."""
    rows, spaced = [list[str]()], False
    before = nothing = _Part("gap", "")
    for part in _parts(unicodedata.normalize("NFD", equation)):
        if part.kind == "gap":
            rows.append([])
            before = nothing
        elif part.kind == "space":
            spaced = True
            continue
        else:
            if spaced and _ends(before) and _begins(part):  # a product
                rows[-1].append('<mspace width="0.17em"></mspace>')
            rows[-1].append(_with_small(part, before is nothing or not _ends(before)))
            before = part
        spaced = False
    where = ' display="block"' if display else ""
    return "".join(f"<math{where}><mrow>{''.join(row)}</mrow></math>" for row in rows)


def _ends(part: _Part) -> bool:
    """Return whether a factor may end with this symbol."""
    return part.kind in ("letter", "number") or part.base in ")]|"


def _begins(part: _Part) -> bool:
    """Return whether a factor may begin with this symbol."""
    return part.kind in ("letter", "number", "word") or part.base in "([|"


def _with_small(part: _Part, first: bool) -> str:
    """Return a symbol with its subscript and superscript; `first` if no factor is before it, so that − is a sign."""
    if first and part.base == "−":
        return '<mo form="prefix">−</mo>'
    sign = _sign({"letter": "mi", "word": "mi", "number": "mn"}.get(part.kind, "mo"), part.base)
    below, above = (f"<mrow>{_small(text)}</mrow>" for text in (part.low, part.high))
    if part.low and part.high:
        return f"<msubsup>{sign}{below}{above}</msubsup>"
    if part.low:
        return f"<msub>{sign}{below}</msub>"
    return f"<msup>{sign}{above}</msup>" if part.high else sign


def _sign(tag: str, base: str) -> str:
    if len(base) > 1 and unicodedata.combining(base[1]):  # a dot of its own, else the letter would stand upright
        dots = {"\u0307": "˙", "\u0308": "¨", "\u0302": "^"}[base[1]]
        return f'<mover accent="true"><mi>{base[0]}</mi><mo>{dots}</mo></mover>'
    rigid = ' stretchy="false"' if base in "()[]|⌈⌉⌊⌋" else ""
    return f"<{tag}{rigid}>{html.escape(base)}</{tag}>"


def _runs(text: str) -> list[str]:
    """Split a subscript or superscript into words, numbers and signs."""
    return re.findall(r"[^\W\d]+|\d+|.", text)


def _italic(small: str) -> bool:
    return len(small) == 1 and small.isalpha() and small != "T"


def _small(text: str) -> str:
    made = []
    for each in _runs(text):
        tag = "mn" if each.isdigit() else "mi" if each.isalpha() else "mo"
        upright = ' mathvariant="normal"' if each == "T" else ""  # words are upright by themselves
        made.append(f"<{tag}{upright}>{each}</{tag}>")
    return "".join(made)
