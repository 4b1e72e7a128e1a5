"""docs/contact.md: GitHub typesets its equations; tests/pages holds what it says to the program."""

import json
import re
from pathlib import Path

from tests.bench import contact

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contact.md").read_text("utf-8")
PROSE = re.sub(r"```.*?```|`[^`]*`", "", PAGE, flags=re.DOTALL)
MEASURED = json.loads((ROOT / "tests" / "pages" / "measured.json").read_text("utf-8"))


def test_the_run_that_is_kept_has_all_rows():
    assert list(MEASURED["contact-2-cores"]["rows"]) == list(contact.TITLES)


def test_every_equation_is_one_that_github_typesets():
    displayed = re.findall(r"\$\$(.*?)\$\$", PROSE, re.DOTALL)
    inline = re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.*?\$\$", "", PROSE, flags=re.DOTALL))
    assert displayed
    for equation in (*displayed, *inline):
        assert not re.search(r"\\[^A-Za-z]|operatorname|newcommand|[<>*|\n]", equation), equation
        assert equation.count("{") == equation.count("}"), equation
    for line in PROSE.splitlines():
        assert re.fullmatch(r"\$\$ .+ \$\$", line) or "$$" not in line, line
        assert line.count("$") % 2 == 0, line


def test_equations_are_numbered_in_order_and_what_is_cited_is_there():
    numbers = [int(number) for number in re.findall(r"\\tag\{(\d+)\}", PAGE)]
    assert numbers == list(range(1, len(numbers) + 1))
    text, _, _ = re.sub(r"\|.*\|", "", PROSE).partition("## References")
    assert {int(n) for n in re.findall(r"\((\d{1,2})\)", text)} <= set(numbers)
