"""Which algorithm: what each can serve, how long each takes on this machine, and the choice."""
