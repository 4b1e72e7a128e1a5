"""Studies on Ray: the bits of a single machine, also if nodes are killed and the head is lost."""

import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_studies import PUSHED, SWUNG, named, planned, same, undisturbed

import engine
from engine.study import on_ray
from engine.study.on_ray import Cluster

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")
ray = pytest.importorskip("ray", reason="Ray is not installed; it is the extra of studies on many machines")
cluster_utils = pytest.importorskip("ray.cluster_utils")
services = pytest.importorskip("ray._private.services")
worker = pytest.importorskip("ray.util.client.worker")
ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.timeout(900),
    # Ray leaves sockets and files to the end of its processes, and says what later versions will do otherwise.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def found_by_workers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield


@pytest.fixture(autouse=True)
def disconnected() -> Iterator[None]:
    yield
    ray.shutdown()
    gc.collect()  # what Ray leaves open is reported here, and not at the end of all tests


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The pushed quadruped, each sample alone in this process."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


def nodes(count: int) -> Any:
    """A head that steps nothing, and nodes of one core each."""
    often = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 200}  # or a killed node is missed after 5 s
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": often}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    for _ in range(count):
        made.add_node(num_cpus=1)
    made.wait_for_nodes()
    return made


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    """A cluster of two nodes that finds no code itself, for all tests: each node takes seconds to start.

    Tests that start Ray in this process come after those that use it: Ray does not return to it from there.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH")
        made = nodes(2)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def cluster(started: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """That cluster, as the address "auto", from another folder: Ray lets workers find code in the current one."""
    monkeypatch.setenv("RAY_ADDRESS", started.address)
    monkeypatch.chdir(tmp_path)
    return started


@pytest.mark.usefixtures("cluster")
def test_code_travels_to_a_cluster_that_has_none(alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    file = named(tmp_path)
    now = engine.Study.read(file).run(tmp_path / "r", on="auto", batch=2)
    assert (now.done, now.seats) == (12, 2)
    assert same(engine.Study.results(tmp_path / "r"), alone)
    with Cluster(planned(file)[0], "auto") as place:
        used = ray.get(place.task("cpu").remote(engine.__version__, lambda: engine.__file__))
    assert "py_modules" in used


@pytest.mark.usefixtures("cluster")
def test_a_controller_travels_to_where_its_file_is_not_and_may_diverge(tmp_path: Path) -> None:
    text = SWUNG.replace('"double_pendulum"', '"double_pendulum"\ncontroller = "control.py"')
    text += '[[vary]]\nwhat = "parameter"\nof = "KP"\nvalues = [1.0, 9.0]\n'
    (tmp_path / "control.py").write_text("KP = 0\ndef control(t, q, v):\n    return -KP * q - 0.1 * v\n")
    study = engine.Study.read(named(tmp_path, text))
    study.run(tmp_path / "here", processes=0)
    (tmp_path / "control.py").rename(tmp_path / "moved.py")
    study.run(tmp_path / "there", on="auto")
    found = engine.Study.results(tmp_path / "there")
    assert same(found, engine.Study.results(tmp_path / "here"))
    assert len(np.unique(found["elbow position"][~found["diverged"]][1:])) == 5


@pytest.mark.usefixtures("cluster")
def test_a_cluster_without_a_gpu_or_with_another_version_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_gpu = engine.Study.read(named(tmp_path, 'device = "cuda"' + PUSHED))
    with pytest.raises(ValueError, match=r"^[^\n]*no node of the cluster has a GPU; add one that has$"):
        on_gpu.run(tmp_path / "r", on="auto")
    monkeypatch.setattr(on_ray, "__version__", "0.0.1")
    with pytest.raises(ValueError, match=r"a worker has Catena .*, and the study is run by 0\.0\.1; install the same"):
        engine.Study.read(named(tmp_path, SWUNG)).run(tmp_path / "r", on="auto")


def test_nodes_that_are_killed_cost_their_batches(cluster: Any, alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    """Two, at times of chance, each replaced by another."""
    chance, killed = random.Random(5), []

    def kill(now: engine.StudyProgress) -> None:
        if now.done >= 2 * len(killed) and len(killed) < 2:
            node = chance.choice(sorted(cluster.worker_nodes, key=lambda node: node.unique_id))
            cluster.remove_node(node, allow_graceful=False)
            killed.append(node)
            cluster.add_node(num_cpus=1)

    made = engine.Study.read(named(tmp_path))
    assert made.run(tmp_path / "r", on="auto", batch=1, report=kill).done == 12
    assert len(killed) == 2
    found = engine.Study.results(tmp_path / "r")
    assert found["sample"].tolist() == list(range(12))
    assert same(found, alone)


@pytest.mark.usefixtures("cluster")
def test_a_program_that_is_killed_loses_no_part(alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    """The one that leads the study; then the same call continues on this machine's cores, and ends what it started."""
    words = [sys.executable, "main.py", "study", str(named(tmp_path)), "--batch", "1", "--on", "auto"]
    folder = tmp_path / "s.results"
    program = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    until = time.monotonic() + 120
    while len(list(folder.glob("samples/part-*"))) < 3 and time.monotonic() < until:
        time.sleep(0.001)
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    before = {path: path.read_bytes() for path in folder.glob("samples/part-*")}
    assert 3 <= len(before) < 12
    now = engine.Study.read(tmp_path / "s.toml").run(folder, on="local-cluster", batch=2)
    assert (now.done, now.diverged) == (12, 0)
    assert not ray.is_initialized()
    assert {path: path.read_bytes() for path in before} == before
    assert same(engine.Study.results(folder), alone)


