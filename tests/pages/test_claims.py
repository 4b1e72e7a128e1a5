"""What pages state is what the program has; and every number in them is one of these, or measured, or told apart."""

from __future__ import annotations

import claims_contact
import claims_contact_gpu
import claims_help
import claims_measured
import claims_readme
import page_text
import pytest

ROOMS = (claims_contact, claims_contact_gpu, claims_help, claims_measured, claims_readme)


@pytest.mark.parametrize(
    ("page", "claims"), page_text.CLAIMS, ids=[f"{page}-{claims.__name__}" for page, claims in page_text.CLAIMS]
)
def test_what_a_page_states_is_what_the_program_has(page: str, claims: page_text.Claims) -> None:
    made = list(claims())
    assert made
    missing = page_text.missing(page, made)
    assert missing == [], "\n".join([f"{page} does not say:", *missing])
