"""The text of a robot's file: its encoding, its XML declaration, and the positions of its elements.

All positions are byte offsets in the UTF-8 text; for a UTF-8 file they are offsets in the file.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from engine.model import Edit

_BEGINNINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be",
    b"<\0\0\0": "utf-32-le", b"\0\0\0<": "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", b"<\0": "utf-16-le", b"\0<": "utf-16-be",
}  # fmt: skip
"""Encodings by what a file begins with: a mark, or else the first letter of XML."""
_CODECS = ("utf-8", "ascii", "iso8859", "cp", "koi8", "mac", "gb", "big5", "shift_jis", "euc_")
_WINDOWS = {0xDC00 + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(128, 256)}
"""Windows-1252 characters of the bytes that are not UTF-8."""
_DECLARATION = re.compile(rb"<\?xml(?=[\s?])[^?]*\?>")
_SPACE = re.compile(rb"\s*")
_BLANKED = bytes(byte if byte == 0x0A else 0x20 for byte in range(256))
_BLANKS = re.compile(rb"[ \t\r]*")
_TAG = re.compile(rb"<[^\s/>]+")
_ATTRIBUTE = re.compile(rb"\s+([^\s=/>\"']+)\s*=\s*(\"[^\"]*\"|'[^']*')")


class Oddity(NamedTuple):
    """An unusual but unambiguous feature of the text itself."""

    at: int
    element: str
    problem: str
    used: str
    repair: tuple[Edit, ...]


class TagOffsets(NamedTuple):
    """The offsets of an element's start tag and of its end tag, or of what follows an element without one."""

    start: int
    closing: int


