"""The size of lessons in the window: no step has to be scrolled, and all type can be read."""

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication, QSplitter
from windows import case, show_lesson, wait

import engine
from app.desktop import theme
from app.desktop.docks import SIDE_WIDTH
from app.panels.lesson import PICTURED, WORDS, LessonPanel

NAMES = engine.Lesson.names()
TYPE = 13  # px, of words in a picture that is not scaled
LEAST = {False: 10.0, True: 13.0}  # px, of any words, usually and for a lecture


def test_presentation_size_has_larger_type_and_more_room(qtbot, window, taught):
    view = taught("dca", engine.chain(8), 3)
    panel, dock = view.panel, window.docks["Lesson"]
    window.resize(1280, 800)
    sizes = []
    form = panel.question
    for on in (False, True, False):
        view.large.setChecked(on)
        wait(qtbot, lambda on=on: (dock.width() > 600) == on)
        assert panel.step.index == panel.lesson.steps[3].index
        panel.go(len(panel.lesson.steps) - 1)
        for button in form.choices.buttons():  # the words are then of another colour, and of the same size
            button.click()
            assert form.wording.font().pointSizeF() == button.font().pointSizeF()
        requested = {each.font().pointSizeF() for each in (*form.choices.buttons(), form.wording)}
        panel.go(3)
        assert len(requested) == 1
        sizes.append((panel.title.font().pointSizeF(), *requested, panel.text.document().size().height()))
    assert all(larger > usual for larger, usual in zip(sizes[1], sizes[0], strict=True))
    assert sizes[2] == sizes[0]
    view.large.setChecked(True)
    theme.apply(QApplication.instance(), not theme.is_dark())
    assert panel.title.font().pointSizeF() == sizes[1][0]
    assert form.wording.font().pointSizeF() == sizes[1][1]
    theme.apply(QApplication.instance(), not theme.is_dark())


def test_a_lesson_keeps_its_height_beside_compare(qtbot, window, taught):
    """Compare extended below it, and left its picture some 40 px."""
    taught("abia", engine.chain(8), 3)
    window.resize(1000, 650)
    wait(qtbot, lambda: window.width() == 1000)
    lesson, compare = window.docks["Lesson"], window.docks["Compare"]
    for title in ("Compare", "Joints"):
        window.docks.show_in_front(title)
    wait(qtbot, lambda: compare.width() == window.width())
    window.docks.show_in_front("Lesson")
    wait(qtbot, lambda: compare.width() < 600 and lesson.height() > 480)


@pytest.mark.parametrize("robot", [engine.find_robot("arm7"), engine.chain(16)], ids=["arm7", "chain"])
def test_no_step_has_to_be_scrolled_and_all_type_can_be_read(qtbot, window, taught, robot):
    view, dock = taught(NAMES[0], robot), window.docks["Lesson"]
    window.resize(1280, 800)
    for large in (False, True):
        view.large.setChecked(large)
        wait(qtbot, lambda large=large: dock.width() > 700 if large else dock.width() < 500)
        for name in NAMES:
            with case(name, "for a lecture" if large else "usually"):
                check_sizes(show_lesson(qtbot, view, name), large)
    view.large.setChecked(False)


def check_sizes(panel: LessonPanel, large: bool) -> None:
    """Look at each step of the lesson that is shown."""
    least = LEAST[large]
    for number, step in enumerate(panel.lesson.steps):
        panel.go(number)
        QApplication.processEvents()
        assert panel.text.verticalScrollBar().maximum() == 0, step.title
        for each in (panel.picture, panel.clock):
            if each.isVisible():
                assert TYPE * each.scale >= least, step.title
        around = (panel.tabs.tabBar(), panel.place, panel.speed, panel.pull, panel.handles, panel.measured)
        assert all(each.fontInfo().pixelSize() >= least for each in around)
        assert panel.tabs.isVisible() == (step.has_picture or step.has_clock or bool(step.code[1]))
    if large and panel.clock.isVisible():  # beside the question it needs the room
        assert panel.clock.height() > panel.text.height()


