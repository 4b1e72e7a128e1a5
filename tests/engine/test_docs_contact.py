"""docs/contact.md: its figures are those of the run that is kept, and GitHub typesets its equations."""

import json
import re
from pathlib import Path

from engine.bench.suites import contact

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contact.md").read_text("utf-8")
PROSE = re.sub(r"```.*?```|`[^`]*`", "", PAGE, flags=re.DOTALL)
PRINTED = json.loads((ROOT / "resources" / "measurements" / "contact-2-cores.json").read_text("utf-8"))


def test_the_figures_of_the_page_are_those_of_the_run():
    assert [row["key"] for row in PRINTED["rows"]] == list(contact.TITLES)
    assert f"\n\n{contact.markdown(PRINTED['rows'])}\n" in PAGE


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


def test_files_that_the_page_names_exist():
    folders = (ROOT, ROOT / "engine" / "cpu" / "constraints")
    names = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert names
    assert {name for name in names if not any((folder / name).is_file() for folder in folders)} == set()
