"""The panels around the viewport, one file each."""
