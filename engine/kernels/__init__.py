"""Kernels that work on one robot: one source text, which `engine.compile` translates for CPUs and GPUs."""
