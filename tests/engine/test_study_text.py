"""A study's text: the message for each problem, and samples' values as a function of text and number."""

import re
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from small_studies import named, planned

import engine
from engine.study.description import SAMPLINGS
from engine.study.variables import VARIABLES

SOUND = """robot = "pendulum"
seconds = 0.5
samples = 40
[[vary]]
what = "damping"
of = "all"
uniform = [0.0, 2.0]
[[vary]]
what = "dt"
values = [0.01, 0.02]
[[vary]]
what = "mass"
of = "all"
factor = true
normal = [1.0, 0.8]
[[vary]]
what = "kd"
of = "all"
log_uniform = [0.01, 100.0]
[[keep]]
quantity = "total energy"
"""
PUSHED = SOUND + '[[push]]\nlink = "rod"\n'
FAULTS = {
    # What is written in place of what, and what is said of it, after the file's name.
    ("robot =", "robot ="): (),
    ('robot = "pendulum"', "robot = pendulum"): ("line 1: error: TOML: Invalid value; write key = value, ",),
    ('robot = "pendulum"\n', ""): ("error: robot: there is no robot; name a file or a robot that ships, ",),
    ("pendulum", "pendulun"): ("line 1: error: robot: pendulun: there is no file 'pendulun'; give a URDF ",),
    ("seconds", "second"): ("line 2: error: second: there is no such key; leave it out, or use one of ",),
    ("0.5", "-1"): ("line 2: error: seconds: it is -1; give a number above 0 in s",),
    ("0.5", "0.015"): ("line 2: error: seconds: a step is longer, 0.02 s; give more seconds or a smaller dt",),
    ("[0.0, 2.0]", "[0.0, 1" + "0" * 30 + "]"): ("line 7: error: vary.1.uniform: it is [0.0, 1000000000000000000000",),
    ('"mass"\nof = "all"\nfactor = true', '"mass"\nof = "all"'): (
        "line 11: error: vary.3: all bodies would have one mass; add factor = true, or name a link",
    ),
    ("pendulum", "\u202ependulum"): ("line 1: error: robot: \\u202ependulum: there is no file ",),
    ("0.5", "true"): ("line 2: error: seconds: it is True; give a number above 0 in s",),
    ("0.5", "1e300"): ("line 2: error: seconds: these are 1e+302 steps; give fewer seconds or a greater dt",),
    ("samples = 40", "samples = 0"): ("line 3: error: samples: it is 0; give a whole number of 1 or more",),
    ("samples = 40", "samples = 1000000000"): ("line 3: error: samples: these are 2e+09 samples in all; ",),
    ("samples = 40", 'samples = 40\nsampling = "sobel"'): (
        "line 4: error: sampling: it is 'sobel'; give one of random, latin-hypercube, sobol; perhaps 'sobol' is meant",
    ),
    ("samples = 40", "samples = 40\ntrajectories = [80]"): (
        "line 4: error: trajectories: there is no sample 80; give numbers from 0 to 79",
    ),
    ('"damping"', '"dumping"'): ("line 5: error: vary.1.what: it is 'dumping'; give one of mass, payload, ",),
    ('of = "all"\nuniform', "uniform"): (
        "line 4: error: vary.1: it does not say whose damping; give of, a joint or all",
    ),
    ('of = "all"\nuniform', 'of = "elbow"\nuniform'): (
        "line 6: error: vary.1.of: the robot has no joint 'elbow'; use one of ",
    ),
    ("[0.0, 2.0]", "[2.0, 0.0]"): (
        "line 7: error: vary.1.uniform: it is [2.0, 0.0]; give the least and the greatest, [0.5, 2.0]",
    ),
    ("[0.0, 2.0]", "[-1.0, 2.0]"): ("line 7: error: vary.1.uniform: damping would be -1; give 0 or more",),
    ("[0.0, 2.0]", "[0.0, nan]"): (
        "line 7: error: vary.1.uniform: it is [0.0, nan]; give the least and the greatest, [0.5, 2.0]",
    ),
    ("uniform = [0.0, 2.0]", ""): (
        "line 4: error: vary.1: it has none of them; say how it varies, by one of values, grid, uniform, ",
    ),
    ("uniform = [0.0, 2.0]", "uniform = [0.0, 2.0]\ngrid = [0, 1, 2]"): (
        "line 4: error: vary.1: it has grid and uniform; say how it varies, by one of values, grid, ",
    ),
    ("values = [0.01, 0.02]", "grid = [0.01, 0.02, 1]"): (
        "line 10: error: vary.2.grid: it is [0.01, 0.02, 1]; give first, last and how many, 2 to 1000000: ",
    ),
    ("values = [0.01, 0.02]", 'values = ["fast"]'): (
        "line 10: error: vary.2.values: it is ['fast']; give a list of numbers, [0.2, 0.4, 0.8]",
    ),
    ('"dt"', '"integrator"'): ("line 10: error: vary.2.values: it is [0.01, 0.02]; give a list of semi-implicit, ",),
    ('"dt"', '"slope"'): ("line 9: error: vary.2.what: the robot has no ground; add ground = true",),
    ('"dt"', '"begin"'): ("line 8: error: vary.2: it does not say whose begin; give of, a push",),
    ("[1.0, 0.8]", "[1.0, 0.0]"): (
        "line 15: error: vary.3.normal: it is [1.0, 0.0]; give a mean and a positive standard deviation, [1.0, 0.1]",
    ),
    ("[0.01, 100.0]", "[0.0, 100.0]"): (
        "line 19: error: vary.4.log_uniform: it is [0.0, 100.0]; give the least and the greatest, both positive, ",
    ),
    ('quantity = "total energy"\n', ""): ("line 20: error: keep.1: it has no quantity; name one as the plots do, ",),
    ('[[keep]]\nquantity = "total energy"\n', ""): ("error: the study: nothing is kept; add [[keep]] with a ",),
    ("total energy", "totl energy"): (
        "line 21: error: keep.1.quantity: the robot has no quantity 'totl energy'; use one of total energy, ",
    ),
    ("total energy", 'total energy"\nbelow = "no'): (
        "line 20: error: keep.1: it has bounds and no name; say what it means where they hold, name = \"fell\"",
        "line 22: error: keep.1.below: it is 'no'; give a number",
    ),
    ("total energy", 'total energy"\nname = "stands"\nabove = 0.25\nbelow = 0.1\ntake = "end'): (
        "line 24: error: keep.1.below: no number is above 0.25 and below 0.1; exchange the two, or leave one out",
    ),
    ("total energy", 'total energy"\nname = "stands"\nabove = 0.25\nbelow = "no'): (
        "line 24: error: keep.1.below: it is 'no'; give a number",
    ),
    ("total energy", 'total energy"\nname = "damping'): (
        "line 4: error: vary.1: two columns would be named 'damping'; give it another name",
        "line 20: error: keep.1: two columns would be named 'damping'; give it another name",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), FAULTS.items(), ids=lambda each: str(each)[:60])
