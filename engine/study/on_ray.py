"""Run a study's batches on Ray, with Ray's tasks, retries, object store and runtime environment.

Inputs are `BatchJob`s; batches are yielded as they finish. Ray is imported only when a study runs on it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Self

from engine import __version__
from engine.study.batch import Batch, simulate
from engine.study.description import Description
from engine.study.plan import NONE, Group, Plan, Task, decide
from engine.study.processes import BatchJob, Here

RETRIES = 20
"""Number of lost workers or nodes per batch after which the study ends."""
AHEAD = 2
"""Batches submitted at a time per slot that can step one."""


class Cluster(Here):
    """A Ray cluster: "local-cluster" on this machine, or one at an address, with "auto" for the configured address.

    Raises ValueError with one sentence if Ray is missing or not reachable.
    """

    def __init__(self, study: Description, address: str):
        super().__init__(study)
        if address not in ("auto", "local-cluster") and not address.startswith("ray://"):
            raise ValueError(f"on is {address!r}; expected 'auto', 'local-cluster' or 'ray://HOST:PORT'")
        self._address, self._gpu = address, False
        self._ray = _ray()

    def __enter__(self) -> Self:
        how: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self._address == "local-cluster":
            how |= {"address": "local", "include_dashboard": False}  # which takes two seconds to start
        else:
            package = Path(__file__).parents[1]
            how |= {"address": self._address, "runtime_env": {"py_modules": [str(package)]}}
        self._ours = not self._ray.is_initialized()
        self._local = self._ours and self._address == "local-cluster"
        if not self._ours:
            return self
        try:
            with warnings.catch_warnings():  # of a slow connection: failure is reported below
                warnings.simplefilter("ignore")
                self._ray.init(**how)
        except (ConnectionError, TimeoutError, RuntimeError) as error:
            wording = str(error).strip().partition("\n")[0]
            raise ValueError(
                f"no cluster responds at {self._address} ({wording}); start one with `ray start --head`, "
                "or leave --on out to stay on this machine"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            self._ray.shutdown()

    @property
    def seats(self) -> int:  # type: ignore[override]
        """Return the number of batches that can step at a time."""
        return max(1, int(self._ray.cluster_resources().get("GPU" if self._gpu else "CPU", 1)))

    def decide(self, plan: Plan) -> dict[str, list[Any]]:
        """See `plan.decide`; run on a node of a cluster, since this machine may have no GPU.

        A local cluster decides in this process: a worker that does so may be given another GPU for batches, and end.
        """
        choices = list(plan.choices())
        gpus = self._ray.cluster_resources().get("GPU", 0) > 0
        if not gpus and any(on == "cuda" for _, _, on, _ in choices):
            raise ValueError("the study asks for device 'cuda', and no node of the cluster has a GPU; add one that has")
        if self._local:
            decided = super().decide(plan)
        else:
            task = self.task("cuda" if gpus else "cpu").remote(__version__, decide, self._study, plan.robots, choices)
            decided = self._got(task, "the choice of algorithms")
        self._gpu = any(on == "cuda" for _, on, *_ in decided.values())
        return decided

    def carry_out(self, jobs: Iterator[BatchJob]) -> Generator[tuple[BatchJob, Batch], None, None]:
        """Yield all batches as they finish. Raises RuntimeError if one fails, or is lost more than `RETRIES` times."""
        ray = self._ray
        study, groups, running = ray.put(self._study), dict[int, Any](), dict[Any, BatchJob]()
        tasks = {on: self.task(on) for on in ("cpu", "cuda")}
        jobs_left = True
        while True:
            while jobs_left and len(running) < AHEAD * self.seats:
                job = next(jobs, None)
                jobs_left = job is not None
                if job is not None:
                    group = groups.setdefault(id(job.group), ray.put(job.group))
                    task = tasks[job.group.settings.device]
                    running[task.remote(__version__, _simulated, study, group, job.task)] = job
            if not running:
                return
            (ready,), _ = ray.wait(list(running), num_returns=1)
            job = running.pop(ready)
            yield job, self._got(ready, f"the batch of sample {int(job.task.samples[0])}").of(job.task)

    def task(self, device: str) -> Any:
        """Return the remote `_called`, whose processes serve further calls: a start with a GPU takes seconds."""
        needs = {"num_cpus": 1} if device == "cpu" else {"num_cpus": 0, "num_gpus": 1, "max_calls": 0}
        return self._ray.remote(max_retries=RETRIES, **needs)(_called)

    def _got(self, task: Any, what: str) -> Any:
        """Return a task's result; re-raise ValueError, and turn any other failure into RuntimeError with a sentence."""
        problems = self._ray.exceptions
        try:
            return self._ray.get(task)
        except problems.RayTaskError as error:
            if isinstance(error.cause, ValueError):
                raise ValueError(str(error.cause)) from None
            raise RuntimeError(f"{what} failed: {error.cause}; the same call continues from there") from None
        except problems.RayError as error:
            wording = str(error).strip().partition("\n")[0]
            raise RuntimeError(
                f"{what} was lost with {RETRIES} workers ({wording}); the same call continues there"
            ) from None


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ValueError('--on needs Ray, which is not installed; install it with pip install "catena[ray]"') from None
    return ray


def _require_version(version: str) -> None:
    if version != __version__:
        raise ValueError(
            f"a worker has Catena {__version__}, and the study is run by {version}; install the same on both"
        )


def _called(version: str, function: Callable[..., Any], *how: Any) -> Any:
    """Run in a worker: call a function, on the GPU that the process has had from the first."""
    _require_version(version)
    gpus = _ray().get_gpu_ids()
    if gpus and _first.setdefault("gpus", gpus) != gpus:
        os._exit(1)  # CUDA would stay on the first one: Ray repeats the call in another process
    return function(*how)


_first: dict[str, list[Any]] = {}


def _simulated(study: Description, group: Group, task: Task) -> Batch:
    return simulate(study, group, task, threads=1, alone=True).of(NONE)
