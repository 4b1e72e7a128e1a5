"""Bytes made into others: as bytes, as words of a text, as trees of XML, as JSON and as archives of arrays."""

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from lxml import etree

NUMBERS = (
    "", " ", "0", "-0", "1", "-1", "2", "0.5", "1e-320", "1e-12", "1e6", "1e15", "1e16", "1e308", "-1e308", "1e400",
    "-1e400", "nan", "-nan", "inf", "-inf", "Infinity", "0x10", "1_0", "1,5", "1;5", "1.5.5", "1e", "e5", "+-1", "--1",
    "٣", "½", "1 2", "0 0 0", "0 0 1", "1 0 0", "1 1 1", "0,0,1", "1, 2, 3", "0 0 1 0", "1e200 1e200 1e200",
    "nan 0 0", "1e-200 0 0", "3.14159265358979", "1d0", "\u22121", "true", "None", "${pi}", "${1/0}", "${2**9999}",
    "${'a'*99999}", "$(find x)", "$(env HOME)", "$(arg a)", "99999999999999999999", "4294967295", "-2147483648",
)  # fmt: skip
WORDS = (
    "a", "b", "base", "arm", "hinge", "link", "joint", "world", "map", "", " ", "\u202e", "\U0001f916", "x" * 2000,
    "revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "ball", "Fixed", "universal",
    "../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://a/b.stl", "package://a/b.stl", "package://",
    "package:///", "://", "file://", "model://a", "/dev/zero", "%00", "con", "a\nb", "&#0;", "&a;", "plate.obj",
)  # fmt: skip
TAGS = (
    "robot", "link", "joint", "inertial", "mass", "inertia", "origin", "axis", "limit", "dynamics", "mimic", "parent",
    "child", "visual", "collision", "geometry", "box", "sphere", "cylinder", "capsule", "mesh", "material", "color",
    "texture", "gazebo", "mu1", "mu2", "contact", "lateral_friction", "restitution", "safety_controller",
    "calibration", "mujoco", "compiler", "option", "xacro:property", "xacro:macro", "xacro:if", "sdf", "model",
    "disable_collisions", "enable_collisions", "disable_default_collisions", "group", "drake:joint", "loop_joint",
)  # fmt: skip
NAMES = (
    "name", "type", "link", "joint", "xyz", "rpy", "value", "ixx", "ixy", "iyy", "izz", "lower", "upper", "effort",
    "velocity", "damping", "friction", "multiplier", "offset", "size", "radius", "length", "filename", "scale", "rgba",
    "reference", "link1", "link2", "reason", "stiffness", "xmlns", "version", "encoding",
)  # fmt: skip
PIECES = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"<!--", b"-->", b"--", b"<![CDATA[", b"]]>", b"<?xml version='1.0'?>",
    b"<!DOCTYPE r [<!ENTITY a 'b'><!ENTITY c '&a;&a;&a;&a;'>]>", b"&a;", b"&c;", b"&#0;", b"&#x110000;", b"&lt;", b"\r",
    b"encoding='utf-16'", b"encoding='cp037'", b"encoding='\xc3\xa9'", b"<a:b/>", b"xmlns='x'", b"\x1a", b"'",
    b'"', b"<", b">", b"/>", b"</robot>", b"<robot>", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"nan", b"1e999",
)  # fmt: skip

Chance = random.Random


def of_bytes(data: bytes, chance: Chance, pieces: Sequence[bytes] = PIECES) -> bytes:
    """A few places cut out, doubled, overwritten or filled in."""
    text = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        at, size = chance.randrange(len(text) + 1), chance.choice((1, 1, 2, 4, 16, 64))
        way = chance.randrange(7)
        if way == 0:
            del text[at : at + size]
        elif way == 1:
            text[at:at] = text[at : at + size] * chance.choice((1, 1, 2, 9))
        elif way == 2:
            text[at : at + size] = chance.randbytes(min(size, 8))
        elif way == 3:
            text[at:at] = chance.choice(pieces)
        elif way == 4 and at < len(text):
            text[at] ^= 1 << chance.randrange(8)
        elif way == 5:
            other = chance.randrange(len(text) + 1)
            text[at : at + size] = text[other : other + size]
        elif way == 6 and chance.randrange(4) == 0:
            del text[at:]
    return bytes(text)


