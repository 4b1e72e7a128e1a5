"""A study's samples as they are drawn: intervals, curves that coincide, labels of many cells, and runs in view."""

from types import SimpleNamespace

import numpy as np
import pytest
from PyQt6.QtCore import QRectF
from PyQt6.QtGui import QImage, QPainter
from windows import wait

import engine
from app.desktop import theme
from app.features.study_view import StudyView
from app.gl.picking import corners_at
from app.panels.axes import Axis
from app.panels.study_kind import Wanted
from app.panels.study_kinds import BANDS, Shares

pytestmark = pytest.mark.usefixtures("qapp")
AREA = QRectF(0, 0, 300, 200)
CART = """<robot name="cart"><link name="rail"/><link name="cart">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="0 1 0"/>
<limit lower="-9" upper="9" effort="1" velocity="99"/></joint></robot>"""
MOVED = """robot = "cart.urdf"
seconds = 0.1
dt = 0.01
[[vary]]
what = "velocity"
of = "slide"
values = [20.0]
[[keep]]
quantity = "slide position"
"""


def line(k: int, share: float) -> SimpleNamespace:
    """A curve of shares that are the same for all x, with its interval."""
    x = np.linspace(0, 1, 50)
    low, middle, high = (np.full(50, each) for each in (0.2, share, 0.8))
    return SimpleNamespace(x=x, low=low, share=middle, high=high, label=f"friction {k}")


def drawn(*shares: float) -> QImage:
    """The chart of such curves."""
    results = SimpleNamespace(
        columns={"x": np.zeros(2), "stands": np.ones(2, bool), "diverged": np.zeros(2, bool)},
        numbers=lambda _: np.array([0.0, 1.0]),
        shares=lambda *_: [line(k, share) for k, share in enumerate(shares)],
        logarithmic=(), units={}, words=lambda _: (),
    )  # fmt: skip
    picture = QImage(300, 200, QImage.Format.Format_RGB32)
    picture.fill(theme.color("ground"))
    painter = QPainter(picture)
    Shares(results, Wanted("x", "stands", "")).paint(painter, AREA)
    painter.end()
    return picture


def test_intervals_are_filled_while_each_keeps_its_colour():
    ground = theme.color("ground").rgb()
    for count in (1, BANDS, BANDS + 1, 5):
        picture = drawn(*np.linspace(0.3, 0.7, count))
        between = picture.pixel(150, 50)  # at a share of 0.76, where no curve is
        assert (between != ground) == (count <= BANDS)


def test_a_curve_that_covers_another_lets_it_be_seen():
    picture = drawn(0.5, 0.5, 0.6)  # not filled, which would tint them
    y = round((1.02 - 0.5) / 1.04 * 200)
    seen = {picture.pixelColor(x, y + k).name() for x in range(40, 260) for k in (-1, 0, 1)}
    assert {theme.curve_color(0), theme.curve_color(1)} <= {name.lower() for name in seen}


def test_cells_without_room_for_a_label_each_have_round_labels():
    cells = np.arange(60) * 6.1
    marks = Axis("direction", 0, 60, cells=cells).marks(6)
    assert [text for _, text in marks] == ["0", "100", "200", "300"]
    np.testing.assert_allclose([share for share, _ in marks], (np.arange(4) * 100 / 6.1 + 0.5) / 60)
    assert [text for _, text in Axis("gear", 0, 4, cells=cells[:4]).marks(6)] == ["0", "6.1", "12.2", "18.3"]
    assert [text for _, text in Axis("mass", 0, 8, cells=2.0 ** np.arange(8)).marks(4)] == ["1", "4", "16", "64"]


def test_a_samples_run_is_in_view_from_its_first_to_its_last_frame(qtbot, opened, tmp_path):
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed; studies' results are Parquet")
    (tmp_path / "cart.urdf").write_text(CART)
    path = tmp_path / "moved.toml"
    path.write_text(MOVED)
    engine.Study.read(path).run(path.with_suffix(".results"), processes=0)
    window = opened()
    view, replay, viewport = window.features[StudyView], window.workbench.replay, window.viewport
    view.open(str(path))
    wait(qtbot, lambda: view.panel.results is not None)
    view.show_run(0)
    wait(qtbot, lambda: replay.active and not replay.playing)
    wait(qtbot, lambda: viewport.robot_bounds[0][1] > 1.5)
    for lower, upper in (viewport.robot_bounds, (np.full(3, -0.1), np.full(3, 0.1))):
        seen = corners_at(viewport.camera, (viewport.width(), viewport.height()), lower, upper)
        assert np.all((seen >= 0) & (seen <= (viewport.width(), viewport.height())))
