"""NVRTC's requirements on the kernels' sources that nvcc, used without a GPU, does not check."""

import re
from pathlib import Path

import pytest

from engine.cuda.runtime import compiler

TEXTS = sorted(path for path in compiler.FOLDER.rglob("*.cu*") if path.suffix in (".cu", ".cuh"))
# A function's head at the outermost level, up to its body.
NO_FUNCTION = r"(?!\s|#|//|\}|namespace|struct|class|extern|union|enum)"
HEAD = re.compile(rf"^{NO_FUNCTION}[^;{{}}]*\([^;{{}}]*\)\s*(?:const\s*)?(?=\{{)", re.M)
DEVICE = re.compile(r"__(device|global)__|\b(FUNCTION|THREAD_GROUP_KERNEL)\b")  # the last two are macros that say it
GENERIC = re.compile(r"\]\s*\([^)]*\bauto\b")  # a lambda with a parameter of any type


def without_comments(text: str) -> str:
    return re.sub(r"//.*", "", text)


def host_functions(text: str) -> list[str]:
    heads = (match.group() for match in HEAD.finditer(without_comments(text)))
    return [head.strip() for head in heads if not DEVICE.search(head)]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(compiler.FOLDER)))
def test_every_function_is_the_devices(path: Path) -> None:
    assert host_functions(path.read_text()) == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(compiler.FOLDER)))
def test_no_lambda_is_generic(path: Path) -> None:
    assert GENERIC.findall(without_comments(path.read_text())) == []


def test_a_function_of_the_host_would_be_seen() -> None:
    text = "constexpr unsigned first(int lane) { return 1u << lane; }\n__device__ int second(int n) { return n; }\n"
    assert host_functions(text) == ["constexpr unsigned first(int lane)"]
    assert GENERIC.findall("const auto f = [&](auto x) { return x; };")
