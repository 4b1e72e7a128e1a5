"""The table of supported robots agrees with the algorithms."""

import dataclasses
import importlib

import numpy as np
import pytest
from masses import weighed

import engine
from engine.selection import capabilities

PLANAR = """<robot name="planar"><link name="base"/><link name="plate"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="planar"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/></joint></robot>"""
MIMIC = """<robot name="mimic"><link name="base"/>{links}
<joint name="lead" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="follow" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<mimic joint="lead" multiplier="2"/></joint></robot>"""
LINK = """<link name="{}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


@pytest.fixture
def robots(tmp_path):
    """A robot for each feature that some algorithm does not support, and the words that name the culprit."""

    def load(name, text):
        path = tmp_path / f"{name}.urdf"
        path.write_text(text)
        return engine.load(path)

    chain = engine.chain(6, prismatic=0.5)
    hollow = dataclasses.replace(
        engine.chain(4),
        **{name: getattr(engine.chain(4), name) * _without(4, 2, name) for name in ("mass", "first_moment", "inertia")},
    )
    return {
        "chain": (chain, None),
        "trees": (engine.tree(12), "carries several branches"),
        "floating": (engine.tree(5, branching=0, floating=True), "joint 'joint1' is free"),
        "spherical": (engine.chain(5, spherical=1.0), "joint 'joint1' is a ball joint"),
        "mimic": (load("mimic", MIMIC.format(links=LINK.format("a") + LINK.format("b"))), "'follow' mimics 'lead'"),
        "massless": (hollow, "link 'link3' has no mass"),
        "uneven": (weighed(chain, 2e3 ** (np.arange(6) == 3)), "'link4' is 1000 times as heavy as one of the 3 that"),
        "planar": (load("planar", PLANAR), "a body of joint 'slide' has no mass"),
        "still": (load("still", '<robot name="still"><link name="base"/></robot>'), "no joint that moves"),
    }


def _without(n, body, name):
    factor = np.ones(n)
    factor[body] = 0
    return factor.reshape(-1, *[1] * {"mass": 0, "first_moment": 1, "inertia": 2}[name])


FEATURES = ("chain", "trees", "floating", "spherical", "mimic", "massless", "uneven", "planar", "still")


@pytest.mark.parametrize("name", capabilities.ALGORITHMS)
@pytest.mark.parametrize("feature", FEATURES)
def test_an_algorithm_serves_what_the_table_says_and_refuses_the_rest(robots, feature, name, rng):
    model, culprit = robots[feature]
    if name in engine.algorithms(model):
        q, v, tau = model.random(rng), rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
        a = engine.forward_dynamics(model, q, v, tau, algorithm=name)
        np.testing.assert_allclose(engine.inverse_dynamics(model, q, v, a), tau, atol=1e-10)
        return
    with pytest.raises(ValueError, match=culprit) as refused:
        engine.ForwardDynamics(model, algorithm=name)
    sentence = str(refused.value)
    elsewhere = " on cpu" if name in engine.algorithms(model, "cuda") else ""
    assert sentence.startswith(f"{name} does not support {model.name}{elsewhere}: ")
    assert "\n" not in sentence
    assert sentence.rpartition("; use ")[2] in engine.algorithms(model)


def test_real_robots_are_served_by_what_fits_them(robots):
    served = {feature: engine.algorithms(model) for feature, (model, _) in robots.items()}
    assert set(served["chain"]) == {"abia", "dca", "jsiia", "abia-hybrid", "cfa"}
    assert served["trees"] == served["floating"] == served["spherical"] == ("abia", "dca", "jsiia")
    assert served["mimic"] == ("jsiia",)
    assert set(served["massless"]) == set(served["chain"]) - {"cfa", "dca"}
    assert set(served["uneven"]) == set(served["chain"]) - {"dca"}


@pytest.mark.parametrize("algorithm", ["dca", "cfa"])
def test_parameters_make_no_robot_that_the_algorithm_does_not_serve(algorithm):
    model = engine.chain(6)
    for factor, refused in ((1e4, algorithm == "dca"), (1e-4, False), (0.0, True)):
        parameters = engine.Parameters(model, 3)
        for name in ("mass", "first_moment", "inertia"):
            getattr(parameters, name)[1, 5] *= factor
        if not refused:
            engine.Simulation(model, 3, algorithm=algorithm, parameters=parameters)
            continue
        with pytest.raises(ValueError, match=f"robot 1 of the parameters: {algorithm} does not support .* 'link6'"):
            engine.Simulation(model, 3, algorithm=algorithm, parameters=parameters)


def test_a_tiny_link_is_no_massless_one():
    model = engine.chain(3)
    grain = dataclasses.replace(
        model, mass=model.mass * 1e-9, first_moment=model.first_moment * 1e-12, inertia=model.inertia * 1e-15
    )
    assert "cfa" in engine.algorithms(grain)


def test_the_public_function_and_the_folder_of_texts_share_a_name_in_peace():
    importlib.import_module("engine.algorithms.cfa")
    assert engine.algorithms(engine.chain(2))[0] == "abia"


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="device is 'tpu'; expected one of 'auto', 'cpu'"):
        engine.algorithms(engine.chain(2), "tpu")
    with pytest.raises(ValueError, match="algorithm is 'aba'; expected one of 'auto', 'abia'"):
        engine.ForwardDynamics(engine.chain(2), algorithm="aba")


def test_what_an_algorithm_serves_may_depend_on_the_device():
    tree = engine.tree(5)
    assert capabilities.refusal("jsiia", tree, "cpu") is None
    assert capabilities.refusal("jsiia", tree, "cuda") is None
    assert capabilities.refusal("dca", tree, "cpu") is None
    for other in (tree, engine.tree(5, branching=0, floating=True), engine.tree(5, spherical=1.0)):
        assert engine.algorithms(other, "cuda") == ("abia", "dca", "jsiia")
    assert engine.algorithms(engine.chain(5), "cuda") == ("abia", "dca", "jsiia", "abia-hybrid", "cfa")
