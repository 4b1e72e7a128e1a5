"""The examples of the pages run, and their comments are true; lines that they quote are in the source."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import page_text
import pytest
import test_words
from behaviour import text_of
from page_text import ROOT, blocks
from statuses import called

import engine
from engine.cuda.rigid_body import written_out

NAMED_AFTERWARDS = {
    "docs/python.md": """
assert (sim.integrator, sim.dt, sim.steps) == ("rk4", 1e-3, 1000) and abs(sim.time - 1) < 1e-12
""",
    "stands": """
feet = sim.contacts
assert abs(sim.time - 10) < 1e-9 and sim.model.name == "quadruped"
assert feet.number[0] >= 4 and abs(sim.q[0, 2]) < 0.02, "it stands on its feet"
assert set(feet.states(0)) == {"stick"} and feet.residual[0] <= engine.CONTACT_TOLERANCE
""",
    "docs/contact.md": """
contacts = simulation.contacts
assert simulation.contact_wrench.shape == (1, len(model.link_names), 6)
assert box.pose.shape == (4, 4) and box.pose[:3, 3].tolist() == [2.0, 0.0, 0.2]
assert scene.self_collision and scene.obstacles == (box,)
assert len(set(contacts.link[0, :contacts.number[0]].tolist())) == 4, "its feet"
assert set(contacts.other[0, :contacts.number[0]].tolist()) == {-1}
simulation.v[0, 3:5] = 1.0, 0.3
simulation.step()
assert "slip" in contacts.states(0)
simulation.v[0, 5] = 3.0
simulation.step()
assert set(contacts.states(0)) <= {"open"}
""",
}
COMMENTS = {
    'model = engine.load("robots/arm7.urdf")  # or engine.chain(1000), engine.tree(...)': """
assert type(engine.chain(1000)) is type(engine.tree(3)) is type(model)
""",
    "tau = engine.inverse_dynamics(model, q, v, np.zeros(model.nv))  # what holds it still": """
bent = model.random(np.random.default_rng(1))
free = engine.Parameters(model, 1)
free.friction[:] = free.damping[:] = 0
still = engine.Simulation(model, dt=1e-5, q=bent, parameters=free, limits=False, device="cpu")
still.tau[:] = engine.inverse_dynamics(model, bent, v, np.zeros(model.nv))
still.step(10)
assert abs(still.tau).max() > 1 and abs(still.q - bent).max() < 1e-12
""",
    "engine.forward_dynamics(model, q, v, tau)  # zero, up to rounding": """
assert abs(engine.forward_dynamics(model, q, v, tau)).max() < 1e-11
""",
    "simulation.contacts.residual  # (batch,), of the last step": """
assert simulation.contacts.residual.shape == (1,) and 0 <= simulation.contacts.residual[0] <= engine.CONTACT_TOLERANCE
""",
    'simulation.contacts.states(0)  # "open", "stick" or "slip", a contact each, of robot 0': """
states = simulation.contacts.states(0)
assert len(states) == simulation.contacts.number[0] >= 4 and set(states) <= {"open", "stick", "slip"}
""",
    "np.abs(after.v - simulation.v[0]).max() < 1e-9  # True": """
