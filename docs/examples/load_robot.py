"""Load a URDF and print its joints."""

import engine

model = engine.load(engine.find_robot("arm7"))  # or the path of a file
for joint, low, high in zip(model.joints, model.lower, model.upper, strict=True):
    print(f"{joint.name} {joint.kind} {low:.2f} … {high:.2f} rad")
# joint1 revolute -2.90 … 2.90 rad
# joint2 revolute -0.98 … 2.55 rad
# joint3 revolute -2.90 … 2.90 rad
# joint4 revolute -0.72 … 2.29 rad
# joint5 revolute -2.90 … 2.90 rad
# joint6 revolute -1.59 … 2.18 rad
# joint7 revolute -3.68 … 2.11 rad
