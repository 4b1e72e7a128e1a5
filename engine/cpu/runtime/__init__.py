"""What kernels are compiled and run with: compilers, their cache on disk, threads, clock."""
