"""Switching between simulations: opening a robot, changing settings, GPU failure, compiling.

A GPU simulation is compiled on construction, in another thread, while the current one keeps running. The current one
also keeps running while code for another algorithm, integrator or time step is compiled. If a GPU fails, the CPU
continues from the last known state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import engine
from app.reasons import gpu_failure
from app.simulation.compiling import Compiler
from app.simulation.messages import (
    FIRST,
    Compiling,
    Configured,
    Event,
    Latest,
    Loaded,
    Preparing,
    Reading,
    Refused,
    Request,
    Settings,
)
from app.simulation.preparing import Outcome, Preparation, make_warm, refuses
from app.simulation.recorded_settings import resume
from app.simulation.running import (
    Running,
    can_stand,
    can_touch,
    for_new,
    held_joints,
    running_of,
    set_step,
    simulation_of,
)


@dataclass(frozen=True)
class _Awaited:
    """A simulation that takes over once its code is compiled, with its settings and request number."""

    number: int
    settings: Settings
    outcome: Running
    code: engine.Compilation


class Changeover:
    """The robot's simulation, its settings and its machine code. Belongs to the simulation thread."""

    def __init__(
        self,
        send_event: Callable[[Event], None],
        later: Callable[[Callable[[], None]], None],
        begun: Callable[[bool], None],
    ):
        """`send_event` sends an event; `later` queues a command for this thread.

        `begun` is called when another simulation has taken over, with True if its robot is a new one.
        """
        self.model: engine.Model | None = None
        self.running: Running | None = None
        self.frames: Latest | None = None
        self.settings = Settings()
        self.compiling = False
        """Whether the simulation is waiting for its machine code."""
        self._send_event, self._later, self._begun = send_event, later, begun
        self._compiler, self._preparation = Compiler(), Preparation()
        self._pushed: engine.Compilation | None = None  # code of steps with wrenches, while it is compiled
        self._awaited: _Awaited | None = None
        self._number = 0  # of the latest requested settings

    @property
    def patience(self) -> float | None:
        """Seconds until the compiler has to be polled again; None if nothing is pending."""
        return 0.05 if self._pushed is not None or self._awaited is not None else self._compiler.patience

    @property
    def preparing(self) -> bool:
        """Whether another simulation is being constructed."""
        return self._preparation.under_way

    @property
    def awaits(self) -> bool:
        """Whether a simulation is waiting for its code before it takes over; single steps wait for it."""
        return self._awaited is not None

    def open(
        self,
        source: str | engine.Model,
        settings: Settings,
        load: Callable[[str], engine.Model],
        placed: Callable[[Settings], Settings] = lambda settings: settings,
        request: Request = FIRST,
    ) -> None:
        """Replace the robot; on failure send `Refused` with the reason."""
        path = source if isinstance(source, str) else source.source or source.name
        try:
            if isinstance(source, str):
                engine.refuse_endless(source)
            model = load(source) if isinstance(source, str) else source
            self._send_event(Reading(tuple(dict.fromkeys(each.mesh for each in model.collisions if each.mesh))))
            settings = set_step(model, placed(for_new(model, settings)))
            # The robot appears at once: on the CPU, unless "auto" is known to choose nothing else.
            decided = settings.device == "auto" and engine.why_no_gpu(load=False) is not None
            running = running_of(model, settings if decided else replace(settings, device="cpu"))
        except engine.ModelError as error:
            named = Refused(path, error.diagnostics, request)
            self._send_event(named if error.diagnostics else Refused.because(path, error, request))
            return
        except (OSError, ValueError) as error:
            self._send_event(Refused.because(path, error, request))
            return
        self._drop_others()
        self.model, self.running, self.settings = model, running, settings
        self.frames = Latest(model)
        self._begun(True)
        self.compile()
        touches = settings.ground or can_touch(model)
        below = touches and not can_stand(model)
        self._send_event(
            Loaded(model, path, self.frames, running.q[0].copy(), settings, *running.choice, touches, below, request)
        )
        if settings.device != "cpu" and not decided:
            self._prepare(settings, self._settle_device)

    def compile(self) -> None:
        """Start compiling the code that the simulation lacks; no step is taken until it is ready."""
        pushed = self._pushed is not None
        self._drop_pushed()
        seconds = self._compiler.begin(self.running.simulation, self.running.wrench is not None)
        if seconds is not None or self.compiling:
            self._send_event(Compiling(seconds or 0.0))
        self.compiling = seconds is not None
        if pushed:
            self.take_wrenches()

    def await_code(self, playing: bool) -> bool:
        """Return whether awaited code has just become ready; when idle, compile code that may be needed next."""
        if self._pushed is not None and self._pushed.wait(0):
            self._pushed = None
            self.running.take_wrenches()
        if self._awaited is not None and self._awaited.code.wait(0):
            return self._take_awaited()
        if not self.compiling:
            self._compiler.compile_next(playing)
            return False
        if self._compiler.waiting:
            return False
        self.compiling = False
        self._send_event(Compiling(0.0))
        self._read_code(self.settings, self.running)
        return True

    def _read_code(self, settings: Settings, running: Running) -> None:
        """Load the code from disk before the robot needs it."""
        simulation_of(self.model, replace(settings, device="cpu", algorithm=running.simulation.algorithm)).step(1)

    def take_wrenches(self) -> None:
        """Accept external wrenches as soon as the code for them is ready; until then step without them."""
        if self.running.wrench is not None or self._pushed is not None:
            return
        compilation = engine.Compilation(self.running.simulation, wrenches=True)
        if compilation.needed:
            self._pushed = compilation
            self._compiler.cancel_duplicate(compilation)
            compilation.start()
        else:
            self.running.take_wrenches()

    def _drop_pushed(self) -> None:
        if self._pushed is not None:
            self._pushed.cancel()
            self._pushed = None

    def configure(self, number: int, settings: Settings) -> None:
        """Switch to other settings; a `Configured` event with that number reports the result."""
        self._number = number
        if self.model is None or self.running is None:
            self.settings = settings
            return
        settings = set_step(self.model, settings)
        if self._may_take_gpu(settings):
            self._drop_awaited()
            self._send_event(Preparing(settings.device))
            self._prepare(settings, partial(self._switch_to, number))
            return
        self._drop_others()
        outcome = make_warm(lambda: running_of(self.model, settings))
        if not self._plays_on(number, settings, outcome):
            self._switch_to(number, settings, outcome)

    def _plays_on(self, number: int, settings: Settings, outcome: Outcome) -> bool:
        """Keep the current algorithm, integrator and time step while code is compiled; return whether this is done."""
        if self.compiling or not isinstance(outcome, Running) or not self._code_for(outcome).needed:
            return False
        now = self.settings
        meanwhile = replace(
            settings, algorithm=now.algorithm, device=now.device, integrator=now.integrator, dt=now.dt,
            automatic=now.automatic,
        )  # fmt: skip
        if meanwhile != now:
            changed = make_warm(lambda: running_of(self.model, meanwhile))
            if not isinstance(changed, Running) or self._code_for(changed).needed:
                return False
            self._switch(meanwhile, changed)
        self._await(_Awaited(number, settings, outcome, self._code_for(outcome)))
        return True

    def _code_for(self, running: Running) -> engine.Compilation:
        return engine.Compilation(running.simulation, wrenches=self.running.wrench is not None)

    def _await(self, awaited: _Awaited) -> None:
        self._awaited = awaited
        self._compiler.cancel_duplicate(awaited.code)
        self._send_event(Compiling(awaited.code.seconds, meanwhile=True))
        awaited.code.start()

    def _take_awaited(self) -> bool:
        """Switch to the compiled simulation, unless wrenches were enabled since, which need other code."""
        awaited, self._awaited = self._awaited, None
        code = self._code_for(awaited.outcome)
        if code.needed and not code.makes_the_same_as(awaited.code):
            self._await(replace(awaited, code=code))
            return False
        self._send_event(Compiling(0.0))
        self._read_code(awaited.settings, awaited.outcome)
        self._switch_to(awaited.number, awaited.settings, awaited.outcome)
        return True

    def _drop_awaited(self) -> None:
        if self._awaited is not None:
            self._awaited.code.cancel()
            self._awaited = None
            self._send_event(Compiling(0.0))

    def _drop_others(self) -> None:
        """Discard any simulation that is being constructed or compiled."""
        self._preparation.drop()
        self._drop_awaited()

    def _may_take_gpu(self, settings: Settings) -> bool:
        """Whether these settings may select a GPU, and so take long to construct."""
        if settings.device == "cpu" or engine.why_no_gpu() is not None:
            return False
        before = self.settings
        others = (settings.device, settings.algorithm) != (before.device, before.algorithm)
        return settings.device == "cuda" or others or self._preparation.under_way or self.running.on_gpu

    def _prepare(self, settings: Settings, finish: Callable[[Settings, Outcome], None]) -> None:
        """Construct a simulation in another thread, then call `finish` with it."""
        model, frames = self.model, self.frames
        self._preparation.begin(
            lambda: running_of(model, settings),
            lambda done: self._later(partial(self.for_robot, frames, done)),
            partial(finish, settings),
        )

    def for_robot(self, robot: Latest | None, command: Callable[[], None]) -> None:
        """Run a command unless it was meant for a previous robot; `robot` identifies one by its frames."""
        if robot is self.frames:
            command()

    def _settle_device(self, settings: Settings, outcome: Outcome) -> None:
        """Switch to the device requested before the robot was loaded, if it differs from the current one."""
        if not isinstance(outcome, Running) or outcome.choice != self.running.choice:
            self._switch_to(0, settings, outcome)

    def _switch_to(self, number: int, settings: Settings, outcome: Outcome) -> None:
        """Switch to another simulation at the current state, or report a refusal. Raise program errors."""
        before, refusal = self.running, ""
        if isinstance(outcome, Running):
            try:
                before.refresh()
            except Exception as error:
                before.lose_frame()
                if not engine.gpu_failed(error):  # else continue from the last known state
                    outcome = error
        if isinstance(outcome, Running):
            self._switch(settings, outcome)
        else:
            refusal = str(outcome) or type(outcome).__name__
        self._send_settings(number, refusal)
        if isinstance(outcome, Exception) and not refuses(outcome):
            raise outcome

    def _switch(self, settings: Settings, to: Running) -> None:
        before, self.running = self.running, to
        to.carry_on(before)
        to.hold(held_joints(self.model, settings) & ~held_joints(self.model, self.settings))
        self.settings = settings
        self.compile()
        self.frames.withdraw()  # its phases would be attributed to the new settings
        self._begun(False)

    def continue_from(self, frame: engine.RecordedFrame) -> None:
        """Continue from a recorded frame, with a simulation like the one that recorded it."""
        self._drop_others()
        try:
            running = resume(frame, self.running)
        except Exception as error:
            if not refuses(error):
                raise
            self._send_settings(self._number, str(error))
            return
        if running is not self.running:
            self.running, self.settings = running, running.settings
            self.compile()
        self.frames.withdraw()
        self._begun(False)
        self._send_settings(self._number, "")

    def _send_settings(self, number: int, refusal: str) -> None:
        self._send_event(Configured(number, self.settings, *self.running.choice, refusal))

    def continue_on_cpu(self, error: BaseException) -> None:
        """Continue on the CPU from the last known state."""
        self._drop_others()
        before, settings = self.running, replace(self.settings, device="cpu")
        if settings.algorithm not in engine.simulation_algorithms(self.model, "cpu"):
            settings = replace(settings, algorithm="auto")
        self.running = running_of(self.model, settings)
        self.running.carry_on(before)
        self.settings = settings
        self.compile()
        self.frames.withdraw()
        self._begun(False)
        self._send_settings(self._number, f"switched to the CPU: {gpu_failure(error)}")

    def end(self) -> None:
        """End all compiler processes."""
        self._drop_pushed()
        self._drop_awaited()
        self._compiler.close()

    def close(self, seconds: float) -> None:
        """Wait for the construction threads, each at most `seconds`; callable from any thread."""
        self._preparation.close(seconds)
