"""All plotted, displayed or drawn quantities of random robots agree with their definitions, computed from poses."""

import re

import numpy as np
import pytest
from random_robots import about_center, base_pose, bodies, center_of, jacobians, moved, robot, robots

import engine
from app.acting.coordinates import coordinates
from app.panels.inspection import fixed_facts, live_facts, mass_of
from app.plotting.catalogue import catalogue
from app.plotting.quantities import CONTACTS, Evaluation, States
from app.recording.replay import snapshot
from app.simulation.contacts import ContactForces, contact_forces, contacts_of
from app.simulation.messages import Snapshot

H = 1e-5  # s between two states, for differences


def contact(model, rng, count=5) -> ContactForces:
    links = rng.integers(0, len(model.link_names), count)
    return ContactForces(links, rng.normal(size=(count, 3)), int(rng.integers(1, 9)), float(rng.random()))


def sampled(model, rng) -> States:
    """Three states of one motion, the middle one between its neighbours, and what else there is to plot."""
    q, v, rate = model.random(rng), rng.uniform(-1, 1, model.nv), rng.normal(size=(3, model.nv))
    effort, target = rng.normal(size=(2, 3, model.nv))
    target[:, rng.random(model.nv) < 0.3] = np.nan
    states = np.stack([moved(model, q, v, h) for h in (-H, 0.0, H)])
    contacts = [contact(model, rng), None, contact(model, rng)]
    return States(np.array([-H, 0.0, H]), states, np.repeat(v[None], 3, 0), rate, effort, target, contacts)


def vectors_of_the_robot(model, x: States) -> dict[str, np.ndarray]:
    """(3,) each in the middle, or a number: from where the bodies' masses are in the three states."""
    poses = np.asarray(engine.link_poses(model, x.q))
    frames = [bodies(model, each) for each in poses]
    p, L, center, kinetic, potential = np.zeros(3), np.zeros(3), np.zeros(3), 0.0, 0.0
    for body in frames[1]:
        m, c = model.mass[body], np.append(center_of(model, body) if model.mass[body] else np.zeros(3), 1.0)
        if not m:
            continue
        behind, here, ahead = (frame[body] for frame in frames)
        velocity = ((ahead - behind) @ c)[:3] / (2 * H)
        turn = (ahead - behind)[:3, :3] / (2 * H) @ here[:3, :3].T
        omega = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
        spin = here[:3, :3] @ about_center(model, body) @ here[:3, :3].T @ omega
        p, L = p + m * velocity, L + m * np.cross((here @ c)[:3], velocity) + spin
        center += m * (here @ c)[:3] / model.mass.sum()
        kinetic += (m * velocity @ velocity + omega @ spin) / 2
        potential -= m * model.gravity @ (here @ c)[:3]
    total = {"centre of mass": center, "total energy": kinetic + potential, "energy drift": kinetic + potential}
    return {
        "momentum": p, "angular momentum": L, "kinetic energy": kinetic, "potential energy": potential, **total,
    }  # fmt: skip


def of_a_link(poses: np.ndarray, link: int) -> dict[str, np.ndarray]:
    behind, here, ahead = poses[:, link]
    turn = (ahead - behind)[:3, :3] / (2 * H) @ here[:3, :3].T
    return {
        "position": here[:3, 3],
        "velocity": (ahead - behind)[:3, 3] / (2 * H),
        "angular velocity": np.array([turn[2, 1], turn[0, 2], turn[1, 0]]),
    }


def of_a_joint(model, x: States, name: str) -> dict[str, float]:
    """Return a coordinate's middle component, by the model's joint name."""
    joint = next(each for each in model.joints if name == each.name or name.startswith(f"{each.name}."))
    part = name.removeprefix(joint.name).lstrip(".")
    owner = joint if joint.leader is None else model.joint(joint.leader)
    scale, offset = (joint.multiplier, joint.offset) if joint.leader is not None else (1.0, 0.0)
    rpy = ("roll", "pitch", "yaw")
    if joint.kind == "floating" and part in rpy:
        return {"position": engine.rpy_from_rotation(base_pose(model, joint, x.q[1])[:3, :3])[rpy.index(part)]}
    place = "xyz".index(part) if part in ("x", "y", "z") else 2 if part else 0
    v = owner.v.start + place
    shown = {"velocity": scale * x.v[1, v], "acceleration": scale * x.rate[1, v]}
    if joint.kind == "spherical":
        position = engine.lie.log(engine.lie.rotation_from_quaternion(x.q[1, joint.q]), np.zeros(3))[place]
    elif joint.kind == "floating":
        position = base_pose(model, joint, x.q[1])[place, 3]
    else:
        position = scale * x.q[1, owner.q.start + place] + offset
    effort = {"torque": x.effort[1, v], "force": x.effort[1, v], "power": x.effort[1, v] * scale * x.v[1, v]}
    held = {"position setpoint": x.target[1, v], "error": x.target[1, v] - position}
    return {"position": position, **shown, **effort, **held}


