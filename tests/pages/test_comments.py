"""Comments on lines of the pages' examples: each line is listed here, is run, and its comment is true."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import page_text
import pytest
import test_words
from page_text import ROOT

import engine

Names = dict[str, object]
SAID: dict[str, Callable[[SimpleNamespace], None]] = {}
OF_A_GPU = (
    "uv run python -m tests.bench --suite growth --picture docs/figures/growth.png      # on a GPU",
    "uv run python -m tests.bench --suite step-growth --picture docs/figures/step-growth.png      # on a GPU",
)
OF_THE_SHELL = (
    "uv run main.py robots/arm7.urdf        # the window; with no screen: uv run main.py run robots/arm7.urdf",
    "uv run pytest -n auto                  # the tests",
    "uv run main.py lesson dca --stage 3 --robot arm7   # the window, with a lesson from a step on",
    "uv run main.py lessons --out lessons               # all lessons as pages for a browser; they need no network",
    "uv run main.py paper --out FOLDER            # some minutes; --short: half a minute on a CPU",
    "pip install pyarrow                                        # results are Parquet",
    "uv run main.py study docs/studies/pushed_quadruped.toml    # results in docs/studies/pushed_quadruped.results",
    "uv run main.py study FILE.toml --on auto                   # the Ray cluster that this machine belongs to",
    "uv run main.py study FILE.toml --on ray://HOST:10001       # one elsewhere",
    "uv run main.py study FILE.toml --on local-cluster          # a cluster of this machine alone",
    "uv run pytest tests/differential                # some hundred cases, half of them by CATENA_SEED",
    "uv run pytest tests/differential -m slow        # by the thousand",
    "uv run pytest tests/differential -m gpu         # the kernels of a GPU",
)
"""Comments on shell calls, whose options test_options.py checks."""


def of(line: str) -> Callable[[Callable[[SimpleNamespace], None]], None]:
    """Enter what is to hold after a line of an example, given the names that it has and makes."""

    def enter(check: Callable[[SimpleNamespace], None]) -> None:
        SAID[line] = check

    return enter


def examples() -> dict[str, list[str]]:
    """Lines with a comment in the examples of the README and of docs/, by language."""
    found: dict[str, list[str]] = {"python": [], "sh": []}
    for page in page_text.PAGES:
        for language, lines in found.items() if page not in ("CONTRIBUTING.md", "docs/testing.md") else ():
            examples = "\n".join(page_text.blocks(page, language)).splitlines()
            lines += [line for line in examples if re.search(r"\S.*#", line)]
    return found


def names() -> Names:
    """Return the names with which examples begin: an arm in a bent posture, and a quadruped placed on the ground."""
    arm, dog = (engine.load(engine.find_robot(name)) for name in ("arm7", "quadruped"))
    scene = engine.Scene()
    standing = engine.Simulation(dog, scene=scene, q=engine.put_down(dog, scene, dog.neutral()), device="cpu")
    standing.step()
    bent, free = arm.random(np.random.default_rng(1)), engine.Parameters(arm, 1)
    free.friction[:] = free.damping[:] = 0
    sim = engine.Simulation(arm, dt=1e-5, q=bent, parameters=free, limits=False, device="cpu")
    return {"np": np, "engine": engine, "model": arm, "q": bent, "v": np.zeros(7), "bent": bent, "sim": sim,
            "simulation": standing, "arm": arm, "cube": engine.free_body("box", (1, 1, 1), 1.0, "cube")}  # fmt: skip


@of('model = engine.load("robots/arm7.urdf")  # or engine.chain(1000), engine.tree(...)')
def _(n: SimpleNamespace) -> None:
    assert {type(n.model), type(engine.chain(1000)), type(engine.tree(3))} == {engine.Model}


@of("tau = engine.inverse_dynamics(model, q, v, np.zeros(model.nv))  # what holds it still")
def _(n: SimpleNamespace) -> None:
    n.sim.tau[:] = n.tau
    n.sim.step(10)
    assert np.abs(n.sim.q - n.bent).max() < 1e-12


@of("engine.forward_dynamics(model, q, v, tau)  # zero, up to rounding")
def _(n: SimpleNamespace) -> None:
    assert np.abs(n.answer).max() < 1e-11


@of("simulation.contacts.residual  # (batch,), of the last step")
def _(n: SimpleNamespace) -> None:
    assert n.answer.shape == (1,) == (n.simulation.batch,)
    assert 0 <= n.answer[0] <= engine.CONTACT_TOLERANCE


@of('simulation.contacts.states(0)  # "open", "stick" or "slip", a contact each, of robot 0')
def _(n: SimpleNamespace) -> None:
    assert len(n.answer) == n.simulation.contacts.number[0] >= 4
    assert set(n.answer) <= {"open", "stick", "slip"}
    n.simulation.v[0, 3:5] = 1.0, 0.3
    n.simulation.step()
    assert "slip" in n.simulation.contacts.states(0)
    n.simulation.v[0, 5] = 3.0
    n.simulation.step()
    assert set(n.simulation.contacts.states(0)) <= {"open"}


@of("np.abs(after.v - simulation.v[0]).max() < 1e-9  # True")
def _(n: SimpleNamespace) -> None:
    """test_step_page.py runs the lines before it."""


def test_every_comment_is_listed_and_every_entry_stands_on_a_page() -> None:
    found = examples()
    said = {sentence for _, sentences, _ in test_words.SAYS for sentence in sentences}
    assert [line for line in found["python"] if line not in SAID and page_text.flat(line) not in said] == []
    assert [line for line in found["sh"] if line not in OF_A_GPU and line not in OF_THE_SHELL] == []
    everything = [*found["python"], *found["sh"]]
    assert [line for line in (*SAID, *OF_A_GPU, *OF_THE_SHELL) if line not in everything] == []


@pytest.mark.parametrize("line", [each for each in SAID if each in examples()["python"] and "after.v" not in each])
def test_a_comment_says_what_its_line_does(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    given = names()
    if "forward_dynamics(" in line:
        given["tau"] = engine.bias(given["model"], given["q"], given["v"])
    code = line.partition("#")[0].strip()
    try:
        given["answer"] = eval(code, given)
    except SyntaxError:  # it is no expression
        exec(code, given)
    SAID[line](SimpleNamespace(**given))
