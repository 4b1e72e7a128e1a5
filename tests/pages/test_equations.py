"""Every equation of the pages stands there as it is here, and holds of what the program computes."""

from __future__ import annotations

import re

import equations
import equations_contact
import equations_scheme
import equations_step
import page_text
import pytest

ROOMS = (equations_contact, equations_scheme, equations_step)
MANY = {"docs/scheme.md": 25, "docs/contact.md": 15}


def formulas(page: str) -> list[str]:
    """Those in the table."""
    return [each for of, many, _ in equations.CHECKS if of == page for each in many]


@pytest.mark.parametrize(
    "check", {each[2].__name__: each[2] for each in equations.CHECKS}.values(), ids=lambda x: x.__name__
)
def test_equations_hold(check: equations.Check) -> None:
    check()


@pytest.mark.parametrize("page", [*MANY, "docs/step.md"])
def test_every_displayed_equation_is_in_the_table_and_every_entry_on_its_page(page: str) -> None:
    shown, within, told = equations.displayed(page), equations.inline(page), formulas(page)
    assert [each for each in shown if each not in told] == []
    assert [each for each in told if each not in shown and each not in within] == []


@pytest.mark.parametrize("page", MANY)
def test_numbers_of_equations_go_on_without_a_gap(page: str) -> None:
    numbers = [int(found) for each in equations.displayed(page) for found in re.findall(r"\\tag{(\d+)}", each)]
    assert numbers == list(range(1, MANY[page] + 1))


def test_every_formula_in_a_sentence_that_states_a_law_of_the_step_is_in_the_table() -> None:
    told = formulas("docs/step.md")
    assert [each for each in equations.inline("docs/step.md") if equations.states(each) and each not in told] == []
    assert page_text.source("docs/step.md").count("$$") == 4
