"""Small robots with every kind of joint, and the files that options of commands name."""

from pathlib import Path

import numpy as np
from statuses import BROKEN

import engine

SPHERE = "<collision><geometry><sphere radius='0.05'/></geometry></collision>"
MESH = "<collision><geometry><mesh filename='package://parts/tip.obj'/></geometry></collision>"
LINK = f"""<link name="{{0}}"><inertial><origin xyz="-0.1 0.02 -0.05"/><mass value="1.25"/><inertia ixx="0.02"
iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>{SPHERE.replace("collision", "visual")}{{1}}</link>"""
JOINT = '<joint name="{0}" type="{1}"><parent link="base"/><child link="{0}s"/><origin xyz="{2}"/>{3}</joint>\n'
JOINTS = {  # the type, where it is, and what else is said of it
    "slide": ("prismatic", "0.5 0 0.05", "<axis xyz='0 0 1'/><limit lower='-1' upper='1.5' velocity='4' effort='7'/>"),
    "ball": ("ball", "0.5 0 0.18", "<limit velocity='4' effort='3'/><dynamics damping='0.51234' friction='0.25432'/>"),
    "swing": ("revolute", "0 0 1", "<axis xyz='0 1 0'/><limit lower='0' upper='1.2345678' velocity='2' effort='5'/>"
              "<dynamics damping='0.1' friction='0.05'/>"),
    "follow": ("revolute", "1.5 0 1", "<axis xyz='0 1 0'/><mimic joint='swing' multiplier='-0.5' offset='0.1'/>"
               "<limit lower='-9' upper='9' velocity='9' effort='9'/>"),
    "table": ("planar", "1 0 0.5", "<axis xyz='0 0 1'/>"),
    "turn": ("continuous", "2 0 1", "<axis xyz='1 0 0'/><dynamics damping='0.3'/>"),
    "free": ("floating", "3 0 1", ""),
}  # fmt: skip
TIP = "v .1 .1 -.05\nv -.1 .1 -.05\nv 0 -.1 -.05\nv 0 0 .05\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
DRIVE = "def control(t, q, v):\n    return 30 * t + 0.5 - 0.125 * v\n"


def write(folder: Path) -> Path:
    """toy; shod, with meshes of a package elsewhere; loose, with a free joint too; and chain, too fast for 1 ms."""
    for name, left_out, shape in (("toy", "free", SPHERE), ("shod", "free", MESH), ("loose", "", SPHERE)):
        reported = {joint: reported for joint, reported in JOINTS.items() if joint != left_out}
        links = LINK.format("base", "") + "".join(LINK.format(f"{joint}s", shape) for joint in reported)
        joints = "".join(JOINT.format(joint, *each) for joint, each in reported.items())
        (folder / f"{name}.urdf").write_text(f'<robot name="{name}">{links}{joints}</robot>')
    (folder / "elsewhere" / "parts").mkdir(parents=True)
    (folder / "elsewhere" / "parts" / "tip.obj").write_text(TIP)
    (folder / "chain.urdf").write_text(engine.to_urdf(engine.chain(30)))
    (folder / "broken.urdf").write_text(BROKEN)
    (folder / "drive.py").write_text(DRIVE)
    np.save(folder / "bumps.npy", np.random.default_rng(0).uniform(0, 0.1, (9, 12)))
    return folder


def source(robot: str, folder: Path) -> Path:
    """The file of one of them, or of a robot that ships."""
    return folder / f"{robot}.urdf" if (folder / f"{robot}.urdf").is_file() else engine.find_robot(robot)
