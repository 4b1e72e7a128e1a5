"""Robots with joints that mimic others, for tests on both devices."""

from pathlib import Path

import numpy as np

import engine

_FOLLOWS = {3: 2, 5: 8, 7: 2, 9: 10}
"""Followers and leaders, which are before or after them, on their paths or on others."""
_SLIDES = (6, 8, 5)


def mimics(folder: Path, seed: int, joints: int = 10, floating: bool = False, shape: str = "") -> engine.Model:
    """A random tree of which four joints mimic others; each link has that collision shape."""
    rng = np.random.default_rng(seed)

    def three(size: float) -> str:
        return " ".join(f"{x:.3f}" for x in rng.uniform(-size, size, 3))

    inertia = '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="0.002"/>'
    text = [f'<link name="link0"><inertial><mass value="2"/>{inertia}</inertial>{shape}</link>']
    for i in range(1, joints + 1):
        parent = i - 1 if rng.random() < 0.6 else int(rng.integers(0, i))
        mass = f'<origin xyz="{three(0.05)}"/><mass value="{rng.uniform(0.5, 1.5):.3f}"/>{inertia}'
        text.append(f'<link name="link{i}"><inertial>{mass}</inertial>{shape}</link>')
        multiplier, offset, leader = rng.uniform(-2, 2), rng.uniform(-1, 1), _FOLLOWS.get(i)
        mimic = f'<mimic joint="joint{leader}" multiplier="{multiplier:.2f}" offset="{offset:.2f}"/>' if leader else ""
        text.append(
            f'<joint name="joint{i}" type="{"prismatic" if i in _SLIDES else "revolute"}"><parent link="link{parent}"/>'
            f'<child link="link{i}"/><origin xyz="{three(0.2)}" rpy="{three(2)}"/><axis xyz="{three(1)}"/>'
            '<limit lower="-1.5" upper="1.5" effort="200" velocity="3"/><dynamics damping="0.1" friction="0.2"/>'
            f"{mimic}</joint>"
        )
    path = folder / f"mimics{seed}.urdf"
    path.write_text(f'<robot name="mimics{seed}">' + "\n".join(text) + "</robot>")
    return engine.load(path, floating=floating)