def of_xml(data: bytes, chance: Chance) -> bytes:
    """Elements removed, doubled, moved, renamed; attributes given what files of the world hold, and worse."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        return of_bytes(data, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        _change(root, chance)
    text: bytes = etree.tostring(root)
    if chance.randrange(20) == 0:
        text = _written_otherwise(text, chance)
    return of_bytes(text, chance) if chance.randrange(20) == 0 else text


def _change(root: Any, chance: Chance) -> None:
    elements = list(root.iter("*"))
    element = chance.choice(elements)
    way = chance.randrange(12)
    if way < 5:
        _attribute(element, chance)
    elif way == 5 and element is not root:
        element.getparent().remove(element)
    elif way == 6 and element is not root:
        element.addnext(copy.deepcopy(element))
    elif way == 7:
        other = chance.choice(elements)
        element.insert(chance.randrange(len(element) + 1), copy.deepcopy(other))
    elif way == 8:
        _named(lambda name: setattr(element, "tag", name), chance.choice(TAGS))
    elif way == 9:
        _named(lambda name: element.append(element.makeelement(name)), chance.choice(TAGS))
    elif way == 10:
        value = chance.choice(NUMBERS + WORDS)
        _named(lambda text: setattr(element, "text", text), value)
    elif way == 11 and chance.randrange(8) == 0:
        inner, name = element, chance.choice(TAGS[:6])
        for _ in range(chance.choice((10, 100, 300, 1000))):
            child = inner.makeelement(name)
            inner.append(child)
            inner = child


def _attribute(element: Any, chance: Chance) -> None:
    names = list(element.attrib)
    name = chance.choice(names) if names and chance.randrange(5) else chance.choice(NAMES)
    way = chance.randrange(8)
    if way == 0:
        element.attrib.pop(name, None)
    elif way == 1:
        _named(lambda text: element.set(name, text), _of_text(element.get(name, ""), chance))
    elif way == 2:
        words = element.get(name, "").split() or [""]
        words[chance.randrange(len(words))] = chance.choice(NUMBERS)
        _named(lambda text: element.set(name, text), " ".join(words))
    elif way == 3:
        tree = element.getroottree().getroot()
        others = [each.get(name) for each in tree.iter("*") if each.get(name) is not None]
        _named(lambda text: element.set(name, text), chance.choice(others or ["a"]))
    else:
        _named(lambda text: element.set(name, text), chance.choice(NUMBERS if chance.randrange(3) else WORDS))


def _named(change: Callable[[str], None], text: str) -> None:
    with suppress(ValueError):  # lxml writes neither control characters nor names that it read from malformed XML
        change(text)


def _of_text(text: str, chance: Chance) -> str:
    mutated = of_bytes(text.encode(), chance, (b"-", b"e", b".", b" ", b",", b"9", b"0")).decode("utf-8", "replace")
    return "".join(letter for letter in mutated if letter.isprintable())


def _written_otherwise(text: bytes, chance: Chance) -> bytes:
    codec = chance.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "utf-8-sig", "cp037", "shift_jis"))
    message = f"<?xml version='1.0' encoding='{chance.choice((codec, 'utf-8'))}'?>" if chance.randrange(2) else ""
    return (message + text.decode()).encode(codec, "replace")


def of_json(data: bytes, chance: Chance) -> bytes:
    """Values of a JSON text replaced, removed, nested; now and then as bytes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return of_bytes(data, chance)
    for _ in range(chance.choice((1, 1, 2, 3))):
        value = _of_value(value, chance)
    try:
        text = json.dumps(value).encode()
    except (ValueError, RecursionError):
        return data
    if chance.randrange(50) == 0:
        text = text.replace(b"0", b"[" * chance.choice((10, 1000, 5000)), 1)
    if chance.randrange(8) == 0:
        text = of_bytes(text, chance, (b"{", b"[", b"null", b"NaN", b"1e999", b'"', b"-"))
    return text


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**30, 0.0, 1e-320, 1e308, float("nan"), float("inf"), "", "a", "x" * 999, "\0",
    "\ud800", [], {}, [[]], [1, 2], {"a": 1}, -2147483649, 3, 1e9, "nan", "1",
)  # fmt: skip


def _of_value(value: Any, chance: Chance) -> Any:
    if isinstance(value, dict) and value and chance.randrange(8):
        key = chance.choice(list(value))
        way = chance.randrange(8)
        if way == 0:
            return {name: each for name, each in value.items() if name != key}
        if way == 1:
            return value | {chance.choice(("", "a", "class", "array", key + "x")): value[key]}
        return value | {key: _of_value(value[key], chance)}
    if isinstance(value, list) and value and chance.randrange(8):
        at = chance.randrange(len(value))
        way = chance.randrange(6)
        if way == 0:
            return value[:at] + value[at + 1 :]
        if way == 1:
            return [*value, value[at]]
        return [*value[:at], _of_value(value[at], chance), *value[at + 1 :]]
    if isinstance(value, int | float) and chance.randrange(2):
        return chance.choice((value + 1, -value, value * 1000, value / 2 if abs(value) < 1e300 else 0, str(value)))
    return chance.choice(_VALUES)


