"""docs/step.md quotes the step's text as it stands, and its example runs."""

import re

import page_text
import pytest

PAGE = page_text.source("docs/step.md")
QUOTES = re.findall(r"```python\n# (engine/\S+)\n(.*?)```", PAGE, re.DOTALL)


def test_there_are_quotes_of_each_part():
    assert len(QUOTES) >= 8
    assert {path.rsplit("/", 1)[1] for path, _ in QUOTES} >= {"motion.py", "step.py", "touching.py"}


@pytest.mark.parametrize(("path", "lines"), QUOTES)
def test_lines_stand_in_their_file(path: str, lines: str):
    assert lines in (page_text.ROOT / path).read_text("utf-8")


def test_the_example_ends_as_it_says():
    (example,) = re.findall(r"```python\n(import numpy.*?)```", PAGE, re.DOTALL)
    *before, last = example.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(before), names)
    assert eval(last.split("#")[0], names) is True or bool(eval(last.split("#")[0], names))


def test_every_file_and_function_that_it_names_is_there():
    names = set(re.findall(r"`(\w+\.py)`", PAGE))
    assert all((page_text.ROOT / "engine" / "algorithms" / name).exists() for name in names)