class Source:
    """The text of a file.

    `raw` is the file's content and `data` the text in UTF-8. `xml` is the parser's input: of the same length, with
    blanks for the XML declaration, which is checked here, and for anything else that would stop a parser. `oddities`
    lists these places. `codec` is the encoding of a copy.
    """

    def __init__(self, raw: bytes):
        self.raw = raw
        self.oddities: list[Oddity] = []
        text, codec, declared, astray = _decoded(raw)
        self.data = text.encode()
        self._newline = "\r\n" if b"\r\n" in self.data else "\n"
        self._mark = 3 * text.startswith("\ufeff")
        self._xml = bytearray(self.data)
        self._xml[: self._mark] = b" " * self._mark
        if astray is not None:
            offset, problem = len(text[:astray].encode()), f"{text[astray]!r} is not written in UTF-8"
            self._odd(
                offset, "text", problem, "read as Windows-1252; save the file in UTF-8", (Edit(offset, offset, ""),)
            )
        agrees = declared is None or codec.startswith(declared)
        self.codec = codec if agrees else "utf-8"
        self._declarations(None if agrees else codec)
        self._tail()

    @property
    def xml(self) -> bytes:
        return bytes(self._xml)

    def _odd(self, offset: int, element: str, problem: str, used: str, repair: tuple[Edit, ...]) -> None:
        self.oddities.append(Oddity(offset, element, problem, used, repair))

    def _blank(self, start: int, end: int) -> None:
        """Hide a range from the parser, keeping line breaks."""
        self._xml[start:end] = self._xml[start:end].translate(_BLANKED)

    def _declarations(self, actual: str | None) -> None:
        """Check the XML declarations before the root element; `actual` is the encoding if they name none."""
        for count, (start, end) in enumerate(list(self._prolog())):
            attributes = {name: value for name, _, value in _attributes(self.data, start + len(b"<?xml"))}
            self._blank(start, end)
            if count:
                self._odd(start, "XML", "a second XML declaration", "not used", (self._without(start, end),))
                continue
            version, encoding = attributes.get("version", ""), attributes.get("encoding", "")
            named = f' encoding="{"UTF-8" if actual else encoding}"' if encoding else ""
            repair = self._first(start, end, f'<?xml version="1.0"{named}?>')
            if start != self._mark:
                self._odd(start, "XML", "the XML declaration is not at the start", "read as if it were", repair)
            if version != "1.0":
                came = f"the XML version is {version!r}" if version else "no XML version"
                self._odd(start, "XML", came, 'read as 1.0; write version="1.0"', repair)
            if actual:
                used = f'read as {actual.upper()}; write encoding="UTF-8"'
                self._odd(start, "XML", f"the text is not in the encoding {encoding!r}", used, repair)

    def _prolog(self) -> Iterator[tuple[int, int]]:
        """Return start and end of each XML declaration before the root element."""
        offset = self._mark
        while True:
            offset = _end(_SPACE, self._xml, offset)
            if declaration := _DECLARATION.match(self._xml, offset):
                yield declaration.span()
                offset = declaration.end()
                continue
            closing = (
                b"-->"
                if self._xml.startswith(b"<!--", offset)
                else b"?>"
                if self._xml.startswith(b"<?", offset)
                else b""
            )
            end = self._xml.find(closing, offset) if closing else -1
            if end < 0:
                return
            offset = end + len(closing)

    def _first(self, start: int, end: int, declaration: str) -> tuple[Edit, ...]:
        """Rewrite a declaration that is at the start of the text."""
        if not self.data[self._mark : start].strip():
            return (Edit(self._mark, end, declaration),)
        return Edit(self._mark, self._mark, declaration + self._newline), self._without(start, end)

    def _tail(self) -> None:
        """Hide zeros and end-of-file marks after the last element, as some programs leave them."""
        end = len(self.data.rstrip(b"\0\x1a \t\r\n"))
        tail = self.data[end:]
        stripped = tail.translate(None, b"\0\x1a")
        if stripped != tail:
            self._blank(end, len(self.data))
            problem = "zeros or end-of-file marks after the end"
            self._odd(end, "text", problem, "not read; remove them", (Edit(end, len(self.data), stripped.decode()),))

    def mend_comments(self) -> bool:
        """Hide comments that contain ``--``, which XML forbids, from the parser; return whether there are any."""
        before = len(self.oddities)
        for start, end in _comments(self._xml):
            content = self.data[start:end].decode()
            if "--" in content or content.endswith("-"):
                mended = re.sub("-(?=-)", "- ", content) + " " * content.endswith("-")
                self._blank(start, end)
                self._odd(start, "comment", '"--" inside a comment', "not read", (Edit(start, end, mended),))
        return len(self.oddities) > before

    @cached_property
    def _newlines(self) -> list[int]:
        return [newline.start() for newline in re.finditer(b"\n", self.data)]

    def line(self, offset: int) -> int:
        """Return the line number, from 1, of an offset."""
        return bisect_right(self._newlines, offset - 1) + 1

    def places(self) -> list[TagOffsets]:
        """Return the place of each element, in the order of start tags; empty if the XML is malformed."""
        starts: list[int] = []
        closings: list[int] = []
        unfinished: list[int] = []

        def begin(_name: str, _attributes: object) -> None:
            unfinished.append(len(starts))
            starts.append(parser.CurrentByteIndex)
            closings.append(0)

        def finish(_: str) -> None:
            closings[unfinished.pop()] = parser.CurrentByteIndex

        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler, parser.EndElementHandler = begin, finish
        parser.DefaultHandler = lambda _: None  # keep entities unchanged
        try:
            parser.Parse(self.xml, True)
        except expat.ExpatError:
            return []
        return list(map(TagOffsets, starts, closings))

    def write(self, place: TagOffsets, attributes: Mapping[str, str | None]) -> tuple[Edit, ...]:
        """Return edits that set these attributes of an element; None removes one."""
        offset = _end(_TAG, self.data, place.start)
        there = {name: value for name, value, _ in _attributes(self.data, offset)}
        edits, added = [], ""
        for name, text in attributes.items():
            if name not in there:
                added += f' {name}="{_escaped(text)}"' if text is not None else ""
            elif text is None:
                edits.append(Edit(there[name].start, there[name].end, ""))
            else:
                edits.append(Edit(there[name].text, there[name].end - 1, _escaped(text)))
        offset = max((attribute.end for attribute in there.values()), default=offset)
        return (*edits, Edit(offset, offset, added)) if added else tuple(edits)

    def drop(self, place: TagOffsets) -> tuple[Edit, ...]:
        """Return an edit that removes an element, and its lines if they hold nothing else."""
        return (self._without(place.start, self._ends(place)),)

    def add(self, place: TagOffsets, xml: str) -> tuple[Edit, ...]:
        """Return an edit that inserts an element after another, on its own line if the other has one."""
        end = self._ends(place)
        first, last = self._line_around(place.start, end)
        if last:
            xml = f"{self._newline}{self.data[first : place.start].decode()}{xml}"
        return (Edit(end, end, xml),)

    def _ends(self, place: TagOffsets) -> int:
        """Return the offset where an element ends."""
        offset = _end(_TAG, self.data, place.start)
        for _, attribute, _ in _attributes(self.data, offset):
            offset = attribute.end
        inside = self.data.find(b">", offset) + 1
        return inside if self.data.startswith(b"/>", inside - 2) else self.data.find(b">", place.closing) + 1

    def _without(self, start: int, end: int) -> Edit:
        """Return the removal of a range, with its lines if they hold nothing else."""
        first, last = self._line_around(start, end)
        return Edit(first, last, "") if last else Edit(start, end, "")

    def _line_around(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end of a range's lines if they hold nothing else; otherwise zeros."""
        first, last = start, _end(_BLANKS, self.data, end)
        while first > 0 and self.data[first - 1] in b" \t":
            first -= 1
        whole = (first == 0 or self.data[first - 1] == 10) and (last == len(self.data) or self.data[last] == 10)
        return (first, min(last + 1, len(self.data))) if whole else (0, 0)


def without_overlaps(edits: list[Edit]) -> list[Edit]:
    """Sort edits by position; of overlapping edits keep the first listed."""
    kept: list[Edit] = []
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


def apply(data: bytes, edits: list[Edit]) -> bytes:
    """Apply edits, which must not overlap, to the text."""
    parts, offset = [], 0
    for edit in edits:
        parts += [data[offset : edit.start], edit.text.encode()]
        offset = edit.end
    return b"".join([*parts, data[offset:]])


def _decoded(raw: bytes) -> tuple[str, str, str | None, int | None]:
    """Return the text, its codec, the declared codec, and the offset of the first character invalid in both."""
    marked = next((codec for beginning, codec in _BEGINNINGS.items() if raw.startswith(beginning)), None)
    head = _DECLARATION.search(raw, 0, 1000)
    named = {name: value for name, _, value in _attributes(raw, head.start() + 5)}.get("encoding") if head else None
    declared = _codec(named) if named else None
    codec = marked or (declared if declared and declared.startswith(_CODECS) else "utf-8")
    try:
        return raw.decode(codec), codec, declared, None
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "surrogateescape")
    astray = re.search("[\udc80-\udcff]", text)
    return text.translate(_WINDOWS), "utf-8", declared, astray.start() if astray else None


