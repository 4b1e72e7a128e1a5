"""A quantity has one name in the kernels in Python and in those written by hand for a GPU."""

import ast
import re
from pathlib import Path

import pytest

from engine.cuda.runtime import compiler

KERNELS = Path(__file__).parents[2] / "engine/kernels"
FUNCTIONS = {
    ("joint_constraints.py", "constraints/active_set.cuh"): (
        "velocity_bounds", "held_velocity", "initial_mode", "feasible_mode", "next_mode_of_held",
        "next_mode_of_sliding", "friction_excess",
    ),
    ("joint_constraints.py", "constraints/contact_law.cuh"): ("joint_law",),
    ("active_set.py", "constraints/joint_constraints.cuh"): ("set_feasible", "take_step", "release"),
    ("active_set.py", "constraints/active_set_rounds.cuh"): ("take_step",),
    ("gains_and_damping.py", "constraints/joint_constraints.cuh"): ("added_inertia",),
    ("contact/cone_algebra.py", "constraints/interior_rows.cuh"): ("jordan", "divided", "to_boundary"),
    ("contact/interior.py", "constraints/interior_rows.cuh"): ("friction_damping", "damping", "length_to_boundary"),
    ("contact/interior.py", "constraints/interior_point.cuh"): ("mean_complementarity",),
    ("contact/interior.py", "constraints/interior_by_paths.cuh"): ("mean_complementarity",),
    ("contact/interior.py", "constraints/limb_interior.cuh"): ("mean_complementarity",),
    ("contact/newton_matrix.py", "constraints/contact_law.cuh"): ("linearise_joint",),
    ("contact/newton_matrix.py", "constraints/limb_newton.cuh"): ("linearise_contact",),
}  # fmt: skip
"""By the two files, the functions that both define."""
SYMBOLS = {
    ("joint_constraints.py", "velocity_bounds", "constraints/active_set.cuh", "velocity_bounds"): {"q"},
    ("contact/newton_matrix.py", "linearise_contact", "constraints/contact_law.cuh", "sliding"): set(),
    ("contact/newton_matrix.py", "linearise_joint", "constraints/contact_law.cuh", "linearise_joint"):
        {"low", "high", "slides"},
    ("active_set.py", "take_step", "constraints/active_set.cuh", "blocking_step"):
        {"within", "f", "has_friction", "forward"},
}  # fmt: skip
"""By two functions that compute the same, the names that only the second has."""
PAIRS = "contact/interior.py", "constraints/interior_rows.cuh"
MODES = "joint_constraints.py", "constraints/active_set.cuh"


def tree_of(path: str) -> ast.Module:
    return ast.parse((KERNELS / path).read_text("utf-8"))


def text_of(path: str) -> str:
    return re.sub(r"//.*", "", (compiler.FOLDER / path).read_text("utf-8"))


def python_functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name.lstrip("_"): node for node in tree.body if isinstance(node, ast.FunctionDef)}


def python_symbols(function: ast.FunctionDef) -> set[str]:
    """Parameters, and what is assigned to."""
    stored = {x.id for x in ast.walk(function) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    return stored | {x.arg for x in function.args.args}


def cuda_functions(text: str) -> dict[str, str]:
    """By its name, each function's parameters and body."""
    found = {}
    for match in re.finditer(r"\b(\w+)\(([^{};]*)\)\s*(?:const\s*)?\{", text):
        end, depth = match.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found.setdefault(match[1], f"{match[2]},{text[match.end() : end]}")
    return found


def cuda_symbols(function: str) -> set[str]:
    """Parameters, and variables that are declared."""
    function = " ".join(function.split())
    kinds = r"(?:Real|bool|int|Mode|Vector<Real>|Interval<Real>&)"
    parameters = re.findall(rf"\b{kinds} (\w+)(?=,)", function)
    declared = re.findall(rf"\b{kinds} (\w+ = [^;]*);", function)
    return {*parameters, *(name for each in declared for name in re.findall(r"(?:^|, )(\w+) = ", each))}


@pytest.mark.parametrize("files", FUNCTIONS, ids=" ".join)
def test_both_texts_define_these_functions(files):
    ours, theirs = python_functions(tree_of(files[0])), cuda_functions(text_of(files[1]))
    assert [name for name in FUNCTIONS[files] if name not in ours] == []
    assert [name for name in FUNCTIONS[files] if name not in theirs] == []


@pytest.mark.parametrize("texts", SYMBOLS, ids=lambda texts: f"{texts[1]} {texts[3]}")
def test_what_they_compute_has_the_same_symbols(texts):
    path, name, cuda_path, cuda_name = texts
    ours = python_symbols(python_functions(tree_of(path))[name])
    theirs = cuda_symbols(cuda_functions(text_of(cuda_path))[cuda_name])
    assert theirs - ours == SYMBOLS[texts]


def enumerators(text: str, first: str) -> list[str]:
    """The names of the enumeration that begins so."""
    names = re.search(rf"\{{\s*({first}\b[^}}]*)\}}", text)
    assert names is not None
    return [name.strip() for name in names[1].split(",")]


def targets(tree: ast.Module, first: str) -> list[str]:
    """The names that a statement assigns to, from `first` on, without the underscore of private ones."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [each.id.lstrip("_") for each in node.targets[0].elts if isinstance(each, ast.Name)]
            if names[0] == first:
                return names
    raise AssertionError(first)


def test_complementarity_pairs_and_modes_have_the_same_order():
    pairs = enumerators(text_of(PAIRS[1]), "UP")
    assert pairs == [*targets(tree_of(PAIRS[0]), "UP"), "NUMBERS"]
    assert enumerators(text_of(MODES[1]), "LOW") == targets(tree_of(MODES[0]), "LOW")


def test_another_name_would_be_seen():
    text = "Real f(Real x, bool on) {\n    const Real a = g(x, on),\n        b = x;\n    if (on) { return a; }\n}"
    assert cuda_symbols(cuda_functions(text)["f"]) == {"x", "on", "a", "b"}
    function = python_functions(ast.parse("def _f(x, on):\n    a, b = x, 0\n    c = a\n"))["f"]
    assert python_symbols(function) == {"x", "on", "a", "b", "c"}
