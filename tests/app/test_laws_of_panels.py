"""Panels show the state in the units they name, and typed or dragged values are requested exactly."""

import math
import re
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from PyQt6.QtCore import QPointF, Qt
from PyQt6.QtTest import QTest
from random_robots import base_pose, robot, robots
from test_laws_of_acting import a_drive
from test_laws_of_files import meant
from windows import slider_position

import engine
from app.acting.coordinates import coordinates
from app.acting.forces import SetWrench
from app.desktop.numbers import duration
from app.panels.bars import DurationAxis
from app.panels.batch import BatchPanel
from app.panels.canvas import Canvas, Curve
from app.panels.chart import Chart
from app.panels.compare_form import CompareForm
from app.panels.ghost import GhostPanel
from app.panels.growth import time_at
from app.panels.heat_map import HeatMap
from app.panels.history import MEMORY, History
from app.panels.joint_form import JointForm
from app.panels.joints import DRIVE, EFFORT, NAME, SLIDER, VALUE, VELOCITY, JointPanel
from app.panels.timing_table import SHOWN, TimingTable
from app.panels.wrenches import WrenchPanel
from app.picture.crowd import ramp
from app.plotting.catalogue import catalogue
from app.plotting.series import Series
from app.simulation.batch_spread import MAX_ROBOTS, BatchSpread, OwnJoint
from app.simulation.ghost import PRECISIONS, STEPS, GhostSettings
from app.simulation.messages import GhostState

Role = Qt.ItemDataRole
UNITS = {"°": math.pi / 180, "mm": 1e-3, "°/s": math.pi / 180, "mm/s": 1e-3, "N m": 1.0, "N": 1.0}


def in_si(text: str) -> tuple[float, str]:
    """The number in SI, and the unit, of what a cell says."""
    number, unit = re.fullmatch(r"(?:→ )?(?:~ )?(-?[\d.]+) (.+)", text).groups()
    return float(number) * UNITS[unit], unit


def joint_of(model, name: str) -> engine.Joint:
    return next(joint for joint in model.joints if name == joint.name or name.startswith(f"{joint.name}."))


def turns(model, name: str) -> bool:
    """Whether a coordinate of that name is an angle."""
    joint = joint_of(model, name)
    if joint.kind == "floating":
        return name.endswith((".roll", ".pitch", ".yaw"))
    along = name.endswith((".x", ".y")) if joint.kind == "planar" else joint.kind == "prismatic"
    return not along


def test_a_coordinate_is_read_as_it_was_put_and_its_slider_ends_at_its_limits(chance, tmp_path):
    for model in robots(tmp_path, chance):
        rows = coordinates(model)
        by_name = {row.name: row for row in rows}
        assert len(by_name) == len(rows)
        for row in rows:
            assert row.angular == turns(model, row.name)
            assert row.upper > row.lower
            q = model.random(chance)
            if row.leader is not None:
                leader, joint = by_name[row.leader], joint_of(model, row.name)
                assert q[leader.q] * joint.multiplier + joint.offset == row.multiplier * q[row.q] + row.offset
                ends = [joint.multiplier * end + joint.offset for end in (leader.lower, leader.upper)]
                assert sorted(ends) == pytest.approx([row.lower, row.upper])
                continue
            low = min(max(row.lower, -1.7), row.upper - min(3.4, row.upper - row.lower))
            value, before = float(chance.uniform(low, min(row.upper, low + 3.4))), q.copy()
            if row.component is not None:
                row.put(q, 0.0)
                others = [other.value(q) for other in rows if other.q == row.q]
            row.put(q, value)
            joint = next(each for each in model.joints if row.q in range(each.q.start, each.q.stop))
            if joint.kind == "floating":
                was, now = base_pose(model, joint, before), base_pose(model, joint, q)
                if row.rpy:
                    assert engine.rpy_from_rotation(now[:3, :3])[row.component] == pytest.approx(value, abs=1e-9)
                    np.testing.assert_array_equal(now[:3, 3], was[:3, 3])
                else:
                    was["xyz".index(row.name[-1]), 3] = value
                    np.testing.assert_allclose(now, was, rtol=0, atol=1e-9)
            elif row.component is None:
                assert row.value(q) == pytest.approx(value)
                others = np.flatnonzero(q != before)
                assert set(others) <= {row.q}
                v = row.effort_v
                if row.limited:
                    assert (row.lower, row.upper) == (model.lower[v], model.upper[v])
                    assert row.at_limit(q) == (
                        min(value - row.lower, row.upper - value) < 1e-3 * (row.upper - row.lower)
                    )
            else:
                room = math.sqrt(math.pi**2 - sum(x * x for x in others))
                assert row.value(q) == pytest.approx(np.clip(value, -room, room), abs=1e-6)
                assert np.linalg.norm(q[row.q : row.q + 4]) == pytest.approx(1)
            if row.driveable:
                assert (row.effort, row.velocity) == (
                    model.effort_limit[row.effort_v],
                    model.velocity_limit[row.effort_v],
                )


