"""Arrays of every kind that NumPy users pass: real numbers in any form are accepted, others refused in a sentence."""

import dataclasses
from decimal import Decimal

import numpy as np
import pytest
from device_array import DeviceArray

import engine
from engine.cuda import dynamics as on_gpu

Q, V = np.array([0.5, -1.25, 2.0]), np.array([0.25, -0.5, 1.0])


def _strided(x):
    wide = np.full(2 * len(x), np.nan)
    wide[::2] = x
    return wide[::2]


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


TAKEN = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of NumPy's numbers": list,
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "longdouble": lambda x: x.astype(np.longdouble),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "object": lambda x: x.astype(object),
    "Decimal": lambda x: list(map(Decimal, x.tolist())),
    "Fortran order": lambda x: np.asfortranarray(np.stack([x, x]))[0],
    "strided": _strided,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": _read_only,
    "not aligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(float),
    "masked, nothing masked": np.ma.masked_array,
    "memoryview": memoryview,
}
"""Forms in which numbers that are exact in half precision lose nothing."""
WHOLE = {
    "int": lambda x: np.ones(len(x), int),
    "uint8": lambda x: np.ones(len(x), np.uint8),
    "bool": lambda x: np.ones(len(x), bool),
    "list of bool": lambda x: [True] * len(x),
}
REFUSED = {
    "complex": (lambda x: x.astype(complex), "complex numbers"),
    "list of complex": (lambda x: x.astype(complex).tolist(), "complex numbers"),
    "masked": (lambda x: np.ma.masked_array(x, [True, False, False]), "masked"),
    "dates": (lambda x: np.zeros(len(x), "datetime64[s]"), "dates"),
    "spans of time": (lambda x: np.zeros(len(x), "timedelta64[s]"), "spans of time"),
    "records": (lambda x: np.zeros(len(x), [("angle", float)]), "records"),
    "text": (lambda x: list(map(str, x)), "text"),
    "bytes": (lambda x: x.astype("S"), "text"),
    "one text": (lambda _: "abc", "text"),
    "beyond floats": (lambda x: [10**400] * len(x), "too large"),
    "rows of many lengths": (lambda _: [[1.0], [1.0, 2.0]], "inhomogeneous"),
    "a mapping": (lambda _: {"joint1": 1.0}, "dict"),
    "a generator": (iter, "iterator"),
    "a set": (lambda x: set(x.tolist()), "set"),
    "None": (lambda x: np.full(len(x), None), "finite|three"),
    "NaN": (lambda x: x * [np.nan, 1, 1], "finite|three"),
    "infinite": (lambda x: x * [1, np.inf, 1], "finite|three"),
    "one number": (lambda _: np.array(1.0), r"shape \(\)|three"),
    "empty": (lambda _: np.zeros(0), r"shape \(0,\)|three"),
    "no rows": (lambda x: np.zeros((0, len(x))), r"shape \(0, 3\)|three"),
    "too many": (lambda _: np.zeros(4), r"shape \(4,\)|three"),
    "too deep": (lambda _: np.zeros((1, 1, 1, 3)), r"shape \(1, 1, 1, 3\)|three"),
}


@pytest.fixture(scope="module")
def model():
    return engine.chain(3)


def _parameters(model, damping):
    parameters = engine.Parameters(model, 1)
    parameters.damping = damping if np.shape(damping) != (3,) else [damping]
    return engine.Simulation(model, parameters=parameters).parameters.damping[0]


CALLS = {
    "q": lambda m, x: engine.forward_dynamics(m, x, V, V, "abia", "cpu"),
    "v": lambda m, x: engine.forward_dynamics(m, Q, x, V, "abia", "cpu"),
    "tau": lambda m, x: engine.forward_dynamics(m, Q, V, x, "abia", "cpu"),
    "q of jsiia": lambda m, x: engine.forward_dynamics(m, x, V, V, "jsiia", "cpu"),
    "a": lambda m, x: engine.inverse_dynamics(m, Q, V, x),
    "q of energy": lambda m, x: engine.energy(m, x, V)[1],
    "q of link_poses": engine.link_poses,
    "start": lambda m, x: engine.Simulation(m, q=x).q,
    "gain": lambda m, x: engine.Simulation(m, kp=np.abs(x) if isinstance(x, np.ndarray) and x.dtype == float else x),
    "controls": lambda m, x: engine.rollout(m, Q, V, x, steps=2).q,
    "target": lambda m, x: engine.rollout(m, Q, V, steps=2, kp=1.0, target=x).q,
    "gravity": lambda m, x: m.with_gravity(x).gravity,
    "point": lambda m, x: engine.point_mobility(m, Q, 1, x),
}


@pytest.mark.parametrize("call", [name for name in CALLS if name != "gain"])
def test_real_numbers_are_taken_in_any_form(call, model):
    given = V if call == "v" else Q
    expected = CALLS[call](model, given)
    for name, form in TAKEN.items():
        np.testing.assert_array_equal(CALLS[call](model, form(given)), expected, name)
    expected = CALLS[call](model, np.ones(3))
    for name, form in WHOLE.items():
        np.testing.assert_array_equal(CALLS[call](model, form(given)), expected, name)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_real_number_is_refused_in_a_sentence(call, kind, model):
    form, words = REFUSED[kind]
    if (call, kind) == ("gain", "one number"):
        pytest.skip("one gain is that of every joint")
    with pytest.raises((TypeError, ValueError), match=words) as reported:
        CALLS[call](model, form(Q))
    assert "\n" not in str(reported.value)
    assert len(str(reported.value)) < 400


