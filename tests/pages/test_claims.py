"""Pages state what the program has, and every number in them is claimed, measured or exempted."""

import importlib
from pathlib import Path

import page_text
import pytest

for _path in sorted(Path(__file__).parent.glob("claims_*.py")):
    importlib.import_module(_path.stem)


def _named(claims: list[tuple[str, page_text.Claims]], *marks: pytest.MarkDecorator) -> list:
    return [pytest.param(page, each, id=f"{page}-{each.__name__}", marks=marks) for page, each in claims]


@pytest.mark.parametrize(("page", "claims"), [*_named(page_text.CLAIMS), *_named(page_text.SLOW, pytest.mark.slow)])
def test_what_a_page_states_is_what_the_program_has(page: str, claims: page_text.Claims) -> None:
    made = list(claims())
    assert made
    missing = page_text.missing(page, made)
    assert missing == [], "\n".join([f"{page} does not say:", *missing])


@pytest.mark.parametrize("page", sorted({page for page, _ in page_text.CLAIMS}))
def test_every_number_of_a_page_is_claimed_or_told_to_be_nobodys(page: str) -> None:
    """A new sentence with a number wants a claim, or a reason why no program has that number."""
    left = page_text.untold(page)
    assert left == [], "\n".join([f"{page} has numbers that no claim and no exemption has:", *left])


def test_every_exemption_is_of_something() -> None:
    gone = [(page, part) for page, part, _ in page_text.EXEMPT if page and not list(page_text.spans(page, [part]))]
    assert gone == []
