"""Equations as the texts write them, in one line of Unicode, as HTML for the window and as MathML for pages.

What may stand in one: letters, with a dot above as in q̇ or V̇; small raised and lowered signs (ᵀ ⁻¹ ᵢ₊₁), or `_` and
letters (F_c, F_next); numbers and operators; two spaces or more between equations of one line.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import NamedTuple

_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙₛₘ", "0123456789+−ijknsm", strict=True))
_RAISED = dict(zip("ᵀ⁻¹²³ⁿʲ", "T−123nj", strict=True))
_TOKEN = re.compile(
    rf"(?P<base>[^\W\d_][\u0300-\u036f]*|[)⌉⌋])"
    rf"(?P<low>[{''.join(_LOWERED)}]+|_[A-Za-zα-ω]+)?(?P<high>[{''.join(_RAISED)}]+)?(?P<low2>[{''.join(_LOWERED)}]+)?"
    r"|(?P<number>\d+(?:[.,]\d+)*)(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿʲ]+)?|(?P<gap> {2,})|(?P<space> )|(?P<sign>.)"
)


class _Part(NamedTuple):
    """A sign with what stands below and above it; `kind` is the group of `_TOKEN` that it was found by."""

    kind: str
    base: str
    low: str = ""
    high: str = ""


def _parts(equation: str) -> list[_Part]:
    found = []
    for match in _TOKEN.finditer(equation):
        if match["base"]:
            low = "".join(_LOWERED.get(x, x) for x in (match["low"] or match["low2"] or "").lstrip("_"))
            high = "".join(_RAISED[x] for x in match["high"] or "")
            found.append(_Part("letter" if match["base"][0].isalpha() else "sign", match["base"], low, high))
        elif match["number"]:
            found.append(_Part("number", match["number"], "", "".join(_RAISED[x] for x in match["power"] or "")))
        else:
            found.append(_Part(match.lastgroup or "sign", match[0]))
    return found


def as_html(equation: str) -> str:
    """In the markup that Qt reads."""
    out = []
    for kind, base, low, high in _parts(unicodedata.normalize("NFD", equation)):
        shown = f"<i>{base}</i>" if kind == "letter" else "&nbsp;" * 6 if kind == "gap" else html.escape(base)
        out.append(shown + (f"<sub>{low}</sub>" if low else "") + (f"<sup>{high}</sup>" if high else ""))
    return "".join(out)


def as_mathml(equation: str, display: bool = True) -> str:
    """As an element `math`, which browsers draw without anything from elsewhere; in a line of its own, or in one."""
    out = []
    for kind, base, low, high in _parts(unicodedata.normalize("NFD", equation)):
        if kind == "space":
            continue
        if kind == "gap":
            out.append('<mspace width="2.5em"></mspace>')
            continue
        tag = {"letter": "mi", "number": "mn"}.get(kind, "mo")
        sign = _sign(tag, base)
        below, above = (f"<mrow>{_small(text)}</mrow>" for text in (low, high))
        if low and high:
            sign = f"<msubsup>{sign}{below}{above}</msubsup>"
        elif low or high:
            sign = f"<msub>{sign}{below}</msub>" if low else f"<msup>{sign}{above}</msup>"
        out.append(sign)
    where = ' display="block"' if display else ""
    return f"<math{where}><mrow>{''.join(out)}</mrow></math>"


def _sign(tag: str, base: str) -> str:
    if len(base) > 1 and unicodedata.combining(base[1]):  # a dot of its own, else the letter would stand upright
        dots = {"\u0307": "˙", "\u0308": "¨", "\u0302": "^"}[base[1]]
        return f'<mover accent="true"><mi>{base[0]}</mi><mo>{dots}</mo></mover>'
    rigid = ' stretchy="false"' if base in "()[]⌈⌉⌊⌋" else ""
    return f"<{tag}{rigid}>{html.escape(base)}</{tag}>"


def _small(text: str) -> str:
    tags = ("mn" if x.isdigit() else "mi" if x.isalpha() else "mo" for x in text)
    return "".join(f"<{tag}>{x}</{tag}>" for tag, x in zip(tags, text, strict=True))
