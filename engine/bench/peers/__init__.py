"""Peer engines for comparison, if installed, each given exactly the same models."""