def part_of(vector: np.ndarray, part: str) -> float:
    return float(np.linalg.norm(vector) if part == "norm" else vector["xyz".index(part)] if part else vector)


def test_every_quantity_is_what_its_name_says(chance, tmp_path):
    """All of them, by name and part, in a state between two others; contacts in the states around it."""
    for model in robots(tmp_path, chance):
        x = sampled(model, chance)
        every, evaluation = catalogue(model), Evaluation(model, coordinates(model), x)
        poses, whole = np.asarray(engine.link_poses(model, x.q)), vectors_of_the_robot(model, x)
        assert len({each.key for each in every}) == len({each.label for each in every}) == len(every)
        followers = {each.kind for each in every if each.name == "follower"}  # which nothing drives by itself
        assert followers == {"position", "velocity", "acceleration"}
        for each in every:
            shown = evaluation.value(each)
            if each.kind in CONTACTS:
                assert np.isnan(shown[1]), each.label
                for k in (0, 2):
                    assert shown[k] == pytest.approx(of_contacts(each, x.contact[k], model), nan_ok=True), each.label
                continue
            if each.subject == "robot":
                expected = part_of(whole[each.kind], each.part)
            elif each.subject == "link":
                expected = part_of(of_a_link(poses, model.link_names.index(each.name))[each.kind], each.part)
            else:
                expected = of_a_joint(model, x, each.name)[each.kind]
            assert shown[1] == pytest.approx(expected, rel=1e-6, abs=1e-7, nan_ok=True), each.label
            assert each.unit.si == unit_of(model, each), each.label
            assert every.named(each.key) == each


def of_contacts(each, found: ContactForces, model) -> float:
    if each.kind == "contacts":
        return found.number
    if each.kind == "contact residual":
        return found.residual
    if each.kind == "in contact":
        return 0.0
    if each.kind in ("support margin", "slip speed", "friction used"):  # of forces without points
        return np.nan
    which = (
        found.link == model.link_names.index(each.name) if each.subject == "link" else np.ones(len(found.link), bool)
    )
    return part_of(found.force[which].sum(0), each.part)


def unit_of(model, each) -> str:
    """By dimension: what a joint has by what its joint is, all else by its kind."""
    per = {"velocity": "/s", "acceleration": "/s²", "angular velocity": "/s"}.get(each.kind, "")
    if each.subject == "robot":
        energies = dict.fromkeys(("kinetic energy", "potential energy", "total energy", "energy drift"), "J")
        return {**energies, "centre of mass": "m", "momentum": "N s", "angular momentum": "N m s"}[each.kind]
    if each.subject == "link":
        return f"{'rad' if 'angular' in each.kind else 'm'}{per}"
    if each.kind in ("torque", "force", "power"):
        return {"torque": "N m", "force": "N", "power": "W"}[each.kind]
    joint = next(joint for joint in model.joints if each.name == joint.name or each.name.startswith(f"{joint.name}."))
    turns = joint.kind in ("revolute", "continuous", "spherical")
    turns |= joint.kind == "planar" and not each.name.endswith((".x", ".y"))
    turns |= joint.kind == "floating" and each.name.endswith((".roll", ".pitch", ".yaw"))
    return f"{'rad' if turns else 'm'}{per}"


def frame_of(model, q, v) -> Snapshot:
    frame = Snapshot(model)
    frame.q[:], frame.v[:], frame.link_poses[:] = q, v, engine.link_poses(model, q)
    frame.effort[:] = np.arange(model.nv)
    return frame


def read(sections) -> dict[str, list[float]]:
    """The numbers of each line of the inspector, by its label."""
    found = {}
    for section in sections:
        for row in section.rows:
            words = row.text.replace("−", "-").replace("∞", "inf").split()
            found[row.label] = [float(word) for word in words if re.fullmatch(r"-?(inf|[\d.]+(e[+-]?\d+)?)", word)]
    return found


