"""The GPU for the rest of `engine.cuda`: the device, the compiler of kernels, arrays, and a clock."""
