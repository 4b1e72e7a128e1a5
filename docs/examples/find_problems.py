"""See what is wrong with a URDF, and write a repaired copy."""

from pathlib import Path

import engine

text = engine.find_robot("pendulum").read_text("utf-8")
text = text.replace("0 -0.09961 0.21113", "0, -0.09961, 0.21113")
Path("faulty.urdf").write_text(text, "utf-8")
for found in engine.check("faulty.urdf"):
    print(f"line {found.line}, {found.severity}: {found.problem}")
repaired, left = engine.repair("faulty.urdf", "repaired.urdf")
print(repaired, left)
# line 21, warning: xyz="0, -0.09961, 0.21113" is not separated by spaces
# 1 []
