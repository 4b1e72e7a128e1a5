"""Threads, arrays and clocks for kernels on the CPU."""