def of_lines(data: bytes, chance: Chance) -> bytes:
    """Lines of JSON, one of them mutated, doubled, moved or cut."""
    lines = data.split(b"\n")
    at, way = chance.randrange(len(lines)), chance.randrange(8)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(chance.randrange(len(lines) + 1), lines[at])
    elif way == 2:
        return of_bytes(data, chance)
    else:
        lines[at] = of_json(lines[at], chance)
    return b"\n".join(lines)


_TOML = (
    "nan", "inf", "-1", "0", "1e308", "1e-308", "true", "''", '"all"', "[]", "[1, 2]", "[1.0, nan]", "[[1], 2]", "0.3",
    "[0, 1, 1000000000]", "{}", "[{}]", "2020-01-01", "9223372036854775807", "99999999999999999999999", '"chain:3"',
    '"\\u202e"', '["abia", "cfa"]', "[0.1, 0.2]",
)  # fmt: skip


def of_toml(data: bytes, chance: Chance) -> bytes:
    """Lines of TOML, of one of them the value or the key another, or one lost, doubled, moved or cut."""
    lines = data.split(b"\n")
    at, way = chance.randrange(len(lines)), chance.randrange(10)
    key, equals, _ = lines[at].partition(b"=")
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(chance.randrange(len(lines) + 1), lines[at])
    elif way == 2:
        return of_bytes(data, chance)
    elif way == 3 and equals:
        other = chance.choice([line for line in lines if b"=" in line])
        lines[at] = other.partition(b"=")[0] + lines[at][len(key) :]
    elif equals:
        lines[at] = key + b"= " + chance.choice(_TOML).encode()
    return b"\n".join(lines)


def of_array(data: bytes, chance: Chance) -> bytes:
    """An .npy file with another header, other numbers, or bytes cut out."""
    end = data.find(b"\n") + 1
    way = chance.randrange(5)
    if way == 0 or not data.startswith(b"\x93NUMPY") or end <= 10:
        return of_bytes(data, chance, (b"\x93NUMPY\x01\0", b"\0" * 8, b"\xff" * 8))
    header, numbers = data[10 : end - 1], data[end:]
    if way == 1:
        numbers = of_bytes(numbers, chance, (b"\0\0\0\0\0\0\xf8\x7f", b"\0\0\0\0\0\0\xf0\xff", b"\xff" * 8, b"\0" * 8))
    elif way == 2:
        old = chance.choice((b"<f8", b"<i4", b"|b1", b"<f4", b"<i8", b"<U"))
        new = chance.choice((b"|O", b"<f8", b"<f2", b">f8", b"<i8", b"<c16", b"|b1", b"<U3", b"<M8[s]", b"|V8", b"|S0"))
        header = header.replace(old, new)
    elif way == 3:
        shape = chance.choice(
            (b"()", b"(0,)", b"(1, 1)", b"(-1, 4)", b"(99999999, 99999999)", b"(2, 3, 4)", b"(1L, 2)")
        )
        at, closing = header.find(b"("), header.find(b")")
        header = header[:at] + shape + header[closing + 1 :]
    else:
        header = of_bytes(header, chance, (b"(", b"True", b"'", b"{", b"9" * 20, b"[" * 50))
    header = header[:60000] + b"\n"
    return data[:8] + len(header).to_bytes(2, "little") + header + numbers


def of_archive(data: bytes, chance: Chance) -> bytes:
    """An archive, as .npz and .zae files are, with one member mutated, removed or renamed; now and then as bytes."""
    if chance.randrange(10) == 0:
        return of_bytes(data, chance, (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\0" * 4, b"\xff" * 4))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except Exception:  # a mutated archive, which may be broken in any way
        return of_bytes(data, chance)
    if not members:
        return data
    name = chance.choice(list(members))
    way = chance.randrange(12)
    if way == 0:
        del members[name]
    elif way == 1:
        other = chance.choice((name + "x", "../" + name, chance.choice(list(members))))
        members[other] = members.pop(name)
    elif way == 2:
        members[name] = members[chance.choice(list(members))]
    elif name in ("settings.npy", "setups.npy", "setup.npy"):
        members[name] = _text_array(members[name], chance)
    elif members[name].lstrip()[:1] == b"<":
        members[name] = of_xml(members[name], chance)
    else:
        members[name] = of_array(members[name], chance)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return made.getvalue()


def _text_array(data: bytes, chance: Chance) -> bytes:
    """An .npy file of one text, which is JSON."""
    import numpy as np

    try:
        text = str(np.load(io.BytesIO(data), allow_pickle=False))
    except Exception:  # mutated before
        return of_array(data, chance)
    made = io.BytesIO()
    mutated = of_json(text.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "replace")
    np.save(made, np.array(mutated))
    return made.getvalue()