@pytest.fixture
def joints(qtbot):
    panel = JointPanel()
    qtbot.addWidget(panel)
    panel.resize(900, 600)
    return panel


def filled(panel, model, rng):
    q, rows = model.random(rng), coordinates(model)
    v, effort, target, tau = rng.normal(size=(4, model.nv))
    panel.set_rows(rows, model.neutral())
    panel.show_state(q, target, tau)
    panel.show_motion(v, effort)
    held = frozenset(k for k, row in enumerate(rows) if row.holdable and rng.random() < 0.5)
    drives = {k: a_drive(rng) for k, row in enumerate(rows) if row.driveable and rng.random() < 0.3}
    panel.show_held(held)
    panel.show_drives(drives)
    return rows, q, v, effort, target, tau


def cell_of(table, k: int, column: int, role=Role.DisplayRole):
    return table.data(table.index(k, column), role)


def limits_of(joints, k: int, row, unit: str) -> None:
    """The range of the input and its text end at the joint's limits."""
    if not row.limited:
        return
    box = joints.itemDelegate().createEditor(joints, None, joints.table.index(k, VALUE))
    ends = (box.minimum() * UNITS[unit], box.maximum() * UNITS[unit])
    assert ends == pytest.approx((row.lower, row.upper), abs=0.006 * UNITS[unit])
    if row.leader is None:
        spoken = re.search(
            r"from (-?[\d.]+) to (-?[\d.]+)",
            joints.table.data(joints.table.index(k, VALUE), Qt.ItemDataRole.ToolTipRole),
        ).groups()
        told_ = [float(each) * UNITS[unit] for each in spoken]
        assert told_ == pytest.approx([row.lower, row.upper], abs=0.051 * UNITS[unit])


def test_the_joint_table_tells_positions_drives_velocities_and_efforts(chance, tmp_path, joints):
    asked_for = []
    joints.table.driven.connect(lambda *x: asked_for.append(x))
    for model in robots(tmp_path, chance):
        rows, q, v, effort, target, tau = filled(joints, model, chance)
        table = joints.table
        for k, row in enumerate(rows):
            cell, angle = partial(cell_of, table, k), turns(model, row.name)
            assert cell(NAME) == row.name
            value, unit = in_si(cell(VALUE))
            assert unit == ("°" if angle else "mm")
            assert value == pytest.approx(row.value(q), abs=0.051 * UNITS[unit])
            assert cell(VALUE, Role.EditRole) * UNITS[unit] == pytest.approx(row.value(q))
            limits_of(joints, k, row, unit)
            if not row.driveable:
                assert (cell(DRIVE), cell(VELOCITY), cell(EFFORT)) == (None, None, None)
                continue
            mode, dof, rate, push = table.mode(k), row.effort_v, *(("°/s", "N m") if angle else ("mm/s", "N"))
            plain = {"target": target[dof], "effort": tau[dof]}.get(mode)
            requests = table.drives[k].value if k in table.drives else plain
            value, shown = in_si(cell(DRIVE))
            assert shown == {"target": unit, "velocity": rate, "effort": push}[mode]
            assert value == pytest.approx(requests, abs=0.051 * UNITS[shown])
            for column, known, its in ((VELOCITY, v[dof], rate), (EFFORT, effort[dof], push)):
                assert in_si(cell(column)) == (pytest.approx(known, abs=0.051 * UNITS[its]), its)
            number = float(chance.normal())
            table.setData(table.index(k, DRIVE), number / UNITS[shown])
            assert asked_for.pop() == (k, pytest.approx(number))


