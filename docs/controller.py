"""A controller for any robot: it carries the robot's weight, as far as its motors can, and moves the first joint.

In the window: Simulation › Controller…; without one: ``main.py run arm7 --controller docs/controller.py``. Both call
`control` in a process of its own, and read this file again at each reset; the window also when it is saved.
"""

import numpy as np

import engine

PERIOD = 0.004  # s for which an answer is held: a whole number of time steps; without it one step
KP, KD = 2500.0, 100.0  # 1/s² and 1/s, times an inertia of each joint that keeps all of them stable while τ is held


def start(model):
    """Called once before the first step, with the `engine.Model`."""
    global robot, home, moves
    robot, home = model, model.neutral()
    moves = model.q_of_v >= 0  # the velocities that have a coordinate of their own


def control(t, q, v):
    """τ (nv,), N m or N, from the time t in s, q (nq,) and v (nv,); beyond a joint's effort limit, the limit acts.

    The dict after τ may be left out: numbers of its own, whose names may end with a unit, for plots, runs and exports.
    """
    at = robot.q_of_v[moves]
    there = q.copy()
    there[at] = home[at]
    swing = 0.5 * np.sin(2 * np.pi * 0.5 * t)
    there[at[:1]] += swing
    tau = engine.bias(robot, there, np.zeros(robot.nv))  # the weight there: that of q would lag while τ is held
    mobility = engine.inverse_mass_matrix(robot, q)[np.ix_(moves, moves)]  # of the joints, a free base moves along
    tau[moves] += (KP * (there[at] - q[at]) - KD * v[moves]) / np.abs(mobility).sum(1)
    tau[~moves] = 0.0  # a free base has no motor
    return tau, {"swing [rad]": swing}
