"""Benchmarks of the engine and of peer engines: one folder for each, and shared modules here."""
