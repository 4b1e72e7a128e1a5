"""What other simulators write into a URDF: named once where it says something of the motion, else passed over.

Sensors, plugins, transmissions, contact parameters and the like say nothing of how a robot moves by itself.
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
_OFF = ("", "0", "0.0", "false")


def name_once(document: Document, root: Element) -> None:
    """Warn of each element and attribute that would change the motion in another simulator, at its first place."""
    first: dict[str, Element] = {}
    count: Counter[str] = Counter()
    for element in root.iter(*_TAGS, *(f"{{*}}{tag.partition(':')[2]}" for tag in _TAGS if ":" in tag), *_ATTRIBUTES):
        tag = tag_of(element)
        said = [f"gives {_TAGS[tag]}, and is not of URDF"] if tag in _TAGS and _says(element) else []
        given = (name for name in _ATTRIBUTES.get(tag, ()) if element.get(name, "").strip().lower() not in _OFF)
        said += [f"{attribute} bears on the motion, and is not of URDF" for attribute in given]
        for fault in said:
            first.setdefault(fault, element)
            count[fault] += 1
    for fault, element in first.items():
        more = f" (and {count[fault] - 1} more like it)" if count[fault] > 1 else ""
        document.warning(element, fault + more, "the robot moves as if it were not there")


def _says(element: Element) -> bool:
    """Whether an element that may be switched off is not."""
    said = [element.text or "", *element.attrib.values()]
    return len(element) > 0 or any(text.strip().lower() not in _OFF for text in said)
