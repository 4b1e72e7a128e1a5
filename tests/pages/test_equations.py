"""Every equation of the pages is listed here, is typeset correctly, and holds for the program's results."""

import re

import equations
import equations_contact
import equations_scheme
import equations_step
import pytest
from page_text import ROOT
from test_plain_english import remarks

MODULES = (equations_contact, equations_scheme, equations_step)
MANY = ("docs/scheme.md", "docs/contact.md")
LETTERS = dict(zip((*MANY, "docs/contact_solver.md", "docs/contact_solver_gpu.md"), ("", "C", "S", "G"), strict=True))
"""Before the numbers of a page's equations."""
TAG = re.compile(r"\\tag{(\w+)}")
PAPERS = re.compile(r"\[[YB]\] (?:below )?\(\d+[a-d]?\)(?:(?:, |–| and )\(\d+[a-d]?\))*")
BARE = re.compile(r"\(\d[a-d]\)|(?:^|[,;:.–]|\b(?:and|below|by|evaluates?|from|in|of|see)) ?\(\d{1,2}\)", re.I | re.M)
CASES = {
    "docs/scheme.md": (
        *(r"V = (\omega, v)", r"F = (n, f)", r"i = 1 \ldots n", r"\ddot q = 0", "i = 1", "s = 1", "k = 1", "k = 0"),
        *("k = n", r"M = L^T D L", r"M = 1 + Y_1 \hat I_2", "M X = M", "D^{-1} = 0", r"1 + Y_1 \hat I_2"),
        *(r"\tau_\mathrm{bias}", r"x \mapsto A_i x + b_i", r"(\hat I, \Phi, Y, b, p)"),
        *(r"M^{-1} (\tau - \mathrm{ID}(\ddot q))", r"\tau - \mathrm{ID}(\ddot q)"),
        r"\lVert \mathrm{ID}(\ddot q) - \tau \rVert / \lVert \tau_\delta \rVert",
        *(r"2 \lceil \log_2 n \rceil", r"\lceil \log_2 n \rceil", r"6 \lceil \log_2 n \rceil"),
        *(r"10 \lceil \log_2 n \rceil", r"O((1 + r) n \log n)", r"O((1 + r) \log n)", r"O(k + \log n)"),
    ),
    "docs/contact.md": (
        *("u = 0", "f = 0", "lo = 0", r"hi = \infty", "e = 1", "e = 0", "u_n = 0", r"\eta = 0", r"\nu = 0"),
        *(r"\delta = \nu", r"\delta = 0", r"\sigma \ge 0.1", r"\mu = 10^6", r"n_v \times n_v"),
        *("(n, t_1, t_2)", r"\mu \lambda_n", r"\mu \lVert u_t \rVert", r"\mathrm{soft}(y, s)", r"\epsilon^{0.6}"),
        *(r"G \lambda + b", r"\lVert w_t \rVert", r"\lvert b \rvert", r"\tfrac{2}{3} n^3 + 8 n^2"),
        r"2 n m^2 + \tfrac{2}{3} m^3 + 8 n m",
    ),
    "docs/step.md": (r"\mathrm{ad}(V_i)",),
}
"""Formulas in sentences that name a case, a quantity, a size or a count of steps and operations."""


def formulas(page: str) -> list[str]:
    """Return the formulas in the table."""
    return [each for of, many, _ in equations.CHECKS if of == page for each in many]


@pytest.mark.parametrize(
    "check", {each[2].__name__: each[2] for each in equations.CHECKS}.values(), ids=lambda x: x.__name__
)
def test_equations_hold(check: equations.Check) -> None:
    check()


@pytest.mark.parametrize("page", [*MANY, "docs/step.md"])
def test_every_displayed_equation_is_in_the_table_and_every_entry_on_its_page(page: str) -> None:
    shown, within, reported = equations.displayed(page), equations.inline(page), formulas(page)
    assert [each for each in shown if each not in reported] == []
    assert [each for each in reported if each not in shown and each not in within] == []


@pytest.mark.parametrize("page", LETTERS)
def test_equations_are_numbered_in_their_order(page: str) -> None:
    numbers = TAG.findall(equations.page_text.prose(page))
    assert len(numbers) > 1
    assert numbers == [f"{LETTERS[page]}{k + 1}" for k in range(len(numbers))]


@pytest.mark.parametrize("page", MANY)
def test_equations_that_a_page_cites_are_there(page: str) -> None:
    text = re.sub(
        r"`[^`]*`|\|.*\||## References.*?(?=\n# |\Z)|\n- \*\*\[.*", "", equations.prose(page), flags=re.DOTALL
    )
    cited = set(re.findall(r"(?<!\[Y\] )\(([CSG]?\d{1,2})\)", text))
    assert cited <= {number for each in equations.displayed(page) for number in TAG.findall(each)}


def test_equations_that_sources_cite_are_on_the_page() -> None:
    """Those of contact, such as (C2)."""
    shown = {number for each in equations.displayed("docs/contact.md") for number in TAG.findall(each)}
    files = [path for kind in ("*.py", "*.cu", "*.cuh") for path in (ROOT / "engine").rglob(kind)]
    cited = {number for path in files for number in re.findall(r"\(([CSG]\d{1,2})\)", path.read_text("utf-8"))}
    assert len(cited) > 8
    assert cited <= shown


def test_sources_cite_a_papers_equations_with_the_paper() -> None:
    """(2a) or «by (15)» alone could also be the number of scheme.md; «I (6)» is a size."""
    files = [path for kind in ("*.py", "*.cu", "*.cuh") for path in (ROOT / "engine").rglob(kind)]
    found = [(path.name, *each) for path in files for each in remarks(path)]
    assert len([text for *_, text in found if PAPERS.search(text)]) > 40
    bare = [each for each in found if BARE.search(PAPERS.sub("", each[-1]))]
    assert bare == []


@pytest.mark.parametrize("page", [*MANY, "docs/step.md"])
def test_every_equation_is_one_that_github_typesets(page: str) -> None:
    """Markdown eats a backslash before punctuation; GitHub refuses \\operatorname; $ comes in pairs, in one line."""
    prose = re.sub(r"`[^`]*`", "", equations.prose(page))
    for equation in (*equations.displayed(page), *equations.inline(page)):
        assert not re.search(r"\\[^A-Za-z]|operatorname|newcommand|[<>*|\n]", equation), equation
        assert equation.count("{") == equation.count("}"), equation
    for line in prose.splitlines():
        assert re.fullmatch(r"\$\$ .+ \$\$", line) or "$$" not in line, line
        assert line.count("$") % 2 == 0, line


@pytest.mark.parametrize("page", [*MANY, "docs/step.md"])
def test_every_formula_in_a_sentence_that_states_a_law_is_in_the_table(page: str) -> None:
    """All with a sign of relation, and all that are long, but those that name a case, a size or a count."""
    reported = {*formulas(page), *CASES.get(page, ())}
    within = equations.inline(page)
    assert [each for each in within if (equations.states(each) or len(each) > 12) and each not in reported] == []
    assert [each for each in CASES.get(page, ()) if each not in within] == []