def test_a_study_fault_gives_its_sentence(change: tuple[str, str], message: tuple[str, ...], tmp_path: Path) -> None:
    assert change[0] in SOUND
    path = named(tmp_path, SOUND.replace(*change, 1))
    if not message:
        assert engine.Study.read(path).count == 80
        return
    with pytest.raises(engine.StudyError) as reported:
        engine.Study.read(path)
    lines = str(reported.value).splitlines()
    assert len(lines) == len(reported.value.diagnostics) == len(message), lines
    assert all(line.startswith(f"s.toml: {each}") for line, each in zip(lines, message, strict=True)), lines


def test_problems_of_the_text_and_of_names_are_told_at_once(tmp_path: Path) -> None:
    text = SOUND.replace("0.5", "-1").replace('"damping"', '"dumping"').replace("total energy", "totl energy")
    with pytest.raises(engine.StudyError) as reported:
        engine.Study.read(named(tmp_path, text))
    assert [found.element for found in reported.value.diagnostics] == ["seconds", "vary.1.what", "keep.1.quantity"]
    with pytest.raises(engine.StudyError) as reported:
        engine.Study.read(named(tmp_path, text.replace('robot = "pendulum"\n', "")))
    assert [found.element for found in reported.value.diagnostics] == ["robot", "seconds", "vary.1.what"]


