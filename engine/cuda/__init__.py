"""CUDA kernels. CuPy is imported here only, once a GPU is requested.

The kernels are in `.cu` files, which mirror `engine.algorithms` and `engine.blocks`: one text for both number types,
compiled for the robot and the GPU on first use (`runtime.compiler`), over one header of spatial algebra
(`rigid_body/spatial.cuh`). `rigid_body` has the tree passes, a thread a robot; `chains` algorithms for serial chains
and `trees` for any robot, a group of threads each; `collision` contact detection; `constraints` joint limits, joint
friction and contacts; `stepping` whole simulation steps; `dynamics` the interface to the rest of the engine. Arrays are
CuPy's, contiguous, batch first; no call waits for the GPU, except for the CPU's part of hybrid ABIA.
"""
