"""`DriftWatch` detects drift: a robot that should be at rest but moves. Free of Qt and OpenGL."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

import engine
from app.link_extents import link_points, world_points
from app.simulation.contacts import Contacts
from app.simulation.messages import Snapshot

WINDOW = 2.0  # s of simulated time, the detection window
APART = 0.1  # s of it between samples
SLOWEST = 2e-4  # robot sizes per second; slower is rest
FASTEST = 0.05  # robot sizes per second; faster is motion such as falling
STEADY = 2.0  # the maximum ratio of the speeds in the two halves of the window; settling or tipping is not steady
MIN_CONTACTS = 3  # sticking contacts that hold a robot
SPREAD = 0.02  # robot sizes, the minimum spread of these in both directions


@dataclass(frozen=True)
class Drift:
    """The fastest link, the first of several, and its speed, m/s."""

    link: int
    speed: float


class DriftWatch:
    """Detects drift in successive shown states, live or recorded.

    A robot should be at rest while setpoints and efforts are constant, no contact slips, and at least three that are
    not collinear stick. It drifts if a point has moved at a steady speed over `WINDOW`.
    """

    def __init__(self, model: engine.Model, links: np.ndarray) -> None:
        """`links` (links,) bool selects the robot's own links, without bodies beside it."""
        self._links, self._points = links, link_points(model)
        self._seen: deque[tuple[float, np.ndarray]] = deque()  # times, and positions of the points
        self._acting = np.zeros(0), np.zeros(0)
        self._size = 1.0
        self.drift: Drift | None = None
        """The drift in the frames seen so far; None if there is none."""

    def forget(self) -> None:
        """Start again, for example if the inputs are unknown."""
        self._seen.clear()
        self.drift = None

    def add_state(self, frame: Snapshot) -> None:
        """Process a shown state; a state of the same motion is later than the previous one."""
        there = world_points(frame.link_poses, self._points)[self._links]
        self._size = float(np.ptp(there.reshape(-1, 3), axis=0).max(initial=0.0)) or 1.0
        acting = frame.target.copy(), frame.tau.copy()
        if frame.pull is not None or not self._as_before(*acting) or not self._held(frame.contacts):
            self.forget()
            self._acting = acting
            return
        last = self._seen[-1][0] if self._seen else -np.inf
        if frame.time < last or frame.time > last + WINDOW:
            self.forget()
        elif frame.time < last + APART:
            return
        self._seen.append((frame.time, there))
        while frame.time - self._seen[0][0] > WINDOW + APART:
            self._seen.popleft()
        self._judge()

    def _as_before(self, target: np.ndarray, tau: np.ndarray) -> bool:
        """Whether setpoints are unchanged, and efforts too apart from changes by gravity compensation."""
        before_target, before_tau = self._acting
        return np.array_equal(target, before_target) and np.allclose(tau, before_tau, rtol=0.01)

    def _held(self, contacts: Contacts | None) -> bool:
        """Whether contacts hold the robot in place."""
        if contacts is None or np.any(contacts.state == "slip"):
            return False
        points = contacts.point[(contacts.state == "stick") & self._links[contacts.link] & (contacts.other < 0)]
        if len(points) < MIN_CONTACTS:
            return False
        return bool(np.linalg.svd(points - points.mean(0), compute_uv=False)[1] > SPREAD * self._size)

    def _judge(self) -> None:
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        if end - begin < WINDOW - APART:
            self.drift = None
            return
        middle_time, middle = self._seen[len(self._seen) // 2]
        links = np.flatnonzero(self._links)
        speeds = np.linalg.norm(last - first, axis=2).max(1) / (end - begin)
        link = int(np.argmax(speeds > 0.9 * speeds.max()))  # the first of the links that move as one
        halves = (
            np.linalg.norm(middle[link] - first[link], axis=1).max() / (middle_time - begin),
            np.linalg.norm(last[link] - middle[link], axis=1).max() / (end - middle_time),
        )
        steady = max(halves) < STEADY * min(halves)
        drifts = steady and SLOWEST * self._size < speeds[link] < FASTEST * self._size
        self.drift = Drift(int(links[link]), float(speeds[link])) if drifts else None
