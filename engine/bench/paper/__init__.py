"""The papers' experiments: measured, drawn, and held against what the papers conclude."""