@pytest.mark.parametrize("kind", ["complex", "masked", "dates", "text", "records", "beyond floats"])
def test_parameters_that_are_no_real_numbers_are_refused(kind, model):
    parameters = engine.Parameters(model, 1)
    form, words = REFUSED[kind]
    parameters.damping = form(Q).reshape(1, 3) if isinstance(form(Q), np.ndarray) else [form(Q)]
    with pytest.raises((TypeError, ValueError), match=rf"parameters\.damping .*{words}"):
        engine.Simulation(model, parameters=parameters)


def test_wrenches_are_taken_and_refused_like_other_arrays(model):
    external = np.tile([0.5, -1.0, 0.25, 2.0, -0.5, 1.0], (4, 1))
    expected = engine.forward_dynamics(model, Q, V, V, "abia", "cpu", external=external)
    for form in (np.asfortranarray, np.ndarray.tolist, np.ma.masked_array, lambda x: x.astype(np.float32)):
        answer = engine.forward_dynamics(model, Q, V, V, "abia", "cpu", external=form(external))
        np.testing.assert_array_equal(answer, expected)
    for form in (np.ndarray.tobytes, lambda x: x.astype(complex), lambda x: np.ma.masked_less(x, 0), lambda x: x[:3]):
        with pytest.raises((TypeError, ValueError), match="external"):
            engine.forward_dynamics(model, Q, V, V, "abia", "cpu", external=form(external))


def test_a_robot_of_one_joint_takes_a_number_as_its_state():
    model = dataclasses.replace(engine.chain(1))
    np.testing.assert_array_equal(
        engine.forward_dynamics(model, 0.5, 0.0, 0.0), engine.forward_dynamics(model, [0.5], [0.0], [0.0])
    )


ON_HOST = {
    "inverse_mass_matrix": ("q", engine.inverse_mass_matrix),
    "link_poses": ("q", engine.link_poses),
    "link_twists": ("q", lambda m, x: engine.link_twists(m, x, V)),
    "link_twists, v": ("v", lambda m, x: engine.link_twists(m, Q, x)),
    "point_mobility": ("q", lambda m, x: engine.point_mobility(m, x, 1, Q)),
    "point_mobility, point": ("point", lambda m, x: engine.point_mobility(m, Q, 1, x)),
    "energy": ("q", lambda m, x: engine.energy(m, x, V)),
    "momentum": ("q", lambda m, x: engine.momentum(m, x, V)),
    "inverse_dynamics, v": ("v", lambda m, x: engine.inverse_dynamics(m, Q, x, V)),
    "bias, v": ("v", lambda m, x: engine.bias(m, Q, x)),
    "forward_dynamics, tau": ("tau", lambda m, x: engine.forward_dynamics(m, Q, V, x, device="cpu")),
    "forward_dynamics, external": (
        "q",
        lambda m, x: engine.forward_dynamics(m, x, V, V, device="cpu", external=np.ones((4, 6))),
    ),
}
"""Calls that run on the CPU whatever is given, and the argument that x is."""


@pytest.mark.parametrize("call", ON_HOST)
def test_arrays_of_a_gpu_are_refused_where_the_cpu_needs_them(call, model):
    name, function = ON_HOST[call]
    with pytest.raises(TypeError) as reported:
        function(model, DeviceArray(Q))
    assert str(reported.value).startswith(f"{name} is in a GPU's memory; expected ")
    assert str(reported.value).endswith(", in the host's: copy it with .get()")
    np.testing.assert_equal(function(model, DeviceArray(Q).get()), function(model, Q))


def test_wrenches_of_a_gpu_are_refused_beside_a_state_of_the_host(model):
    with pytest.raises(TypeError, match=r"external is in a GPU's memory; .* in the host's: copy it with \.get\(\)$"):
        engine.inverse_dynamics(model, Q, V, V, external=DeviceArray(np.ones((4, 6))))


class Copied(DeviceArray):
    """An array of a library that copies from the GPU to the host by itself."""

    def __array__(self, *_args, **_kwargs):
        return self.get()


def test_arrays_of_a_gpu_that_turn_into_numpys_are_taken(model):
    np.testing.assert_array_equal(engine.link_poses(model, Copied(Q)), engine.link_poses(model, Q))
    np.testing.assert_array_equal(engine.inverse_mass_matrix(model, Copied(Q)), engine.inverse_mass_matrix(model, Q))


def test_dynamics_run_where_q_is(model, monkeypatch):
    q, v = DeviceArray(Q), DeviceArray(V)
    for name in ("inverse_dynamics", "mass_matrix", "bias"):
        monkeypatch.setattr(on_gpu, name, lambda *given, name=name: (name, given))
    assert engine.inverse_dynamics(model, q, v, v) == ("inverse_dynamics", (model, q, v, v, None))
    assert engine.mass_matrix(model, q) == ("mass_matrix", (model, q))
    assert engine.bias(model, q, v) == ("bias", (model, q, v))