@pytest.mark.parametrize("size", [(1000, 650), (1900, 1080)], ids=["small", "large"])
def test_words_in_pictures_suit_the_text_and_the_controls_stay_in_sight_in_a_window_of_any_size(
    qtbot, window, taught, size
):
    """For a lecture they were half as large as the text in a small window, which cut the controls, and else twice."""
    view = taught("dca", engine.find_robot("arm7"))
    panel = view.panel
    window.resize(*size)
    view.large.setChecked(True)
    wait(qtbot, lambda: window.docks["Lesson"].width() > 0.55 * size[0])
    text, title = (each.fontInfo().pixelSize() for each in (panel.handles, panel.title))
    seen = 0
    for number, step in enumerate(panel.lesson.steps):
        panel.go(number)
        QApplication.processEvents()
        for each in (panel.picture, panel.clock):
            if each.isVisible():
                seen += 1
                assert 0.69 * text <= TYPE * each.scale <= title, step.title
        answers = (
            panel.question.choices.buttons() if step.question and step.question.choices else [panel.question.answer]
        )
        for each in (panel.place, panel.speed, panel.next, *(answers if step.question else [])):
            assert each.visibleRegion().boundingRect() == each.rect(), step.title
    assert seen > 5


def test_words_have_the_room_that_pictures_leave_until_it_is_set(qtbot, window, taught):
    view = taught("dca", engine.chain(7), 3)
    panel, parts = view.panel, view.panel.findChild(QSplitter)
    window.resize(1280, 800)
    wait(qtbot, lambda: parts.sizes()[0] / sum(parts.sizes()) == pytest.approx(WORDS, abs=0.01))
    view.large.setChecked(True)
    wait(qtbot, lambda: window.docks["Lesson"].width() > 700 and parts.sizes()[0] < 0.3 * sum(parts.sizes()))
    few = parts.sizes()[0] / sum(parts.sizes())
    panel.go(7)
    document = panel.text.document().size().height()
    assert document > few * sum(parts.sizes())
    wait(qtbot, lambda: panel.text.height() >= document)
    assert panel.picture.height() >= panel.picture.height_for(PICTURED) - 1
    panel.go(3)
    wait(qtbot, lambda: abs(parts.sizes()[0] / sum(parts.sizes()) - few) < 0.02)
    parts.moveSplitter(300, 1)
    own = parts.sizes()[0] / sum(parts.sizes())
    assert abs(own - few) > 0.1
    panel.go(7)
    QApplication.processEvents()
    assert parts.sizes()[0] / sum(parts.sizes()) == pytest.approx(own, abs=0.01)


def test_presentation_size_widens_the_lesson_only_and_gives_the_column_its_width_back(qtbot, window, taught):
    view, docks = taught("dca", engine.chain(8), 3), window.docks
    window.resize(1280, 800)
    window.resizeDocks([docks["Lesson"]], [380], Qt.Orientation.Horizontal)
    wait(qtbot, lambda: docks["Lesson"].width() == 380)
    view.large.setChecked(True)
    wait(qtbot, lambda: docks["Lesson"].width() > 700)
    docks.show_in_front("Joints")
    wait(qtbot, lambda: docks["Joints"].width() == 380)
    docks.show_in_front("Lesson")
    wait(qtbot, lambda: docks["Lesson"].width() > 700)
    docks["Lesson"].hide()
    wait(qtbot, lambda: docks["Joints"].isVisible() and docks["Joints"].width() == 380)
    docks.show_in_front("Lesson")
    wait(qtbot, lambda: docks["Lesson"].width() > 700)
    view.large.setChecked(False)
    wait(qtbot, lambda: docks["Lesson"].width() == 380)


def test_a_lesson_on_joints_with_long_names_is_no_wider_than_the_column(qtbot, window, taught, tmp_path):
    solid = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    links = "".join(f'<link name="l{k}">{solid}</link>' for k in range(8))
    joints = (
        f'<joint name="{"long_" * 16}{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        '<origin xyz="0 0 1"/><axis xyz="1 0 0"/></joint>'
        for k in range(7)
    )
    robot = tmp_path / "long.urdf"
    robot.write_text(f'<robot name="long">{links}{"".join(joints)}</robot>', "utf-8")
    window.resize(1000, 650)
    panel = taught("dca", robot, 15).panel
    wait(qtbot, lambda: panel.pull.isVisible())
    assert panel.minimumSizeHint().width() <= SIDE_WIDTH
    assert panel.pull.width() < panel.tabs.width() - panel.tabs.tabBar().sizeHint().width()