def test_a_slider_is_dragged_to_the_value_that_it_shows(chance, tmp_path, joints):
    requests = []
    joints.moved.connect(lambda *x: requests.append(x))
    for model in robots(tmp_path, chance):
        rows, *_ = filled(joints, model, chance)
        for k, row in enumerate(rows):
            joints.scrollTo(joints.table.index(k, SLIDER))
            value = float(chance.uniform(row.lower, row.upper))
            place = slider_position(joints, k, value)
            QTest.mousePress(joints.viewport(), Qt.MouseButton.LeftButton, pos=place.toPoint())
            QTest.mouseRelease(joints.viewport(), Qt.MouseButton.LeftButton, pos=place.toPoint())
            if row.leader is not None:
                assert not requests
                continue
            pixel = (row.upper - row.lower) / (
                slider_position(joints, k, row.upper) - slider_position(joints, k, row.lower)
            ).x()
            assert requests.pop() == (k, pytest.approx(value, abs=1.5 * pixel))
            assert pixel > 0
            requests.clear()


def test_a_joints_form_asks_for_the_drive_that_it_shows(chance, tmp_path, qtbot):
    form = JointForm()
    qtbot.addWidget(form)
    for model in robots(tmp_path, chance):
        for row in coordinates(model):
            if not row.driveable:
                continue
            drive, gains = a_drive(chance), tuple(chance.uniform(0, 99, 2).tolist())
            form.show_joint(row, drive, gains, OwnJoint(row.effort_v, *chance.uniform(0, 99, 3).tolist()))
            unit = {"target": "°" if row.angular else "mm", "velocity": "°/s" if row.angular else "mm/s",
                    "effort": "N m" if row.angular else "N"}[drive.mode]  # fmt: skip
            for box, value in ((form.value, drive.value), (form.amplitude, drive.amplitude)):
                assert box.suffix() == f" {unit}"
                assert box.value() * UNITS[unit] == pytest.approx(value, abs=0.0051 * UNITS[unit])
            again = form.drive()
            assert (again.mode, again.wave, again.weight) == (drive.mode, drive.wave, drive.weight)
            assert (again.value, again.amplitude) == pytest.approx(
                (drive.value, drive.amplitude), abs=0.0051 * UNITS[unit]
            )
            assert again.period == pytest.approx(drive.period, abs=0.0051)
            assert again.phase == pytest.approx(drive.phase, abs=math.radians(0.0051))
            assert (form.kp.value(), form.kd.value()) == pytest.approx(gains, abs=0.0051)
            velocity, effort = chance.normal(size=2)
            form.show_motion(velocity, effort)
            speed, force = (float(part.split()[0]) for part in form.motion.text().split(" · "))
            assert speed * UNITS["°/s" if row.angular else "mm/s"] == pytest.approx(velocity, abs=1e-3)
            assert force == pytest.approx(effort, abs=0.051)


def test_a_wrench_is_set_as_it_is_shown(chance, tmp_path, qtbot):
    panel, requests = WrenchPanel(), []
    qtbot.addWidget(panel)
    panel.set.connect(lambda *x: requests.append(x))
    model = robot(tmp_path, chance)
    links = np.flatnonzero(model.link_body >= 0).tolist()
    panel.set_links(links, [model.link_names[link] for link in links])
    for _ in range(10):
        known = {
            int(link): SetWrench(int(link), chance.normal(0, 9, 6).round(3), bool(chance.random() < 0.5))
            for link in chance.choice(links, 3, replace=False)
        }
        panel.show_wrenches(known)
        lines = dict(line.rsplit(": ", 1) for line in panel.acting.text().splitlines())
        for link, each in known.items():
            panel.choose(link)
            assert panel.link.currentText() == model.link_names[link]
            boxes = [box.value() for box in (*panel.moment, *panel.force)]
            assert boxes == pytest.approx(each.wrench.tolist())
            panel.act.clicked.emit(True)
            got = requests.pop()
            assert (got[0], got[2]) == (link, each.world)
            np.testing.assert_allclose(got[1], each.wrench)
            numbers = [float(x) for x in re.findall(r"-?[\d.]+(?:e-?\d+)?", lines[model.link_names[link]])]
            np.testing.assert_allclose(numbers, [*each.wrench[3:], *each.wrench[:3]], rtol=1e-5)
            assert ("world" in lines[model.link_names[link]]) == each.world
            axis = int(chance.integers(3))
            (panel.force if chance.random() < 0.5 else panel.moment)[axis].setValue(12.5)
            changed = np.flatnonzero(requests.pop()[1] != got[1])
            assert len(changed) == 1
            assert changed[0] % 3 == axis


