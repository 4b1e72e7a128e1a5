"""A script whose arm with a gripper grasps a cube, lifts it and holds it up, watched in a window through a live link.

`python -m tests.app.grasping_script [SPEED]` simulates Panda of example-robot-data at 1000 steps a second of the clock,
or SPEED times as many. It prints where the live link is, begins with a line on its standard input, prints what it did
as JSON, and ends with another line.
"""

import json
import sys
import time
from importlib import metadata

import numpy as np

import engine

EDGE, DT = 0.04, 1e-3  # of the cube, m; s
OPEN, CLOSED = 0.04, 0.0  # of a finger, m
BESIDE = (0.5, 0.1)  # where the cube lies, m
HEIGHTS = 0.2, 0.0, 0.25  # of the gripper above the cube: before, at the grasp, and lifted, m
LEGS = ((0, 1, OPEN, 1.5), (1, 1, CLOSED, 0.6), (1, 2, CLOSED, 1.5), (2, 2, CLOSED, 1.4))
"""Start and end height, the fingers' opening, and the duration, s."""


def panda() -> str:
    """The path of the arm, which example-robot-data ships."""
    files = metadata.files("example-robot-data") or []
    return next(str(file.locate()) for file in files if file.name == "panda.urdf")


def model() -> engine.Model:
    """The arm with the cube beside it."""
    cube = engine.Part(engine.free_body("box", (EDGE, EDGE, EDGE), 0.1, "cube"), (*BESIDE, EDGE / 2), "cube/")
    return engine.compose(engine.load(panda(), srdf="beside"), cube)


def waypoints(arm: engine.Model) -> list[np.ndarray]:
    """q (nq,) with the gripper, which looks down, at each of `HEIGHTS`."""
    q, hand = arm.poses["default"].copy(), arm.link_names.index("panda_hand_tcp")
    found = []
    for height in HEIGHTS:
        target = np.diag([1.0, -1.0, -1.0, 1.0])
        target[:3, 3] = *BESIDE, EDGE / 2 + height
        reach = engine.inverse_kinematics(arm, q, hand, target)
        assert reach.reached, f"the gripper does not reach {height} m above the cube"
        q = np.array(reach.q)
        found.append(q)
    return found


def simulation() -> tuple[engine.Simulation, list[np.ndarray]]:
    """The arm above the cube, with gains that hold it, and its waypoints."""
    arm = model()
    points = waypoints(arm)
    kp, kd = engine.holding_gains(arm, DT, "implicit")
    start = points[0].copy()
    start[arm.joint_names.index("panda_finger_joint1")] = OPEN
    sim = engine.Simulation(
        arm, integrator="implicit", dt=DT, q=start, kp=kp, kd=kd, scene=engine.Scene(), device="cpu"
    )
    return sim, points


def setpoint(points: list[np.ndarray], finger: int, time: float) -> np.ndarray:
    """q (nq,) that is to be at that time, s."""
    ends = np.cumsum([leg[-1] for leg in LEGS])
    leg = min(int(np.searchsorted(ends, time, "right")), len(LEGS) - 1)
    begin, end, fingers, seconds = LEGS[leg]
    share = min((time - ends[leg] + seconds) / seconds, 1.0)
    q = points[begin] + share * (points[end] - points[begin])
    q[finger] = fingers
    return q


def main() -> int:
    sim, points = simulation()
    finger = sim.model.joint_names.index("panda_finger_joint1")
    driven = np.flatnonzero(sim.model.q_of_v >= 0)
    link = engine.show(sim, window=False)
    print(link.folder, flush=True)
    sys.stdin.readline()
    seconds, speed = sum(leg[-1] for leg in LEGS), float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    began = time.perf_counter()
    frames, spent, z = link.frames, link.seconds, float(sim.q[0, -5])
    while sim.time < seconds - DT / 2:
        sim.target[:, driven] = setpoint(points, finger, sim.time)[sim.model.q_of_v[driven]]
        sim.step()
        while (early := began + sim.time / speed - time.perf_counter()) > 0:
            time.sleep(early)
    took = time.perf_counter() - began
    reported = {
        "steps_per_second": round(sim.steps / took),
        "frames_per_second": round((link.frames - frames) / took, 1),
        "share_of_time": (link.seconds - spent) / took,
        "lifted_by": float(sim.q[0, -5] - z),
    }
    print(json.dumps(reported), flush=True)
    sys.stdin.readline()
    return 0


if __name__ == "__main__":
    sys.exit(main())
