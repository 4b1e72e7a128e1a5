"""The lesson on precision: which algorithm loses digits, in which block, and with a heavy last link."""

import numpy as np
import pytest

import engine
from engine.algorithms import abia, dca, inverse
from engine.algorithms.chain import Chain
from engine.lessons import precision
from engine.lessons.lesson import Lesson
from engine.lessons.sheet import scientific


def number(words: str) -> float:
    """A number as lessons write it."""
    mantissa, _, power = words.partition("\u00a0×\u00a010")
    return float(mantissa) * 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


@pytest.mark.parametrize(
    ("x", "digits", "words"),
    [
        (0.0, 1, "0"), (3.14e-16, 1, "3.1 × 10⁻¹⁶"), (9.93, 1, "9.9"), (0.0345, 1, "0.035"), (0.0098, 1, "9.8 × 10⁻³"),
        (9.96e-10, 1, "1.0 × 10⁻⁹"), (24.6, 1, "25"), (12e6, 0, "1 × 10⁷"), (4.0e-8, 0, "4 × 10⁻⁸"), (2.0, 0, "2"),
    ],
)  # fmt: skip
def test_small_and_large_numbers_have_a_power_of_ten(x: float, digits: int, words: str) -> None:
    assert scientific(x, digits) == words.replace(" ", "\u00a0")  # which no line ends within
    assert number(scientific(x, digits)) == pytest.approx(x, rel=0.5 * 10.0**-digits)


