"""Report other simulators' extensions to URDF once if they affect the motion, and ignore the rest.

Sensors, plugins, transmissions, contact parameters and the like do not affect the motion of the robot by itself.
"""

from __future__ import annotations

from collections import Counter

from engine.urdf.markup import Document, Element, tag_of

_TAGS = {
    "implicitSpringDamper": "a spring and damper",
    "springStiffness": "a spring",
    "springReference": "a spring",
    "turnGravityOff": "weightlessness",
    "drake:rotor_inertia": "the inertia of a rotor",
    "drake:gear_ratio": "a gear before a rotor",
    "drake:linear_bushing_rpy": "a spring and damper",
    "drake:linear_spring_damper": "a spring and damper",
    "drake:ball_constraint": "a closed loop",
    "drake:joint": "a joint",
    "loop_joint": "a closed loop",
    "inertia_scaling": "a factor on the inertia",
    "joint_properties": "the damping and friction that URDF gives in <dynamics>",
    "motorInertia": "the inertia of a rotor",
    "rotorInertia": "the inertia of a rotor",
    "armature": "the inertia of a rotor",
}
_ATTRIBUTES = {
    "dynamics": ("spring_stiffness", "spring_reference", "stiffness", "springref", "armature"),
    "compiler": ("settotalmass", "boundmass", "boundinertia", "balanceinertia", "inertiafromgeom"),
    "option": ("gravity", "wind", "density", "viscosity"),
}
_OUTERMOST = {
    "sdf": ("an SDF, as Gazebo reads them", "give the URDF that it was made from"),
    "world": ("an SDF, as Gazebo reads them", "give the URDF that it was made from"),
    "mujoco": ("an MJCF, as MuJoCo reads them", "give the URDF that it was made from"),
    "mujocoinclude": ("an MJCF, as MuJoCo reads them", "give the URDF that it was made from"),
    "COLLADA": ("a mesh, as URDFs name them", "give the URDF that names it"),
    "html": ("a page of the web", "download the file itself, not the page that shows it"),
}
_OF_SRDF = ("group", "group_state", "end_effector", "virtual_joint", "disable_collisions", "disable_default_collisions")
_WITHIN = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry"),
}
"""The elements of URDF by the element around them."""
_OFF = ("", "0", "0.0", "false")


def is_robot(document: Document, root: Element, wanted: str = "a URDF") -> bool:
    """Whether the root element is <robot>; if not, report what kind of file it is, where that is known."""
    if root.tag == "robot":
        return True
    what, fix = _OUTERMOST.get(root.tag, ("", ""))
    problem = f"the outermost element is <{tag_of(root)}>" + (f": this is {what}" if what else "")
    document.error(root, problem, f"{wanted} is one <robot> element" + (f"; {fix}" if fix else ""))
    return False


def is_srdf(root: Element) -> bool:
    """Whether a <robot> without links is an SRDF of MoveIt."""
    return any(root.find(tag) is not None for tag in _OF_SRDF)


def name_once(document: Document, root: Element) -> None:
    """Warn of each element and attribute that would change the motion in another simulator, at its first occurrence."""
    first: dict[str, Element] = {}
    count: Counter[str] = Counter()
    for element in root.iter(*_TAGS, *(f"{{*}}{tag.partition(':')[2]}" for tag in _TAGS if ":" in tag), *_ATTRIBUTES):
        tag = tag_of(element)
        if tag not in _TAGS and tag not in _ATTRIBUTES:  # has another namespace prefix
            continue
        wording = [f"gives {_TAGS[tag]}, and is not part of URDF"] if tag in _TAGS and _says(element) else []
        attributes = (name for name in _ATTRIBUTES.get(tag, ()) if element.get(name, "").strip().lower() not in _OFF)
        wording += [f"{attribute} affects the motion, and is not part of URDF" for attribute in attributes]
        for problem in wording:
            first.setdefault(problem, element)
            count[problem] += 1
    for problem, element in first.items():
        more = f" (and {count[problem] - 1} more like it)" if count[problem] > 1 else ""
        document.warning(element, problem + more, "the robot moves as if it were not there")


def _says(element: Element) -> bool:
    """Whether an element that can be switched off is on."""
    wording = [element.text or "", *element.attrib.values()]
    return len(element) > 0 or any(text.strip().lower() not in _OFF for text in wording)


def name_capitals(document: Document, root: Element) -> None:
    """Warn of URDF's elements with wrong capitals, which no reader of URDF knows."""
    for around in root.iter(*_WITHIN):
        for element in around.iterchildren("*"):
            meant = element.tag.lower()
            if meant != element.tag and meant in _WITHIN[around.tag]:
                used = f"it is left out; write <{meant}>"
                document.warning(element, f"<{element.tag}> is not known, since capitals count", used)
