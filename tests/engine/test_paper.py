"""`main.py paper`: the papers' experiments, verdicts on their claims, and the folder with page and figures."""

import csv
import json

import numpy as np
import pytest

import main
from engine import figures
from engine.bench.paper import claims, command, experiments, page, pictures
from engine.bench.paper.claims import Measured
from engine.bench.paper.experiments import FIG2, FIG3A, FIG3B, PROCESSORS, Candidate, PaperPlan
from engine.cpu.rigid_body import aba_batch
from engine.cuda.runtime import arrays, clock, device
from engine.dynamics import ForwardDynamics

pytest.importorskip("matplotlib")
GPU = PaperPlan("cuda", short=False, seed=0)
MACHINE = {
    "processor": "a processor", "cores": 16, "python": "3", "numpy": "2", "packages": {"cupy": "14"}, "commit": "abc",
    "date": "2026-11-21", "why_no_gpu": None, "clocks": None,
    "gpu": {"name": "a GPU", "memory": 1 << 37, "driver_version": "1", "cuda": "13"},
}  # fmt: skip


def as_in_the_paper(experiment, candidate, size):
    """µs of a call as [Y] and [B] have them, and with a scan of joins that gains without bound."""
    links, batch = experiment.shape(size)
    if candidate.threads:
        return links * (1 / (0.6 * candidate.threads) + 60 / links if candidate.threads > 1 else 1)
    if candidate.device == "cpu":
        return links * batch
    if experiment is FIG3A:
        return {"jsiia": 30 + batch / 10, "cfa": 40 + batch / 9, "abia-hybrid": 100 + batch}.get(
            candidate.algorithm, 10 + batch / 1000
        )
    return {
        "jsiia": 10 + 5e-5 * links**3 * (1 + batch / 50),
        "cfa": 100 + 0.1 * links + links * batch / 1000,
        "abia-hybrid": 60 + links + batch * links / 400,
        "abia": 10 + links + links * batch / 5000,
        "dca": 10 + links**0.25 + links * batch / 1000,
    }[candidate.algorithm]


def rows_of(plan, law=as_in_the_paper, noise=0.01):
    """Rows as a measurement by that law would leave them; a text instead of a time is why there is none."""
    rng, rows = np.random.default_rng(0), []
    for experiment, size in plan.points():
        found = []
        for candidate in plan.candidates(experiment):
            facts = {name: value for name, value in candidate._asdict().items() if value is not None}
            us = law(experiment, candidate, size)
            if isinstance(us, dict):
                found.append(facts | us)
                continue
            rounds = us * np.exp(noise * rng.standard_normal(25))
            on_gpu = {"device_us": us / 2} if candidate.device == "cuda" else {}
            found.append(facts | {"call_us": float(np.median(rounds)), "rounds_us": rounds.tolist(), **on_gpu})
        links, batch = experiment.shape(size)
        key = experiments.key(experiment, size)
        rows.append({"key": key, "experiment": experiment.key, "links": links, "batch": batch, "candidates": found})
    return rows


@pytest.fixture
def vector_pictures(monkeypatch):
    """Pixels are drawn once, of the short version: they take as long again."""
    save = figures.save
    monkeypatch.setattr(page.figures, "save", lambda figure, path: path.suffix == ".svg" and save(figure, path))


@pytest.fixture
def no_pictures(monkeypatch):
    """The other tests draw them, half a second each."""
    monkeypatch.setattr(page.figures, "save", lambda *_: None)


@pytest.fixture
def sixteen_cores(monkeypatch):
    monkeypatch.setattr(experiments, "cores", lambda: 16)


def verdicts(plan, law=as_in_the_paper):
    return {claim.says: claim for claim in claims.claims(Measured(plan, rows_of(plan, law)))}


def of_which(found, words):
    (claim,) = (claim for says, claim in found.items() if words in says)
    return claim


