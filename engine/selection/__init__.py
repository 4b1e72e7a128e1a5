"""Algorithm selection: what each algorithm supports, its time on this machine, and the automatic choice."""
