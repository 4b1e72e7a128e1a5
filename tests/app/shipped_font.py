"""The font that ships, from Inter's own files: `python -m tests.app.shipped_font Inter-Regular.otf Inter-SemiBold.otf`.

What the window writes is kept: Latin, Greek, numbers, arrows and mathematics; other scripts come from the system's
fonts. Figures have one width, so that columns and running numbers stand still. The family has a name of its own, since
one that is installed as Inter has other figures; the semi-bold one is its bold, which every platform finds.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from app.desktop.type_scale import FAMILY, FIGURE_SPACE, FONTS

STYLES = {"Regular": 400, "Bold": 700}
KEPT = (
    (0x20, 0x24F), (0x2B0, 0x36F), (0x370, 0x3FF), (0x1E00, 0x1EFF), (0x2000, 0x20BF), (0x2100, 0x214F),
    (0x2190, 0x22FF), (0x2300, 0x232F), (0x25A0, 0x27BF),
)  # fmt: skip


def make(source: Path, style: str) -> None:
    """Write one of `STYLES`."""
    font = TTFont(source)
    _widen_figures(font)
    options = subset.Options(layout_features=["kern", "mark", "mkmk", "ccmp"], name_IDs=["*"], notdef_outline=True)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in KEPT for code in range(first, last + 1)])
    subsetter.subset(font)
    names = font["name"]
    licence = {record.nameID: record.toUnicode() for record in names.names if record.nameID in (0, 5, 13, 14)}
    names.names = []
    whole, file = f"{FAMILY} {style}", f"{FAMILY.replace(' ', '')}-{style}"
    words = {1: FAMILY, 2: style, 3: whole, 4: whole, 6: file}
    for number, text in {**licence, **words}.items():
        names.setName(text, number, 3, 1, 0x409)
    os2, bold = font["OS/2"], style == "Bold"
    os2.usWeightClass = STYLES[style]
    os2.fsSelection = (os2.fsSelection & ~0b1100001) | (1 << 5 if bold else 1 << 6)
    font["head"].macStyle = int(bold)
    compact = font["CFF "].cff
    compact.fontNames[0] = file
    compact[0].FullName, compact[0].FamilyName, compact[0].Weight = whole, FAMILY, style
    font.save(FONTS / f"{file}.otf")


def _widen_figures(font: TTFont) -> None:
    """Replace figures and the space between them by the tabular ones of the feature `tnum`."""
    table = font["GSUB"].table
    features = [each.Feature for each in table.FeatureList.FeatureRecord if each.FeatureTag == "tnum"]
    wide: dict[str, str] = {}
    for number in (number for feature in features for number in feature.LookupListIndex):
        for part in table.LookupList.Lookup[number].SubTable:
            wide |= getattr(part, "ExtSubTable", part).mapping
    for codes in (each.cmap for each in font["cmap"].tables if each.isUnicode()):
        for code in map(ord, "0123456789"):
            codes[code] = wide.get(codes[code], codes[code])  # tables may be one
        if ord(FIGURE_SPACE) in codes:
            font["hmtx"].metrics[codes[ord(FIGURE_SPACE)]] = font["hmtx"].metrics[codes[ord("0")]]


def main() -> None:
    FONTS.mkdir(exist_ok=True)
    for source, style in zip(sys.argv[1:], STYLES, strict=True):
        make(Path(source), style)


if __name__ == "__main__":
    main()
