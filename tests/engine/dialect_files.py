"""Robot files with one oddity each: those in `dialects/`, and those that expected.toml makes of one by a change."""

import shutil
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "dialects"
BASE = FOLDER / "swing.urdf"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
for _expected in EXPECTED.values():
    if ": error: " not in _expected.get("said", ""):
        _expected.setdefault("read", {"mass": 2.0})


def contents() -> dict[str, bytes]:
    """Return the files' contents, by their names without ".urdf", sorted."""
    found = {path.stem: path.read_bytes() for path in FOLDER.glob("*.urdf") if path != BASE}
    base = BASE.read_bytes().decode()
    for name, message in EXPECTED.items():
        if "change" in message:
            found[name] = changed(base, message["change"]).encode()
    return dict(sorted(found.items()))


def changed(text: str, change: list[list[str]]) -> str:
    """The text after each change of a text that is in it once by another."""
    for old, new in change:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def write(folder: Path) -> Path:
    """Write them all, with what they name as it lies here, into a folder "dialects" two below this, and return that."""
    made = folder / "tests" / "engine" / "dialects"
    made.mkdir(parents=True)
    shutil.copy(FOLDER / "plate.obj", made)
    (folder / "pyproject.toml").write_text("[project]")
    for name, content in contents().items():
        (made / f"{name}.urdf").write_bytes(content)
    return made