assert np.abs(after.v - simulation.v[0]).max() < 1e-9
""",
}
"""Comments on lines of examples, and what is checked behind the line; test_words.py has others."""
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
QUOTES = re.findall(r"```python\n# (engine/\S+)\n(.*?)```", page_text.source("docs/step.md"), re.DOTALL)


def checked(example: str, more: str = "") -> str:
    """An example with the checks of its comments, and others at its end."""
    for line, check in COMMENTS.items():
        example = example.replace(line, f"{line}{check}")
    return example + NAMED_AFTERWARDS.get(more, "")


def test_every_comment_is_listed_and_every_entry_stands_on_a_page() -> None:
    found: dict[str, list[str]] = {"python": [], "sh": []}
    for page in page_text.PAGES:
        for language, lines in found.items() if page not in ("CONTRIBUTING.md", "docs/testing.md") else ():
            examples = "\n".join(blocks(page, language)).splitlines()
            lines += [line for line in examples if re.search(r"\S.*#", line)]
    message = {sentence for _, sentences, _ in test_words.SAYS for sentence in sentences}
    assert [line for line in found["python"] if line not in COMMENTS and page_text.flat(line) not in message] == []
    assert [line for line in found["sh"] if line not in OF_A_GPU and line not in OF_THE_SHELL] == []
    everything = [*found["python"], *found["sh"]]
    assert [line for line in (*COMMENTS, *OF_A_GPU, *OF_THE_SHELL) if line not in everything] == []


def test_no_example_is_left_out():
    many = {page: len(blocks(page, "python")) for page in page_text.PAGES}
    assert {page: count for page, count in many.items() if count} == {
        "README.md": 1,
        "docs/contact.md": 2,
        "docs/friction.md": 3,
        "docs/kernels.md": 2,
        "docs/live.md": 1,
        "docs/python.md": 1,
        "docs/step.md": 9,
        "docs/studies.md": 1,
    }


def test_the_line_that_the_page_of_kernels_follows_is_in_the_file_that_it_names():
    _, example = blocks("docs/kernels.md", "python")
    where, line = example.strip().splitlines()
    assert line in (ROOT / where.removeprefix("# ").split(",")[0]).read_text("utf-8")
    single, double = (written_out.MAX_TILTED[dtype] for dtype in ("float32", "float64"))
    most = f"up to {written_out.MAX_BODIES} bodies, of whose revolute joints at most {single}"
    assert f"{most} ({double} in double precision)" in " ".join(page_text.source("docs/kernels.md").split())


def ran(program: str, folder=ROOT) -> None:
    """Run it, with warnings as failures."""
    words = [sys.executable, "-W", "error", "-c", program]
    python = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert python.returncode == 0, python.stderr


def test_the_first_kernel_of_the_page_runs_on_both_machines(tmp_path):
    """Its results are those of its comments; on a GPU a product with the masses ½ and 1 takes one instruction."""
    first, _ = blocks("docs/kernels.md", "python")
    (tmp_path / "first.py").write_text(first, "utf-8")
    words = [sys.executable, "-W", "error", "first.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    called, compiled, *assembly = done.stdout.splitlines()
    assert (called, compiled) == ("[5.5]", "[11.]")
    assert [sum(name in line for line in assembly) for name in (".entry energy(", "mul.rn.f32", "fma.rn.f32")] == [
        1,
        1,
        2,
    ]


def test_the_example_of_the_page_of_python():
    (example,) = blocks("docs/python.md", "python")
    ran(checked(example, "docs/python.md"))


def test_the_example_of_the_readme():
    (example,) = blocks("README.md", "python")
    ran(checked(example, "stands"))


def test_the_law_of_the_page_of_friction_does_what_its_test_asks(tmp_path):
    """In a copy of the engine, whose functions become the page's."""
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "robots").symlink_to(ROOT / "robots")
    *laws, requested = (example.partition("\n")[2].rstrip() for example in blocks("docs/friction.md", "python"))
    for name, law in zip(("kernels/joint_constraints.py", "algorithms/step.py"), laws, strict=True):
        path = tmp_path / "engine" / name
        own = law[law.index("def ") : law.index("(")]
        old = rf"(@inline\n)?{own}\(.*?(?=\n\n\n)"
        changed, count = re.subn(old, lambda _, law=law: law, path.read_text("utf-8"), count=1, flags=re.DOTALL)
        assert count == 1
        path.write_text(changed, "utf-8")
    (tmp_path / "test_own_friction.py").write_text(requested, "utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own_friction.py"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert f"{len(engine.INTEGRATORS)} passed" in done.stdout, done.stdout


@pytest.mark.parametrize(("path", "lines"), QUOTES)
def test_lines_that_the_page_of_the_step_quotes_stand_in_their_file(path: str, lines: str):
    assert lines in (page_text.ROOT / path).read_text("utf-8")


def test_the_page_of_the_step_quotes_each_part_and_its_example_runs():
    assert {path.rsplit("/", 1)[1] for path, _ in QUOTES} >= {"motion.py", "step.py", "touching.py"}
    names = set(re.findall(r"`(\w+\.py)`", page_text.source("docs/step.md")))
    assert all((ROOT / "engine" / "algorithms" / name).exists() for name in names)
    (example,) = (each for each in blocks("docs/step.md", "python") if each.startswith("import"))
    ran(checked(example))


def test_the_examples_of_studies(tmp_path):
    """With fewer directions, and another sample's run."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")
    (text, driven), (example,) = blocks("docs/studies.md", "toml"), blocks("docs/studies.md", "python")
    shutil.copy(ROOT / "docs" / "controller.py", tmp_path)
    (tmp_path / "driven.toml").write_text(driven.replace("2500.0, 8]", "2500.0, 2]"), "utf-8")
    (tmp_path / "own.toml").write_text(text.replace("359.0, 360]", "240.0, 3]"), "utf-8")
    example = example.replace("docs/studies/pushed_quadruped.toml", "own.toml").replace("1234", "12")
    checks = """
assert study.count == len(found["sample"]) == 15 and found["stands"].dtype == bool
assert run.time[-1] == 2.0 and len(run.time) == 201
assert sorted(set(found["friction"])) == [0.2, 0.4, 0.6, 0.8, 1.0]
assert found["stands"][found["friction"] == 0.2].all() and not found["stands"].all()
driven = engine.Study.read("driven.toml")
driven.run("driven.results", processes=0)
slack, stiff = engine.Study.results("driven.results")["joint1 position"]
assert driven.varied == ("KP",) and slack != stiff
"""
    ran("\n".join([f"import sys; sys.path.insert(0, {str(ROOT)!r})", example, checks]), tmp_path)


def test_the_file_on_the_page_of_studies_is_the_one_that_ships_with_one_number_more():
    text, _ = blocks("docs/studies.md", "toml")
    shown = tomllib.loads(text)
    ships = tomllib.loads((ROOT / "docs" / "studies" / "pushed_quadruped.toml").read_text("utf-8"))
    assert {key: x for key, x in shown.items() if key != "keep"} == {
        key: x for key, x in ships.items() if key != "keep"
    }
    assert shown["keep"][1] == ships["keep"][-1]


def test_the_examples_of_contact(tmp_path):
    """The second makes the simulation that the first looks at."""
    looks, makes = blocks("docs/contact.md", "python")
    (tmp_path / "robot.urdf").write_text((ROOT / "robots" / "quadruped.urdf").read_text("utf-8"), "utf-8")
    (tmp_path / "robot.srdf").write_text('<robot name="quadruped"/>', "utf-8")
    put_down = "simulation.q[:] = engine.put_down(model, scene, model.neutral())"
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import engine"
    ran("\n".join([start, makes, put_down, checked(looks, "docs/contact.md")]), tmp_path)


def test_the_example_of_live_links(place, monkeypatch):
    """With a link alone, as where there is no screen, and half a second of it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    (example,) = blocks("docs/live.md", "python")
    shown = example.replace("engine.show(sim)", "link = engine.show(sim, window=False)", 1)
    shown = shown.replace("sim.time < 10", "sim.time < 0.5", 1)
    read = """
link.close()
reader = engine.LiveReader(link.folder)
saved = engine.read_run(reader.run_file)
recording = engine.recording_of(saved, model)
recording.begin(sim)
run = reader.read_into(recording, recording.runs[0])
assert reader.ended and link.frames == len(run) - 1 > 1
assert recording.frame(run, run.last).checkpoint.steps == sim.steps == 500
"""
    ran("\n".join([shown, read]))


def test_calls_of_the_shell_that_are_quick(tmp_path, monkeypatch):
    """The calls of the shell page, with a short simulated time."""
    monkeypatch.chdir(tmp_path)
    assert called("run", "arm7", "--controller", ROOT / "docs" / "controller.py", "--seconds", 0.02)[0] == 0
    (tmp_path / "odd.urdf").write_text(text_of().replace('"0.2 0.2 0.2"', '"0.2, 0.2, 0.2"'), "utf-8")
    assert called("check", "odd.urdf", "--fix", "out.urdf")[0] in (0, 1)
    assert called("check", "out.urdf")[0] == 0


@pytest.mark.parametrize(
    "command",
    ["info", "run", "check", "repeat", "unpack", "generate", "render", "compare", "bench", "paper", "lessons"],
)
def test_each_command_has_help_and_json(command):
    names = {option for action in page_text.actions(page_text.commands()[command]) for option in action.option_strings}
    assert {"--help", "--json"} <= names