def lesson(model: engine.Model) -> Lesson:
    rng = np.random.default_rng(1)
    return Lesson("precision", model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


@pytest.mark.parametrize("n", [7, 16, 64])
def test_the_unrefined_cfa_loses_most_digits_and_refinement_brings_them_back(n: int) -> None:
    made = lesson(engine.chain(n))
    error = {name: number(value) for name, value in made.facts.items() if name.endswith("_error")}
    short, refined = error["cfa_error"], error["refined_error"]
    assert refined < short
    assert max(error["abia_error"], error["dca_error"]) < short
    assert error["cfa_double_error"] < 1e-6 * short
    assert made.steps[-1].question.is_right("the constraint force algorithm, unrefined")
    assert not any(step.has_clock for step in made.steps)
    # By the engine in single precision, for the algorithm that both have.
    model, rng = made.model, np.random.default_rng(1)
    state = model.random(rng), rng.normal(size=n), rng.normal(size=n)
    exact, single = (
        engine.forward_dynamics(model, *state, algorithm="abia", device="cpu"),
        abia.forward_dynamics(Chain.of(model, dtype="float32"), *(np.float32(x)[None] for x in state))[0],
    )
    assert float(np.abs(single - exact).max() / np.abs(exact).max()) == pytest.approx(error["abia_error"], rel=0.06)


CARRIED = """<robot name="carried"><link name="base"/>{links}</robot>"""
ONE = """<link name="l{k}"><inertial><origin xyz="0.3 0.1 0.2"/><mass value="1.1"/><inertia ixx="0.1" iyy="0.2"
izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="continuous"><parent link="{before}"/>
<child link="l{k}"/><origin xyz="0.3 0.2 0.1"/><axis xyz="0.6 0 0.8"/></joint>"""


@pytest.mark.parametrize("gravity", [(0, 0, 0), (-9.81 * 0.6, 0, -9.81 * 0.8)], ids=["none", "along the axes"])
def test_a_robot_without_accelerations_is_given_a_motion_of_its_own(tmp_path, gravity) -> None:
    """Its errors would all be zero, or those of rounding errors, and no answer right."""
    path = tmp_path / "carried.urdf"
    links = ONE.format(k=0, before="base") + ONE.format(k=1, before="l0")
    path.write_text(CARRIED.format(links=links), "utf-8")
    model = engine.load(path).with_gravity(gravity)
    made = Lesson("precision", model, np.array([0.3, 0.7]), np.zeros(2), np.zeros(2))
    assert "no accelerations in its present state" in made.steps[0].words[1]
    errors = {name: number(made.facts[f"{name}_error"]) for name in ("abia", "dca", "cfa")}
    assert min(errors.values()) > 1e-9
    assert max(errors.values()) < 1e-4
    right = {name for name in errors if made.steps[-1].question.is_right(precision.NAMES[name])}
    assert right == {name for name, error in errors.items() if error == max(errors.values())}
    assert "present state" not in lesson(engine.chain(7)).steps[0].words[1]


def test_algorithms_with_the_same_number_are_both_right(monkeypatch) -> None:
    monkeypatch.setitem(precision.TEXTS, "dca", precision.TEXTS["abia"])
    monkeypatch.setitem(precision.TEXTS, "cfa", precision.TEXTS["abia"])
    question = lesson(engine.chain(3)).steps[-1].question
    assert [question.is_right(choice) for choice in question.choices] == [True, True, True]
    assert not question.is_right("abia")


def blocks(made: Lesson, name: str) -> dict[str, float]:
    _, errors, names, _ = made.trace.of(name)[0].values
    return dict(zip(names.tolist(), errors.tolist(), strict=True))


@pytest.mark.parametrize("n", [7, 16, 64])
def test_the_cfa_loses_its_digits_in_the_last_two_blocks(n: int) -> None:
    made = lesson(engine.chain(n))
    found = blocks(made, "cfa")
    *before, solve, accelerate = found.values()
    assert list(found)[-2:] == ["solve", "accelerate"]
    assert max(before) < 1e-5
    assert 2 * np.median(before) < solve
    assert accelerate == max(found.values())
    assert max([*blocks(made, "abia").values(), *blocks(made, "dca").values()]) < 2e-5
    assert blocks(made, "refined") == {}


@pytest.mark.parametrize("n", [7, 16, 64])
def test_a_heavy_last_link_takes_the_digits_of_single_precision(n: int) -> None:
    made = lesson(engine.chain(n))
    error = {name: number(value) for name, value in made.facts.items() if name.endswith("_error")}
    for name in ("abia", "dca", "cfa"):
        assert error[f"loaded_{name}_error"] > 1e-3
        assert error[f"loaded_{name}_error"] > 1e3 * error[f"{name}_error"]
    for name in ("dca", "cfa"):
        assert 10 * error[f"{name}_double_error"] < error[f"loaded_{name}_double_error"] < 1e-4
    assert 10 * error["refined_error"] < error["loaded_refined_error"] < error["loaded_cfa_error"]
    assert error["loaded_refined_double_error"] < error["loaded_cfa_double_error"]
    # The exact one is that of a model whose last link is so heavy, by an algorithm of the engine that serves it.
    model, rng = precision.loaded(made.model), np.random.default_rng(1)
    state = model.random(rng), rng.normal(size=n), rng.normal(size=n)
    expected = engine.forward_dynamics(model, *state, algorithm="abia", device="cpu")
    exact = abia.forward_dynamics(Chain.of(model), *(x[None] for x in state))[0]
    np.testing.assert_allclose(exact, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert model.mass[-1] == 1e6 * made.model.mass[-1]
    with pytest.raises(ValueError, match=r"1000 times as heavy"):
        engine.forward_dynamics(model, *state, algorithm="dca", device="cpu")
    assert "1000 times as heavy" in made.facts["refusal"]


def test_a_heavy_last_link_enlarges_the_matrix_of_a_join(rng: np.random.Generator) -> None:
    model, largest = engine.chain(3), []
    q, v, tau = rng.normal(size=(3, 1, 3))
    for each in (model, precision.loaded(model)):
        chain = Chain.of(each)
        X = chain.X(q)
        _, c, b = inverse.velocities(chain, X, v)
        I, _, Y, _, _ = dca.reduce(dca.Links(chain.S[None], chain.J[None], X, c, b, tau), 1)
        largest.append(np.abs(Y[0, 1] @ I[0, 2]).max())
    assert largest[1] > 1e5 * largest[0]


def test_joints_and_blocks_are_drawn_by_powers_of_ten() -> None:
    made = lesson(engine.chain(7))
    steps = [step for step in made.steps if step.has_picture and not step.is_continuation]
    for step in steps:
        stage = made.trace.stages[step.index]
        drawn = step.picture(
            dict.fromkeys(("ground", "panel", "edge", "text", "faint", "accent", "good", "warning"), "red")
        )
        assert drawn.count("<rect") == 7 + len(stage.values[1])
    assert [made.trace.stages[step.index].name for step in steps] == [
        "abia", "dca", "cfa", "refined", "loaded abia", "loaded dca", "loaded cfa",
    ]  # fmt: skip
