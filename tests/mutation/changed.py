"""Has a module imported with another text, in this program and in those that it starts."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
import warnings
from pathlib import Path


def put(name: str, path: str, shadow: str) -> None:
    """Import the module of that name, which lies at `path`, with the text of the file `shadow`."""
    sys.meta_path.insert(0, _Finder(name, _Loader(name, path, shadow)))


def put_everywhere(name: str, path: Path, text: str, folder: Path) -> Path:
    """`put` that text, stored in `folder`, here and in every Python program started from here; return its file."""
    shadow = folder / "mutant.py"
    shadow.write_text(text, "utf-8")
    words = (name, str(path), str(shadow))
    own = folder / "site"
    own.mkdir()
    lines = (
        "import sys",
        f"sys.path.append({str(Path(__file__).parent)!r})",
        "import changed",
        f"changed.put(*{words!r})",
    )
    (own / "sitecustomize.py").write_text("\n".join(lines), "utf-8")
    sys.path.append(str(own))  # which programs that hand on their paths do
    os.environ["PYTHONPATH"] = os.pathsep.join((str(own), os.environ.get("PYTHONPATH", "")))
    put(*words)
    return shadow


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, loader: _Loader):
        self._name, self._loader = name, loader

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._loader.path, loader=self._loader)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loader of a module at its own path, with code attributed to the other file, where kernels' sources are read."""

    def __init__(self, name: str, path: str, shadow: str):
        super().__init__(name, path)
        self._shadow = shadow

    def get_code(self, _: str) -> types.CodeType:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return compile(Path(self._shadow).read_text("utf-8"), self._shadow, "exec", dont_inherit=True)
