"""Every `.cu` file compiles for its chips, if nvcc is present; no GPU is needed."""

import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from cuda_on_host import whole
from mimics import mimics

import engine
from engine.cuda.runtime import compiler, device, header
from engine.step_settings import StepSettings
from tests.seeds import OTHER

NVCC = shutil.which("nvcc")
QUICK = [
    "-cubin",
    "-Xcicc",
    "-O1",
    "-Xptxas",
    "-O0",
]  # fast code is not what is looked at here, and takes half as long again
READ = ["-ptx", "-Xcicc", "-O0"]  # what NVRTC does: intermediate code, which the driver's compiler continues from
ONLY_READ = "-fdevice-syntax-only"  # every template instantiated, and no code: a quarter of the time
PARTS = 7  # one of which goes as far as PTX; CATENA_SEED says which
SWITCH = re.compile(r"^.*\b(?:bool|INTEGRATOR)\b.*$|^#define.*$", re.MULTILINE)
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="needs nvcc, NVIDIA's compiler")
CHIPS = {
    "sm_80": {"major": 8, "minor": 0, "multiProcessorCount": 108, "sharedMemPerBlockOptin": 166912},
    "sm_90": {"major": 9, "minor": 0, "multiProcessorCount": 132, "sharedMemPerBlockOptin": 232448},
}


class Pinned(bytearray):
    """Stands in for memory that the GPU sees."""

    ptr = 0


class Recorded(Exception):
    """The source given to `compiler.load`, raised instead of compiling it."""


def load(source: str, kernels: list[str], preamble: str = ""):
    raise Recorded(source, tuple(kernels), preamble)


def asked(make) -> tuple[str, tuple[str, ...], str]:
    with pytest.raises(Recorded) as recorded:
        make()
    return recorded.value.args


def pushed(stepper: type, settings: StepSettings):
    """The stepper of robots whose bodies wrenches act on."""

    class Pushed(stepper):
        @property
        def _facts(self):
            return super()._facts | {"HAS_WRENCHES": True}

    return Pushed(settings)


def of_robots(dtype: str, folder: Path):
    """The kernels that are compiled for a robot."""
    from engine.cuda.rigid_body import energy, poses, thread_per_robot, wrenches
    from engine.cuda.stepping import robot_stepper

    yield lambda: wrenches.BodyWrenches(engine.chain(2), dtype)
    kinds = thread_per_robot
    of_any = kinds.Jsiia, kinds.InverseDynamics, kinds.ExternalForces, kinds.MassMatrix
    following = mimics(folder, 2, floating=True)
    for kind in of_any:
        yield lambda kind=kind: kind(following, dtype)
    for out in ("float32", "float64"):
        yield lambda out=out: poses.LinkPoses(engine.chain(2), dtype, out)
    yield lambda: poses.StateGathering(dtype, (2, 2, 16))
    for robot in (engine.chain(10, prismatic=0.3), engine.load("robots/humanoid.urdf"), engine.tree(9, spherical=0.5)):
        for kind in (kinds.Abia, *of_any):
            yield lambda kind=kind, robot=robot: kind(robot, dtype)
        for parameters in (None, engine.Parameters(robot, 100)):
            yield lambda robot=robot, parameters=parameters: energy.Energies(robot, 100, dtype, parameters)
        for integrator in ("semi-implicit", "rk4"):
            gains = np.ones((1, robot.nv))
            settings = StepSettings(robot, 100, 1e-3, integrator, "abia", dtype=dtype, kp=gains, kd=gains)
            yield lambda settings=settings: robot_stepper.RobotStepper(settings)
            frozen = dataclasses.replace(settings, freezes=True)
            yield lambda settings=frozen: robot_stepper.RobotStepper(settings)
        yield lambda settings=settings: pushed(robot_stepper.RobotStepper, settings)
    for name in ("quadruped", "humanoid")[: 1 if dtype == "float64" else 2]:
        standing = engine.load(engine.find_robot(name))
        gains = np.zeros((1, standing.nv))
        settings = StepSettings(
            standing, 100, 1e-3, "implicit", "abia", dtype=dtype, kp=gains, kd=gains, freezes=name == "humanoid",
            scene=engine.Scene(),
        )  # fmt: skip
        yield lambda settings=settings: robot_stepper.RobotStepper(settings)
    for robot, integrator in ((following, "implicit"), (engine.tree(9, spherical=0.5, floating=True), "rk4")):
        gains = (robot.q_of_v >= 0).astype(float)[None]
        settings = StepSettings(robot, 100, 1e-3, integrator, "jsiia", dtype=dtype, kp=gains, kd=gains)
        yield lambda settings=settings: robot_stepper.RobotStepper(settings)