def test_cells_of_a_heat_map_are_the_robots_they_stand_for(chance, qtbot):
    heat = HeatMap()
    qtbot.addWidget(heat)
    for count in chance.integers(1, 200, 12).tolist():
        heat.resize(*chance.integers(150, 500, 2).tolist())
        values, diverged = chance.normal(size=count), chance.random(count) < 0.1
        heat.show_values("energy", "J", values, diverged, 0)
        known = values[~diverged]
        image = heat._image
        for k in range(count):
            cell = heat.cell(k)
            assert heat.robot_at(cell.center()) == k
            assert heat.rect().contains(cell.center().toPoint())
            pixel = image.pixelColor(k % heat.side, k // heat.side)
            if not diverged[k]:
                share = (values[k] - known.min()) / (np.ptp(known) or 1.0)
                np.testing.assert_allclose(pixel.getRgbF()[:3], ramp(share), atol=0.01)
                name, text = heat.text(k).split(": ")
                assert name == f"robot {k}"
                assert meant(text.removeprefix("energy "), "J") == pytest.approx(values[k], rel=1e-3)
        assert heat.robot_at(QPointF(-3, -3)) is None


def test_a_batch_that_is_shown_is_the_one_that_would_be_asked_for(chance, qtbot):
    panel, requests = BatchPanel(), []
    qtbot.addWidget(panel)
    panel.requested.connect(requests.append)
    for _ in range(10):
        robots_, seed = int(chance.integers(1, MAX_ROBOTS)), int(chance.integers(999_999))
        shares_ = [round(x, 2) for x in chance.uniform(0, [3, 0.9, 1.0])]
        panel.show_spread(BatchSpread(robots_, *shares_, seed=seed))
        found = panel.spread
        assert (found.robots, found.seed) == (robots_, seed)
        assert (found.pose, found.mass, found.friction) == pytest.approx(shares_, abs=1e-9)
        assert 2 ** (panel.slider.value() / 12) == pytest.approx(robots_, rel=0.03)
        assert (requests, panel._due.isActive()) == ([], False)


def test_the_timing_table_tells_statistics_of_the_last_samples(chance):
    names = ("a", "b", "c", "d")
    for _ in range(6):
        history, every, marked, before = History(names), [], 0, np.full(5, np.nan)
        shown = list(names)
        table = TimingTable("step", history)
        for _ in range(int(chance.integers(1, 900))):
            sample = dict(zip(names, chance.exponential(1e-4, 4), strict=True))
            history.add(sample)
            every.append([*sample.values(), sum(sample.values())])
            if chance.random() < 0.004:
                before = np.median(np.array(every[marked:])[-MEMORY:], 0)
                history.mark()
                marked = len(every)
        shown = [name for name in names if chance.random() < 0.7] or ["a"]
        history.show(shown)
        table.show_others()
        np.testing.assert_array_equal(history.samples, np.array(every)[-MEMORY:, :4])
        some = np.array(every[marked:])[-MEMORY:]
        rows = [4, *map(names.index, shown)]
        assert table.names == ["step", *shown]
        if len(some):
            expected = np.stack([some[-1], some.min(0), np.percentile(some, 99, 0), np.median(some, 0), before], 1)
            np.testing.assert_allclose(table.seconds, expected[rows], rtol=1e-9)
            for row in range(len(rows)):
                for column, statistic in enumerate(SHOWN, start=1):
                    assert table.data(table.index(row, column)) == duration(expected[rows[row], statistic])


def test_a_plots_places_are_its_times_and_values(chance, qtbot, tmp_path):
    """Also what is written beside it: the last value, or that under the mouse, in the unit of the axis."""
    canvas, chart, model = Canvas(), Chart(), robot(tmp_path, chance)
    for widget in (canvas, chart):
        qtbot.addWidget(widget)
    every = {each.kind: each for each in catalogue(model) if not each.unit.logarithmic and each.unit.label}
    for quantity in (*every.values(), *every.values()):
        canvas.resize(*chance.integers(200, 900, 2).tolist())
        start, low = chance.normal(size=2)
        canvas.time, canvas.values = (
            (start, start + 10 ** chance.uniform(-2, 3)),
            (low, low + 10 ** chance.uniform(-5, 5)),
        )
        x, y = chance.random(2) * (canvas.area.width(), canvas.area.height()) + (canvas.area.left(), canvas.area.top())
        assert float(canvas.x_of(canvas.time_at(x))) == pytest.approx(x)
        assert float(canvas.y_of(canvas.value_at(y))) == pytest.approx(y)
        assert canvas.y_of(canvas.values[1]) < canvas.y_of(canvas.values[0])
        at = np.sort(chance.uniform(*canvas.time, 9))
        curve = Curve("any", "#fff", Qt.PenStyle.SolidLine, at, chance.uniform(*canvas.values, 9))
        canvas.curves = (curve,)
        place = QPointF(float(canvas.x_of(at[3])) + 1e-6, float(canvas.y_of(curve.value[3])) + 1)
        assert canvas.near(place) == (curve, 3)
        line = Series()
        line.extend(np.arange(5.0), chance.normal(size=5) * 10 ** chance.uniform(-4, 4))
        chart.add(quantity)
        chart.canvas.time = (0.0, 4.0)
        chart.draw({quantity: line})
        moment = float(chance.choice([math.nan, 1.2, 2.9]))
        chart.show_values({quantity: line}, moment, {})
        si = line.value[-1] if math.isnan(moment) else line.at(moment)
        si -= line.value[0] if quantity.relative else 0.0
        scale = quantity.unit.scale
        low, high = chart.canvas.values
        text = re.search(r"<b[^>]*>(.*?)</b>", chart.names.text())[1]
        text = text.replace("&nbsp;", " ").replace("\u2060", "").strip()
        assert meant(text, re.escape(quantity.unit.label)) == pytest.approx(si * scale, abs=0.011 * (high - low))
        chart.drop(quantity)


def test_the_ghosts_panel_asks_for_what_is_chosen_and_tells_how_far_it_is(chance, qtbot):
    panel = GhostPanel()
    qtbot.addWidget(panel)
    panel.set_algorithms(("abia", "cfa"))
    panel.on.setChecked(True)
    for _ in range(12):
        chosen = GhostSettings(
            str(chance.choice(["", "abia", "cfa"])), str(chance.choice(["", *engine.INTEGRATORS])),
            str(chance.choice(PRECISIONS)), Fraction(chance.choice(STEPS)),
        )  # fmt: skip
        for name in ("algorithm", "integrator", "precision", "step"):
            box, value = getattr(panel, name), getattr(chosen, name)
            box.setCurrentIndex([box.itemData(k) for k in range(box.count())].index(value))
        assert panel.settings == chosen
        deviation = chance.exponential(1e-3, 4)
        panel.show_state(GhostState(np.zeros((4, 4, 4)), deviation, 0.5, 1.25, "abia", "cpu", 5e-4), list("abcd"))
        number, link = panel.now.text().split("  ")
        assert meant(number, "m") == pytest.approx(deviation.max(), rel=5.1e-3)
        assert link == f"({'abcd'[int(np.argmax(deviation))]})"
        assert panel.worst.text() == "500 mm  since 1.250 s"
        assert panel.by.text() == "ABA on the CPU, 0.5 ms"


def test_bars_are_as_long_as_their_times(chance):
    for _ in range(20):
        first = 10 ** chance.uniform(-8, 0)
        least = first * chance.uniform(0.5, 1)
        axis = DurationAxis(least, first, first * 10 ** chance.uniform(0, 4))
        times = np.sort(first * (axis.last / first) ** chance.random(9))
        places = np.array([axis.place(each) for each in times])
        assert np.all(np.diff(places) >= 0)
        assert axis.place(axis.last) == pytest.approx(1)
        expected = np.log(times / least) / np.log(axis.last / least) if axis.last > 20 * first else times / axis.last
        np.testing.assert_allclose(places, expected, atol=1e-9)
        for place, words in axis.ticks(5):
            if words != "0":
                seconds = first * float(words.split(" ")[0].replace(",", "")) if "×" in words else meant(words, "s")
                assert place == pytest.approx(axis.place(seconds), abs=6e-3)


def test_a_chain_is_as_long_as_its_slider_and_its_number_say(chance, qtbot):
    form = CompareForm()
    qtbot.addWidget(form)
    for links in chance.integers(1, 1 << 12, 30).tolist():
        form.length.setValue(links)
        assert form.chain_length == links
        assert 2 ** (form.links.value() / 16) == pytest.approx(links, rel=0.05)
    lengths = []
    for value in range(form.links.maximum() + 1):
        form.links.setValue(value)
        lengths.append(form.chain_length)
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (1, 4096)


def test_a_curve_of_growth_goes_through_its_points_straight_on_logarithmic_paper(chance):
    power, factor = chance.uniform(0.5, 2), 10 ** chance.uniform(-6, -3)
    curve = {int(n): factor * n**power for n in (1, 2, 7, 40, 333)}
    for size in (*curve, *chance.uniform(1, 333, 9)):
        assert time_at(curve, size) == pytest.approx(factor * size**power)