def _codec(name: str) -> str:
    """Return Python's name of an encoding, or the given name if it is unknown."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):  # a name that contains zeros
        return name


class _Attribute(NamedTuple):
    """The offsets of an attribute: the blank before it, its value, and the end of the closing quote."""

    start: int
    text: int
    end: int


def _attributes(data: bytes, offset: int) -> Iterator[tuple[str, _Attribute, str]]:
    """Return name, offsets and value of a tag's attributes."""
    while attribute := _ATTRIBUTE.match(data, offset):
        offset = attribute.end()
        name, text = (group.decode("utf-8", "replace") for group in attribute.groups())
        yield name, _Attribute(attribute.start(), attribute.start(2) + 1, offset), text[1:-1]


def _comments(xml: bytearray) -> Iterator[tuple[int, int]]:
    """Return start and end of each comment's content."""
    start = xml.find(b"<!--") + 4
    while start >= 4 and (end := xml.find(b"-->", start)) >= 0:
        yield start, end
        start = xml.find(b"<!--", end) + 4


def _end(pattern: re.Pattern[bytes], data: bytes | bytearray, offset: int) -> int:
    match = pattern.match(data, offset)
    return match.end() if match else offset


def _escaped(text: str) -> str:
    return escape(text, {'"': "&quot;", "'": "&apos;", "\n": "&#10;"})