def test_the_inspector_tells_where_links_are_how_they_move_and_what_they_weigh(chance, tmp_path):
    for model in robots(tmp_path, chance):
        q, v = model.random(chance), chance.uniform(-1, 1, model.nv)
        frame, J = frame_of(model, q, v), jacobians(model, q)
        frames = bodies(model, frame.link_poses)
        for link, pose in enumerate(frame.link_poses):
            reported, body = read(live_facts(model, link, frame)), int(model.link_body[link])
            twist = J[link] @ v
            assert reported["position, mm"] == pytest.approx(1e3 * pose[:3, 3], abs=6e-3)
            assert reported["velocity, mm/s"] == pytest.approx(1e3 * twist[3:], abs=6e-3)
            assert reported["angular velocity, °/s"] == pytest.approx(np.degrees(twist[:3]), abs=6e-3)
            turned = engine.lie.rotation_from_rpy(np.radians(reported["roll pitch yaw, °"]))
            np.testing.assert_allclose(turned, pose[:3, :3], atol=3e-4)
            if body >= 0 and model.mass[body]:
                center = frames[body] @ np.append(center_of(model, body), 1.0)
                assert reported["CoM, mm"] == pytest.approx(1e3 * center[:3], abs=6e-3)
                weighed(model, link, pose, frames[body], center[:3])
            elif body < 0:
                assert mass_of(model, link) is None


def weighed(model, link, pose, frame, center) -> None:
    """Mass, centre and inertia as the inspector has them are the body's, seen in the link's axes."""
    found, reported, body = mass_of(model, link), read(fixed_facts(model, link)), int(model.link_body[link])
    R, link_R = frame[:3, :3], pose[:3, :3]
    world = R @ about_center(model, body) @ R.T
    np.testing.assert_allclose(link_R @ found.inertia @ link_R.T, world, atol=1e-9)
    np.testing.assert_allclose(pose[:3, :3] @ found.center + pose[:3, 3], center, atol=1e-9)
    axes = link_R @ found.axes
    np.testing.assert_allclose(axes * found.principal @ axes.T, world, atol=1e-9)
    assert np.linalg.det(found.axes) == pytest.approx(1)
    seen = link_R.T @ world @ link_R
    scale = {"rel": 6e-3, "abs": 2e-6 * np.abs(seen).max()}
    assert reported["mass"] == pytest.approx([model.mass[body]], rel=1e-3)
    assert reported["CoM in link, mm"] == pytest.approx(1e3 * link_R.T @ (center - pose[:3, 3]), rel=2e-3, abs=1e-3)
    assert reported["I₁ I₂ I₃, kg m²"] == pytest.approx(np.linalg.eigvalsh(world), **scale)
    assert reported["Ixx Iyy Izz, kg m²"] == pytest.approx(np.diag(seen), **scale)
    assert reported["Ixy Ixz Iyz, kg m²"] == pytest.approx([seen[0, 1], seen[0, 2], seen[1, 2]], **scale)


def test_the_inspector_tells_of_a_joint_what_the_model_has(chance, tmp_path):
    for model in robots(tmp_path, chance):
        q, v = model.random(chance), chance.uniform(-1, 1, model.nv)
        frame = frame_of(model, q, v)
        for link, joint in joints_of_links(model):
            reported = read([each for each in live_facts(model, link, frame) if each.title == "Joint state"])
            fixed = read(fixed_facts(model, link))
            if joint.kind in ("floating", "spherical"):
                assert not reported
                continue
            owner = joint if joint.leader is None else model.joint(joint.leader)
            a, b = (joint.multiplier, joint.offset) if joint.leader is not None else (1.0, 0.0)
            for place, part in enumerate(("x ", "y ", "angle ") if joint.kind == "planar" else ("",)):
                turns = joint.kind in ("revolute", "continuous") or part == "angle "
                scale, dof = 180 / np.pi if turns else 1e3, owner.v.start + place
                at = q[owner.q.start + place]
                assert reported[f"{part}position"] == pytest.approx([scale * (a * at + b)], abs=6e-3)
                assert reported[f"{part}velocity"] == pytest.approx([scale * a * v[dof]], abs=6e-3)
                if joint.leader is not None:
                    continue
                assert reported[part + ("torque" if turns else "force")] == [dof]
                ends, effort = [scale * model.lower[dof], scale * model.upper[dof]], model.effort_limit[dof]
                for label, numbers in (
                    ("position limits", ends), ("effort limit", [effort]),
                    ("velocity limit", [scale * model.velocity_limit[dof]]), ("damping", [model.damping[dof]]),
                    ("friction", [model.friction[dof]]),
                ):  # fmt: skip
                    if np.any(np.isfinite(numbers)) and np.any(numbers):
                        assert fixed[part + label] == pytest.approx(numbers, rel=1e-3, abs=1e-4), (joint, label)


