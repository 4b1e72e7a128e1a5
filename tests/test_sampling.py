"""The sampling of a test's cases."""

import itertools

import pytest

from tests.sampling import leave_to_the_night, sample

CASES = [[("name", a), ("size", b)] for a, b in itertools.product("abcde", "1234")]


def test_it_has_each_value_where_there_is_room_and_is_always_the_same():
    for seed in range(20):
        taken = sample(CASES, 5, seed)
        assert len(taken) == 5
        assert {value for k in taken for value in CASES[k]} == {value for case in CASES for value in case}
        assert taken == sample(CASES, 5, seed)
    assert len({frozenset(sample(CASES, 5, seed)) for seed in range(20)}) > 10


WORDS, NUMBERS = ["one", "two", "three"], [1.5, 2.5]


class Case:
    """A collected test's marks."""

    def __init__(self, word: str, number: float):
        self.nodeid, self.slow = f"test_file.py::test_name[{word}-{number}]", False
        self.callspec = type("Spec", (), {"params": {"word": word, "number": number}})

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.mark.sample(3).mark if name == "sample" else None

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.slow = mark == pytest.mark.slow


def test_of_so_many_cases_as_a_parameter_has_values_each_value_runs():
    cases = [Case(word, number) for word in WORDS for number in NUMBERS]
    leave_to_the_night(cases)  # type: ignore[arg-type]
    kept = [case.callspec.params for case in cases if not case.slow]
    assert len(kept) == 3
    assert {each["word"] for each in kept} == set(WORDS)
    assert {each["number"] for each in kept} == set(NUMBERS)


def test_it_is_all_where_all_are_asked_for():
    assert sample(CASES, 100, 1) == set(range(len(CASES)))
    assert len(sample(CASES, 19, 1)) == 19
