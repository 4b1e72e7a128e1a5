"""Generate a chain of 100 links, and write its URDF."""

from pathlib import Path

import engine

model = engine.chain(100, seed=1)  # engine.tree makes trees
Path("chain.urdf").write_text(engine.to_urdf(model), "utf-8")
print(engine.load("chain.urdf").nv, engine.algorithms(model))
# 100 ('abia', 'dca', 'jsiia', 'abia-hybrid', 'cfa')