def test_a_process_steps_many_batches_on_one_gpu(tmp_path: Path) -> None:
    """A process a batch costs seconds on a GPU: 2·10⁶ samples took 104 s on two H200. Ray takes our word for GPUs."""
    ray.init("local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    task = Cluster(planned(named(tmp_path))[0], "auto").task("cuda")

    def process_and_gpu(seconds: float) -> tuple[int, str]:
        time.sleep(seconds)
        return os.getpid(), os.environ["CUDA_VISIBLE_DEVICES"]

    waiting = [task.remote(engine.__version__, process_and_gpu, 0.05 * (k % 3)) for k in range(16)]
    found = ray.get(waiting)
    assert {gpu for _, gpu in found} == {"0", "1"}
    assert len(set(found)) == 2


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_twenty_nodes_that_are_killed_and_a_head_that_is_lost(tmp_path: Path) -> None:
    """Ten nodes at times of chance, then the head with the program that leads the study; ten more as it continues."""
    chance, text = random.Random(8), PUSHED.replace("samples = 4", "samples = 400")
    undisturbed = engine.Study.read(named(tmp_path, text))
    undisturbed.run(tmp_path / "undisturbed", processes=0)
    folder, count = tmp_path / "s.results", undisturbed.count
    words = [sys.executable, "main.py", "study", str(tmp_path / "s.toml"), "--batch", "2", "--on", "auto"]
    began, killed = time.monotonic(), 0

    def parts() -> int:
        return len(list(folder.glob("samples/part-*")))

    for most in (10, 20):
        made = nodes(4)
        program = subprocess.Popen(
            words, cwd=ROOT, env=os.environ | {"RAY_ADDRESS": made.address}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        while killed < most:
            until = parts() + chance.randrange(1, 5)
            while parts() < until and program.poll() is None:
                time.sleep(0.01)
            assert program.poll() is None, program.communicate()[1]
            node = chance.choice(sorted(made.worker_nodes, key=lambda node: node.unique_id))
            made.remove_node(node, allow_graceful=False)
            made.add_node(num_cpus=1)
            killed += 1
        if most == 10:
            made.remove_node(made.head_node, allow_graceful=False)
            os.killpg(program.pid, signal.SIGKILL)
            before = {path: path.read_bytes() for path in folder.glob("samples/part-*")}
        _, message = program.communicate(timeout=1500)
        made.shutdown()
    assert program.returncode == 0, message
    assert 0 < len(before) < count // 2
    assert {path: path.read_bytes() for path in before} == before
    found = engine.Study.results(folder)
    assert found["sample"].tolist() == list(range(count))
    assert same(found, engine.Study.results(tmp_path / "undisturbed"))
    print(f"{killed} nodes and one head killed, {count} samples, {time.monotonic() - began:.0f} s")


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("ray://127.0.0.1:1", r"no cluster responds at ray://127\.0\.0\.1:1 \(.*\); start one with `ray start"),
        ("auto", r"no cluster responds at auto \(.*\); start one with `ray start --head`, or leave --on out"),
        ("moon", r"on is 'moon'; expected 'auto', 'local-cluster' or 'ray://HOST:PORT'"),
    ],
    ids=["far", "none", "moon"],
)
def test_an_unusable_cluster_is_refused_in_one_sentence(
    on: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("INITIAL_TIMEOUT_SEC", "MAX_TIMEOUT_SEC"):
        monkeypatch.setattr(worker, limit, 0.1)
    monkeypatch.setattr(services, "find_gcs_addresses", lru_cache(set))  # other tests' clusters may run
    monkeypatch.setattr(services, "find_bootstrap_address", lambda _: None)
    with pytest.raises(ValueError, match=message) as reported:
        engine.Study.read(named(tmp_path, SWUNG)).run(tmp_path / "r", on=on)
    assert "\n" not in str(reported.value)