def of_chains(dtype: str, clusters: bool):
    """The kernels for any serial chain, by a thread, a block or a cluster each."""
    from engine.cuda.chains import abia_hybrid, block_solvers, cfa, dca, jsiia
    from engine.cuda.stepping import chain_group_stepper, dca_chain_stepper, dca_tree_stepper
    from engine.cuda.trees import dca as trees
    from engine.cuda.trees import jsiia as any_model

    model, groups = engine.chain(10), [SimpleNamespace(blocks=1, links=1), SimpleNamespace(blocks=1, links=2)]
    groups += [SimpleNamespace(blocks=16, links=1)] if clusters else []
    cuts = [dca.Cut(1, False, 4), dca.Cut(40, False, 8), *([dca.Cut(16, True, 8)] if clusters else [])]
    gains, integrator = np.ones((1, 10)), {"float32": "semi-implicit", "float64": "rk4"}[dtype]
    settings = StepSettings(model, 1, 1e-3, integrator, "dca", dtype=dtype, kp=gains, kd=gains)
    yield lambda: dca_chain_stepper.DcaChainStepper(settings)
    yield lambda: dca_chain_stepper.DcaChainStepper(dataclasses.replace(settings, freezes=True))
    yield lambda: pushed(dca_chain_stepper.DcaChainStepper, settings)
    for algorithm in ("cfa", "jsiia"):
        for n, stepper in (
            (10, partial(pushed, chain_group_stepper.ChainGroupStepper)),
            (300, chain_group_stepper.ChainGroupStepper),
        ):
            group_settings = dataclasses.replace(
                settings, model=engine.chain(n), algorithm=algorithm, kp=np.ones((1, n)), kd=np.ones((1, n))
            )
            yield lambda stepper=stepper, group_settings=group_settings: stepper(group_settings)
    for model in (engine.tree(9, spherical=0.5), engine.tree(400)):
        ones = np.ones((1, model.nv))
        settings = StepSettings(model, 1, 1e-3, integrator, "dca", dtype=dtype, kp=ones, kd=ones)
        yield lambda settings=settings: dca_tree_stepper.DcaTreeStepper(settings)
    yield lambda: pushed(dca_tree_stepper.DcaTreeStepper, settings)
    for cut in cuts:
        yield lambda cut=cut: dca._kernel.__wrapped__(cut, dtype)
    for cut in (dca.Cut(1, False, trees.WARPS), *([dca.Cut(16, True, trees.WARPS)] if clusters else [])):
        yield lambda cut=cut: trees._kernel.__wrapped__(cut, dtype, cut.blocks == 1)
    for mimic in (False, True):
        yield lambda mimic=mimic: any_model._kernel.__wrapped__(dtype, mimic, not mimic)
    for transposed in (False, True):
        yield lambda transposed=transposed: block_solvers.Bidiagonal(3, 100, 2, dtype, transposed)
    yield lambda: abia_hybrid.AbiaHybrid(model, dtype, lambda *_: None)
    for group in groups:
        for kernels in (cfa.Cfa(model, dtype)._kernels, jsiia.Jsiia(model, dtype)._kernels):
            yield lambda kernels=kernels, group=group: kernels.of(group)
        hybrid = abia_hybrid.ThreadGroupKernels("chains/abia_hybrid.cu", ["torques_left<"], dtype)
        yield lambda hybrid=hybrid, group=group: hybrid.of(group)


@pytest.fixture
def on_chip(monkeypatch):
    """Simulate a machine with that chip, as far as the selection of kernels can see."""

    def make(chip: str) -> None:
        cupy = ModuleType("cupy")
        cupy.asarray, cupy.empty, cupy.zeros, cupy.ndarray = np.asarray, np.empty, np.zeros, np.ndarray
        cupy.broadcast_to = np.broadcast_to
        cupy.cuda = SimpleNamespace(get_current_stream=lambda: None, alloc_pinned_memory=Pinned)
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setattr(device, "properties", lambda: CHIPS[chip] | {"sharedMemPerMultiprocessor": 167936})
        monkeypatch.setattr(device, "require", lambda: None)
        monkeypatch.setattr(device, "has_watchdog", lambda: False)
        monkeypatch.setattr(device, "require_memory", lambda *_: None)
        monkeypatch.setattr(compiler, "load", load)

    return make


