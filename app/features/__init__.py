"""What attaches itself to the window: each module is a feature, entered in `attaching`; the window knows none else."""
