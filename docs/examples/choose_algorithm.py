"""See which algorithms serve a robot, and choose one."""

import engine

print(engine.algorithms(engine.chain(1000), "cpu"))
print(engine.simulation_algorithms(engine.tree(20), "cpu"))
print(engine.simulation_refusal("cfa", engine.tree(20), "cpu"))
fd = engine.ForwardDynamics(engine.chain(1000), algorithm="dca")  # by default "auto"
print(fd.algorithm)  # and fd.why
# ('abia', 'dca', 'jsiia', 'abia-hybrid', 'cfa')
# ('abia', 'dca', 'jsiia')
# link 'link1' carries several branches
# dca
