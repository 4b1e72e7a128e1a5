"""What a sample of a test's cases is."""

from __future__ import annotations

import itertools

from tests.sampling import sample

CASES = [[("name", a), ("size", b)] for a, b in itertools.product("abcde", "1234")]


def test_it_has_each_value_where_there_is_room_and_is_always_the_same():
    for seed in range(20):
        taken = sample(CASES, 5, seed)
        assert len(taken) == 5
        assert {value for k in taken for value in CASES[k]} == {value for case in CASES for value in case}
        assert taken == sample(CASES, 5, seed)
    assert len({frozenset(sample(CASES, 5, seed)) for seed in range(20)}) > 10


def test_it_is_all_where_all_are_asked_for():
    assert sample(CASES, 100, 1) == set(range(len(CASES)))
    assert len(sample(CASES, 19, 1)) == 19
