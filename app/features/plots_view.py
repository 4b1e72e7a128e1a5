"""Plots in the window: their dock, sampling of their quantities, and each robot's last layout."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from PyQt6.QtCore import QPoint, Qt, QTimer
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop.actions import MESSAGE
from app.desktop.context_menus import JOINT, LINK, PLOT, Clicked
from app.desktop.docks import BOTTOM, Dock
from app.desktop.settings import setting
from app.features import session_text
from app.features.batch_view import BatchView
from app.features.compared_curves import ComparedCurves
from app.features.ghost_in_plots import GhostInPlots
from app.features.ghost_view import GhostView
from app.features.plot_table import PlotTable
from app.features.second_robot_view import SecondRobotView
from app.features.window_type import Window
from app.panels.phase_plot import Pair
from app.panels.plots import PlotsPanel
from app.plotting.catalogue import Catalogue, catalogue
from app.plotting.probe import Samples
from app.plotting.quantities import GHOST, Quantity
from app.plotting.recorded_curves import Curves, RecordedCurves, Wanted, evaluate
from app.plotting.second_quantities import SecondFrames, is_of_second, is_sampled, values_of_second
from app.plotting.series import Series
from app.simulation.batch_spread import OwnJoint, with_joints
from app.simulation.messages import Loaded, Snapshot

REMEMBERED = 20  # robots
AT_ONCE = 200  # frames of a script's run evaluated per update; older ones are computed in the background
POLL_INTERVAL = 50  # ms between two checks for computed curves
SLACK = 0.1  # s before the end of a run, within which samples may be missing
CHECKED_TIMES = 1000  # times of a run checked for missing samples


class PlotsView:
    """Samples the plotted quantities from when the panel is first visible until it is closed."""

    def __init__(self, window: Window):
        self._window, self._bench, self._settings = window, window.workbench, window.settings
        self.panel = PlotsPanel()
        self.action = window.docks.add(
            Dock("Plots", self.panel, BOTTOM, "Compare", "plots", Qt.Key.Key_P, "Plot any quantity over time (P)")
        )
        window.toolbar.addAction(self.action)
        self._robot, self._name = 0, ""  # the robot's index in a batch, and its name
        self._watched: tuple[Quantity, ...] | None = ()
        self._active, self._catalogue = False, Catalogue()
        self._logged: tuple[str, ...] = ()  # the names of logged numbers in the catalogue
        self._shown: engine.Run | None = None  # the recorded run shown
        self._last = 0  # its last frame when its curves were requested
        self._curves: dict[Quantity, Series] = {}  # computed from that run
        self._newest: engine.Run | None = None  # the run being sampled
        self._taken: tuple[engine.Run | None, int] = None, 0  # a script's run, and the last frame evaluated
        self._compared, self._table = ComparedCurves(window, self.panel), PlotTable(window, self.panel)
        self._recorded, self._timer = RecordedCurves(self._bench.replay.recording), QTimer(window)
        self._timer.timeout.connect(self._poll)
        window.closing.connect(self._recorded.close)
        self.panel.live_asked.connect(self._to_present)
        self.panel.wanted.connect(self._offer_colors)
        self.panel.wanted.connect(self._watch)
        self.panel.shown.connect(self._begin)
        self.panel.seek_requested.connect(self._seek)
        self.panel.message.connect(lambda text: window.statusBar().showMessage(text, MESSAGE))
        self.action.triggered.connect(
            lambda on: self.panel.list.search.setFocus() if on else window.viewport.setFocus()
        )
        window.docks["Plots"].visibilityChanged.connect(self._set_seen)
        window.feature(SecondRobotView).changed.connect(self._take_others)
        self._ghost = GhostInPlots(window, self.panel, self._show_again)
        self._joints: tuple[OwnJoint, ...] = ()
        window.loaded.connect(self._set_robot)
        window.refreshed.connect(self._follow_limits)
        window.framed.connect(self._show)
        window.closing.connect(self._remember)
        window.menus.context.watch(self.panel.stack, self._plot_at)
        window.menus.context.offer("first", self._put_entries, PLOT)
        window.menus.context.offer("plot", self._put_plots, JOINT, LINK)

    def kept(self) -> dict[str, Any]:
        """Return the plots, for a session."""
        return {"plots": self.panel.layout_keys}

    def restore(self, session: dict[str, Any]) -> None:
        """Show a session's plots in place of the present ones."""
        self.panel.set_plots(session_text.plots(session))

    def _set_robot(self, event: Loaded) -> None:
        """Restore the robot's last plots, or keep the current ones as far as its quantities allow."""
        self._remember()
        self._bench.probe.take()
        self._forget_run()
        kept, self._name, self._robot, self._logged = self.panel.layout_keys, event.model.name, 0, ()
        self._set_quantities(event.model, event.settings.joints, self._remembered().get(self._name, kept))

    def _set_quantities(
        self, model: engine.Model, joints: tuple[OwnJoint, ...], plots: Sequence[Sequence[str]]
    ) -> None:
        self._watched, self._joints = (), joints
        self._catalogue = self._catalogue_of(model)
        self.panel.set_quantities(self._catalogue, plots)

    def _catalogue_of(self, model: engine.Model) -> Catalogue:
        return catalogue(with_joints(model, self._joints), ghost=True, second=self._second, logged=self._logged)

    def _follow_limits(self) -> None:
        """Take the effort limits that were set since, of which the plots draw lines."""
        robot = self._bench.robot
        if robot.model is not None and robot.settings.joints != self._joints:
            self._forget_run()
            self._set_quantities(robot.model, robot.settings.joints, self.panel.layout_keys)

    @property
    def _second(self) -> engine.Model | None:
        return self._window.feature(SecondRobotView).model

    def _take_logged(self) -> None:
        """Offer numbers that were logged first in the run that is shown, or in the newest."""
        replay, known = self._bench.replay, dict.fromkeys(self._logged)
        for run in (replay.chosen, replay.newest):
            known.update({} if run is None else dict.fromkeys(run.logged_names))
        if len(known) > len(self._logged):
            self._logged = tuple(known)
            self._take_others()

    def _take_others(self) -> None:
        """Offer the second robot's and logged quantities, plot again those of the last plots, end those that left."""
        if (model := self._bench.robot.model) is None:
            return
        self._catalogue = self._catalogue_of(model)
        if all(self._catalogue.named(each.key) for each in self.panel.quantities if is_of_second(each)):
            self.panel.list.set_quantities(self._catalogue)
        else:
            self.panel.set_quantities(self._catalogue, self.panel.layout_keys)
        missing, self.panel.missing = self.panel.missing, []
        for key in missing:
            if (quantity := self._catalogue.named(key)) is None:
                self.panel.missing.append(key)
            else:
                self.panel.plot(quantity)

    def _show(self, frame: Snapshot) -> None:
        probe = self._bench.probe
        if frame.robot != self._robot:
            self._robot, self._watched = frame.robot, None
            self.panel.clear()
            self._forget_run()  # before the new robot's curves are requested
            self._watch()
        self.panel.robot_name = "" if frame.batch is None else f"robot {frame.robot}"
        self._take_logged()
        present = self._present
        if frame.recorded and present is None:
            self._show_time(frame.time)
        else:
            self._show_present(present)
        blocks = [block for block in probe.take() if block.robot == self._robot]
        self._sample_ghost(frame)
        self._sample_second(frame)
        if present is not None and present is self._bench.replay.growing:
            self._take_of_script(present)
        else:  # the window's own simulation, which waits while a script is followed
            self.panel.add(blocks)
        if probe.waits and not self._bench.robot.playing:
            self._bench.probe.send()

    def _show_again(self) -> None:
        """Show the recorded frame's curves again, of which those of the ghost may be others."""
        if self._present is None and (frame := self._bench.replay.frame) is not None:
            self._show_time(frame.time)

    def _sample_ghost(self, frame: Snapshot) -> None:
        """Add a sample of the ghost's quantities, which the window's live frames alone have."""
        plotted = tuple(each for each in self.panel.quantities if each.subject == GHOST) if self._active else ()
        ghost = self._window.feature(GhostView).state
        if plotted and ghost is not None and not frame.recorded:
            numbers = {"ghost deviation": ghost.deviation.max(initial=0.0), "ghost energy": ghost.energy}
            values = np.array([[numbers[each.kind] for each in plotted]])
            self.panel.add([Samples(frame.robot, plotted, np.array([frame.time]), values)])

    def _sample_second(self, frame: Snapshot) -> None:
        """Add a sample of the second robot's quantities, in the first one's time."""
        plotted, state = tuple(filter(is_of_second, self.panel.quantities)), frame.second_robot
        if self._active and plotted and state is not None and not frame.recorded and self._second is not None:
            values = values_of_second(self._second, [state], plotted)
            self.panel.add([Samples(frame.robot, plotted, np.array([frame.time]), values)])

    @property
    def _sampled_here(self) -> tuple[Quantity, ...]:
        """The plotted quantities that states of the robot have."""
        return tuple(filter(is_sampled, self.panel.quantities))

    @property
    def _recorded_here(self) -> tuple[Quantity, ...]:
        """The plotted quantities that frames of the recording have."""
        return tuple(each for each in self.panel.quantities if each.subject != GHOST)

    @property
    def _present(self) -> engine.Run | None:
        """The run followed live, the simulation's or a script's; None while a recorded frame is shown."""
        replay = self._bench.replay
        if replay.follows:
            return replay.growing
        return None if replay.active else replay.newest

    def _take_of_script(self, run: engine.Run) -> None:
        """Add the plotted quantities of a script's new frames, as if sampled here."""
        if not self._active or not self._sampled_here:
            return
        taken, last = self._taken
        begin = max(last + 1, run.last - AT_ONCE) if taken is run else run.last
        skips = taken is not run or begin > last + 1
        self._taken = run, run.last
        wanted = self._wanted(run, self._sampled_here)
        recording = self._bench.replay.recording
        times, values = evaluate(recording, wanted, range(begin, run.last + 1))
        if skips:
            self.panel.interrupt()
        if len(times):
            self.panel.add([Samples(self._robot, wanted.quantities, times, values)])
        if skips:  # earlier frames are computed in the background
            self._work_out(run, recording.span(run))

    def _show_present(self, newest: engine.Run | None) -> None:
        """Show the live samples; a branch continues the curves of its parent run."""
        before = self._newest
        if newest is not None and newest is not before:
            if newest.left is not None:
                number, time = newest.left
                sampled = dict(self.panel.sampled) if before is not None and number == before.number else {}
                worked_out = self._curves if self._shown is not None and number == self._shown.number else {}
                self.panel.continue_from(time, sampled | worked_out)
            self._newest = newest
        self.panel.show_recorded(None)
        self.panel.show_cursor(math.nan)
        self._ghost.explain(recorded=False)

    # Recorded runs.

    def _show_time(self, time: float) -> None:
        """Show the recorded run of the current frame; missing curves are computed from its frames."""
        run = self._bench.replay.run
        if run is None or not self._active:
            self.panel.show_cursor(time)
            return
        if (run, run.last) != (self._shown, self._last):  # another run, or it has grown
            self._forget_run()
            self._shown, self._last = run, run.last
        span = self._bench.replay.recording.span(run)
        self.panel.show_recorded(self._sampled(run) | self._curves | self._ghost.curves(run), span)
        self._ghost.explain(recorded=True)
        self.panel.show_cursor(time, self._values(run))
        self._work_out(run, span)

    def _sampled(self, run: engine.Run) -> dict[Quantity, Series]:
        """Return the curves sampled while the run was live; the second robot's, of a sample a frame, are computed."""
        sampled = self.panel.sampled if run is self._newest else {}
        return {quantity: line for quantity, line in sampled.items() if not is_of_second(quantity)}

    def _lacking(self, run: engine.Run, times: np.ndarray) -> tuple[Quantity, ...]:
        """Return the plotted quantities that lack samples at some of these times."""
        sampled = self._sampled(run)
        return tuple(each for each in self._recorded_here if each not in sampled or np.any(sampled[each].lacks(times)))

    def _values(self, run: engine.Run) -> dict[Quantity, float]:
        """Return the values at the current frame of quantities without a sample there."""
        replay = self._bench.replay
        if (frame := replay.frame) is None or not (lacking := self._lacking(run, np.array([frame.time]))):
            return {}
        wanted = self._wanted(run, lacking)
        _, values = evaluate(replay.recording, wanted, [frame.index])
        return dict(zip(lacking, values[0].tolist(), strict=True)) if len(values) else {}

    def _wanted(self, run: engine.Run, quantities: tuple[Quantity, ...]) -> Wanted:
        second = None if self._second is None else SecondFrames(self._second, self._bench.inputs.second_robot_in)
        return Wanted(run, run.first, run.last, self._robot, quantities, self._bench.robot.coordinates, second)

    def _work_out(self, run: engine.Run, span: tuple[float, float]) -> None:
        if lacking := self._lacking(run, np.linspace(span[0], max(span[0], span[1] - SLACK), CHECKED_TIMES)):
            self._recorded.want(self._wanted(run, lacking))
            self._timer.start(POLL_INTERVAL)

    def _poll(self) -> None:
        """Show the computed curves."""
        curves, run, replay = self._recorded.poll(), self._shown, self._bench.replay
        if curves is not None and curves.wanted.run is self._present:
            self._report(curves)
            if curves.over:  # samples of a few frames would leave no gap for the others
                for quantity, value in zip(curves.wanted.quantities, curves.values.T, strict=True):
                    self.panel.fill(quantity, curves.time, value)
        elif curves is not None and run is not None:
            self._report(curves)
            sampled = self._sampled(run)
            for quantity, value in zip(curves.wanted.quantities, curves.values.T, strict=True):
                if curves.over or quantity not in self._curves:
                    self._curves[quantity] = sampled.get(quantity, Series()).filled(curves.time, value)
            if replay.active:
                self.panel.show_recorded(sampled | self._curves | self._ghost.curves(run), replay.recording.span(run))
        if not self._recorded.running:
            self._timer.stop()

    def _report(self, curves: Curves) -> None:
        if curves.problem:
            self.panel.message.emit(f"the recording could not be plotted: {curves.problem}")

    def _forget_run(self) -> None:
        self._shown, self._curves = None, {}
        self._recorded.forget()

    def _offer_colors(self) -> None:
        """Offer the plotted quantities as colours of a batch."""
        self._window.feature(BatchView).offer(self._catalogue, self.panel.quantities)

    def _to_present(self) -> None:
        self._bench.to_present()
        self._window.refresh()

    def _seek(self, time: float) -> None:
        """Show the frame of the recording at a time, s."""
        self._bench.pause_for_replay()
        self._bench.replay.playing = False
        self._bench.replay.seek(time)
        self._window.refresh()

    def _set_seen(self, seen: bool) -> None:
        self.panel.seen = seen  # Qt also reports a dock behind another tab as visible
        if self._window.docks["Plots"].isHidden():
            self._active = False
            self._watch()

    def _begin(self) -> None:
        if not self._active:
            self.panel.interrupt()
        self._active = True
        self._watch()

    def _watch(self) -> None:
        wanted = self._sampled_here if self._active else ()
        if wanted != self._watched and self._bench.robot.model is not None:
            self._watched = wanted
            self._bench.probe.watch(wanted)
        run = self._present
        if run is None:
            self._show_again()
        elif self._active and self._recorded_here and len(run) > 1:
            self._newest = run
            self._work_out(run, self._bench.replay.recording.span(run))

    # Context menus.

    def _plot_at(self, at: QPoint) -> Clicked:
        charts = enumerate(self.panel.charts)
        return Clicked(PLOT, number=next((k for k, chart in charts if chart.geometry().contains(at)), -1))

    def _put_entries(self, menu: QMenu, plot: Clicked) -> None:
        panel = self.panel
        if plot.number >= 0:
            shown = panel.charts[plot.number].quantities
            for quantity in shown:
                menu.addAction(f"Remove {quantity.label}", partial(panel.remove, quantity))
            over = menu.addMenu("Plot &over")
            for x in (each for each in panel.quantities if each not in shown or len(shown) > 1):
                over.addAction(x.label, partial(panel.plot_phases, [Pair(x, y) for y in shown if y != x]))
            over.setEnabled(not over.isEmpty())
            menu.addSeparator()
        for button in (panel.fit, panel.follow, panel.add_plot, panel.clear_all):
            menu.addAction(button.text() or button.toolTip(), button.click).setEnabled(button.isEnabled())
        menu.addActions([panel.limits, panel.statistics])
        menu.addMenu(panel.save.menu())
        menu.addMenu(self._window.feature(GhostView).runs)

    def _put_plots(self, menu: QMenu, owner: Clicked) -> None:
        """Add a menu of the plots of a joint or link, each with all components."""
        plots, kinds = menu.addMenu("&Plot"), dict[str, list[Quantity]]()
        for quantity in self._catalogue.of(owner.kind, owner.title):
            kinds.setdefault(quantity.kind, []).append(quantity)
        for kind, quantities in kinds.items():
            plots.addAction(kind.capitalize(), partial(self._plot, quantities, []))
        if owner.kind == JOINT and {"position", "velocity"} <= kinds.keys():
            pair = Pair(kinds["position"][0], kinds["velocity"][0])
            plots.addAction("Velocity over position", partial(self._plot, [], [pair]))

    def _plot(self, quantities: Sequence[Quantity], pairs: Sequence[Pair]) -> None:
        if not self.action.isChecked():
            self.action.trigger()
        for quantity in quantities:
            self.panel.plot(quantity)
        if pairs:
            self.panel.plot_phases(pairs)

    # Persistent layouts.

    def _remembered(self) -> dict[str, list[list[str]]]:
        try:
            return dict(json.loads(setting(self._settings, "plots", "{}")))
        except (ValueError, TypeError, RecursionError):
            return {}

    def _remember(self) -> None:
        if self._name:
            robots = self._remembered()
            robots.pop(self._name, None)
            robots[self._name] = self.panel.layout_keys
            self._settings.setValue("plots", json.dumps(dict(list(robots.items())[-REMEMBERED:])))