@pytest.mark.usefixtures("sixteen_cores")
def test_times_as_in_the_papers_make_their_claims_hold():
    found = verdicts(GPU)
    beyond = "cannot accelerate the recursion"
    alone = "degenerates to the ABA"
    assert {says: x.verdict for says, x in found.items() if beyond not in says} == {
        says: "holds" for says in found if beyond not in says
    }
    assert of_which(found, beyond).verdict == "does not hold"
    assert "at all of 20 to 8000 links" in of_which(found, alone).found
    many = of_which(found, "substantial")
    assert "CFA is the fastest at 200 to 4096 links" in many.found
    assert "At 1000 links CFA takes 201 µs, JSIIA 51.1 ms (254 × as long)" in many.found
    assert "JSIIA 3.5 s (68" in many.found


@pytest.mark.parametrize(
    ("claim", "slow", "fast"),
    [
        ("substantial", "cfa", None),
        ("grows slowest", "cfa", None),
        ("small or moderate", "jsiia", None),
        ("always dominated", None, "abia-hybrid"),
        ("more than a hundred robots", "jsiia", None),
        ("robots of 200 links", "cfa", "jsiia"),
        ("bi-diagonal", "dca", None),
        ("tri-diagonal", "cfa", None),
    ],
)
@pytest.mark.usefixtures("sixteen_cores")
def test_other_times_make_them_fail(claim, slow, fast):
    def law(experiment, candidate, size):
        us = as_in_the_paper(experiment, candidate, size)
        factor = size**1.5 if candidate.algorithm == slow else 1e-4 if candidate.algorithm == fast else 1
        return us * (1000 * factor if candidate.algorithm == slow else factor)

    assert of_which(verdicts(GPU, law), claim).verdict in ("does not hold", "holds in part")
    assert of_which(verdicts(GPU), claim).verdict != of_which(verdicts(GPU, law), claim).verdict


@pytest.mark.usefixtures("sixteen_cores")
def test_a_gain_that_threads_have_no_part_in_holds_in_part_only():
    def law(experiment, candidate, size):
        us = as_in_the_paper(experiment, Candidate("abia", "cpu"), size)
        return us / 3 if candidate.threads else as_in_the_paper(experiment, candidate, size)

    found = verdicts(GPU, law)
    assert of_which(found, "four processors").verdict == of_which(found, "Two processors").verdict == "holds in part"
    assert of_which(found, "degenerates").verdict == "does not hold"


def test_equal_times_with_noise_give_no_leader():
    measured = Measured(GPU, rows_of(GPU, lambda *_: 100.0, noise=0.2))
    for experiment in (FIG2, FIG3A, FIG3B):
        for name in claims.OF_YANG:
            assert measured.leads(experiment, name, claims.OF_YANG) == []


def test_without_a_gpu_and_without_four_cores_nothing_is_claimed(monkeypatch):
    monkeypatch.setattr(experiments, "cores", lambda: 2)
    found = verdicts(PaperPlan("cpu", short=True, seed=0), lambda _, x, size: size * len(x.algorithm))
    of_yang = [claim for claim in found.values() if claim.source.startswith("[Y]")]
    assert {claim.verdict for claim in of_yang} == {"not tested here"}
    assert all("on the CPU, not on a GPU" in claim.found for claim in of_yang)
    assert of_which(found, "four processors").verdict == "not tested here"
    assert "2 cores" in of_which(found, "four processors").found


@pytest.mark.usefixtures("sixteen_cores")
def test_an_algorithm_that_failed_leaves_its_claims_untested_and_says_why():
    def law(experiment, candidate, size):
        if candidate.algorithm == "abia-hybrid":
            return {"failure": "CompileException: no such kernel"}
        return as_in_the_paper(experiment, candidate, size)

    found = verdicts(GPU, law)
    assert of_which(found, "always dominated").verdict == "not tested here"
    assert "hybrid ABIA has no times of [Y] Fig. 2: CompileException" in of_which(found, "always dominated").found
    assert of_which(found, "tri-diagonal").verdict == "holds"