def test_faults_of_pushes_are_told(tmp_path: Path) -> None:
    for text, message in (
        (PUSHED.replace('"rod"', '"trunk"'), "line 23: error: push.1.link: the robot has no link 'trunk'; use one of "),
        (PUSHED.replace('link = "rod"', "force = 3.0"), "line 22: error: push.1: it has no link; say which link is "),
        (PUSHED + '[[vary]]\nwhat = "force"\nof = "shove"\nvalues = [1.0]\n', "line 26: error: vary.5.of: there is "),
        (PUSHED + "at = [1.0]\n", "line 24: error: push.1.at: it is [1.0]; give 3 numbers, […, …, …]"),
    ):  # fmt: skip
        with pytest.raises(engine.StudyError, match=r"^s\.toml: ") as reported:
            engine.Study.read(named(tmp_path, text))
        assert message in str(reported.value)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b"robot = '\xff'")
    with pytest.raises(engine.StudyError, match=r"s\.toml: error: the file: it is not text in UTF-8; save it as UTF-8"):
        engine.Study.read(path)
    path.write_text("a = " + "[" * 10_000)
    with pytest.raises(engine.StudyError, match=r"nested too deeply|Invalid value"):
        engine.Study.read(path)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_samples_values_follow_from_the_text_and_its_number_alone(sampling: str, tmp_path: Path) -> None:
    study = engine.Study.read(named(tmp_path, f'sampling = "{sampling}"\n{SOUND}'))
    every = study.values(np.arange(80))
    assert tuple(every) == study.varied == ("damping", "dt", "mass", "kd")
    for chosen in ([0], [79], [41], [3, 70, 20], range(13, 60)):
        some = study.values(chosen)
        assert all(np.array_equal(some[name], every[name][list(chosen)]) for name in every)
    again = engine.Study.read(named(tmp_path, f'sampling = "{sampling}"\nseed = 0\n{SOUND}')).values(range(80))
    assert all(np.array_equal(again[name], every[name]) for name in every)
    other = engine.Study.read(named(tmp_path, f'sampling = "{sampling}"\nseed = 1\n{SOUND}')).values(range(80))
    assert not np.any(other["damping"] == every["damping"])


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_draws_have_their_distributions(sampling: str, tmp_path: Path) -> None:
    """For 4096 draws, equal at both points of the grid; a normal one is truncated at 0."""
    text = SOUND.replace("samples = 40", f'samples = 4096\nsampling = "{sampling}"')
    study = engine.Study.read(named(tmp_path, text))
    values = study.values(np.arange(study.count))
    assert np.array_equal(values["dt"], np.repeat([0.01, 0.02], 4096))
    for name in ("damping", "mass", "kd"):
        assert np.array_equal(values[name][:4096], values[name][4096:])
        assert len(np.unique(values[name])) == 4096
    quartiles = (0.25, 0.5, 0.75)
    assert np.quantile(values["damping"], quartiles) == pytest.approx([0.5, 1.0, 1.5], abs=0.05)
    assert np.log10(np.quantile(values["kd"], quartiles)) == pytest.approx([-1, 0, 1], abs=0.1)
    mass = values["mass"]
    assert mass.min() >= 0 == np.count_nonzero(mass == 0)
    # Φ(−1.25) = 0.10565 is cut off: the median is at 1 + 0.8 Φ⁻¹(0.10565 + 0.89435 / 2).
    assert np.median(mass) == pytest.approx(1.1062, abs=0.03)


