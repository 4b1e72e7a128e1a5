"""Quickly compiled code runs first, and optimised code replaces it: the bits are equal, and nothing blocks."""

import ctypes
import logging
import os
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cuda_on_host import WrittenOut
from python_oracle import flat, loaded
from random_kernels import known_robot, ordinary

from engine.compile import Function, background, finish_compiling, fusing, kernel, machine, parts, rare
from engine.compile.operations import address, call, fma
from engine.compile.shared import array_at
from tests.differential.laws import seeds

ROOT = Path(__file__).parents[2]
TEXTS, WRITTEN_OUT = 24, 6


@pytest.fixture(autouse=True)
def fast_code_is_made(monkeypatch):
    """Compile optimised code as for users: other tests run quick code only."""
    monkeypatch.setenv("CATENA_OPTIMISATION", "3")


@pytest.fixture
def own_background(monkeypatch):
    """A process of this test's own, which begins when it is waited for."""
    made = background._Background()
    monkeypatch.setattr(background, "DELAY", 3600.0)
    monkeypatch.setattr(background, "_background", lambda: made)
    yield made
    made._end()


_SCENES = """
import engine, hashlib, sys
from engine.compile import background, finish_compiling, parts
request, background.request = background.request, lambda *_: None
KINDS = ("arm7", "implicit"), ("quadruped", "semi-implicit"), ("humanoid", "implicit"), ("scara", "rk4")

def made(robot, integrator):
    model = engine.load(engine.find_robot(robot))
    return engine.Simulation(model, integrator=integrator, scene=engine.Scene(friction=0.8), device="cpu")

def digest(simulation):
    return hashlib.sha256(simulation.q.tobytes() + simulation.v.tobytes()).hexdigest()

def stepped(kind, count):
    simulation = made(*kind)
    simulation.step(count)
    return simulation

slow = [digest(stepped(kind, 250)) for kind in KINDS]
changing = [stepped(kind, 125) for kind in KINDS]
assert len(parts._slow) > len(KINDS)
finish_compiling()
assert not parts._slow
for simulation in changing:
    simulation.step(125)
print(slow == [digest(each) for each in changing] == [digest(stepped(kind, 250)) for kind in KINDS], len({*slow}))
"""


def test_steps_in_a_scene_have_the_same_bits_by_quick_and_by_fast_code_and_where_these_change(tmp_path):
    environment = {**os.environ, "CATENA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", _SCENES], env=environment, capture_output=True, text=True, check=False
    )
    assert (run.stdout.split(), run.stderr) == (["True", "4"], "")


@pytest.mark.usefixtures("nothing_kept", "own_background")
def test_random_texts_have_the_same_bits_by_quick_and_by_fast_code(tmp_path):
    found = list[partial[bytes]]()
    for seed in seeds(TEXTS):
        text, arguments = ordinary(np.random.default_rng([seed, 0]))
        found.append(partial(_bits, loaded(text, tmp_path).main, arguments))
    slow = [bits() for bits in found]
    assert len(parts._slow) >= TEXTS
    finish_compiling()
    assert [bits() for bits in found] == slow
    assert len({*slow}) == TEXTS


def test_random_texts_that_are_written_out_have_the_same_bits_in_each_style(tmp_path, monkeypatch):
    compiled, (first, *others) = machine.compiled, machine.Style
    for seed in seeds(WRITTEN_OUT):
        text, robot, arrays = known_robot(np.random.default_rng([seed, 0]), 3)
        main, widths = loaded(text, tmp_path).main, tuple(array.shape[1] for array in arrays)
        for dtype in ("float64", "float32"):
            found = {}
            for style in (first, *others):
                monkeypatch.setattr(machine, "compiled", lambda text, how=style: compiled(text, how))
                numbers = [array.astype(dtype) for array in arrays]
                WrittenOut(main, robot, widths, dtype)(None, None, (*numbers, 3))
                found[style] = _without_bits_of_nan(np.concatenate([x.ravel() for x in numbers]))
            assert {*found.values()} == {found[first]}, (seed, dtype)