def sources(make_chip, chip: str, folder: Path) -> dict[tuple[str, str], set[str]]:
    """By source and preamble, the names of all kernels that are compiled for such a chip."""
    make_chip(chip)
    found: dict[tuple[str, str], set[str]] = {}
    for dtype in ("float32", "float64"):
        for make in (*of_robots(dtype, folder), *of_chains(dtype, chip == "sm_90")):
            source, names, preamble = asked(make)
            found.setdefault((source, preamble), set()).update(names)
    every = {path.relative_to(compiler.FOLDER).as_posix() for path in compiler.FOLDER.rglob("*.cu")}
    assert {source for source, _ in found} == every
    return found


def few(every: dict[tuple[str, str], set[str]]) -> dict[tuple[str, str], set[str]]:
    """Return enough of them to cover each kernel, and each pair of values of two switches."""
    seen = {}
    for (source, preamble), names in every.items():
        pairs = combinations_with_replacement(sorted(set(SWITCH.findall(preamble))), 2)
        seen[source, preamble] = {(source, x) for x in (*names, *pairs)}
    left, chosen = set().union(*seen.values()), {}
    while left:
        best = max(every, key=lambda key: len(seen[key] & left))
        chosen[best] = every[best]
        left -= seen[best]
    return chosen


@pytest.fixture
def taken(request, tmp_path) -> Path:
    """Return the record of sources that the compiler has accepted, also in earlier runs."""
    cache = getattr(request.config, "cache", None)
    return cache.mkdir("nvcc") if cache else tmp_path


def compile_all(found: dict[tuple[str, str], set[str]], chip: str, options: list[str], folder: Path, taken: Path):
    """Compile them, but for what the same compiler took before."""
    version = subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout

    def compiled(job: tuple[int, tuple[tuple[str, str], set[str]]]) -> str:
        index, ((source, preamble), names) = job
        uses = "\n".join(f"auto use{k} = &{name};" for k, name in enumerate(sorted(names)))
        text = f'{header.text()}\n{preamble}\n#include "{source}"\n{uses}\n'
        key = "\n".join((version, chip, *options, whole(text)))
        note = taken / hashlib.sha256(key.encode()).hexdigest()[:24]
        if note.exists():
            return ""
        file = folder / f"{index}-{Path(source).name}"
        file.write_text(text, "utf-8")
        words = [
            NVCC,
            "-std=c++17",
            f"-arch={chip}",
            f"-I{compiler.FOLDER}",
            *options,
            "-o",
            str(file.with_suffix(".out")),
        ]
        done = subprocess.run([*words, str(file)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            note.touch()
        return f"{source}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [reported for reported in pool.map(compiled, enumerate(found.items())) if reported]
    assert not failed


@needs_nvcc
@pytest.mark.timeout(1200)
def test_every_source_is_sound_with_each_of_its_switches(on_chip, tmp_path, taken):
    """Each source with each pair of its switches, as far as what the compiler says of it.

    A seventh of the sources goes as far as intermediate code.
    """
    found = few(sources(on_chip, "sm_90", tmp_path))
    first = {source: (source, preamble) for source, preamble in reversed(found)}.values()
    options = subprocess.run([NVCC, "--help"], capture_output=True, text=True, check=True).stdout
    only_read = [*READ, ONLY_READ] if ONLY_READ in options else READ  # which nvcc has learnt lately
    part = slice(OTHER % PARTS, None, PARTS)
    compile_all({key: found[key] for key in list(first)[part]}, "sm_90", READ, tmp_path, taken)
    compile_all(found, "sm_90", only_read, tmp_path, taken)


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_every_source_compiles_for_every_robot(chip, on_chip, tmp_path, taken):
    compile_all(sources(on_chip, chip, tmp_path), chip, QUICK, tmp_path, taken)


def test_the_few_have_every_kernel_and_every_switch():
    every = {
        ("a.cu", "constexpr bool X = true;\nconstexpr int N = 3;"): {"f<float>"},
        ("a.cu", "constexpr bool X = true;\nconstexpr int N = 4;"): {"f<float>"},
        ("a.cu", "#define X 0"): {"f<float>"},
        ("b.cu", "constexpr bool X = true;"): {"f<float>", "f<double>"},
        ("b.cu", "constexpr bool X = true;\n"): {"f<double>"},
    }
    assert {source + preamble[-2:] for source, preamble in few(every)} == {"a.cu3;", "a.cu 0", "b.cue;"}


def test_a_text_with_what_it_includes_is_another_once_that_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "FOLDER", tmp_path)
    (tmp_path / "a.cuh").write_text('#include "b.cuh"\n', "utf-8")
    text = '#include <cuda.h>\n#include "a.cuh"\n'
    texts = set()
    for inner in ("int b;", "int c;"):
        (tmp_path / "b.cuh").write_text(inner, "utf-8")
        texts.add(whole(text))
    assert len(texts) == 2
