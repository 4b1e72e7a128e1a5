"""Make an environment of Gymnasium's vector form, in which a mask resets robots."""

import numpy as np

import engine


class Swing:
    """Swing up pendulums: seen are angle and velocity (batch, 2), the action is τ (batch, 1)."""

    def __init__(self, batch):
        model = engine.load(engine.find_robot("pendulum"))
        self.sim = engine.Simulation(model, batch, dt=2e-3)
        self.rng, self.age = np.random.default_rng(), np.zeros(batch, int)

    def reset(self, seed=None, options=None):
        self.rng = self.rng if seed is None else np.random.default_rng(seed)
        robots = (options or {"reset_mask": self.age >= 0})["reset_mask"]
        q, v = self.rng.uniform(-0.1, 0.1, (2, robots.sum(), 1))
        self.sim.reset(q - np.pi / 2, v, robots=robots)
        self.age[robots] = 0
        return np.hstack([self.sim.q, self.sim.v]), {}

    def step(self, action):
        self.sim.tau[:] = np.clip(action, -5, 5)
        self.sim.step(10)
        self.age += 1
        seen, height = np.hstack([self.sim.q, self.sim.v]), np.sin(self.sim.q[:, 0])
        return seen, height, height > 0.99, self.age >= 500, {}


swing = Swing(batch=64)
seen, _ = swing.reset(seed=0)
done = 0
for _ in range(400):
    seen, reward, terminated, truncated, _ = swing.step(5 * np.sign(seen[:, 1:]))
    seen, _ = swing.reset(options={"reset_mask": terminated | truncated})
    done += terminated.sum()
print(seen.shape, done > len(seen))
# (64, 2) True