def test_grids_are_crossed_and_the_last_axis_changes_first(tmp_path: Path) -> None:
    text = 'robot = "pendulum"\n[[keep]]\nquantity = "total energy"\n'
    text += (
        '[[vary]]\nwhat = "damping"\nof = "all"\ngrid = [0.0, 1.0, 5]\n[[vary]]\nwhat = "dt"\nvalues = [0.01, 0.02]\n'
    )
    values = engine.Study.read(named(tmp_path, text)).values(range(10))
    assert values["damping"].tolist() == np.repeat([0, 0.25, 0.5, 0.75, 1], 2).tolist()
    assert values["dt"].tolist() == [0.01, 0.02] * 5


def test_samples_that_are_not_there_are_refused(tmp_path: Path) -> None:
    study = engine.Study.read(named(tmp_path, SOUND))
    for samples in ([80], [-1], [0.5], [[0]]):
        with pytest.raises(ValueError, match="expected whole numbers from 0 to 79"):
            study.values(samples)


@pytest.mark.parametrize(
    "path", sorted((engine.ROBOTS.parent / "docs" / "studies").glob("*.toml")), ids=lambda path: path.stem
)
def test_the_studies_that_ship_are_sound(path: Path) -> None:
    study = engine.Study.read(path)
    assert study.title
    assert study.count >= 50


def test_robots_of_installed_packages_are_found_when_the_study_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SOUND.replace("pendulum", "example-robot-data:panda_description/urdf/panda.urdf")
    try:
        files = metadata.files("example-robot-data")
    except metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed; it is part of the dev group (not on Windows)")
    _, plan = planned(named(tmp_path, text))
    assert plan.robots["example-robot-data:panda_description/urdf/panda.urdf"].name == "panda"
    for change, message in (
        ("panda.urdf", "the package 'example-robot-data' has no file 'panda_description/urdf/pandas.urdf'; name a"),
        ("example-robot-data", "the package 'example-robot-dates' is not installed; install it with pip install "
         "example-robot-dates, or list other robots; name a valid file or a robot that ships"),
    ):  # fmt: skip
        other = change.replace(".urdf", "s.urdf").replace("data", "dates")
        with pytest.raises(engine.StudyError, match=re.escape(message)):
            engine.Study.read(named(tmp_path, text.replace(change, other)))
    monkeypatch.setattr(metadata, "files", lambda _: None)  # as of a package without a record
    with pytest.raises(engine.StudyError, match="has no file"):
        engine.Study.read(named(tmp_path, text))
    assert files


def test_every_variable_can_be_varied_as_the_page_says(tmp_path: Path) -> None:
    """It accepts values of its kind, and reports a problem if `factor` does not apply."""
    owners = {"link": "trunk", "joint": "FL_hip_joint", "push": "push", "number": "KP", "": ""}
    for name, variable in VARIABLES.items():
        value = variable.choices[:1] or ("quadruped",) if variable.words else (0.01,)
        (tmp_path / "control.py").write_text("KP = 1.0\ndef control(t, q, v): ...")
        text = 'robot = "quadruped"\ncontroller = "control.py"\n'
        text += '[[push]]\nlink = "trunk"\n[[keep]]\nquantity = "total energy"\n[[vary]]\n'
        text += f'what = "{name}"\nvalues = {list(value)}\n' + (
            f'of = "{owners[variable.of]}"\n' if variable.of else ""
        )
        assert engine.Study.read(named(tmp_path, text)).count == 1
        if not variable.factor:
            with pytest.raises(engine.StudyError, match=f"{name} cannot be multiplied by a factor; leave it out"):
                engine.Study.read(named(tmp_path, text + "factor = true\n"))


