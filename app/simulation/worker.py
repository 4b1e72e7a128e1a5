"""The interface of the simulation thread.

It has two outputs. *Snapshots* are the state for drawing: only the latest is kept, and buffers are reused. *Events*
must not be missed: they are queued in order until they are fetched. Its input is a queue of commands, which
`app.simulation.loop` processes between two batches of steps.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

import engine
from app.simulation.attachments import Attachment
from app.simulation.loop import Loop
from app.simulation.messages import Event, Latest, Loaded, Request, Settings
from app.simulation.recorder import Recorder
from app.simulation.running import Running

PARTING = 0.8  # s, the maximum that `close` waits for a thread that is loading a file


class Worker:
    """Runs one simulation at a time in its thread. Methods only post commands, and return at once."""

    def __init__(self, load: Callable[..., engine.Model] = engine.load, attachments: Sequence[Attachment] = ()):
        """`attachments` join the steps in this order."""
        self._load = load
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._newest_open = self._newest_settings = 0
        self._known: Latest | None = None
        self._loop = Loop(self._commands, self.send_event, attachments)
        # A daemon, since `close` does not wait for a slow load.
        self._thread = threading.Thread(target=self._loop.run, name="simulation", daemon=True)
        self._thread.start()

    @property
    def seen(self) -> bool:
        """Whether anybody sees the published states."""
        return self._loop.seen

    @seen.setter
    def seen(self, seen: bool) -> None:
        self._loop.seen = seen

    def open(
        self,
        source: str | engine.Model,
        settings: Settings,
        floating: bool = False,
        package_dirs: tuple[str, ...] = (),
        trust_xacro: bool = False,
        xacro_args: Mapping[str, str] = MappingProxyType({}),
        opener: Callable[[Callable[..., engine.Model]], Callable[..., engine.Model]] = lambda load: load,
        placed: Callable[[Settings], Settings] = lambda settings: settings,
    ) -> None:
        """Load a file, or use a given model, and replace the robot.

        Gravity starts off on a floating base, a robot with motors starts held, and the algorithm is chosen again;
        `placed`, called once the file has been read, may set another scene.
        """
        self._newest_open += 1
        request = Request(self._newest_open, floating, trust_xacro)
        load = partial(opener(self._load), package_dirs=package_dirs, floating=floating, trust_xacro=trust_xacro)
        if xacro_args:
            load = partial(load, xacro_args=xacro_args)

        def command() -> None:
            if self.is_newest(request):
                self._loop.changeover.open(source, settings, load, placed, request)

        self._commands.put(command)

    def is_newest(self, request: Request) -> bool:
        """Whether no later request supersedes this one."""
        return request.number == self._newest_open

    def play(self) -> None:
        self.command(self._loop.play)

    def pause(self) -> None:
        self._commands.put(self._loop.pause)

    def step(self, count: int = 1) -> None:
        """Pause, and take `count` steps."""
        self.command(partial(self._loop.step, count))

    def reset(self, q: np.ndarray, setpoints: Mapping[int, float] = MappingProxyType({})) -> None:
        """Reset to time zero, at rest in q (nq,); play continues if running.

        `setpoints`, rad or m, by velocity index, are those of joints that do not begin at their positions.
        """
        self.command(partial(self._loop.reset, q.copy(), setpoints))

    def show_again(self) -> None:
        """Publish the current state again."""
        self.change(lambda _: None)

    def branch(self, recorder: Recorder, run: engine.Run, frame: engine.RecordedFrame) -> None:
        """Pause, and branch a new run off a frame of a run that `recorder` keeps."""

        def command() -> None:
            recorder.branch(run, frame)
            self._loop.continue_from(frame)

        self.command(command)

    def set_coordinate(self, q: int, v: tuple[int, ...], value: float) -> None:
        """Set q[q] to `value` (rad or m) and v to zero; during play only the joint's setpoint is set."""
        if len(v) == 1:
            self.set_target(v[0], value)

        def put(state: np.ndarray) -> None:
            state[q] = value

        self.set_rotation(put, v)

    def set_rotation(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        """Call `put` to write a joint's rotation into q (nq,), and set v to zero; no effect during play."""
        self.command(partial(self._loop.place, put, v))

    def set_target(self, v: int, value: float) -> None:
        """Set the setpoint of the joint with the velocity v to `value` (rad or m)."""
        self.change(lambda running: running.set_one("target", v, value))

    def set_speed(self, speed: float) -> None:
        """Set the simulated seconds per wall second."""
        self._commands.put(partial(self._loop.set_speed, speed))

    def select_robot(self, robot: int) -> None:
        """Select the robot of the batch that snapshots show."""
        self.change(lambda running: running.select_robot(robot))

    def configure(self, settings: Settings) -> int:
        """Change the settings, keeping state and time; return the number of the `Configured` that will follow."""
        self._newest_settings += 1
        self.command(partial(self._loop.changeover.configure, self._newest_settings, settings))
        return self._newest_settings

    def change(self, change: Callable[[Running], None]) -> None:
        """Call `change` in the simulation thread, between two batches of steps."""
        self.command(partial(self._loop.change, change))

    def push(self, change: Callable[[Running], None]) -> None:
        """Call `change`, which sets external wrenches; steps apply them once their code is compiled."""
        self.command(partial(self._loop.push, change))

    def command(self, command: Callable[[], None]) -> None:
        """Post a command for the robot that the caller knows of, from the last `Loaded` in `events`."""
        self._commands.put(partial(self._loop.changeover.for_robot, self._known, command))

    def send_event(self, event: Event) -> None:
        """Queue an event; callable from any thread."""
        self._events.put(event)

    def events(self) -> list[Event]:
        """Return the events since the last call, in order."""
        happened = []
        while not self._events.empty():
            event = self._events.get()
            if isinstance(event, Loaded):
                self._known = event.frames
            happened.append(event)
        return happened

    def close(self) -> None:
        """Stop the thread and wait for it, at most `PARTING` s if a file is loading.

        The process that expands a xacro file ends with the program.
        """
        self._newest_open += 1  # none of those that wait is loaded any more
        self._commands.put(self._loop.quit)
        self._thread.join(PARTING)
        self._loop.changeover.close(PARTING)
