"""Fixtures: robots that ship, which no test changes."""

import pytest

import engine


@pytest.fixture(scope="session")
def arm7() -> engine.Model:
    return engine.load(engine.find_robot("arm7"))


@pytest.fixture(scope="session")
def quadruped() -> engine.Model:
    return engine.load(engine.find_robot("quadruped"))