@pytest.mark.usefixtures("sixteen_cores", "vector_pictures")
def test_a_run_in_which_all_failed_has_its_page_all_the_same(tmp_path):
    measured = Measured(GPU, rows_of(GPU, lambda *_: {"failure": "RuntimeError: the GPU is gone"}))
    data = page.write(tmp_path, measured, MACHINE)
    assert {claim["verdict"] for claim in data["claims"]} == {"not tested here"}
    assert "failure: RuntimeError: the GPU is gone" in (tmp_path / page.PAGE).read_text("utf-8")


@pytest.mark.usefixtures("sixteen_cores")
def test_who_is_left_out_as_too_slow_has_lost():
    def law(experiment, candidate, size):
        if candidate.algorithm == "jsiia" and size >= 1000 and experiment is FIG2:
            return {"left_out": "a call would take some 3 s, and the limit here is 0.25 s"}
        return as_in_the_paper(experiment, candidate, size)

    many = of_which(verdicts(GPU, law), "substantial")
    assert many.verdict == "holds"
    assert "JSIIA is left out" in many.found


@pytest.mark.usefixtures("sixteen_cores")
def test_pictures_have_the_papers_axes_and_name_everyone(tmp_path):
    measured = Measured(
        GPU, rows_of(GPU, lambda *x: {"left_out": "beyond the limit here"} if x[-1] > 9000 else 5.0 + x[-1])
    )
    for experiment, words in (
        (
            FIG2,
            {"Link Number", "Computation Time (ms)", "ABIA, one CPU core", "CFA", "JSIIA", "hybrid ABIA", "DCA-ABA"},
        ),
        (FIG3A, {"Group Number", "0.25 s a call, the limit here", "the paper's sizes", "of that on the GPU"}),
        (PROCESSORS, {"Link Number", "DCA-ABA, 16 threads", "DCA-ABA, 1 thread", "2.25: [B] on four processors"}),
    ):
        draw = pictures.speedup if experiment is PROCESSORS else pictures.times
        figure = draw(measured, experiment, "a GPU")
        figures.save(figure, tmp_path / "picture.svg")
        text = (tmp_path / "picture.svg").read_text("utf-8")
        assert {word for word in words if word not in text} == set()
    times = pictures.times(measured, FIG2, "a GPU").axes[0]
    assert (times.get_xscale(), times.get_yscale()) == ("log", "log")
    assert times.get_xlim()[1] > 4096


