"""The simulation in a thread of its own: what runs there, and what it tells. Free of Qt."""
