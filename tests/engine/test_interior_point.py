"""The interior point of the contact search: alone, begun near an iterate, and the cones' algebra it needs."""

from typing import Any

import numpy as np
import pytest
from test_in_scene import DT, arguments_of, settings, states

import engine
from engine.kernels import scene_steps
from engine.kernels.contact import newton, problem, search, workspace
from engine.kernels.contact.cone_algebra import central_pair, jordan
from engine.kernels.joint_rows import JointRows
from engine.model.layout import pack, pack_coupling
from engine.scene import put_down


def contact_problem(model: engine.Model, q: np.ndarray, v: np.ndarray) -> tuple[int, int, Any, scene_steps.SceneRobot]:
    """The contact problem of a limp robot: how many contacts and joint rows it has, and what it is solved in."""
    of = settings(model, "falling", "float64")
    assert of.scene is not None
    contact_state = workspace.contact_state(workspace.contact_workspace(model, of.scene), model.nv, 1)
    known = scene_steps.ModelArrays(*pack(model), pack_coupling(model))
    rows = JointRows(DT, of.has_limits, of.has_constraints, of.q_of_v, of.joints[0])
    robot = scene_steps.SceneRobot(
        known,
        rows,
        of.rotations,
        scene_steps.robot_workspace(len(model.parent), model.nq, model.nv, of.integrator),
        contact_state,
    )
    robot.workspace.state.q[:], robot.workspace.state.v[:] = q, v
    kinds = scene_steps.Fixed(of.integrator, "raise", "none", "untimed")
    scene_steps._begin(0, 0, arguments_of(q, v, v), 1, kinds, robot, False)
    work = contact_state.contact.solver
    contacts, joints = work.search.counts[[problem.CONTACTS, problem.JOINTS]].tolist()
    return contacts, joints, work, robot


@pytest.mark.parametrize("name", ["quadruped", "humanoid"])
def test_the_interior_point_alone_finds_what_newtons_steps_find(name: str, rng: np.random.Generator) -> None:
    """The velocities after both are one, since the normals of a level ground are."""
    model = engine.load(f"robots/{name}.urdf")
    for _ in range(12):
        q, v = states(model, "falling", rng)
        q = put_down(model, engine.Scene(), q)
        v[:] = rng.uniform(-0.5, 0.5, model.nv)
        contacts, joints, work, robot = contact_problem(model, q, v)
        assert contacts > 0
        shared = robot.workspace.forces.added_inertia[0], robot.known.topology, robot.contact_state.contact.bodies, work
        found, count = [], np.zeros(3, np.int64)
        for plan in (search.INTERIOR, search.COLD_START):
            search.begin(plan, 1e-9, 1e-9, contacts, joints, *shared)
            over = False
            while not over and (plan != search.INTERIOR or work.search.counts[problem.PLAN] == plan):
                over = search.advance(contacts, joints, *shared, count)
            assert work.search.numbers[problem.BEST_RESIDUAL] <= 1e-7
            work.problem.impulse[:], work.problem.joint_impulse[:] = work.problem.best, work.problem.joint_best
            newton.respond(contacts, joints, *shared[1:])
            found.append(work.problem.total[: model.nv].copy())
        assert count[workspace.INTERIOR_COUNT] > 0
        assert np.abs(found[1]).max() > 0
        np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-5 * np.abs(found[1]).max())


def test_the_interior_point_begins_near_what_newtons_steps_leave(rng: np.random.Generator) -> None:
    """As where they end beside a kink: it takes fewer steps than from no impulses, to the same velocities."""
    walker, fewer = engine.load("robots/quadruped.urdf"), 0
    for _ in range(8):
        q, v = states(walker, "falling", rng)
        q = put_down(walker, engine.Scene(), q)
        v[:] = rng.uniform(-0.5, 0.5, walker.nv)
        contacts, joints, work, robot = contact_problem(walker, q, v)
        shared = robot.workspace.forces.added_inertia[0], robot.known.topology, robot.contact_state.contact.bodies, work
        search.begin(search.COLD_START, 1e-12, 1e-12, contacts, joints, *shared)
        while work.search.numbers[problem.BEST_RESIDUAL] > 1e-5:
            search.advance(contacts, joints, *shared, np.zeros(3, np.int64))
        steps, found, best = [], [], (work.problem.best.copy(), work.problem.joint_best.copy())
        for left in (work.search.numbers[problem.BEST_RESIDUAL], 1.0):
            work.problem.best[:], work.problem.joint_best[:] = best
            work.search.numbers[problem.BEST_RESIDUAL], count = left, np.zeros(3, np.int64)
            search._begin_plan(search.INTERIOR, contacts, joints, *shared)
            while work.search.counts[problem.PLAN] == search.INTERIOR and work.search.counts[problem.STEPS_LEFT] > 0:
                if search.advance(contacts, joints, *shared, count):
                    break
            newton.respond(contacts, joints, *shared[1:])
            steps.append(count[workspace.INTERIOR_COUNT])
            found.append(work.problem.total[: walker.nv].copy())
        np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-5 * np.abs(found[1]).max())
        fewer += 1.5 * steps[0] < steps[1]
    assert fewer >= 6


@pytest.mark.parametrize("nu", [1e-12, 1e-4, 1.0])
def test_a_central_pair_is_inside_the_cone(nu: float, rng: np.random.Generator) -> None:
    for z in [*rng.normal(size=(20, 3)).tolist(), [0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [-2.0, 0.0, 0.0]]:
        x, y = (np.array(each) for each in central_pair(z, nu))
        np.testing.assert_allclose(x - y, z, rtol=0, atol=1e-14)
        np.testing.assert_allclose(jordan(x, y), [nu, 0, 0], rtol=0, atol=1e-14)
        assert min(x[0], y[0]) > 0
        assert min(x[0] ** 2 - x[1] ** 2 - x[2] ** 2, y[0] ** 2 - y[1] ** 2 - y[2] ** 2) > -1e-14
