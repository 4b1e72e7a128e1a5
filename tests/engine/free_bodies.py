"""A free body of 2 kg with a collision shape."""

from engine import load
from engine.model import Model

BODY = """<robot name="body"><link name="body">
<inertial><mass value="2"/><inertia ixx="0.0134" iyy="0.0134" izz="0.0134" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>{shape}</geometry></collision></link></robot>"""


def free_body(folders, shape: str = '<box size="0.2 0.2 0.2"/>') -> Model:
    path = folders.mktemp("bodies") / "body.urdf"
    path.write_text(BODY.format(shape=shape))
    return load(path, floating=True)
