"""Arguments of xacro files, from Python, the shell, studies and the files of runs; and the files that they include."""

import json

import numpy as np
import pytest
from small_studies import planned_of
from xacro_arm import ARM, written_arm

import engine
from engine import cli
from engine.robot_words import words

pytest.importorskip("xacrodoc")


@pytest.fixture
def arm(tmp_path):
    return written_arm(tmp_path)


def test_they_are_values_of_the_file_s_arguments(arm):
    plain, longer = engine.load(arm), engine.load(arm, xacro_args={"n": 4, "prefix": "left_"})
    assert (plain.nv, longer.nv) == (2, 4)
    assert longer.joint_names[0] == "left_j0"
    assert plain.declared_args == {"n": "2", "prefix": ""}
    assert longer.declared_args == {"n": "4", "prefix": "left_"}
    assert longer.options["xacro_args"] == {"n": "4", "prefix": "left_"}
    assert plain.included == (str(arm.with_name("part.xacro")),)
    assert words(longer)[1:] == ("n:=4", "prefix:=left_")


def test_one_that_the_file_does_not_declare_is_named(arm):
    (found,) = engine.check(arm, xacro_args={"m": 3, "n": 3})
    assert (found.severity, found.problem) == (
        "warning",
        "arm.xacro declares no argument 'm'; its arguments are n, prefix",
    )
    arm.write_text(ARM.replace('<xacro:arg name="n" default="2"/>', ""), "utf-8")
    assert engine.load(arm, xacro_args={"n": 3}).diagnostics == ()
    with pytest.raises(engine.ModelError, match="Undefined substitution argument n; give it by n:=VALUE, or add a"):
        engine.load(arm)


def test_the_fix_names_the_arguments_that_were_given(arm):
    with pytest.raises(engine.ModelError, match="; correct n:=abc, or the xacro file"):
        engine.load(arm, xacro_args={"n": "abc"})
    arm.write_text(ARM.replace('default="2"', 'default="abc"'), "utf-8")
    with pytest.raises(engine.ModelError, match="; correct the xacro file"):
        engine.load(arm)


def test_an_argument_of_a_trusted_file_calls_nothing(arm):
    with pytest.raises(engine.ModelError, match="the argument n has a bracket"):
        engine.load(arm, trust_xacro=True, xacro_args={"n": "__import__('os').getpid()"})
    assert engine.load(arm, trust_xacro=True, xacro_args={"n": 3}).nv == 3
    with pytest.raises(engine.ModelError):
        engine.load(arm, xacro_args={"n": "__import__('os').getpid()"})


def test_commands_take_them_as_xacro_does(arm, tmp_path, capsys):
    def call(*given):
        code = cli.main([str(word) for word in given])
        return code, capsys.readouterr()

    assert json.loads(call("info", "--json", arm, "n:=3")[1].out)["nv"] == 3
    assert json.loads(call("info", arm, "--json", "prefix:=", "n:=5")[1].out)["nv"] == 5
    assert call("check", arm, "n:=0.5j")[0] == 1
    assert "declares no argument 'm'" in call("check", arm, "m:=1")[1].out
    run = tmp_path / "run.npz"
    assert call("run", arm, "n:=3", "--seconds", 0.05, "--out", run)[0] == 0
    with np.load(run) as file:
        assert file["q"].shape[-1] == 3
    assert "the same to the bit" in call("repeat", run)[1].out
    with pytest.raises(SystemExit):
        call("bench", "n:=3")
    assert "n:= is an argument of a xacro file; bench loads none" in capsys.readouterr().err


def test_a_study_names_a_robot_with_its_arguments(arm):
    axis = {"what": "robot", "values": ["arm.xacro n:=3", "arm.xacro n:=5"]}
    content = {"robot": "arm.xacro", "seconds": 0.01, "vary": [axis], "keep": [{"quantity": "total energy"}]}
    _, plan = planned_of(content, arm.parent)
    assert [model.nv for model in plan.robots.values()] == [3, 5]
