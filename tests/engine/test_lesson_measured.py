"""Measured times beside counted ones: the phase of the engine's step that corresponds to a stage."""

import numpy as np
import pytest

import engine
from engine.lessons import measured
from engine.lessons.lesson import Lesson

SHOWN = {"abia": "abia", "dca": "dca", "chunks": "dca", "elimination": "cfa"}


def lesson(name: str, model: engine.Model) -> Lesson:
    rng = np.random.default_rng(1)
    return Lesson(name, model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


@pytest.mark.parametrize("name", SHOWN)
def test_each_stage_that_computes_has_a_phase_of_the_engine(name: str) -> None:
    algorithm, made = SHOWN[name], lesson(name, engine.chain(9))
    assert set(measured.PHASES[algorithm].values()) <= set(engine.PHASES["cpu"][algorithm])
    for stage in made.trace.stages:
        if stage.operations:
            assert measured.phase_of(algorithm, stage), (stage.name, stage.part)


@pytest.mark.parametrize("name", SHOWN)
def test_a_lesson_shows_the_times_that_were_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, requested = lesson(name, engine.chain(7)), []

    def step(_: engine.Model, algorithm: str, *_state: np.ndarray) -> dict[str, float]:
        requested.append(algorithm)
        return {phase: 1e-6 * (k + 1) for k, phase in enumerate(engine.PHASES["cpu"][algorithm])}

    assert not any(each.measured for each in made.steps)
    monkeypatch.setattr(measured, "step", step)
    made.measure()
    assert sorted(requested) == sorted({SHOWN[name], "abia"})
    phases = engine.PHASES["cpu"][SHOWN[name]]
    total = sum(range(1, len(phases) + 1))
    for each in (each for each in made.steps if each.has_clock):
        assert f"a step takes {total} µs" in each.measured
        assert ("by the ABA 21 µs" in each.measured) == (name != "abia")
        if each.index >= 0:
            phase = measured.phase_of(SHOWN[name], made.trace.stages[each.index])
            assert f"«{phase}»" in each.measured
            assert f"{phases.index(phase) + 1} µs." in each.measured
    assert made.steps[0].measured == ""


def test_a_phase_that_the_engine_leaves_out_is_said() -> None:
    made = lesson("dca", engine.chain(3))
    stage = next(stage for stage in made.trace.stages if stage.part == "beyond")
    text = measured.phase_text("dca", {"kinematics": 2e-6}, {"kinematics": 1e-6}, stage)
    assert text.endswith("on so few processors it makes one part of so few links.")
    assert "a step takes 2 µs, by the ABA 1 µs" in text


@pytest.mark.parametrize("algorithm", ["abia", "dca", "cfa"])
def test_the_engine_s_step_is_timed_by_phases(algorithm: str) -> None:
    model = engine.chain(9)
    phases = measured.step(model, algorithm, model.neutral(), np.zeros(9), np.ones(9))
    assert set(phases) <= set(engine.PHASES["cpu"][algorithm])
    assert sum(phases.values()) > 0
    assert phases["kinematics"] > 0


def test_a_robot_that_the_engine_s_program_refuses_has_no_times() -> None:
    from engine.lessons.precision import loaded

    made = lesson("dca", loaded(engine.chain(5)))
    made.measure()
    assert not any(each.measured for each in made.steps)
