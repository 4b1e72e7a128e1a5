"""The suites of `main.py bench`."""
