"""Construction of simulations in a thread of their own, since one for a GPU compiles on construction."""

from __future__ import annotations

import threading
from collections.abc import Callable

import engine
from app.simulation.attachments import Attachment
from app.simulation.running import Running

Outcome = Running | Exception


class Preparation:
    """Constructs one simulation at a time for the simulation thread: the latest request wins."""

    def __init__(self) -> None:
        self._newest: object = None
        self._threads: list[threading.Thread] = []

    @property
    def under_way(self) -> bool:
        """Whether a wanted simulation is being constructed."""
        return self._newest is not None

    def begin(
        self, make: Callable[[], Running], later: Callable[[Callable[[], None]], None], done: Callable[[Outcome], None]
    ) -> None:
        """Call `make` in a thread; `later` runs `done` with the result or the error, unless dropped."""
        newest = self._newest = object()

        def finish(outcome: Outcome) -> None:
            if self._newest is newest:
                self._newest = None
                done(outcome)

        def work() -> None:
            outcome = make_warm(make)
            later(lambda: finish(outcome))

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        # A daemon, since no compiler can be interrupted.
        thread = threading.Thread(target=work, name="preparation", daemon=True)
        self._threads.append(thread)
        thread.start()

    def drop(self) -> None:
        """Discard the simulation that is being constructed."""
        self._newest = None

    def close(self, seconds: float) -> None:
        """Wait for the threads, each at most `seconds`."""
        self.drop()
        for thread in self._threads:
            thread.join(seconds)


class MadeApart(Attachment):
    """An attachment with a simulation of its own, which is made in another thread since this may take a while."""

    def __init__(self) -> None:
        self.report_problem: Callable[[str], None] = lambda _: None
        """Called, in any thread, with the reason for having no such simulation, or "" once there is one."""
        self.later: Callable[[Callable[[Running], None]], None] = lambda _: None
        """Runs a function in the simulation thread, with its `Running`."""

    def _make_apart(
        self,
        make: Callable[[], engine.Simulation],
        take: Callable[[engine.Simulation, Running], None],
        before: str = "",
    ) -> None:
        """Call `make` in a thread, and `take` with its result in the simulation thread; `before` begins a refusal."""

        def work() -> None:
            try:
                made = make()
            except Exception as why_not:
                self.report_problem(before + (str(why_not) or type(why_not).__name__))
                if refuses(why_not):
                    return
                raise
            self.later(lambda running: take(made, running))

        threading.Thread(target=work, name=type(self).__name__, daemon=True).start()


class ControlsApart:
    """Controls such an attachment from another thread; `change` runs a function in the simulation thread."""

    def __init__(self, attached: MadeApart, change: Callable[[Callable[[Running], None]], None]):
        self._attached, self._change = attached, change
        attached.later = change

    def listen(self, report_problem: Callable[[str], None]) -> None:
        """Have it called, in any thread, with the reason for having no such simulation, or "" once there is one."""
        self._attached.report_problem = report_problem


def compile_steps(simulation: engine.Simulation, *wrenches: bool) -> None:
    """Compile a simulation's steps, without and with wrenches as given, and take one, which loads the code."""
    for each in wrenches:
        compilation = engine.Compilation(simulation, each)
        if compilation.needed:
            compilation.start()
            compilation.wait()
    simulation.step(1)


def make_warm(make: Callable[[], Running]) -> Outcome:
    """Return the warmed-up result of `make`, or the exception it raised."""
    try:
        running = make()
        running.warm()
    except Exception as error:  # handled by the caller, in another thread
        return error
    return running


def refuses(error: Exception) -> bool:
    """Whether an error is a refusal of the request or a GPU failure, rather than a program error."""
    return isinstance(error, ValueError) or engine.gpu_failed(error)
