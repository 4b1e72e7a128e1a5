"""The GPU as the rest of `engine.cuda` sees it: the device, the compiler of kernels, arrays on it, and its clock."""