def test_of_a_variable_that_cannot_be_read_no_further_problem_follows(tmp_path: Path) -> None:
    text = 'robot = "arm6"\nsamples = 30\ntrajectories = [0, 7]\n[[keep]]\nquantity = "total energy"\n[[vary]]\n'
    for axis in (
        'what = "damp"\nof = "all"\nvalues = [0.1, 5.0]\n',
        'what = "damping"\nof = "all"\nuniforn = [1.0, 2.0]\n',
    ):
        with pytest.raises(engine.StudyError) as error:
            engine.Study.read(named(tmp_path, text + axis))
        assert {found.element.partition(".")[0] for found in error.value.diagnostics} == {"vary"}
    with pytest.raises(engine.StudyError, match=r"there is no sample 7; give numbers from 0 to 1"):
        engine.Study.read(
            named(tmp_path, text.replace("samples = 30\n", "") + 'what = "damping"\nof = "all"\nvalues = [0.1, 5.0]\n')
        )


def test_columns_have_units(tmp_path: Path) -> None:
    text = """robot = "arm6"\n[[keep]]\nquantity = "elbow velocity"\ntake = "max"\n[[keep]]\nquantity = "total energy"
    below = 3.0\nname = "low"\n"""
    for axis in (
        '"gravity"',
        '"friction"',
        '"mass"\nof = "all"\nfactor = true',
        '"kp"\nof = "elbow"',
        '"kd"\nof = "all"',
    ):
        text += f"[[vary]]\nwhat = {axis}\nvalues = [0.5, 1.0]\n"
    study = engine.Study.read(named(tmp_path, text.replace("[[keep]]", "ground = true\n[[keep]]", 1)))
    assert study.units == {
        "gravity": "m/s²", "friction": "", "mass": "", "elbow kp": "N m/rad", "kd": "N m s/rad or N s/m",
        "elbow velocity max": "rad/s", "low": "",
    }  # fmt: skip


def test_latin_hypercubes_and_sobols_sequence_have_a_draw_in_each_stratum(tmp_path: Path) -> None:
    """Of 64 draws one is in each 64th of the range, on every axis; random draws are not."""
    text, even = SOUND.replace("samples = 40", "samples = 64"), {}
    for sampling in SAMPLINGS:
        values = engine.Study.read(named(tmp_path, f'sampling = "{sampling}"\n{text}')).values(range(64))
        strata = (values["damping"] / 2 * 64).astype(int), ((np.log10(values["kd"]) + 2) / 4 * 64).astype(int)
        even[sampling] = [len(set(each.tolist())) for each in strata]
    assert even["latin-hypercube"] == even["sobol"] == [64, 64]
    assert max(even["random"]) < 60
    several = [engine.Study.read(named(tmp_path, f'sampling = "{each}"\n{text}')) for each in SAMPLINGS]
    assert len({study.values([0])["damping"][0] for study in several}) == 3


def test_a_study_that_goes_on_with_a_later_version_has_the_same_samples(tmp_path: Path) -> None:
    """Philox's numbers of the seed 0: the first and the second draw, which begins four numbers later."""
    values = engine.Study.read(named(tmp_path, SOUND)).values([0, 41])
    u = np.random.Generator(np.random.Philox(0)).random(8)
    assert values["damping"] == pytest.approx(2 * u[[0, 4]], rel=1e-15)
    assert values["damping"].tolist() == [0.028134071331295418, 1.9582690001308065]
    assert values["kd"] == pytest.approx(10 ** (4 * u[[2, 6]] - 2), rel=1e-12)


def test_meshes_are_read_only_for_quantities_of_contact(tmp_path: Path) -> None:
    robot = engine.find_robot("pendulum").read_text("utf-8")
    shape = '<collision><geometry><mesh filename="lost.stl"/></geometry></collision>'
    (tmp_path / "lost.urdf").write_text(re.sub(r"</inertial>", f"</inertial>{shape}", robot), "utf-8")
    study = {"robot": str(tmp_path / "lost.urdf"), "seconds": 0.01, "vary": [{"what": "dt", "values": [0.001]}]}
    engine.Study(study | {"keep": [{"quantity": "total energy"}]})
    with pytest.raises(ValueError, match=re.escape("lost.stl was not found")):
        engine.Study(study | {"keep": [{"quantity": "contacts"}]})