@pytest.mark.usefixtures("sixteen_cores", "no_pictures")
def test_the_page_says_it_all_in_words(tmp_path):
    def law(experiment, candidate, size):
        wrong = {"wrong": "its residual is 0.5, and 1e-11 is allowed"}
        return wrong if (candidate.algorithm, size) == ("cfa", 4096) else as_in_the_paper(experiment, candidate, size)

    data = page.write(tmp_path, Measured(GPU, rows_of(GPU, law)), MACHINE)
    reported = (tmp_path / page.PAGE).read_text("utf-8")
    for words in (
        "on a GPU; a processor, 16 cores", "| 1 | CFA is the fastest", "**holds**", "**does not hold**",
        "- CFA at 4096, wrong: its residual is 0.5, and 1e-11 is allowed.", "![robots of 10 links](fig3a.svg)",
        "main.py paper --out FOLDER --device cuda --seed 0", "on the GPU, by its own clock",
    ):  # fmt: skip
        assert words in reported
    assert "not tested here" not in reported
    assert json.loads((tmp_path / page.DATA).read_text("utf-8")) == json.loads(json.dumps(data))
    with (tmp_path / page.TABLE).open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == sum(len(row["candidates"]) for row in data["rows"])
    assert {x["wrong"] for x in table if (x["algorithm"], x["links"]) == ("cfa", "4096")} == {
        law(FIG2, Candidate("cfa", "cuda"), 4096)["wrong"]
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The short version, as a user runs it, with less time for each candidate and call."""
    folder = tmp_path_factory.mktemp("short") / "papers"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PaperPlan, "seconds", 0.02)
        patch.setattr(experiments, "MAX_CALL", 0.03)
        patch.setattr(aba_batch, "MAX_BODIES", 0)  # each length would be compiled for itself
        return folder, main.main(["paper", "--short", "--device", "cpu", "--out", str(folder)])


def test_the_short_version_runs_here(made):
    folder, code = made
    assert code == 0
    names = {f"{x.key}{ending}" for x in experiments.EXPERIMENTS for ending in (".svg", ".png")}
    assert {path.name for path in folder.iterdir()} == {*names, "README.md", "data.json", "data.csv", "rows.jsonl"}
    data = json.loads((folder / "data.json").read_text("utf-8"))
    points = PaperPlan("cpu", True, 0).points()
    assert [row["key"] for row in data["rows"]] == [experiments.key(*point) for point in points]
    for row in data["rows"]:
        for facts in row["candidates"]:
            assert ("call_us" in facts) != ("left_out" in facts)
            assert facts.get("residual", 0) < 1e-11
            assert facts.get("calls", experiments.INPUTS) >= 7
    assert {x["verdict"] for x in data["claims"] if x["source"].startswith("[Y]")} == {"not tested here"}
    page = (folder / "README.md").read_text("utf-8")
    assert "**No GPU was used**" in page
    assert "This is the short version" in page


@pytest.mark.usefixtures("no_pictures")
def test_what_a_folder_has_is_not_measured_again(made, monkeypatch, capsys):
    folder, _ = made
    before = (folder / "rows.jsonl").read_bytes()
    monkeypatch.setattr(experiments, "Point", None)
    assert main.main(["paper", "--short", "--device", "cpu", "--out", str(folder), "--json"]) == 0
    assert (folder / "rows.jsonl").read_bytes() == before
    assert len(json.loads(capsys.readouterr().out)["rows"]) == len(PaperPlan("cpu", True, 0).points())


def test_another_plan_or_a_damaged_file_is_refused_and_left_alone(made, capsys, tmp_path):
    folder, _ = made
    rows = folder / "rows.jsonl"
    before = rows.read_bytes()
    assert main.main(["paper", "--device", "cpu", "--out", str(folder)]) == 2
    assert "another plan (short: True there, False here)" in capsys.readouterr().err
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    spoilt = before.replace(b'"key"', b'"kex"', 1)
    (damaged / "rows.jsonl").write_bytes(spoilt)
    assert main.main(["paper", "--short", "--device", "cpu", "--out", str(damaged)]) == 2
    assert "damaged at line 2" in capsys.readouterr().err
    assert (damaged / "rows.jsonl").read_bytes() == spoilt
    assert rows.read_bytes() == before


def test_an_interrupt_keeps_what_is_measured_and_the_next_call_goes_on(monkeypatch, capsys, tmp_path):
    words = ["paper", "--short", "--device", "cpu", "--out", str(tmp_path / "papers")]
    plan = PaperPlan("cpu", True, 0)
    rows, requested = rows_of(plan, lambda *x: 10.0 * x[-1]), []

    def measure(_plan, finished):
        requested.append([*finished])
        yield from rows[len(finished) :][:2]
        if len(requested) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "measure", measure)
    monkeypatch.setattr(PaperPlan, "points", lambda _: [(FIG2, 10), (FIG2, 30), (FIG2, 100), (FIG2, 300)])
    assert main.main(words) == 130
    assert f"2 of 4 points are in {tmp_path / 'papers' / 'rows.jsonl'}" in capsys.readouterr().err
    monkeypatch.setattr(page, "write", lambda _folder, measured, _machine: {"claims": [], "rows": measured.rows})
    monkeypatch.setattr(command, "_show", lambda *_: None)
    assert main.main(words) == 0
    assert requested == [[], ["fig2-10", "fig2-30"]]
    kept = [json.loads(line) for line in (tmp_path / "papers" / "rows.jsonl").read_text("utf-8").splitlines()[1:]]
    assert kept == rows[:4]


@pytest.mark.parametrize("what", ["a file", "no parent", "other files"])
def test_a_folder_that_is_none_of_ours_is_refused_untouched(what, tmp_path, capsys):
    (tmp_path / "thesis.md").write_text("mine")
    out = {"a file": tmp_path / "thesis.md", "no parent": tmp_path / "a" / "b", "other files": tmp_path}[what]
    assert main.main(["paper", "--short", "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.md"]
    assert (tmp_path / "thesis.md").read_text() == "mine"


def test_without_a_gpu_asking_for_one_is_answered_with_the_reason(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(device, "why_not", lambda: "CUDA finds no device")
    assert main.main(["paper", "--device", "cuda", "--out", str(tmp_path / "papers")]) == 1
    assert "CUDA finds no device" in capsys.readouterr().err
    assert not (tmp_path / "papers").exists()


class Wrong(ForwardDynamics):
    """CFA returns a wrong result, and JSIIA fails."""

    def __call__(self, q, v, tau, out=None):
        answer = super().__call__(q, v, tau, out)
        if self.algorithm == "jsiia":
            raise ArithmeticError("it broke")
        answer += self.algorithm == "cfa"
        return answer


def one_point(plan, experiment, size, smaller=None):
    row = experiments.Point(plan, experiment, size, smaller or {}).row()
    return {(x["algorithm"], x["device"]): x for x in row["candidates"]}


def test_a_wrong_or_broken_candidate_gets_no_time_and_leaves_the_others(monkeypatch):
    monkeypatch.setattr(experiments, "ForwardDynamics", Wrong)
    found = one_point(PaperPlan("cpu", True, 0), FIG2, 5)
    assert "residual is" in found["cfa", "cpu"]["wrong"]
    assert found["jsiia", "cpu"]["failure"] == "ArithmeticError: it broke"
    assert {name for (name, _), x in found.items() if "call_us" in x} == {"abia", "dca", "abia-hybrid"}


def test_what_would_take_too_long_or_too_much_is_named_and_not_tried(monkeypatch):
    plan = PaperPlan("cpu", True, 0)
    law = {"jsiia": 4e3, "cfa": 50e3}
    candidates = [{**x._asdict(), "call_us": law.get(x.algorithm, 1.0)} for x in plan.candidates(FIG2)]
    smaller = {100: {"candidates": candidates}}
    monkeypatch.setattr(experiments, "BYTES", {"abia-hybrid": 1 << 30})
    found = one_point(plan, FIG2, 400, smaller)
    assert found["jsiia", "cpu"]["left_out"].startswith("a call would take some 0.256 s, by that for 100 links")
    assert "call_us" in found["cfa", "cpu"]
    assert found["abia-hybrid", "cpu"]["left_out"] == "it would take some 400 GiB; the limit here is 4 GiB"


@pytest.mark.parametrize("graphs", [True, False])
def test_on_a_gpu_every_call_is_waited_for_and_its_clock_stands_beside(monkeypatch, graphs):
    waits, launches = [], []

    class OnGpu(ForwardDynamics):
        """The CPU's ABIA in the place of every kernel."""

        def __init__(self, model, batch, _algorithm, where, dtype, _threads):
            super().__init__(model, batch, "abia", "cpu", dtype)
            self.where = where

        def __call__(self, q, v, tau, out=None):
            if self.where == "cuda":
                launches.append(q.shape)
            return super().__call__(q, v, tau, out)

    monkeypatch.setattr(experiments, "ForwardDynamics", OnGpu)
    monkeypatch.setattr(arrays, "to_device", np.array)
    monkeypatch.setattr(clock, "synchronize", lambda: waits.append(len(launches)))
    monkeypatch.setattr(clock, "capture_graph", lambda call, _inner: call if graphs else None)
    monkeypatch.setattr(clock, "device_seconds", lambda call: (call(), 2e-3)[1])
    found = one_point(PaperPlan("cuda", True, 0), FIG3A, 3)
    on_gpu = {name: x for (name, where), x in found.items() if where == "cuda"}
    assert set(on_gpu) == {"abia", "dca", "jsiia", "abia-hybrid", "cfa"}
    assert all(x["captured"] is graphs and 100 <= x["device_us"] <= 2000 for x in on_gpu.values())
    assert "device_us" not in found["abia", "cpu"]
    assert sum(x["calls"] for x in on_gpu.values()) == len(waits)
    assert sorted(set(waits)) == waits
    assert set(launches) == {(3, 10)}
