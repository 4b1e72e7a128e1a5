"""Parts of a kernel that are compiled at the same time make one module."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from engine.compile import separate_functions, with_loops
from engine.compile.with_loops import Layout
from engine.cuda.stepping.scene_stepper import _robot as laid_out
from engine.cuda.stepping.scene_stepper import arguments
from engine.kernels import scene_steps
from tests.engine.test_in_scene import settings

PTXAS = shutil.which("ptxas")


@pytest.mark.parametrize(("way", "integrator", "threads"), [("standing", "implicit", 8), ("onto itself", "rk4", 1)])
def test_parts_that_are_compiled_at_the_same_time_are_one_module_in_the_end(
    tmp_path: Path, way: str, integrator: str, threads: int
) -> None:
    """Every function of the parts is defined once, declared before, and only the kernel can be called from outside."""
    of = replace(settings(engine.load("robots/quadruped.urdf"), way, "float32"), integrator=integrator)
    robot, _ = laid_out(of, threads)
    tree = arguments(of, robot, "none")
    code = with_loops.text(scene_steps.advance, tree, Layout(tree, "float32", threads), "advance")
    assert len(separate_functions.parts(code)) > 4
    text = with_loops.ptx(code, "sm_90", 128)
    declared, defined = (re.findall(rf"^\.func .*?([\w$]+){end}$", text, re.MULTILINE) for end in ("", r"\("))
    called = re.findall(r"call\.uni (?:\([\w, ]+\), )?([\w$]+),", text)
    assert sorted(defined) == sorted(declared) == sorted(set(called))
    assert re.findall(r"^\.visible .*", text, re.MULTILINE) == [".visible .entry advance("]
    assert (text.count(".version"), text.count(".target"), text.count(".extern .func")) == (1, 1, 0)
    if PTXAS is not None:
        (tmp_path / "advance.ptx").write_text(text)
        subprocess.run([PTXAS, "-arch=sm_90", "advance.ptx", "-o", "advance.cubin"], check=True, cwd=tmp_path)
