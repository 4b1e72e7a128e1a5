"""CUDA kernels: what a GPU runs. CuPy is imported here, and only once a GPU is asked for.

The kernels stand in `.cu` files, which mirror the text in `engine.algorithms` and `engine.blocks`: one body for both
number types, compiled for the robot and the GPU at hand when they are first needed (`runtime.compiler`), over one
header of spatial algebra (`rigid_body/spatial.cuh`). `rigid_body` has the tree passes, a thread a robot; `chains` what
serves serial chains and `trees` what serves any robot, a group of threads each; `collision` says where robots touch the
ground; `constraints` has joint limits, joint friction and contacts; `stepping` whole simulation steps; `dynamics` is
what the rest of the engine calls. Arrays are CuPy's, contiguous, batch first; no call waits for the GPU, but for the
CPU's part of hybrid ABIA.
"""
