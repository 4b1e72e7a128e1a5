"""A study's controller: its file is checked without execution, then executed for each sample separately.

Inputs are the file and a sample's parameters; outputs are efforts (nv,), N m or N, held for as long as the file
specifies.
"""

from __future__ import annotations

import ast
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import files
from engine.controller import Controller, OwnController
from engine.model import Model
from engine.simulation import Simulation


@dataclass(frozen=True)
class Program:
    """A controller's file: its path on the machine that leads the study, and its content."""

    path: Path
    content: bytes

    @classmethod
    def read(cls, path: Path) -> Program:
        """Read the file. Raises OSError, and ValueError if it is not a Python file with a `control`."""
        program = cls(path.absolute(), files.content(path))
        names = program._names()
        if not {"control", "*"} & names.keys():
            raise ValueError(f"{path.name} has no function control(t, q, v)")
        return program

    @property
    def digest(self) -> str:
        """Return a hash of the content."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @property
    def parameters(self) -> list[str]:
        """Return the names assigned at its top level, with their values."""
        return [name for name, assigned in self._names().items() if assigned]

    @property
    def period(self) -> float | None:
        """Return the PERIOD that it assigns at its top level, s; None if it assigns none, or not as a plain number."""
        value = None
        for node in self._statements():
            if isinstance(node, ast.Assign) and any(ast.unparse(target) == "PERIOD" for target in node.targets):
                value = node.value
        plain = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
        return float(value.value) if plain else None  # type: ignore[union-attr]

    def _statements(self) -> list[ast.stmt]:
        """Return the statements at its top level."""
        try:
            return ast.parse(self.content).body
        except SyntaxError as error:
            raise ValueError(f"{self.path.name}, line {error.lineno}: SyntaxError: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{self.path.name} is not a Python file ({error})") from None

    def _names(self) -> dict[str, bool]:
        """Return the names bound at its top level, and whether by assignment; "*" if undecidable."""
        names: dict[str, bool] = {}
        for node in self._statements():
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                inside = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
                names |= {name.id: True for name in inside}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.asname or alias.name: False for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[node.name] = False
        return names

    @contextmanager
    def placed(self) -> Iterator[Path]:
        """Return a file with this content: the user's, or if missing or changed, a copy in an empty folder."""
        if self.path.is_file() and files.content(self.path) == self.content:
            yield self.path
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.path.name
            path.write_bytes(self.content)
            yield path


class Driver:
    """Runs the file for the samples of a batch; each executes it again, with a random generator of its own.

    It runs in a child process, or in this process if that does nothing else and can be killed.
    """

    def __init__(self, path: Path, model: Model, seed: int, here: bool):
        self._path, self._model, self._seed, self._here = path, model, seed, here
        self._controller: Controller | OwnController | None = None

    def begin(self, sample: int, parameters: Mapping[str, float]) -> None:
        """Execute the file with these `parameters` instead of its own. Raises ControllerError."""
        seed = int(np.random.SeedSequence((self._seed, sample)).generate_state(1)[0])
        if self._controller is None and self._here:
            self._controller = OwnController(self._path, self._model, parameters, seed)
        elif self._controller is None:
            self._controller = Controller(self._path, self._model, None, parameters, seed)
        else:
            self._controller.load(parameters, seed)
        self._controller.wait()

    def advance(self, simulation: Simulation, advance: Callable[[int], None], steps: int) -> None:
        """Drive the one robot for `steps` steps, which `advance` takes. Raises ControllerError."""
        assert self._controller is not None
        held, end = self._controller.every(simulation.dt), simulation.steps + steps
        while (now := simulation.steps) < end:
            if simulation.diverged[0]:
                advance(end - now)
                return
            if now % held == 0:
                (q,), (v,) = simulation.state()
                simulation.tau[:] = simulation.array(self._controller(simulation.time, q, v)[None])
            advance(min(end, now - now % held + held) - now)

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        if self._controller is not None:
            self._controller.end()