def _without_bits_of_nan(numbers: np.ndarray) -> bytes:
    return np.where(np.isnan(numbers), np.nan, numbers).tobytes()


def _bits(main: Function, arguments: tuple[object, ...]) -> bytes:
    """Return a text's outputs and result as bits, with all NaN equal."""
    mine = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    mine[4] = arguments[4]._replace(left=arguments[4].left.copy())
    return _without_bits_of_nan(np.array(flat([mine, main(*mine)]), float))


@kernel
def _thrice(place, _by, _other):
    x = array_at(place, "float64", (1,))
    x[0] *= 3.0


@kernel
def _calls(function, x):
    call(function, address(x), 0, 0)


@rare
def _halved(x):
    x[0] *= 0.5


@kernel
def _halves(x):
    _halved(x)


@pytest.mark.usefixtures("nothing_kept", "own_background")
def test_code_at_a_place_and_rare_parts_are_made_fast_as_well():
    x, place = np.array([8.0]), ctypes.c_void_p.from_address(_thrice.address(3))
    _calls(ctypes.addressof(place), x)
    _halves(x)
    (rare_place,) = (memory for name, memory in parts._pointers.values() if name.startswith("_halved_"))
    before = place.value, rare_place.value
    finish_compiling()
    assert not {*before} & {place.value, rare_place.value}
    _calls(ctypes.addressof(place), x)
    _halves(x)
    assert x[0] == 18.0


@kernel
def _squared(x):
    x[0] *= x[0]


def _square(x: float) -> float:
    """By code that nothing of this process has loaded yet."""
    numbers = np.array([x])
    Function(_squared.function)(numbers)
    return float(numbers[0])


@pytest.mark.usefixtures("own_background")
def test_fast_code_from_another_process_is_read(monkeypatch, tmp_path):
    """And what it has only begun is made from the text that is kept with it."""
    finish_compiling()  # what other tests of this process have begun
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path))
    assert _square(3.0) == 9.0
    ((name, quick),) = ((slow.name, slow.code) for slow in parts._slow if slow.name.startswith("_squared_"))
    fast = machine.compiled(zlib.decompress(quick.text).decode())
    assert fast != quick.content
    monkeypatch.setattr(machine, "compiled", None)
    assert _square(4.0) == 16.0
    parts._store(name, quick._replace(content=fast, text=b""))
    monkeypatch.setattr(background, "_started", None)
    finish_compiling()
    assert _square(5.0) == 25.0


def test_what_cannot_be_made_fast_is_told_and_so_is_a_process_that_ends(caplog, own_background):
    code = {"odd": (zlib.compress(b"this is no code"), "LOOPS")}
    caplog.set_level(logging.WARNING)
    with pytest.raises(RuntimeError, match=r"odd could not be optimised: .*expected top-level entity"):
        background.finish(lambda: code, lambda *_: None)
    assert "odd could not be optimised" in caplog.text
    own_background._process.kill()
    other = {"other": (zlib.compress(b"define void @other() {\n  ret void\n}\n"), "LOOPS")}
    with pytest.raises(RuntimeError, match="ended with"):
        background.finish(lambda: other, lambda *_: None)


@kernel
def _sums(x, out):
    out[0] = x[0] * x[1] + x[2]
    out[1] = x[2] - x[0] * x[1]
    out[2] = -(x[0] * x[1]) - x[2]
    twice = x[0] * x[1]
    out[3], out[4] = twice + x[2], twice


@pytest.mark.skipif(not fusing._processor_fuses(), reason="this processor has no fused multiply-add")
def test_a_product_that_one_sum_needs_is_fused_and_one_that_two_need_is_not():
    x, out = np.array([1 + 2.0**-30, 1 - 2.0**-30, -1.0]), np.zeros(5)
    _sums(x, out)
    exact = -(2.0**-60)
    np.testing.assert_array_equal(out, [exact, -2 - exact, -exact, 0.0, 1.0])
    assert fma(x[0], x[1], x[2]) == exact