def joints_of_links(model):
    """The first link that each joint moves, and the joint."""
    for joint in model.joints:
        body = joint.bodies.stop - 1
        links = np.flatnonzero(model.link_body == body)
        if len(links):
            yield int(links[0]), joint


def tangle(folder, rng) -> engine.Model:
    """A free robot whose limbs lie on each other, on the ground and on obstacles."""
    return robot(folder, rng, 7, free=True, shapes=("sphere", "capsule"), kinds=("revolute", "continuous"), plain=True)


def touching(model, rng, steps: int = 60) -> engine.Simulation:
    obstacles = tuple(
        engine.Obstacle("box", tuple(rng.uniform(0.1, 0.4, 3)), tuple(rng.uniform(-0.5, 0.5, 3) * (1, 1, 0)))
        for _ in range(4)
    )
    scene = engine.Scene(engine.Plane(tuple(rng.normal(0, 0.2, 3) + np.array([0, 0, 1]))), 0.7, 0.0, obstacles, True)
    start = engine.put_down(model, scene, model.random(rng))
    made = engine.Simulation(model, 2, dt=1e-4, device="cpu", scene=scene, q=np.stack([model.neutral(), start]))
    made.v[:, :6] = rng.uniform(-0.5, 0.5, (2, 6))
    made.step(steps)
    return made


def test_forces_of_contacts_balance_momentum_and_each_other(chance, tmp_path):
    """The total contact force equals the momentum's rate minus weight; each link's is the force on that link."""
    inner = outer = 0
    for turn in range(20):
        if turn > 2 and inner > 0 < outer:
            break
        model = tangle(tmp_path, chance)
        made, quantities = touching(model, chance), catalogue(model)
        recording = engine.Recording()
        recording.begin(made)
        for _ in range(25):
            before = [engine.momentum(model, *(x[1] for x in made.state()))[3:], *made.state()]
            recording.note(made)
            made.step(1)
            recording.add(made)
            q, v = (x[1] for x in made.state())
            shown, found = contact_forces(made.contacts, made.scene, made.dt, 1), contacts_of(made.contacts, made.dt, 1)
            x = States(np.zeros(1), q[None], v[None], v[None], contact=[shown])
            evaluation = Evaluation(model, coordinates(model), x)
            value = {each.label: evaluation.value(each)[0] for each in quantities if "contact force" in each.kind}
            total = np.array([value[f"contact force {axis}"] for axis in "xyz"])
            weight = model.mass.sum() * model.gravity
            rate = (engine.momentum(model, q, v)[3:] - before[0]) / made.dt
            slack = 0.02 * np.abs(weight).max() + 0.01 * np.abs(shown.force).sum()
            np.testing.assert_allclose(total, rate - weight, atol=slack)
            poses = np.asarray(engine.link_poses(model, before[1][1]))
            acting = made.contacts.wrenches((2, len(model.link_names), 6), made.dt)[1]
            for link, name in enumerate(model.link_names):
                own = poses[link, :3, :3] @ acting[link, 3:]
                reported = [value.get(f"{name} contact force {axis}", 0.0) for axis in "xyz"]
                np.testing.assert_allclose(reported, own, atol=1e-9 + 1e-9 * np.abs(shown.force).max(initial=0.0))
                if found is not None:
                    np.testing.assert_allclose(found.on(link).sum(0), own, atol=1e-6)
            (run,) = recording.runs
            again = snapshot(recording.frame(run, run.last), 1)
            assert (again.contacts is None) == (found is None)
            if found is not None:
                np.testing.assert_allclose(again.contacts.point, found.point)
                np.testing.assert_allclose(again.contacts.force, found.force)
            inner += 0 if found is None else int((found.other >= 0).sum())
            outer += 0 if found is None else int((found.other < 0).sum())
    assert inner > 0 < outer
