"""Equations of lessons, as the window and pages have them."""

import re
import unicodedata
from functools import partial
from pathlib import Path

import pytest
from lxml import html

from engine.lessons import equations, text


def test_equations_become_marks() -> None:
    assert equations.as_html("Xᵢ₊₁ᵀ F_next") == "<i>X</i><sub><i>i</i>+1</sub><sup>T</sup>&nbsp;<i>F</i><sub>next</sub>"
    made = equations.as_mathml("q̈ = (1 + Y₁ I₂)⁻¹")
    assert '<mover accent="true"><mi>q</mi><mo>¨</mo></mover>' in made
    assert "<msub><mi>Y</mi><mrow><mn>1</mn></mrow></msub>" in made
    assert '<msup><mo stretchy="false">)</mo><mrow><mo>−</mo><mn>1</mn></mrow></msup>' in made
    transposed = '<msubsup><mi>U</mi><mrow><mi>i</mi></mrow><mrow><mi mathvariant="normal">T</mi></mrow></msubsup>'
    assert transposed in equations.as_mathml("Uᵢᵀ")


def test_words_in_equations_are_one_sign_and_products_stand_apart() -> None:
    assert "<msub><mi>F</mi><mrow><mi>next</mi></mrow></msub>" in equations.as_mathml("F_next")
    assert "<mrow><mi>c</mi><mo>,</mo><mi>i</mi></mrow>" in equations.as_mathml("F_cᵢ")
    function = equations.as_mathml("−ad(V) S")
    assert function.index('<mo form="prefix">−</mo><mi>ad</mi>') > 0
    assert equations.as_mathml("a − b = c").count("<mspace") == 0
    assert function.count("<mspace") == equations.as_mathml("(1 + Y₁ I₂)⁻¹").count("<mspace") == 1


def test_equations_of_a_line_are_set_one_by_one_so_that_it_can_be_broken() -> None:
    two = html.fromstring(f"<div>{equations.as_mathml('a = b    −c = d')}</div>")
    assert [each.text_content() for each in two] == ["a=b", "−c=d"]
    assert [each.get("display") for each in two] == ["block"] * 2


def test_a_line_is_broken_between_equations_and_in_a_long_one_before_signs() -> None:
    words = [
        html.fromstring(equations.as_html(each)).text_content() for each in ("τ = Sᵀ F    a = b", "A₂ B₁ = " * 9 + "c")
    ]
    assert [len(each.split(" ")) for each in words] == [2, 10]
    assert words[1].split(" ")[1] == "=\xa0A2\xa0B1"


@pytest.mark.parametrize("path", sorted(text.FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_every_equation_is_read_whole(path: Path) -> None:
    """What its marks say, one sign after the other, is what was written."""
    for section in text.parse(path.stem, path.read_text("utf-8")).sections:
        found = [words.strip() for words in section.paragraphs if words.startswith("    ")]
        found += [each for words in section.paragraphs for each in re.findall(r"\$([^$]+)\$", words)]
        for equation in found:
            for make in (equations.as_mathml, partial(equations.as_mathml, display=False), equations.as_html):
                words = make(equation)
                root = html.fromstring(f"<div>{words}</div>")
                assert "_" not in root.text_content(), equation
                assert not set("ᵀ⁻¹ᵢⱼ₊₋₁₂ₘₛ") & set(root.text_content()), equation
                assert letters(root.text_content()) == letters(equation), equation


def letters(words: str) -> list[str]:
    """Which letters and numbers there are, raised and lowered or not."""
    return sorted(x for x in unicodedata.normalize("NFKD", words) if x.isalnum())
